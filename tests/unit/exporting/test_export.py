"""Exported directories: the same answers by a script that imports no plume, refused if the numbers differ, nothing left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plume.cli import main
from plume.core.errors import PlumeError
from plume.exporting import folder as exporting
from plume.exporting.checking import Checked
from plume.exporting.folder import export_graph
from plume.model.use.language_model import LanguageModel
from plume.vectors.sentence import SentenceVectors
from plume.vectors.transforms.normalise import Normalise

from .conftest import ITEMS, TASKS, TEXTS

pytest.importorskip("onnxruntime")
# Runs each directory's own script on its items, where neither plume nor torch nor transformers can be imported.
ALONE = """
import importlib.util, json, sys
for name in ("plume", "transformers", *(["torch"] if "--torch" not in sys.argv else [])):
    sys.modules[name] = None
for line in sys.stdin:
    folder, items = json.loads(line)
    spec = importlib.util.spec_from_file_location("run", folder + "/run.py")
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    if hasattr(run, "embed"):
        found = run.embed(items).tolist()
    elif isinstance(items[0], dict):
        found = [run.answer(**item) for item in items]
    elif "--conversations" in sys.argv:
        found = run.answer([json.loads(item) for item in items])
    else:
        found = run.answer([tuple(item) if isinstance(item, list) else item for item in items])
    print(json.dumps(found))
"""


def alone(asked: list[tuple[Path, Any]], *options: str) -> list[Any]:
    lines = "".join(json.dumps([str(folder), items]) + "\n" for folder, items in asked)
    done = subprocess.run([sys.executable, "-c", ALONE, *options], input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def agrees(found: Any, right: Any) -> bool:
    """What the script says is what plume says, which may say more."""
    if isinstance(found, dict):
        return all(agrees(value, right[key]) for key, value in found.items() if key in right)
    if isinstance(found, list):
        return len(found) == len(right) and all(map(agrees, found, right))
    return found == pytest.approx(right, abs=1e-4) if isinstance(found, float) else bool(found == right)


def short(task: str) -> list[Any]:
    """Without the text that is longer than the model reads, which plume reads in windows."""
    return [item for item in ITEMS[task] if len(str(item)) < 120]


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_the_script_answers_as_plume_does(family: str, tuned: Any, tmp_path: Path) -> None:
    models = {task: tuned(family, task, length=64) for task in TASKS}
    for task, model in models.items():
        export_graph(model, tmp_path / task)
    found = alone([(tmp_path / task, short(task)) for task in models])
    for (task, model), answers in zip(models.items(), found, strict=True):
        right = model.predict(short(task))
        if task == "segmentation":  # whose words are the entities
            assert [[word["tag"] for word in one.pop("words")] for one in answers] == [one["tags"] for one in right]
        assert agrees(answers, right), task


def test_vectors_and_tokens(miniature: Any, built: Any, tokenizer_for: Any, tmp_path: Path) -> None:
    recipe = miniature("bert")
    tokenizer = tokenizer_for(recipe)
    model = LanguageModel(built(recipe, vocabulary=tokenizer.size).float(), tokenizer, SentenceVectors(transforms=(Normalise(),)))
    export_graph(model, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["outputs"] == ["last_hidden_state", "sentence_embedding", "logits"]
    ((*vectors,),) = alone([(tmp_path / "out", TEXTS)])
    np.testing.assert_allclose(np.array(vectors), model.embed(TEXTS), atol=1e-4)


def test_torchscript(tuned: Any, tmp_path: Path) -> None:
    model = tuned("roberta", "ner-crf", length=64)
    export_graph(model, tmp_path / "out", to="torchscript")
    (found,) = alone([(tmp_path / "out", short("ner"))], "--torch")
    assert agrees(found, model.predict(short("ner")))
    with pytest.raises(PlumeError, match="--int8 is for --to onnx"):
        export_graph(model, tmp_path / "other", to="torchscript", int8=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_file_that_differs_is_refused(tuned: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tuned("bert", "classification")
    true = exporting.KINDS["onnx"].write

    def spoiled(graph: Any, path: Path, int8: bool) -> None:
        with torch.no_grad():
            graph.head.output.bias.add_(1.0)
        true(graph, path, int8)
        with torch.no_grad():
            graph.head.output.bias.sub_(1.0)

    monkeypatch.setitem(exporting.KINDS, "onnx", exporting.FileKind(**{**vars(exporting.KINDS["onnx"]), "write": spoiled}))
    with pytest.raises(PlumeError, match="does not compute what the model does"):
        export_graph(model, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_on_the_command_line(tuned: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def plume(*words: object) -> None:
        monkeypatch.setattr(sys, "argv", ["plume", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        if ended.value.code:
            raise PlumeError(str(ended.value.code))

    tuned("bert", "classification").save(tmp_path / "model")
    texts = tmp_path / "texts.tsv"
    texts.write_text("text\tlabel\nthe cat finds two apples\twarm\na letter near the river\tcold\n", encoding="utf-8")
    plume("export", tmp_path / "model", "--to", "onnx", "--int8", "--check", texts, "--out", tmp_path / "out")
    said = capsys.readouterr().out
    assert "largest difference" in said and "texts/s" in said
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"README.md", "config.json", "model.onnx", "run.py", "tokenizer.json"}
    plume("predict", tmp_path / "model", "the cat", "--runtime", "onnx")
    assert "label" in capsys.readouterr().out
    with pytest.raises(PlumeError, match="2"):
        plume("export", tmp_path / "model", "--to", "onnx", "--out", tmp_path / "out")


def test_few_answers_of_eight_bits_are_said() -> None:
    checked = Checked(texts=9, difference=0.3, agreement=0.9, torch=1.0, file=2.0)
    assert any("fewer than 99%" in line for line in exporting.Exported(folder=Path("out"), checked=checked, int8=True).lines())
    with pytest.raises(PlumeError):
        checked.require(int8=False)


def test_recurrent_networks_are_refused(tuned: Any, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="Recurrent networks"):
        export_graph(tuned("ulmfit", "classification"), tmp_path / "out")
