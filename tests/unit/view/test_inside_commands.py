"""plume view with --word, --layers, --view predictions and gradients: pages, and errors that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import plume
from plume.cli import main
from plume.model.use.language_model import LanguageModel


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["plume", "view", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out + said.err


def test_pages(
    language_model: Callable[[str], LanguageModel], tuned: Callable[..., Any], tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    language_model("bert").save(tmp_path / "bert")
    tuned("bert", "classification").save(tmp_path / "tuned")
    (tmp_path / "words.txt").write_text("The cat finds the letter.\nMy sister forgets a letter.\nNo letter came.\n", encoding="utf-8")
    out = tmp_path / "page.html"
    for words, name in (
        ((tmp_path / "bert", "The cat ___ the letter.", "--view", "predictions", "--language", "zh"), "predictions"),
        ((tmp_path / "tuned", "The cat", "--view", "gradients", "--baseline", "pad"), "gradients"),
        ((tmp_path / "bert", "--word", "letter", "--text", tmp_path / "words.txt"), "senses"),
        ((tmp_path / "bert", "--layers"), "layers"),
    ):
        code, said = run(capsys, monkeypatch, *words, "--out", out)
        assert code == 0 and f"{name} → {out}" in said
        assert f'id="{name}"' in out.read_text(encoding="utf-8")
    for words, wrong in (
        ((tmp_path / "bert", "--word", "letter"), "--text corpus.txt"),
        ((tmp_path / "bert", "x", "--view", "gradients"), "tuned for a task"),
        ((tmp_path / "bert", "--layers", "--task", "pos"), "no task with its files"),
        ((tmp_path / "bert", "x", "--view", "predictions", "--against", tmp_path / "tuned"), "leave out --against"),
        ((tmp_path / "bert",), "Say what to look at"),
    ):
        code, said = run(capsys, monkeypatch, *words)
        assert code == 2 and wrong in " ".join(said.split()) and "Traceback" not in said


def test_word_vectors(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    (tmp_path / "text.txt").write_text("the cat finds the letter near the river\n" * 60, encoding="utf-8")
    plume.pretrain(
        "word2vec/tiny", corpus=tmp_path / "text.txt", out=tmp_path / "w2v", overrides=["least=1", "epochs=1"], quiet=True, threads=1
    )
    code, said = run(capsys, monkeypatch, tmp_path / "w2v", "--word", "cat", "--text", tmp_path / "text.txt")
    assert code == 2 and "one vector a word" in " ".join(said.split())
