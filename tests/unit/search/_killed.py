"""A process that changes an index step by step and kills itself at a given line of plume.search: run by test_crash.py."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

from plume.search.embedded import building
from plume.search.index import Index

STEPS = 14
building._TAIL = 30  # type: ignore[misc]  # so that what faiss searches is built again within a few steps


def vectors(step: int) -> Any:
    return np.random.default_rng(step).normal(size=(40, 8)).astype(np.float32)


def change(index: Index, step: int) -> None:
    """Add, remove, update and compact in turn."""
    if step % 7 == 6:
        index.compact()
    elif step % 3 == 2:
        index.remove([f"{step - 2}-{number}" for number in range(0, 40, 3)])
    elif step % 5 == 3:
        index.update(
            ({"id": f"{step - 3}-{number}", "text": f"step {step} word{number}", "n": step} for number in range(40)), vectors=vectors(step)
        )
    else:
        index.add(
            ({"id": f"{step}-{number}", "text": f"step {step} word{number}", "n": number} for number in range(40)), vectors=vectors(step)
        )


def content(index: Index) -> list[tuple[Any, ...]]:
    return sorted((one.document, one.text, *one.metadata.items()) for one in index.backend.passages())


def main(folder: Path, line: int) -> None:
    with Index.open(folder) as index:
        left = line

        def count(frame: Any, event: str, _: Any) -> Any:
            nonlocal left
            if "plume/search" not in frame.f_code.co_filename:
                return None
            left -= event == "line"
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return count

        sys.settrace(count)
        for step in range(STEPS):
            change(index, step)
            with (folder.parent / "done").open("a") as told:
                told.write(f"{step}\n")
        sys.settrace(None)
    print(line - left)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
