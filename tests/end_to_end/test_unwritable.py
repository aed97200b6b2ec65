"""Every command that writes, into places that cannot be written: one clear message, exit code 2, and nothing left behind."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plume as library
from plume.comparing.running.run import locked
from plume.core.errors import PlumeError
from plume.model.checkpoint import save_model

Run = Callable[..., Any]
LABELLED = "text\tlabel\n" + "".join(f"the dog walks {number}\t{'yes' if number % 2 else 'no'}\n" for number in range(40))


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory, miniature: Run, tokenizer_for: Run) -> Path:
    """An untrained BERT, the same for transformers, word vectors, and files."""
    made = tmp_path_factory.mktemp("given")
    recipe = miniature("bert")
    tokenizer = tokenizer_for(recipe)
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    model.initialise(0)
    save_model(made / "bert", model, tokenizer)
    library.export_hf(made / "bert", out=made / "hf")
    rows = np.random.default_rng(0).normal(size=(60, 16))
    lines = [f"word{number} {' '.join(f'{value:.4f}' for value in row)}" for number, row in enumerate(rows)]
    (made / "vectors.txt").write_text(f"{len(lines)} 16\n" + "\n".join(lines) + "\n")
    (made / "table.tsv").write_text(LABELLED)
    (made / "texts.txt").write_text("the dog walks in the rain\n" * 60)
    return made


# The arguments of each command, its target last; then whether that is a file or a folder.
COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "map": (("map", "{given}/vectors.txt", "--method", "pca", "--out"), "map.html"),
    "map as a picture": (("map", "{given}/vectors.txt", "--method", "pca", "--out"), "map.png"),
    "export": (("export", "{given}/bert", "--out"), ""),
    "import": (("import", "{given}/hf", "--out"), ""),
    "import of word vectors": (("import", "{given}/vectors.txt", "--out"), ""),
    "pretrain": (
        ("pretrain", "bert", "--init", "{given}/bert", "--corpus", "{corpus}", "--budget", "1steps", "--device", "cpu", "-q", "--out"), "",
    ),
    "pretrain word vectors": (
        ("pretrain", "word2vec/tiny", "--corpus", "{corpus}", "--set", "dimension=8", "--set", "least=1", "--threads", "1", "-q", "--out"), "",
    ),
    "tune": (
        ("tune", "{given}/bert", "--task", "classification", "--train", "{given}/table.tsv", "--budget", "1steps", "--device", "cpu", "-q",
         "--out"), "",
    ),
    "predict": (("predict", "{given}/bert", "{given}/texts.txt", "--task", "zero-shot", "--labels", "dog,rain", "-q", "--out"), "out.jsonl"),
}  # fmt: skip


@pytest.fixture
def bad(plume: Run, given: Path, text: Path, tmp_path: Path) -> Callable[[str, Path], None]:
    """Run a command with this target: it must be refused, and leave no file that was not there."""

    def run(command: str, target: Path) -> None:
        arguments = [part.format(given=given, corpus=text) for part in COMMANDS[command][0]]
        before = {path for place in (tmp_path, given) for path in place.rglob("*")}
        result = plume(*arguments, target)
        assert result.code == 2, result
        assert result.err.startswith("plume: ") and "Traceback" not in result.err
        assert {path for place in (tmp_path, given) for path in place.rglob("*")} == before

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_below_a_file_or_where_nothing_can_be_made(command: str, bad: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    name = COMMANDS[command][1] or "new"
    for target in (tmp_path / "file" / name, tmp_path / "file" / "further" / name, Path("/proc/nowhere") / name, Path("/dev/null") / name):
        bad(command, target)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_where_a_file_is_wanted_and_the_other_way_round(command: str, bad: Run, tmp_path: Path) -> None:
    target = tmp_path / (COMMANDS[command][1] or "new")
    if COMMANDS[command][1]:
        target.mkdir()
    else:
        target.write_text("mine")
    bad(command, target)
    assert target.is_dir() or target.read_text() == "mine"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk(command: str, bad: Run, tmp_path: Path) -> None:
    with _full():
        bad(command, tmp_path / (COMMANDS[command][1] or "new"))


def test_a_screen_that_takes_nothing(given: Path) -> None:
    code = "import sys; from plume.cli import main; sys.argv = ['plume', 'neighbours', sys.argv[1], 'word1']; main()"
    with open("/dev/full", "w") as full:
        result = subprocess.run([sys.executable, "-c", code, str(given / "vectors.txt")], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, "the disk is full" in result.stderr.splitlines()[0]) == (2, True), result.stderr


def test_a_study(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(PlumeError, match="a part of the path is a file"), locked(tmp_path / "file" / "study"):
        pass


@contextmanager
def _full() -> Iterator[None]:
    """No file may grow over two kilobytes: the system then refuses to write as it does when a disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
