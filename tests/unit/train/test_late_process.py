"""Under torchrun a process may be late: what the others wrote meanwhile must not change which way it takes."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plume.train.settings import make_settings
from plume.train.stores import run_tokenizer


@dataclass
class Fake:
    """A process of two, which are threads here."""

    rank: int
    barrier: threading.Barrier
    size: int = 2

    @property
    def first(self) -> bool:
        return self.rank == 0

    def wait(self) -> None:
        self.barrier.wait()


def test_a_late_process_waits_as_often_as_the_first(corpus: Any, tmp_path: Path) -> None:
    barrier = threading.Barrier(2, timeout=120)  # only so that a mistake ends
    settings = make_settings("bert/tiny", corpus=corpus.files, budget="1steps", overrides=["tokenizer.vocabulary=160"])
    found: dict[int, Any] = {}

    def run(rank: int) -> None:
        found[rank] = run_tokenizer(settings, tmp_path / "run", corpus, Fake(rank, barrier), quiet=True)  # type: ignore[arg-type]

    first = threading.Thread(target=run, args=(0,))
    first.start()
    while not barrier.n_waiting:  # the first does what it does alone
        assert first.is_alive()
    run(1)
    first.join()
    assert found[0].fingerprint == found[1].fingerprint
