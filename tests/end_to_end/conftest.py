"""The command line as a user runs it: in this process where that will do, in its own where a process must be killed or multiplied."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from plume.cli import main
from plume.data.corpus import Corpus

SMALL = (
    "network.width=32", "network.depth=2", "network.heads=2", "network.feed_forward=64", "embedding.width=32",
    "training.length=32", "training.batch=8", "tokenizer.vocabulary=320",
)  # fmt: skip
RECURRENT = ("network.width=32", "training.length=4", "training.batch=8", "tokenizer.vocabulary=320")


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def plume(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run a command in this process."""

    def run(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["plume", *map(str, arguments)])
        capfd.readouterr()
        try:
            main()
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return run


@pytest.fixture
def text(corpus: Corpus) -> Path:
    return corpus.files[0]


@pytest.fixture
def pretraining(text: Path) -> Callable[..., list[str]]:
    """The arguments of a run that takes seconds."""

    def arguments(out: Path, family: str = "bert", budget: str = "12steps", settings: tuple[str, ...] = ()) -> list[str]:
        made = [
            "pretrain",
            f"{family}/tiny",
            "--corpus",
            str(text),
            "--out",
            str(out),
            "--budget",
            budget,
            "--log-every",
            "1",
            "--device",
            "cpu",
        ]
        recurrent = family in ("elmo", "ulmfit")
        for setting in (*(RECURRENT if recurrent else SMALL), *settings):
            if not (recurrent and "attention" in setting):
                made += ["--set", setting]
        return made

    return arguments


@pytest.fixture(scope="session")
def start(cache: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start a command in a process of its own, with one thread so that its arithmetic is the same every time."""

    def run(
        arguments: list[str], *, launcher: tuple[str, ...] = (sys.executable, "-m", "plume"), new_group: bool = False
    ) -> subprocess.Popen[str]:
        environment = os.environ | {"PLUME_CACHE": str(cache), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
        return subprocess.Popen(
            [*launcher, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=new_group
        )

    return run
