"""What tests of prompting share: models of all kinds that know nothing, and a few examples with a pattern in them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plume.model.use.language_model import LanguageModel

WHO = ("The cat", "My sister", "The old captain", "One small bird", "Her teacher", "A tired sailor", "The quiet neighbour")
DOES = {"finds": "box", "carries": "box", "paints": "letter", "follows": "letter"}


def rows(count: int) -> list[tuple[str, str]]:
    """Texts and labels, as many of each."""
    verbs = list(DOES)
    return [(f"{WHO[number % 7]} {verbs[number % 4]} it.", DOES[verbs[number % 4]]) for number in range(count)]


@pytest.fixture(scope="session")
def body_of(miniature: Any, tokenizer_for: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The directory of a small model with first weights."""

    @functools.cache
    def make(family: str, length: int = 64) -> Path:
        recipe = miniature(family, length=length)
        tokenizer = tokenizer_for(recipe)
        model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
        model.initialise(0)
        model.spell(tokenizer.tokens())
        folder = tmp_path_factory.mktemp("bodies") / family
        LanguageModel(model, tokenizer).save(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight labelled examples."""
    file = tmp_path_factory.mktemp("few") / "train.tsv"
    file.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows(8)), encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts without a label."""
    file = tmp_path_factory.mktemp("plain") / "texts.txt"
    file.write_text("".join(f"{text}\n" for text, _ in rows(24)), encoding="utf-8")
    return file
