"""A reader sees the old file or the new one; a full disk is a sentence."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from plume.core.errors import PlumeError, suggest
from plume.core.files import read_json, write_atomic, write_folder, write_json, write_text


def failing(error: Exception) -> Callable[[Path], None]:
    """Writes half, then fails."""

    def write(path: Path) -> None:
        target = path / "part" if path.is_dir() else path
        target.write_text("half")
        raise error

    return write


def disk_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), disk_error(errno.ENOSPC), disk_error(errno.EIO)])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: Exception) -> None:
    path = tmp_path / "data.json"
    write_text(path, "old")
    with pytest.raises((type(error), PlumeError)):
        write_atomic(path, failing(error))
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["data.json"]


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENOSPC, "disk is full"), (errno.EDQUOT, "quota"), (errno.EROFS, "read-only"), (errno.EACCES, "permission denied")],
)
def test_the_system_s_refusals_are_sentences(tmp_path: Path, number: int, said: str) -> None:
    with pytest.raises(PlumeError, match=f"{tmp_path / 'data'}.*{said}"):
        write_atomic(tmp_path / "data", failing(disk_error(number)))
    with pytest.raises(PlumeError, match=said):
        write_folder(tmp_path / "folder", failing(disk_error(number)))


def test_other_system_errors_are_not_dressed_up(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Input/output"):
        write_atomic(tmp_path / "data", failing(disk_error(errno.EIO)))


def test_a_full_disk_found_when_flushing_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise disk_error(errno.ENOSPC)

    write_text(tmp_path / "data", "old")
    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(PlumeError, match="disk is full"):
        write_text(tmp_path / "data", "new")
    assert (tmp_path / "data").read_text() == "old"


def test_folders_above_are_made(tmp_path: Path) -> None:
    write_json(tmp_path / "a" / "b" / "c.json", {"名": [1, 2.5, None]})
    assert read_json(tmp_path / "a" / "b" / "c.json", "x") == {"名": [1, 2.5, None]}
    assert "名" in (tmp_path / "a" / "b" / "c.json").read_text(encoding="utf-8")


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no"):
        write_folder(tmp_path / "folder", failing(ValueError("no")))
    assert list(tmp_path.iterdir()) == []
    write_folder(tmp_path / "folder", lambda path: write_text(path / "file", "whole"))
    assert [str(item.relative_to(tmp_path)) for item in tmp_path.rglob("*")] == ["folder", "folder/file"]


@pytest.mark.parametrize(
    ("content", "said"), [(None, "is missing: what it is"), (b"{", "not readable JSON"), (b"\xff\xfe", "not readable JSON")]
)
def test_unreadable_json_is_said(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "data.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PlumeError, match=f"{path}.*{said}"):
        read_json(path, "what it is")


def test_suggestions_name_the_nearest_and_all() -> None:
    assert suggest("brt", ["gpt", "bert", "albert"]) == "did you mean bert or albert? Known: albert, bert, gpt"
    assert suggest("xyz", ["gpt", "bert"]) == "Known: bert, gpt"
