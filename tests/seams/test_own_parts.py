"""Parts of a user's own: declared in a recipe file, trained, saved by name, opened again only where the user names the file."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import plume as library
from plume.cli import main
from plume.core import own_parts
from plume.core.errors import PlumeError
from plume.core.part import part_from_json
from plume.recipes._own import changed, read_recipe_file

Run = Callable[..., tuple[int, str, str]]

FILE = '''
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F

import plume
from plume.parts import Corrupt, Head, HeadModule, Learned, Loss, Shown, at, masked_lm, replace


@dataclass(frozen=True, kw_only=True)
class Echo(Corrupt):
    """A selected token shows the mask, or else the token before it."""

    shows_mask: ClassVar[bool] = True
    mask: float = 0.8

    def __call__(self, rows, chosen, draws, alphabet):
        before = np.roll(rows.tokens, 1, axis=1)
        hidden = np.where(draws.uniform(rows.tokens.shape[1]) < self.mask, alphabet.mask, before)
        return Shown(tokens=np.where(chosen.tokens, hidden, rows.tokens), length=rows.length)


@dataclass(frozen=True, kw_only=True)
class Cosine(Head):
    """Tokens by the angle between their vectors and the state."""

    sharpness: float = 10.0

    def build(self, dims):
        return CosineModule(self, dims)

    def problems(self, recipe, name):
        if self.sharpness <= 0:
            yield f"{name} tells tokens apart by a sharpness above 0, not {self.sharpness}."


class CosineModule(HeadModule):
    def __init__(self, part, dims):
        super().__init__()
        self.token = dims.token
        self.sharpness = torch.nn.Parameter(torch.tensor(part.sharpness))

    def logits(self, hidden):
        return self.sharpness * F.normalize(hidden, dim=-1) @ F.normalize(self.token.weight, dim=-1).T

    def loss(self, encoded, target):
        scores = self.logits(at(encoded, target))
        total = F.cross_entropy(scores, target.value, reduction="sum")
        return Loss(total=total, count=len(target.value), correct=(scores.detach().argmax(-1) == target.value).sum())


base = plume.recipe("roberta/tiny")
RECIPE = replace(
    base,
    name="echo",
    network=replace(base.network, width=32, depth=1, heads=2, feed_forward=64),
    embedding=replace(base.embedding, width=32),
    positions=Learned(longest=48),
    tokenizer=replace(base.tokenizer, vocabulary=400),
    objectives=(masked_lm(corrupt=Echo(mask=0.7), head=Cosine(sharpness=8.0)),),
    training=replace(base.training, length=32, batch=8),
)
'''


def forget() -> None:
    """As a process begins: nothing is named."""
    own_parts._NAMED.clear()
    os.environ.pop(own_parts.VARIABLE, None)


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left() -> Iterator[None]:
    kept, variable = list(own_parts._NAMED), os.environ.get(own_parts.VARIABLE)
    yield
    forget()
    own_parts._NAMED.extend(kept)
    if variable is not None:
        os.environ[own_parts.VARIABLE] = variable


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """A command, as a new process would run it; with `variable` it finds that in its environment."""

    def typed(*arguments: object, variable: str | None = None) -> tuple[int, str, str]:
        forget()
        if variable is not None:
            os.environ[own_parts.VARIABLE] = variable
        monkeypatch.setattr(sys, "argv", ["plume", *map(str, arguments)])
        capfd.readouterr()
        try:
            main()
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0
        out, err = capfd.readouterr()
        return code, out, err

    return typed


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "my_recipe.py"
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(file: Path, corpus: Any) -> Path:
    """Pre-trained by the command line for a few steps."""
    with pytest.MonkeyPatch.context() as patch:
        options = ["--corpus", corpus.files[0], "--out", file.parent / "model", "--budget", "4steps", "--device", "cpu", "--quiet"]
        patch.setattr(sys, "argv", ["plume", "pretrain", *map(str, (file, *options))])
        forget()
        with contextlib.suppress(SystemExit):
            main()
    return file.parent / "model"


def test_a_model_names_its_own_parts_and_the_file_they_came_from(trained: Path, file: Path) -> None:
    (objective,) = json.loads((trained / "recipe.json").read_text(encoding="utf-8"))["objectives"]
    assert objective["head"]["part"] == "own/my_recipe:Cosine"
    assert objective["head"]["from"]["name"] == "my_recipe.py"
    assert len(objective["head"]["from"]["sha256"]) == 64
    assert objective["noise"]["corrupt"]["part"] == "own/my_recipe:Echo"
    assert not list(trained.rglob("*.py")), "a model directory holds no code"


def test_it_is_refused_until_its_file_is_named(run: Run, trained: Path, file: Path) -> None:
    code, _, said = run("fill", trained, "The old <mask>.")
    assert code == 2
    assert "This model uses" in said and "of my_recipe.py, which is not plume's" in said and "--parts my_recipe.py" in said
    code, _, said = run("fill", trained, "The old <mask>.", variable="not_there/my_recipe.py")
    assert code == 2 and "PLUME_PARTS names not_there/my_recipe.py, which is not there" in said
    for words in (["fill", trained, "The old <mask>.", "--parts", file], ["--parts", file, "fill", trained, "The old <mask>."]):
        code, out, said = run(*words)
        assert (code, len(out.splitlines())) == (0, 5), said
    assert run("fill", trained, "The old <mask>.", variable=str(file))[1] == out


def test_it_is_resumed_and_tuned_with_the_file_named(run: Run, trained: Path, file: Path, tmp_path: Path) -> None:
    assert run("pretrain", "--resume", trained, "--budget", "6steps", "--quiet")[0] == 2
    code, _, said = run("pretrain", "--resume", trained, "--budget", "6steps", "--quiet", "--parts", file)
    assert code == 0, said
    rows = "".join(f"{text}\t{label}\n" for text, label in [("the cat finds bread", "yes"), ("my sister forgets", "no")] * 8)
    (tmp_path / "train.tsv").write_text("text\tlabel\n" + rows, encoding="utf-8")
    words = [
        "tune",
        trained,
        "--task",
        "classification",
        "--train",
        tmp_path / "train.tsv",
        "--out",
        tmp_path / "tuned",
        "--budget",
        "2steps",
        "-q",
    ]
    assert run(*words)[0] == 2
    code, _, said = run(*words, "--parts", file)
    assert code == 0, said
    assert run("predict", tmp_path / "tuned", "the cat finds bread")[0] == 2
    assert run("predict", tmp_path / "tuned", "the cat finds bread", "--parts", file)[0] == 0


def test_a_file_that_has_changed_is_used_with_a_warning(run: Run, trained: Path, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "my_recipe.py"
    other.write_text(FILE + "\n# a later thought\n", encoding="utf-8")
    code, out, said = run("fill", trained, "The old <mask>.", "--parts", other)
    assert code == 0 and out
    assert said.count("is not as it was when this model was made") == 1
    assert "not as it was" not in run("fill", trained, "The old <mask>.", "--parts", file)[2]


def test_another_process_is_told(trained: Path, file: Path) -> None:
    """What this process was told by name, those that it starts know: torchrun's, the loader's, a study's."""
    forget()
    library.use_parts(file)
    code = f"import plume.model.checkpoint as c; from pathlib import Path; print(c.read_recipe(Path({str(trained)!r})).name)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert told.stdout == "echo\n", told.stderr


def test_a_study_rehearses_it_in_a_process_of_its_own(file: Path) -> None:
    """Such a process is handed the recipe itself, and was forked off a server that may be older than the name."""
    forget()
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).objectives[0].head.sharpness)"
    sent = pickle.dumps(read_recipe_file(file))
    forget()
    made = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=False)
    assert made.stdout == b"8.0\n", made.stderr


def test_in_python(trained: Path, file: Path) -> None:
    forget()
    with pytest.raises(PlumeError, match=r"plume.use_parts\('my_recipe.py'\)"):
        library.load(trained)
    library.use_parts(file)
    assert library.load(trained).fill("The old <mask>.", top=1)


def test_an_importable_module_is_named_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tinkered").mkdir()
    (tmp_path / "tinkered" / "parts.py").write_text(FILE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    library.use_parts("tinkered.parts")
    recipe = sys.modules["tinkered.parts"].RECIPE
    written = recipe.to_json()
    assert written["objectives"][0]["head"]["part"] == "own/tinkered.parts:Cosine"
    assert part_from_json(json.loads(json.dumps(written))) == recipe
    with pytest.raises(PlumeError, match=r"There is no module tinkered\.party"):
        library.use_parts("tinkered.party")


def test_a_class_of_a_module_that_the_program_imported_is_not_made_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "workbench_parts.py").write_text(FILE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    module = __import__("workbench_parts")
    with pytest.raises(PlumeError, match=r"Echo is a part of your own, of workbench_parts\.py, which was not named"):
        module.Echo().to_json()
    library.use_parts(tmp_path / "workbench_parts.py")
    assert part_from_json(module.Echo(mask=0.5).to_json()) == module.Echo(mask=0.5)


def test_own_parts_can_be_set_and_bring_their_own_checks(file: Path) -> None:
    forget()
    recipe = read_recipe_file(file)
    with pytest.raises(PlumeError, match=r"masked_lm tells tokens apart by a sharpness above 0, not -1\.0"):
        changed(recipe, overrides=["objectives.masked_lm.head.sharpness=-1"])
    bert = library.recipe("bert/tiny")
    set_ = changed(bert, overrides=["objectives.masked_lm.noise.corrupt=Echo(mask=0.25)"])
    assert set_.noise.corrupt.to_json()["part"] == "own/my_recipe:Echo"
    assert changed(bert, overrides=["training.schedule=Cosine()"]).training.schedule.to_json()["part"] == "model.schedule:Cosine"


def test_a_file_cannot_name_what_was_not_named(tmp_path: Path) -> None:
    forget()
    (tmp_path / "trap.py").write_text("raise SystemExit('executed')\n", encoding="utf-8")
    for address in ("own/trap:Part", f"own/{tmp_path}/trap:Part", "own/os:PathLike", "own/:Part", "own/../trap:Part"):
        with pytest.raises(PlumeError, match="which is not plume's"):
            part_from_json({"part": address, "from": {"name": str(tmp_path / "trap.py"), "sha256": ""}})
