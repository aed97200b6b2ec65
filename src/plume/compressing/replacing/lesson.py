"""A run in which a successor takes the place of its predecessor, module by module."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from plume.compressing.replacing.network import TheseusModel
from plume.compressing.replacing.schedule import Replacement
from plume.core.part import describe
from plume.tuning.adapting.body import network
from plume.tuning.bodies import read_model
from plume.tuning.lesson import Lesson, Pupil
from plume.tuning.settings import TuneSettings
from plume.tuning.tune import by_answers


@dataclass(frozen=True, kw_only=True)
class TheseusSettings(TuneSettings):
    """Such a run, as run.json keeps it."""

    predecessor: str
    replacement: Replacement

    def lesson(self, pupil: Pupil) -> Lesson:
        whole, _ = read_model(Path(self.predecessor))
        model = TheseusModel(pupil.tuned.model, network(whole, "Only layers of a network can be replaced."), self.replacement)
        note = f"layers are replaced, {' and '.join(map(str, model.ships))}: {describe(self.replacement)}"
        return replace(by_answers(pupil, self), model=model, some_unused=True, notes=[note])
