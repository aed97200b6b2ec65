"""Prediction from file to file: the answers are written as they come, and a run that was ended goes on where it was."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from plume.core.errors import PlumeError
from plume.core.files import clear_disk_errors
from plume.tuning.asking import CHUNK, START_OVER, Asked, WrittenLines, answers
from plume.tuning.stream_bar import StreamBar


@dataclass(frozen=True, kw_only=True)
class Streamed:
    """How prediction over a file ended."""

    before: int  # answers that were there when it began
    written: int
    account: list[str]
    stopped_by: str | None = None  # a signal's name


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a run as Ctrl-C does."""


def write_answers(
    asked: Asked, out: Path, *, resume: bool = False, overwrite: bool = False, chunk: int = CHUNK, quiet: bool = True
) -> Streamed:
    """Every answer a JSON line, in the file's order; what is in `out` is valid at every moment.

    Ctrl-C and SIGTERM drop the chunk under way, and `resume` begins with it again; so the file ends up as if nothing had happened.
    """
    _require_free(out, asked.paths, resume=resume, overwrite=overwrite)
    before = whole_lines(out) if resume and out.exists() else WrittenLines()
    count, size, stopped = before.count, before.size, None
    with StreamBar(asked.paths, quiet=quiet) as bar:
        try:
            with _terminable():
                for records in answers(asked, before=before, chunk=chunk):
                    size = _append(out, records, at=size)
                    count += len(records)
                    bar.advance(records[-1].get("line"), count)
        except KeyboardInterrupt as stop:
            stopped = "SIGTERM" if isinstance(stop, Terminated) else "SIGINT"
    return Streamed(before=before.count, written=count - before.count, account=asked.account(), stopped_by=stopped)


def json_line(record: Mapping[str, Any]) -> str:
    """Half a surrogate pair, which UTF-8 cannot write, is escaped.

    >>> json_line({"text": "né"}), json_line({"text": chr(0xD800)}).isascii()
    ('{"text": "né"}', True)
    """
    line = json.dumps(record, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:
        return json.dumps(record)
    return line


def whole_lines(out: Path) -> WrittenLines:
    """What a run left behind. Half a line at the end, which a kill can leave, does not count."""
    count, size, last = 0, 0, b"{}"
    with clear_disk_errors(out), out.open("rb") as handle:
        for line in handle:
            if line.endswith(b"\n"):
                count, size, last = count + 1, size + len(line), line
    try:
        record = json.loads(last)
    except (json.JSONDecodeError, UnicodeDecodeError):
        record = None
    if not isinstance(record, dict):
        raise PlumeError(f"{out}, line {count}: no JSON object, so this is not what 'plume predict' wrote. {START_OVER}")
    return WrittenLines(count=count, size=size, last=record)


def _append(out: Path, records: Sequence[Mapping[str, Any]], *, at: int) -> int:
    """Behind the first `at` bytes: all of them or, where that fails, none. Returns where the file ends."""
    lines = "".join(json_line(record) + "\n" for record in records).encode()
    with clear_disk_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            with out.open("ab") as handle:
                handle.truncate(at)
                handle.write(lines)
        except BaseException:
            if not at:
                out.unlink(missing_ok=True)
            elif out.is_file():
                os.truncate(out, at)
            raise
    return at + len(lines)


def _require_free(out: Path, paths: Sequence[Path], *, resume: bool, overwrite: bool) -> None:
    if any(out.resolve() == path.resolve() for path in paths):
        raise PlumeError(f"--out {out} is the input itself: choose another.")
    if out.exists() and not out.is_file():
        raise PlumeError(f"--out {out} is no file: name one, such as {out / 'out.jsonl'}.")
    if resume and overwrite:
        raise PlumeError("--resume keeps what is there, --overwrite does not: give one of them.")
    if out.exists() and not resume and not overwrite:
        raise PlumeError(f"{out} exists already: resume it with --resume, replace it with --overwrite, or choose another --out.")


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM interrupts as Ctrl-C does: at once, since nothing is lost that --resume does not do again."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
