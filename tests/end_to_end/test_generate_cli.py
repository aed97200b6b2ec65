"""plume generate: in a terminal the text comes as it is written; into a pipe it is the same, at the end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from plume.cli import main
from plume.model.checkpoint import save_model
from plume.model.use.language_model import LanguageModel


@pytest.fixture
def folder(miniature: Any, built: Any, tokenizer_for: Any, tmp_path: Path) -> Path:
    recipe = miniature("gpt2")
    tokenizer = tokenizer_for(recipe)
    save_model(tmp_path / "gpt2", built(recipe, vocabulary=tokenizer.size).float(), tokenizer)
    return tmp_path / "gpt2"


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", ["plume", "generate", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    return capsys.readouterr().out


def test_a_terminal_is_told_piece_by_piece_what_a_pipe_gets(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(folder), "the cat", "--seed", "3", "--max-tokens", "12"]
    piped = said(monkeypatch, capsys, *given)
    assert piped == LanguageModel.load(folder).generate("the cat", seed=3, max_tokens=12) + "\n"
    written: list[str] = []
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    write = sys.stdout.write
    monkeypatch.setattr(sys.stdout, "write", lambda text: written.append(text) or write(text), raising=False)
    assert said(monkeypatch, capsys, *given) == piped == "".join(written)
    assert len(written) > 5


def test_samples_are_those_of_their_seeds(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    model = LanguageModel.load(folder)
    expected = [model.generate("the cat", seed=seed, max_tokens=8) for seed in (5, 6, 7)]
    assert len(set(expected)) > 1
    found = said(monkeypatch, capsys, str(folder), "the cat", "--seed", "5", "--samples", "3", "--max-tokens", "8")
    assert found == "".join(f"{text}\n" for text in expected)
