"""Writing so that a reader sees the old file or the new one, never half of one."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError


@contextmanager
def clear_disk_errors(path: Path) -> Iterator[None]:
    """Turn the system's refusal to write into a sentence for the user."""
    try:
        yield
    except Exception as error:
        number = error.errno if isinstance(error, OSError) else _system_error(error)
        reason = {
            errno.ENOSPC: "the disk is full; free some space or choose another --out",
            errno.EFBIG: "the disk is full for files of this size; free some space or choose another --out",
            errno.EDQUOT: "your disk quota is used up; free some space or choose another --out",
            errno.EROFS: "the file system is read-only; choose another --out",
            errno.EACCES: "permission denied; choose another --out",
            errno.EISDIR: "there is a folder of that name; choose another --out",
            errno.ENOTDIR: "a part of the path is a file, not a folder; choose another --out",
        }.get(number or 0)
        if reason is None:
            raise
        raise PlumeError(f"Cannot write {path}: {reason}. Nothing was half written; what was there before is intact.") from None


def _system_error(error: Exception) -> int | None:
    """safetensors reports the system's refusal only in words: "… (os error 28)"."""
    found = re.search(r"\(os error (\d+)\)", str(error))
    return int(found.group(1)) if found else None


def write_atomic(path: Path, write: Callable[[Path], object]) -> None:
    """Call `write` on a temporary name beside `path`, flush to disk, then rename."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with clear_disk_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(temporary)
            with temporary.open("rb") as handle:
                os.fsync(handle.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_atomic(path, lambda target: target.write_text(text, encoding="utf-8"))


def write_json(path: Path, data: Any) -> None:
    write_text(path, json.dumps(data, ensure_ascii=False, indent=2) + "\n")


def read_json(path: Path, what: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PlumeError(f"{path} is missing: {what}.") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise PlumeError(f"{path} is not readable JSON ({error}): {what}.") from None


def write_folder(path: Path, fill: Callable[[Path], object]) -> None:
    """The same for a folder that does not exist yet: it appears whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with clear_disk_errors(path):
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
            fill(temporary)
            temporary.rename(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
