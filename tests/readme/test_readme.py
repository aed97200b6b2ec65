"""What the README says can be typed, can be typed: its tested blocks run here, on a small corpus and with small budgets."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plume.cli import main
from plume.embedded.chinese_grammar import chinese_documents
from plume.embedded.material import write_embedded
from plume.train import probe

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh.md")


def blocks(readme: str, language: str) -> list[str]:
    text = (ROOT / readme).read_text(encoding="utf-8")
    return re.findall(rf"<!-- tested -->\n```{language}\n(.*?)```", text, flags=re.DOTALL)


def own_recipe(readme: str) -> str:
    text = (ROOT / readme).read_text(encoding="utf-8")
    return re.search(r"<!-- my_recipe.py -->\n```python\n(.*?)```", text, flags=re.DOTALL)[1]  # type: ignore[index]


def write_other_corpora(folder: Path) -> None:
    """Pairs and labelled documents, out of the same text."""
    documents = list(chinese_documents(count=200))
    sentences = [line for document in documents for line in document.splitlines()]
    pairs = [f"{sentence}\t{sentence[::-1]}" for sentence in dict.fromkeys(sentences)]
    (folder / "pairs.tsv").write_text("\n".join(pairs) + "\n", encoding="utf-8")
    rows = [json.dumps({"text": text, "label": ("Books", "News")[n % 2]}, ensure_ascii=False) for n, text in enumerate(documents)]
    (folder / "labelled.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")


def commands(readme: str) -> tuple[str, ...]:
    lines = "".join(blocks(readme, "bash")).splitlines()
    return tuple(shlex.join(words) for line in lines if (words := shlex.split(line, comments=True)))


def python(readme: str) -> str:
    (code,) = blocks(readme, "python")
    return ast.unparse(ast.parse(code))


def small_step(measure: Callable[..., float], model: Any, _batch: Any, _seconds: float) -> float:
    """The doctor's measurement with a batch that takes no time: how fast this machine is, is not asked here."""
    return measure(model, probe._batch(2, 16), 0.0)


def type_in(line: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe, "_step_seconds", functools.partial(small_step, probe._step_seconds))
        patch.setattr(sys, "argv", ["3steps" if word == "10m" else word for word in shlex.split(line)])
        try:
            main()
        except SystemExit as left:
            if left.code:
                pytest.fail(line)


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[str, dict[str, Any]]]:
    """What a README's commands print, and the names of its Python. Where the two say the same but for comments, it is done once."""

    @functools.cache
    def run(lines: tuple[str, ...], code: str, recipe: str) -> tuple[str, dict[str, Any]]:
        folder, out = tmp_path_factory.mktemp("readme"), io.StringIO()
        write_embedded(folder / "corpus.txt", chinese_documents(count=300))
        write_other_corpora(folder)
        (folder / "examples").symlink_to(ROOT / "examples")
        (folder / "my_recipe.py").write_text(recipe, encoding="utf-8")
        seen: dict[str, Any] = {}
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
            patch.chdir(folder)
            for line in lines:
                type_in(line)
            exec(compile(code.replace("'10m'", "'3steps'"), "README", "exec"), seen)
        return out.getvalue(), seen

    return lambda readme: run(commands(readme), python(readme), own_recipe(readme))


@pytest.mark.parametrize("readme", READMES)
def test_commands_and_python(readme: str, typed: Callable[[str], tuple[str, dict[str, Any]]]) -> None:
    out, seen = typed(readme)
    for word in ("unigram entropy", "albert", "巴黎", "perplexity", "AutoModel"):
        assert word in out, f"{word} was not printed"
    assert seen["vectors"].shape == (2, 128)
    assert len(seen["guesses"]) == 5
    assert seen["scores"][0].perplexity > 1
    assert len(seen["hidden"].layers) == 3
    assert str(seen["text"]).startswith("从前")
    assert seen["answers"][0].keys() == {"entities", "tags"}


def test_both_readmes_show_the_same_commands() -> None:
    assert commands("README.md") == commands("README.zh.md")
    assert own_recipe("README.md") == own_recipe("README.zh.md")
