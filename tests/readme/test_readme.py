"""What the README says can be typed, can be typed: its tested blocks run here, on a small corpus and with small budgets."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from plume.cli import main
from plume.data.embedded import chinese_documents, write_embedded

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh.md")


def blocks(readme: str, language: str) -> list[str]:
    text = (ROOT / readme).read_text(encoding="utf-8")
    return re.findall(rf"<!-- tested -->\n```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("readme", READMES)
def test_commands_and_python(readme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    write_embedded(tmp_path / "corpus.txt", chinese_documents(count=300))
    (commands,) = blocks(readme, "bash")
    for line in commands.splitlines():
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


def test_both_readmes_show_the_same_commands() -> None:
    def plain(readme: str) -> list[list[str]]:
        return [shlex.split(line, comments=True) for line in blocks(readme, "bash")[0].splitlines()]

    assert plain("README.md") == plain("README.zh.md")
