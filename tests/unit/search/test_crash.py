"""Killed at any moment, an index has its last committed state; a disk that fills up, or a file that was changed, is told of."""

from __future__ import annotations

import random
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.search.index import Index

sys.path.insert(0, str(Path(__file__).parent))
import _killed

pytest.importorskip("faiss")


def empty(folder: Path) -> Path:
    Index.create(folder / "idx", dimension=8, type="IVF4,Flat").close()
    return folder / "idx"


def run(folder: Path, line: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, _killed.__file__, str(folder), str(line)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What the index holds after each step."""
    with Index.open(empty(tmp_path_factory.mktemp("whole"))) as index:
        found = [_killed.content(index)]
        for step in range(_killed.STEPS):
            _killed.change(index, step)
            found.append(_killed.content(index))
            assert index.check() == []
    return found


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many there are in all."""
    whole = run(empty(tmp_path_factory.mktemp("lines")), -1)
    assert whole.returncode == 0, whole.stderr
    return int(whole.stdout)


def killed_at(line: int, folder: Path, states: list[Any]) -> None:
    index = empty(folder)
    process = run(index, line)
    assert process.returncode == -signal.SIGKILL, process.stderr
    done = len((folder / "done").read_text().split()) if (folder / "done").exists() else 0
    with Index.open(index) as opened:
        assert opened.check() == []
        assert _killed.content(opened) in (states[done], states[done + 1])
        opened.add([{"id": "after", "text": "life goes on", "n": 1}], vectors=np.ones((1, 8)))
        assert opened.check() == []
        assert opened.search("life", by="words")[0].id == "after"


@pytest.mark.parametrize("seed", range(6))
def test_a_kill_leaves_what_was_committed(seed: int, tmp_path: Path, states: list[Any], lines: int) -> None:
    killed_at(random.Random(seed).randint(1, lines - 1), tmp_path, states)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_fifty_kills(seed: int, tmp_path: Path, states: list[Any], lines: int) -> None:
    killed_at(random.Random(seed).randint(1, lines - 1), tmp_path, states)


def test_readers_keep_their_state_while_it_is_compacted(tmp_path: Path) -> None:
    """What a search has begun with it ends with, though the files are gone by then."""
    folder = empty(tmp_path)
    with Index.open(folder) as writer, Index.open(folder) as reader:
        _killed.change(writer, 0)
        with reader.backend.snapshot():
            before = reader.backend.search_vectors(_killed.vectors(0)[:3], top=3)
            writer.remove([f"0-{number}" for number in range(20)])
            writer.compact()
            writer.add([{"id": "x", "text": "x"}], vectors=np.ones((1, 8)))
            again = reader.backend.search_vectors(_killed.vectors(0)[:3], top=3)
            assert (again.keys == before.keys).all()
            assert reader.backend.get([0])[0].document == "0-0"
        assert reader.backend.count() == (21, 21)


@pytest.mark.parametrize("size", [40_000, 150_000, 400_000])
def test_a_full_disk(size: int, tmp_path: Path) -> None:
    folder = empty(tmp_path)
    with Index.open(folder) as index:
        _killed.change(index, 0)
        kept = _killed.content(index)
        many = ({"id": f"many{number}", "text": f"a text of words {number} " * 20} for number in range(3_000))
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            with pytest.raises(PlumeError, match=r"Cannot write .*(full|space)"):
                index.add(many, vectors=np.ones((3_000, 8)))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert _killed.content(index) == kept and index.check() == []
        index.add([{"id": "after", "text": "room again", "n": 1}], vectors=np.ones((1, 8)))
        assert index.check() == []


def test_check_sees_what_was_changed(tmp_path: Path) -> None:
    folder = empty(tmp_path)
    with Index.open(folder) as index:
        _killed.change(index, 0)
        _killed.change(index, 1)
    for name, said in (("vectors-0.f32", "not those that were written"), ("ann-*.faiss", "not the file that was written")):
        broken = tmp_path / "broken"
        shutil.copytree(folder, broken)
        file = next(broken.glob(name))
        data = bytearray(file.read_bytes())
        data[len(data) - 10] ^= 0x40
        file.write_bytes(data)
        assert any(said in problem for problem in Index.open(broken).check())
        shutil.rmtree(broken)
    cut = next(folder.glob("vectors-*"))
    cut.write_bytes(cut.read_bytes()[:-100])
    assert "it was cut" in Index.open(folder).check()[0]
