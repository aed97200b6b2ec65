"""Words for labels: which are candidates, which are telling, and that they are what the model is then trained with."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plume
from plume.core.errors import PlumeError
from plume.core.files import read_json
from plume.prompting.verbaliser import telling_words
from plume.tuning.zero_shot.cloze import Cloze

OPTIONS = {"method": "petal", "template": "{text} It is ___ again.", "quiet": True, "epochs": 1, "length": 48}


def test_a_word_is_telling_by_its_balanced_likelihood_ratio() -> None:
    generator = np.random.default_rng(0)
    answers = ["a", "b", "a", "c", "a", "b"]
    table = np.log(generator.uniform(1e-5, 0.6, (6, 4)))
    found = telling_words(table, answers, ("a", "b", "c"))
    for row, label in zip(found, "abc", strict=True):
        for word in range(4):
            total = 0.0
            for example, answer in enumerate(answers):
                share = math.exp(table[example, word])
                odds = math.log(share / (1 - share))
                total += odds / answers.count(label) if answer == label else -odds / (len(answers) - answers.count(label))
            assert row[word] == pytest.approx(total, rel=1e-9)


def test_the_words_are_those_that_the_model_says_of_the_label(body_of: Any, few: Path, plain: Path, tmp_path: Path) -> None:
    plume.prompt(body_of("bert"), train=few, text=plain, out=tmp_path / "out", settings=["words=2", "longest=9"], **OPTIONS)
    found = read_json(tmp_path / "out" / "train" / "words.json", "")
    assert set(found) == {"box", "letter"} and all(1 <= len(words) <= 2 for words in found.values())
    assert not set(found["box"]) & set(found["letter"])
    can = plume.load(body_of("bert")).abilities
    examples = [line.split("\t") for line in few.read_text(encoding="utf-8").splitlines()[1:]]
    words = [*found["box"], *found["letter"]]
    scores = Cloze(can, "{text} It is ___ again.", words).scores([text for text, _ in examples])
    telling = telling_words(scores, [label for _, label in examples], ("box", "letter"))
    for number, label in enumerate(found):
        own = telling[number, [words.index(word) for word in found[label]]]
        assert (own > 0).all() and own.tolist() == pytest.approx(sorted(own, reverse=True), abs=1e-4)
    card = (tmp_path / "out" / "card.md").read_text(encoding="utf-8")
    assert f"| box | {', '.join(found['box'])} |" in card
    tuned = plume.load(tmp_path / "out")
    assert {one.label: list(one.words) for one in tuned.tasks[0].prompt.words} == found


def test_what_petal_cannot_do_is_said(body_of: Any, few: Path, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="petal finds the words of the labels itself: leave out --labels"):
        plume.prompt(body_of("bert"), train=few, out=tmp_path / "out", labels="box,letter", **OPTIONS)
    with pytest.raises(PlumeError, match=r"words of the texts have 1 tokens or fewer in the blank, and 4000 are looked for"):
        plume.prompt(body_of("bert"), train=few, out=tmp_path / "out", settings=["words=2000", "candidates=2000", "longest=1"], **OPTIONS)
    assert not (tmp_path / "out").exists()
