"""What a compression cost: figures before and after, side by side, in the card and in lineage.json; those of earlier versions open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plume.compressing import measuring
from plume.compressing.compress import compress
from plume.compressing.lineage import Figures, compared, read_lineage
from plume.compressing.measuring import agreement, speeds_in_groups
from plume.compressing.method import method
from plume.core.timing import PredictionSpeed
from plume.model.checkpoint import save_model


@pytest.fixture
def model(miniature: Any, tokenizer_for: Any, tmp_path: Path) -> Path:
    recipe = miniature("bert")
    tokenizer = tokenizer_for(recipe)
    network = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    network.initialise(0)
    save_model(tmp_path / "mini", network, tokenizer)
    return tmp_path / "mini"


def test_speed_is_in_the_card(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plume.compressing.compress.SECONDS", 0.02)
    made = compress([model], method("int8"), tmp_path / "small", quiet=True)
    assert made.before is not None and made.after is not None and made.before.speed is not None and made.after.speed is not None
    lineage = read_lineage(tmp_path / "small")
    assert lineage is not None and lineage.steps[0].after == made.after and lineage.steps[0].timed_on == measuring.timed_on()
    assert made.after.runtime == "onnx-int8" and str(measuring.timed_on()) in (tmp_path / "small" / "card.md").read_text()
    assert [line.split()[0] for line in compared(made.before, made.after)] == ["parameters", "bytes", "one", "throughput"]


def test_without_speed(model: Path, tmp_path: Path) -> None:
    made = compress([model], method("int8"), tmp_path / "small", quiet=True, timed=False)
    assert made.after is not None and made.after.speed is None
    assert "Speed" not in (tmp_path / "small" / "card.md").read_text()


def test_a_lineage_of_an_earlier_version_opens(tmp_path: Path) -> None:
    figures = {"parameters": 10, "bytes": 40, "scores": {"ner.f1": 0.5}}
    step = {"method": "distil", "settings": "Distillation()", "seconds": 3.0, "before": figures, "after": figures}
    (tmp_path / "lineage.json").write_text(json.dumps({"origin": ["ner"], "steps": [step]}))
    found = read_lineage(tmp_path)
    assert found is not None and found.steps[0].before == Figures(parameters=10, bytes=40, scores={"ner.f1": 0.5})


def test_groups_are_set_right_by_the_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the second group the machine was half as fast: the baseline says so."""
    for name in ("base", "a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(bytes(10))
    monkeypatch.setattr(measuring, "_MEMORY", 25)
    monkeypatch.setattr(measuring, "_measurable", lambda folder, *_: folder.name)
    slower = iter((1, 2))

    def speeds(opened: list[str], seconds: float) -> list[PredictionSpeed]:
        factor = next(slower)
        own = {"base": 10.0, "a": 5.0, "b": 2.0, "c": 4.0}
        return [PredictionSpeed(per_second=1000 / own[one] / factor, p50=own[one] * factor, p99=own[one] * factor) for one in opened]

    monkeypatch.setattr(measuring, "_speeds", speeds)
    found = speeds_in_groups([tmp_path / name for name in ("base", "a", "b", "c")])
    assert [one.p50 for one in found if one] == [10, 5, 2, 4] and [one.per_second for one in found if one] == [100, 200, 500, 250]


def test_agreement(model: Path, tmp_path: Path) -> None:
    assert agreement(model, model) == pytest.approx(1)
