"""What README and guides say can be typed, can be typed: their tested blocks run here, on a small corpus and with small budgets."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from plume.cli import main
from plume.embedded.chinese_grammar import chinese_documents
from plume.embedded.material import write_embedded
from plume.train import probe

ROOT = Path(__file__).parents[2]
MARK = "<!-- tested -->"
# In the order of reading: a guide goes on with the models of those before it.
GUIDES = (
    "pretraining.md",
    "corpora.md",
    "own-recipes.md",
    "word-vectors.md",
    "tuning.md",
    "prompts.md",
    "probe-facts.md",
    "export.md",
    "hugging-face.md",
    "checkpoints.md",
    "search.md",
    "chat.md",
    "view.md",
    "python.md",
)
PAGES = ("README.md", "README.zh.md", *(f"docs/{guide}" for guide in GUIDES), *(f"docs/zh/{guide}" for guide in GUIDES))


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"{MARK}\n```{language}\n(.*?)```", text_of(page), flags=re.DOTALL)


def commands(page: str) -> list[str]:
    lines = "".join(blocks(page, "bash")).splitlines()
    return [shlex.join(words) for line in lines if (words := shlex.split(line, comments=True))]


def python(page: str) -> list[str]:
    return [ast.unparse(ast.parse(code)) for code in blocks(page, "python")]


def own_recipes(page: str) -> dict[str, str]:
    """The recipe files that a page shows, each below its name."""
    return dict(re.findall(r"<!-- (\w+\.py) -->\n```python\n(.*?)```", text_of(page), flags=re.DOTALL))


def write_other_corpora(folder: Path) -> None:
    """Pairs, labelled documents and documents with entity ids, out of the same text."""
    documents = list(chinese_documents(count=200))
    sentences = [line for document in documents for line in document.splitlines()]
    pairs = [f"{sentence}\t{sentence[::-1]}" for sentence in dict.fromkeys(sentences)]
    (folder / "pairs.tsv").write_text("\n".join(pairs) + "\n", encoding="utf-8")
    rows = [json.dumps({"text": text, "label": ("Books", "News")[n % 2]}, ensure_ascii=False) for n, text in enumerate(documents)]
    (folder / "labelled.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    linked = [{"text": text, "mentions": [{"start": 0, "end": 2, "id": n % 7}], "document": n} for n, text in enumerate(documents)]
    (folder / "linked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in linked), encoding="utf-8")


def small_step(measure: Callable[..., float], model: Any, _batch: Any, _seconds: float) -> float:
    """The doctor's measurement with a batch that takes no time: how fast this machine is, is not asked here."""
    return measure(model, probe._batch(2, 16), 0.0)


def shortened(words: list[str]) -> list[str]:
    """As typed, with less training."""
    words = ["3steps" if word == "10m" or word.endswith("steps") else word for word in words]
    return [*words, "--epochs", "0.4"] if words[1] == "tune" and words[2] != "tfidf" and "--epochs" not in words else words


def type_in(line: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe, "_step_seconds", partial(small_step, probe._step_seconds))
        patch.setattr(sys, "argv", shortened(shlex.split(line)))
        patch.setattr(sys, "stdin", io.StringIO("小明在北京工作。\n/help\n"))  # for 'plume chat'
        try:
            main()
        except SystemExit as left:
            if left.code:
                pytest.fail(line)


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What the pages' commands print, and the names of their Python. What two pages say alike is done once."""
    folder, out = tmp_path_factory.mktemp("readme"), io.StringIO()
    write_embedded(folder / "corpus.txt", chinese_documents(count=300))
    write_other_corpora(folder)
    (folder / "examples").symlink_to(ROOT / "examples")
    for name, code in own_recipes("docs/own-recipes.md").items():
        (folder / name).write_text(code, encoding="utf-8")
    seen: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.chdir(folder)
        for line in dict.fromkeys(line for page in PAGES for line in commands(page)):
            type_in(line)
        for code in dict.fromkeys(code for page in PAGES for code in python(page)):
            exec(compile(code.replace("'10m'", "'3steps'"), "README", "exec"), seen)
    return out.getvalue(), seen


def test_commands(typed: tuple[str, dict[str, Any]]) -> None:
    out, _ = typed
    said = (
        "unigram entropy",
        "albert",
        "巴黎",
        "perplexity",
        "from_pretrained",
        "Grace works for Blue Airlines in Paris.",
        "小明在北京大学读书",
    )
    for word in said:
        assert word in out, f"{word} was not printed"


def test_python(typed: tuple[str, dict[str, Any]]) -> None:
    _, seen = typed
    assert seen["vectors"].shape == (2, 128)
    assert len(seen["guesses"]) == 5
    assert seen["scores"][0].perplexity > 1
    assert len(seen["hidden"].layers) == 3
    assert str(seen["text"]).startswith("从前")
    assert [text[:2] for text in seen["texts"]] == ["从前", "今天"] and "".join(seen["pieces"]).startswith("从前")
    assert seen["neighbours"].recipe.objectives[0].noise.corrupt.mask == 0.9
    assert seen["answers"][0].keys() == {"entities", "tags"}


@pytest.mark.parametrize("guide", GUIDES)
def test_both_languages_show_the_same_commands(guide: str) -> None:
    english, chinese = f"docs/{guide}", f"docs/zh/{guide}"
    assert (commands(english), python(english)) == (commands(chinese), python(chinese))
    assert commands(english) or python(english)
    assert own_recipes(english) == own_recipes(chinese)


def test_both_readmes_show_three_commands_that_differ_by_language_only() -> None:
    english, chinese = ([shlex.split(line)[:2] for line in commands(page)] for page in PAGES[:2])
    assert english == chinese == [["plume", "pretrain"], ["plume", "tune"], ["plume", "predict"]]


def test_no_page_with_tested_blocks_is_forgotten() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert {str(page.relative_to(ROOT)) for page in pages if MARK in page.read_text(encoding="utf-8")} == set(PAGES)
