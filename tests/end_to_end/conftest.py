"""The command line as a user runs it: in this process where that will do, in its own where a process must be killed or multiplied."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from plume.cli import main
from plume.comparing.forks import fork_server, hidden_main
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


class Forked:
    """`plume …` in a process of its own that begins in milliseconds: a fork of a server that has imported everything. As `subprocess.Popen`."""

    def __init__(self, code: str, errors: Path) -> None:
        self._errors = errors
        self._process = fork_server().Process(target=exec, args=(code, {}))
        with hidden_main():
            self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int:
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def wait_until(self, happened: Callable[[], bool]) -> None:
        """However long it takes; a process that ends first has failed, which the test then sees."""
        while not happened() and self.poll() is None:
            time.sleep(0.002)

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def communicate(self) -> tuple[str, str]:
        self.wait()
        return "", self._errors.read_text(encoding="utf-8")


# What a forked process does: its own group and streams, what the test wants held up, then the command.
_COMMAND = """
import os, signal, sys
if {new_group}:
    os.setsid()
from plume.comparing.forks import hear_signals
hear_signals()
signal.signal(signal.SIGINT, signal.default_int_handler)  # as Python begins
os.environ["PLUME_CACHE"] = {cache!r}
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.dup2(os.open({errors!r}, os.O_WRONLY | os.O_CREAT, 0o600), 2)
{first}
sys.argv = ["plume", *{arguments!r}]
from plume.cli import main
main()
"""


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
def ray_address() -> Iterator[str]:
    """A Ray of this test's own, with two CPUs. `auto` finds it, and with it the token that Ray may ask for; an address would not."""
    pytest.importorskip("ray")
    begin = ["start", "--head", "--block", "--num-cpus=2", "--port=0", "--include-dashboard=false", "--disable-usage-stats"]
    running = subprocess.Popen(
        [str(Path(sys.executable).with_name("ray")), *begin], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert running.stdout is not None
        said = []
        for line in running.stdout:
            said.append(line)
            if "--block" in line:  # the last that it says before it waits
                break
        assert running.poll() is None, "".join(said)
        yield "auto"
    finally:
        running.terminate()
        running.communicate()


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
def start(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Forked]]:
    """Start a command in a process of its own; `first` is Python that it runs before, to be held up where the test wants it."""
    folder, started = tmp_path_factory.mktemp("started"), []  # type: Path, list[Forked]

    def run(arguments: list[str], *, new_group: bool = False, first: str = "") -> Forked:
        errors = folder / f"{len(started)}.txt"
        code = _COMMAND.format(new_group=new_group, cache=str(cache), errors=str(errors), first=first, arguments=arguments)
        started.append(Forked(code, errors))
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)


@pytest.fixture(scope="session")
def launch(cache: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start a command as a user does, by an interpreter of its own."""

    def run(arguments: list[str], *, launcher: tuple[str, ...] = (sys.executable, "-m", "plume")) -> subprocess.Popen[str]:
        environment = os.environ | {"PLUME_CACHE": str(cache), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
        return subprocess.Popen([*launcher, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return run
