"""plume chat: a conversation in a terminal, and over a pipe."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import plume
from plume.cli import main
from plume.cli._conversation import Conversation, talk
from plume.core.part import replace
from plume.model.checkpoint import save_model
from plume.readers.conversations import Role, Turn, example_of
from plume.tasks.dialogue import TASK
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.declared import Declared
from plume.tuning.tuned import TunedModel, assemble, reading_order
from plume.tuning.writing.by_text import approach


@pytest.fixture(scope="module")
def folder(miniature: Any, built: Any, tokenizer_for: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A miniature with weights at random, as if it had been tuned; and the model below it."""
    recipe = miniature("gpt2", length=128)
    tokenizer = tokenizer_for(recipe)
    body = built(recipe, vocabulary=tokenizer.size, seed=4).float()
    example = replace(example_of([Turn(Role.USER, "a box")]), answer="the cat")
    task = approach(replace(TASK, longest=8), body, tokenizer, [example])
    declared = Declared(tasks=(task,), adaptation=FullTuning(), length=128, order=reading_order(body, tokenizer))
    made = tmp_path_factory.mktemp("chat")
    TunedModel(assemble(body, declared), tokenizer, declared).save(made / "chat")
    save_model(made / "gpt2", body, tokenizer)
    return made


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["plume", "chat", *arguments])
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    with pytest.raises(SystemExit) as end:
        main()
    captured = capsys.readouterr()
    return int(end.value.code or 0), captured.out, captured.err


def test_over_a_pipe_every_line_is_a_message(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = tmp_path / "talk.jsonl"
    typed = f"the cat\n\na box\n/undo\n/undo\na letter\n/save {saved}\n/system my sister\nthe cat\n/nothing\n"
    code, out, err = run(monkeypatch, capsys, typed, str(folder / "chat"), "--temperature", "0")
    assert code == 0
    model = plume.load(folder / "chat")
    assert isinstance(model, TunedModel)

    def answer(*said: str, system: str | None = None) -> str:
        before = [{"role": "system", "content": system}] if system else []
        return str(
            model.reply(before + [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)], temperature=0)
        )

    first = answer("the cat")
    expected = [first, answer("the cat", first, "a box"), answer("a letter"), answer("the cat", system="my sister")]
    assert out.splitlines() == expected
    assert err.splitlines() == [
        "Taken back: a box", "Taken back: the cat", f"2 messages → {saved}", "New conversation, system message: my sister",
        "There is no command /nothing. /help lists them",
    ]  # fmt: skip
    written = json.loads(saved.read_text(encoding="utf-8"))
    assert written == {"messages": [{"role": "user", "content": "a letter"}, {"role": "assistant", "content": answer("a letter")}]}


def test_replies_are_drawn_alike_with_the_same_seed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = (str(folder / "chat"), "--seed", "3", "--temperature", "1.5", "--top-k", "40")
    found = [run(monkeypatch, capsys, "the cat\n/reset\nthe cat\n", *given)[1] for _ in range(2)]
    assert found[0] == found[1] and len(set(found[0].splitlines())) == 2, "asked again, it may say something else"


@pytest.mark.parametrize(
    ("name", "words"),
    [("gpt2", "is not fine-tuned on dialogue. Do it with: plume tune"), ("nowhere", "does not exist")],
)
def test_a_model_that_does_not_converse(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, words: str
) -> None:
    code, out, err = run(monkeypatch, capsys, "", str(folder / name))
    assert code == 2 and out == "" and words in err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_an_interrupted_reply_counts_as_far_as_it_came(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def stream(messages: list[dict[str, str]], seed: int) -> Iterator[str]:
        yield "Once "
        if seed == 0:
            raise KeyboardInterrupt
        yield "more"

    typed = iter(["tell me", KeyboardInterrupt(), "go on", EOFError()])

    def line(prompt: str) -> str:
        given = next(typed)
        if isinstance(given, BaseException):
            raise given
        return given

    monkeypatch.setattr("builtins.input", line)
    conversation, out, notes = Conversation(stream), io.StringIO(), io.StringIO()
    talk(conversation, Terminal(), out, notes)
    assert [one["content"] for one in conversation.messages] == ["tell me", "Once ", "go on", "Once more"]
    assert out.getvalue() == "Once \nOnce more\n" and "Ctrl-D ends" in notes.getvalue()
    assert Conversation(stream).command("/undo") == "Nothing to undo" and "/save FILE" in Conversation(stream).command("/help")
    (tmp_path / "file").write_text("")
    assert conversation.command(f"/save {tmp_path / 'file' / 'talk.jsonl'}").startswith("Not saved: ")


def test_in_a_terminal(folder: Path) -> None:
    """A process of its own, at the other end of a terminal: asked, answered, interrupted at the prompt, ended by Ctrl-D."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "plume", "chat", str(folder / "chat"), "--temperature", "0"]
    # Tests that run in the background of a shell ignore Ctrl-C, and so would what they start.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, preexec_fn=heard)
    os.close(theirs)
    seen = b""

    def until(mark: bytes) -> None:
        nonlocal seen
        while mark not in seen:
            seen += os.read(ours, 4096)
        seen = seen[seen.index(mark) + len(mark) :]

    model = plume.load(folder / "chat")
    assert isinstance(model, TunedModel)
    until(b"> ")
    os.write(ours, b"the cat\n")
    until(b"the cat\r\n")
    until(model.reply("the cat", temperature=0).encode().replace(b"\n", b"\r\n"))
    until(b"> ")
    os.kill(process.pid, signal.SIGINT)
    until(b"Ctrl-D ends the conversation.")
    until(b"> ")
    os.write(ours, b"\x04")
    assert process.wait() == 0
    os.close(ours)
