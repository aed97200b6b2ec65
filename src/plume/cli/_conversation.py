"""A conversation in the terminal or over a pipe: what is typed, said and undone."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TextIO

from plume.core.errors import PlumeError

HELP = """\
/system TEXT   set the system message, and start over; without TEXT, remove it
/reset         forget the conversation
/undo          take back the last message and its reply
/save FILE     write the conversation, as a line of a file that 'plume tune --task dialogue' reads
/help          this list
Ctrl-C stops a reply, Ctrl-D ends the conversation."""

Message = dict[str, str]
Stream = Callable[[list[Message], int], Iterator[str]]  # of the reply to these messages, drawn with this seed


class Conversation:
    """What was said so far. Each reply is drawn with a seed of its own, so that the same question may get another answer."""

    def __init__(self, stream: Stream, *, system: str | None = None, seed: int = 0) -> None:
        self.stream, self.system, self.seed = stream, system, seed
        self.messages: list[Message] = []
        self.replies = 0

    @property
    def all_messages(self) -> list[Message]:
        """With the system message first, if there is one."""
        return ([{"role": "system", "content": self.system}] if self.system else []) + self.messages

    def say(self, text: str) -> Generator[str]:
        """The reply in pieces; what came before an interruption counts as said."""
        self.messages.append({"role": "user", "content": text})
        seed, self.replies = self.seed + self.replies, self.replies + 1
        said = ""
        try:
            for piece in self.stream(self.all_messages, seed):
                said += piece
                yield piece
        finally:
            self.messages.append({"role": "assistant", "content": said})

    def command(self, line: str) -> str:
        """Do what a line that begins with a slash says; what there is to tell about it."""
        name, _, rest = line.partition(" ")
        rest = rest.strip()
        match name:
            case "/system":
                self.system, self.messages = rest or None, []
                return "New conversation" + (f", system message: {rest}" if rest else ", without a system message")
            case "/reset":
                self.messages = []
                return "New conversation"
            case "/undo":
                if not self.messages:
                    return "Nothing to undo"
                taken = self.messages[-2]["content"]
                self.messages = self.messages[:-2]
                return f"Taken back: {taken}"
            case "/save":
                return self._save(rest)
            case "/help":
                return HELP
        return f"There is no command {name}. /help lists them"

    def _save(self, name: str) -> str:
        from plume.core.files import write_text

        if not name:
            return "Give a file: /save FILE"
        try:
            write_text(Path(name), json.dumps({"messages": self.all_messages}, ensure_ascii=False) + "\n")
        except (PlumeError, OSError) as error:
            return f"Not saved: {error}"
        return f"{len(self.all_messages)} messages → {name}"


def talk(conversation: Conversation, read: TextIO, write: TextIO, notes: TextIO) -> None:
    """Message after message until the input ends. What is not a reply goes to `notes`."""
    typed = read.isatty()
    if typed:
        print("Type a message. /help lists the commands, Ctrl-D ends.", file=notes, flush=True)
    while (line := _line(read, typed=typed, notes=notes)) is not None:
        if not line:
            continue
        if line.startswith("/"):
            print(conversation.command(line), file=notes, flush=True)
            continue
        try:
            with contextlib.closing(conversation.say(line)) as reply:
                for piece in reply:
                    write.write(piece)
                    write.flush()
        except KeyboardInterrupt:
            if not typed:
                raise
            print(" …", file=notes, end="", flush=True)
        print(file=write, flush=True)


def _line(read: TextIO, *, typed: bool, notes: TextIO) -> str | None:
    """The next line; None: the input has ended. In a terminal it can be edited."""
    if not typed:
        line = read.readline()
        return line.strip() if line else None
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  # makes `input` an editor with a history
    try:
        return input("> ").strip()
    except KeyboardInterrupt:
        print("\nCtrl-D ends the conversation.", file=notes, flush=True)
        return ""
    except EOFError:
        print(file=notes, flush=True)
        return None
