"""What the README says can be typed, can be typed: its tested blocks run here, on a small corpus and with small budgets."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from plume.cli import main
from plume.embedded.chinese_grammar import chinese_documents
from plume.embedded.material import write_embedded

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


@pytest.mark.parametrize("readme", READMES)
def test_commands_and_python(readme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    write_embedded(tmp_path / "corpus.txt", chinese_documents(count=300))
    write_other_corpora(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "my_recipe.py").write_text(own_recipe(readme), encoding="utf-8")
    for line in "".join(blocks(readme, "bash")).splitlines():
        words = shlex.split(line, comments=True)
        monkeypatch.setattr(sys, "argv", ["3steps" if word == "10m" else word for word in words])
        try:
            main()
        except SystemExit as left:
            if left.code:
                pytest.fail(f"{line}\n{capfd.readouterr().err}")
    out = capfd.readouterr().out
    for word in ("unigram entropy", "albert", "巴黎", "perplexity", "AutoModel"):
        assert word in out, f"{word} was not printed"
    (code,) = blocks(readme, "python")
    seen: dict[str, object] = {}
    exec(compile(code.replace('"10m"', '"3steps"'), readme, "exec"), seen)
    assert seen["vectors"].shape == (2, 128)  # type: ignore[attr-defined]
    assert len(seen["guesses"]) == 5  # type: ignore[arg-type]
    assert seen["scores"][0].perplexity > 1  # type: ignore[index]
    assert len(seen["hidden"].layers) == 3  # type: ignore[attr-defined]
    assert str(seen["text"]).startswith("从前")
    assert seen["answers"][0].keys() == {"entities", "tags"}  # type: ignore[index]


def test_both_readmes_show_the_same_commands() -> None:
    def plain(readme: str) -> list[list[str]]:
        return [shlex.split(line, comments=True) for block in blocks(readme, "bash") for line in block.splitlines()]

    assert plain("README.md") == plain("README.zh.md")
    assert own_recipe("README.md") == own_recipe("README.zh.md")
