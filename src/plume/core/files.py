"""Writing so that a reader sees the old file or the new one, never half of one."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from plume.core.errors import PlumeError

_OTHER = "choose another --out"
_REASONS = {
    errno.ENOSPC: f"the disk is full; free some space or {_OTHER}",
    errno.EFBIG: f"the disk is full for files of this size; free some space or {_OTHER}",
    errno.EDQUOT: f"your disk quota is used up; free some space or {_OTHER}",
    errno.EROFS: f"the file system is read-only; {_OTHER}",
    errno.EACCES: f"permission denied; {_OTHER}",
    errno.EPERM: f"permission denied; {_OTHER}",
    errno.EISDIR: f"there is a folder of that name; {_OTHER}",
    errno.ENOTDIR: f"a part of the path is a file, not a folder; {_OTHER}",
    errno.EEXIST: f"a part of the path is a file, not a folder; {_OTHER}",
    errno.ENOENT: f"no folder can be made there; {_OTHER}",
    errno.EBUSY: f"it is in use, as a mount point is; {_OTHER}",
    errno.ENAMETOOLONG: f"the name is too long; {_OTHER}",
}


@contextmanager
def clear_disk_errors(path: Path) -> Iterator[None]:
    """Turn the system's refusal to write into a sentence for the user."""
    try:
        yield
    except Exception as error:
        reason = refusal(error)
        if reason is None or not _concerns(error, path):
            raise
        raise PlumeError(f"Cannot write {path}: {reason}. Nothing was half written; what was there before is intact.") from None


def refusal(error: Exception) -> str | None:
    """Why the system did not write, and what to do; None if this was something else."""
    number = error.errno if isinstance(error, OSError) else None
    return _REASONS.get(number or _in_words(error) or 0)


def _concerns(error: Exception, path: Path) -> bool:
    """Not where something was read from elsewhere: a system error names the file, if it knows it."""
    name = getattr(error, "filename", None)
    if not isinstance(name, str):
        return True
    file, home = Path(name).absolute(), path.absolute().parent
    return file.is_relative_to(home) or home.is_relative_to(file)


def _in_words(error: Exception) -> int | None:
    """safetensors reports the system's refusal only in words: "… (os error 28)"; numpy that a part of an array was not written."""
    found = re.search(r"\(os error (\d+)\)", str(error))
    if found is None and isinstance(error, OSError) and re.search(r"requested and \d+ written", str(error)):
        return errno.ENOSPC
    return int(found.group(1)) if found else None


def make_folder(path: Path) -> None:
    """The folder and those above it, if they are not there."""
    with clear_disk_errors(path):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def removed_if_refused(folder: Path, *, unless: Callable[[], object]) -> Iterator[None]:
    """A new folder goes again if what was to fill it is refused, unless there is something worth keeping by then."""
    try:
        yield
    except PlumeError:
        if not unless():
            shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def locked(file: Path, complaint: str) -> Iterator[None]:
    """One process at a time: held until the end of the block, or of the process; another is told the complaint."""
    make_folder(file.parent)
    with clear_disk_errors(file):
        handle = file.open("w")
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PlumeError(complaint) from None
        yield


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
            with suppress(OSError):  # not there, or no place where it could be
                temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """The whole text or, if anything fails, what was there before."""
    write_atomic(path, lambda target: target.write_text(text, encoding="utf-8"))


def write_array(path: Path, array: Any) -> None:
    """The same, as numpy's own format."""

    def write(target: Path) -> None:
        with target.open("wb") as handle:
            np.save(handle, array)

    write_atomic(path, write)


def write_json(path: Path, data: Any) -> None:
    """The same, as indented JSON."""
    write_text(path, json.dumps(data, ensure_ascii=False, indent=2) + "\n")


def read_json(path: Path, what: str) -> Any:
    """What the file holds; `what` says in errors what it should."""
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
