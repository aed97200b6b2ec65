"""Vectors written as they come: .npy or JSON lines, under a temporary name until they are whole; a run that was killed goes on.

Beside the unfinished file lies a note that says of what it is and how much of it counts. It is written after each chunk's data is on disk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.lib import format as npy

from plume.core.errors import PlumeError
from plume.core.files import clear_disk_errors, make_folder, read_json, write_json
from plume.vectors.transform import Floats

DIGITS = 6  # of a number in JSON lines


class VectorFile:
    """The file under way. Leaving the `with` block without `finish` keeps what was written, for the next time."""

    def __init__(self, out: Path, *, of: dict[str, Any], resume: bool = False, overwrite: bool = False) -> None:
        if out.suffix not in (".npy", ".jsonl"):
            raise PlumeError(f"--out {out}: vectors are written as .npy or .jsonl.")
        if out.exists() and not overwrite:
            raise PlumeError(f"{out} exists already and is whole: choose another --out, or --overwrite.")
        self.out, self.of = out, json.loads(json.dumps(of))
        self._part, self._note = out.with_name(f".{out.name}.part"), out.with_name(f".{out.name}.part.json")
        make_folder(out.parent)
        self.done, self.width = self._before(resume=resume)

    def _before(self, *, resume: bool) -> tuple[int, int | None]:
        """How many vectors of an earlier run count, and their width."""
        if not resume or not (self._note.exists() and self._part.exists()):
            if self._note.exists() and not resume:
                self._note.unlink()
            with clear_disk_errors(self.out):
                self._part.write_bytes(b"")
            return 0, None
        note = read_json(self._note, "it should say how far the vectors have come; leave --resume out to start over")
        if note["of"] != self.of:
            changed = [name for name in self.of if note["of"].get(name) != self.of[name]]
            raise PlumeError(f"{self.out} was begun with another {' and '.join(changed)}: leave --resume out to start over.")
        os.truncate(self._part, note["size"])
        return int(note["done"]), note["width"]

    def append(self, texts: Sequence[str], vectors: Floats) -> None:
        """A chunk, which counts when this returns."""
        if self.width is not None and vectors.shape[1] != self.width:
            raise PlumeError(f"Vectors of {vectors.shape[1]} dimensions do not fit those of {self.width} in {self.out}.")
        self.width = vectors.shape[1]
        with clear_disk_errors(self.out), self._part.open("ab") as handle:
            if self.out.suffix == ".npy":
                if not handle.tell():
                    handle.write(self._header(0))
                handle.write(np.ascontiguousarray(vectors, np.float32).data)
            else:
                handle.write("".join(json_line(text, vector) for text, vector in zip(texts, vectors, strict=True)).encode())
            handle.flush()
            os.fsync(handle.fileno())
            size = handle.tell()
        self.done += len(vectors)
        write_json(self._note, {"of": self.of, "done": self.done, "width": self.width, "size": size})

    def finish(self) -> None:
        """Give it its name."""
        with clear_disk_errors(self.out):
            if self.out.suffix == ".npy":
                with self._part.open("r+b") as handle:
                    handle.write(self._header(self.done))
                    handle.flush()
                    os.fsync(handle.fileno())
            self._part.replace(self.out)
            self._note.unlink(missing_ok=True)

    def _header(self, count: int) -> bytes:
        """numpy leaves room for the first dimension to grow, so it is as long for any count."""
        from io import BytesIO

        written = BytesIO()
        npy.write_array_header_1_0(written, {"descr": "<f4", "fortran_order": False, "shape": (count, self.width or 0)})
        return written.getvalue()

    def __enter__(self) -> VectorFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self.done:  # nothing worth keeping
            self._part.unlink(missing_ok=True)
            self._note.unlink(missing_ok=True)


def json_line(text: str, vector: Floats) -> str:
    """A text with its vector."""
    record = {"text": text, "vector": [round(value, DIGITS) for value in vector.tolist()]}
    line = json.dumps(record, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        line = json.dumps(record)
    return line + "\n"
