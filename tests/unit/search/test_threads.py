"""One Index in several threads: what is searched is what was last committed, whoever adds meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plume.search import adding
from plume.search.index import Index


def in_another_thread(work: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join(60)
    return found[0]


@pytest.mark.parametrize("by", ["vectors", "words", "hybrid"])
def test_what_is_being_added_is_not_found_before_it_is_committed(
    by: Any, tmp_path: Path, hashed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "CHUNK", 2)
    with Index.create(tmp_path / "idx", model=hashed) as index:
        index.add([{"id": "old", "text": "a red fox"}])
        search = lambda: [hit.id for hit in index.search("red fox", by=by, where="id != 'x'")]

        def documents() -> Iterator[dict[str, str]]:
            for number in range(4):
                assert in_another_thread(search) == ["old"]
                assert in_another_thread(lambda: len(index)) == 1
                yield {"id": f"new {number}", "text": "a red fox too"}

        index.add(documents())
        assert len(search()) == 5 and index.check() == []


def test_searching_goes_on_while_another_thread_changes_the_index(tmp_path: Path, hashed: Any) -> None:
    """Each answer is of one committed state: every commit leaves a multiple of three."""
    with Index.create(tmp_path / "idx", model=hashed) as index:
        index.add([{"id": f"first {number}", "text": "a red fox"} for number in range(3)])
        done, counts, errors = threading.Event(), list[int](), list[BaseException]()

        def search() -> None:
            try:
                while not done.is_set():
                    counts.append(len(index.search("red fox", top=1_000)))
            except BaseException as error:  # the test must see it
                errors.append(error)

        threads = [threading.Thread(target=search) for _ in range(2)]
        for thread in threads:
            thread.start()
        for step in range(8):
            index.add([{"id": f"{step} {number}", "text": "a red fox"} for number in range(3)])
            if step % 3 == 2:
                index.remove([f"{step} {number}" for number in range(3)])
            if step == 5:
                index.compact()
        done.set()
        for thread in threads:
            thread.join(60)
        assert errors == [] and counts and all(count % 3 == 0 for count in counts)
        assert index.check() == []


def test_two_threads_may_add(tmp_path: Path, hashed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other: what one of them has to take back is not the other's."""
    monkeypatch.setattr(adding, "CHUNK", 1)
    with Index.create(tmp_path / "idx", model=hashed) as index:
        began, refused = threading.Event(), list[BaseException]()

        def broken() -> Iterator[dict[str, Any]]:
            yield {"id": "lost", "text": "a red fox"}
            began.set()
            waiting.join(0.2)  # the other would be done by now, were it not made to wait
            yield {"id": "bad", "text": 3}

        def add_broken() -> None:
            try:
                index.add(broken())
            except BaseException as error:
                refused.append(error)

        def add_good() -> None:
            began.wait(60)
            index.add([{"id": "kept", "text": "a red fox"}])

        waiting = threading.Thread(target=add_good)
        other = threading.Thread(target=add_broken)
        waiting.start()
        other.start()
        waiting.join(60)
        other.join(60)
        assert len(refused) == 1 and [hit.id for hit in index.search("fox")] == ["kept"]
