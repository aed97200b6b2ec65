"""Explore: every variant is made in its turn, in a directory of its own, and kept; then all are timed side by side."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from plume._version import __version__
from plume.compressing.compress import Compressed, compress, resume
from plume.compressing.exploring.frontier import Frontier, FrontierModel, FrontierRole, with_front
from plume.compressing.exploring.settings import ExploreSettings, read_explore
from plume.compressing.exploring.variants import Variant, planned
from plume.compressing.job import JOB, data_of, split_of
from plume.compressing.lineage import LINEAGE, Figures, figures_from, read_lineage
from plume.compressing.measuring import agreement, figures_of, speeds_in_groups, timed_on
from plume.core.errors import PlumeError
from plume.core.files import locked, make_folder, read_json, write_json
from plume.hf.importing import check_free
from plume.model.checkpoint import read_recipe
from plume.static.model import is_word_model
from plume.train.settings import RUN
from plume.tuning.declared import is_tuned
from plume.tuning.settings import TaskData

MODELS, CELLS = "models", "cells"  # a directory and a file for each variant
_AGREEMENT = "cosine"


@dataclass(frozen=True, kw_only=True)
class Explored:
    """An exploration that has ended, or was stopped by a signal."""

    folder: Path
    frontier: Frontier
    stopped_by: str | None = None


def explore(settings: ExploreSettings, folder: Path, *, quiet: bool = False, timed: bool = True) -> Explored:
    """Begin in a new directory."""
    check_free(folder)
    exploration = Exploration(settings, folder, quiet=quiet, timed=timed)
    make_folder(folder)
    settings.save(folder)
    return exploration.run()


def go_on(folder: Path, *, quiet: bool = False, timed: bool = True) -> Explored:
    """With what is not made yet; what has failed is tried again."""
    return Exploration(read_explore(folder), folder, quiet=quiet, timed=timed).run()


class Exploration:
    """One run of it."""

    def __init__(self, settings: ExploreSettings, folder: Path, *, quiet: bool, timed: bool) -> None:
        self.settings, self.folder, self.quiet, self.timed = settings, folder, quiet, timed
        self.source = Path(settings.model)
        if is_word_model(self.source):
            raise PlumeError(f"{self.source} has word vectors, which are read from a table: networks can be made small in many ways.")
        depth = read_recipe(self.source).network.depth
        self.data: tuple[TaskData, ...] = data_of(self.source, settings.train, settings.dev)
        self.split = split_of(self.source)
        self.variants = planned(settings.methods, depth=depth, labelled=bool(self.data))
        if is_tuned(self.source) and not self.data:
            raise PlumeError(
                f"{self.source} does not say what it was tuned on: give --train FILE (and --dev FILE), by which all are judged."
            )

    def run(self) -> Explored:
        """Make what is missing, time all, keep the results."""
        with locked(self.folder / ".lock", f"{self.folder} is being explored by another process."):
            stopped = next((signal for variant in self.variants if (signal := self._make(variant)) is not None), None)
            frontier = self._measured(timed=self.timed and stopped is None)
            frontier.save(self.folder)
        return Explored(folder=self.folder, frontier=frontier, stopped_by=stopped)

    def directory(self, name: str) -> Path:
        """Of a variant's model."""
        return self.folder / MODELS / name

    def _cell(self, variant: Variant) -> Path:
        return self.folder / CELLS / f"{variant.name}.json"

    def _possible(self, variant: Variant) -> bool:
        """Is there what it is made of? Why not, is said there."""
        return not variant.of or (self.directory(variant.of) / LINEAGE).exists()

    def _make(self, variant: Variant) -> str | None:
        """The variant's model, if it is not there yet; whatever happens to it is no other's concern. Returns a signal that stopped it."""
        if (self.directory(variant.name) / LINEAGE).exists() or not self._possible(variant):
            return None
        self._say(variant.name)
        began = time.perf_counter()
        reason = ""
        try:
            made = self._compressed(variant)
            if made.stopped_by is not None:
                return made.stopped_by
        except PlumeError as error:
            reason = str(error)
        except Exception as error:  # hours of others' work must not end with a mistake in one
            reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        if reason:
            self._say(f"  {reason}")
        write_json(self._cell(variant), {"reason": reason, "seconds": time.perf_counter() - began})
        return None

    def _compressed(self, variant: Variant) -> Compressed:
        folder = self.directory(variant.name)
        if (folder / JOB).exists():
            try:
                return resume(folder, quiet=True)
            except PlumeError:  # stopped before its first checkpoint
                pass
        shutil.rmtree(folder, ignore_errors=True)
        source = self.directory(variant.of) if variant.of else self.source
        budget = self._budget(variant)
        wishes = {**self.settings.wished(variant), **({"budget": budget} if budget else {})}
        return compress(
            [source], variant.chosen(), folder, **self.settings.files(variant), quiet=True, timed=False, overrides=self.settings.overridden(variant),
            **wishes,
        )  # fmt: skip

    def _budget(self, variant: Variant) -> str | None:
        """Of a control: as many steps as its student took with a teacher."""
        if not variant.control_of or "budget" in self.settings.wishes:
            return None
        run = self.directory(variant.control_of) / RUN
        if not run.exists():
            return None
        told = read_json(run, "it should hold the run's settings")["budget"]
        return f"{int(told['amount'])}steps" if told.get("unit") == "steps" else None

    def _measured(self, *, timed: bool) -> Frontier:
        baseline = self._baseline()
        made = [baseline, *(self._model(variant) for variant in self.variants if self._possible(variant))]
        there = [one for one in made if not one.reason]
        folders = [self.source if one.role is FrontierRole.BASELINE else self.directory(one.name) for one in there]
        if not self.data:
            there = [replace(one, quality=agreement(self.source, folder)) for one, folder in zip(there, folders, strict=True)]
        if timed and len(there) > 1:
            self._say("timing")
            speeds = speeds_in_groups(folders, self.data, split=self.split)
            there = [
                one if speed is None else replace(one, latency=speed.p50, per_second=speed.per_second)
                for one, speed in zip(there, speeds, strict=True)
            ]
        found = {one.name: one for one in there}
        return Frontier(
            model=self.settings.model,
            metric=self._metric(baseline),
            plume=__version__,
            made=datetime.now().astimezone().isoformat(timespec="minutes"),
            machine=str(timed_on()),
            data=tuple(path for one in self.data for path in (one.dev or one.train)),
            models=with_front([found.get(one.name, one) for one in made]),
        )

    def _metric(self, baseline: FrontierModel) -> str:
        return ", ".join(name.partition(".")[2] for name in baseline.scores) or _AGREEMENT

    def _baseline(self) -> FrontierModel:
        """Measured once."""
        kept = self.folder / CELLS / "baseline.json"
        if not kept.exists():
            figures = figures_of(self.source, self.data, split=self.split)
            write_json(
                kept, {"parameters": figures.parameters, "bytes": figures.bytes, "scores": figures.scores, "runtime": figures.runtime}
            )
        figures = figures_from(read_json(kept, "what the model itself is worth"))
        return _with(FrontierModel(name=self.source.resolve().name, role=FrontierRole.BASELINE), figures)

    def _model(self, variant: Variant) -> FrontierModel:
        role = FrontierRole.CONTROL if variant.control_of else FrontierRole.VARIANT
        control = next((one.name for one in self.variants if one.control_of == variant.name), "")
        line = FrontierModel(name=variant.name, role=role, method=variant.method, command=self._command(variant), control=control)
        lineage = read_lineage(self.directory(variant.name))
        cell = self._cell(variant)
        told: dict[str, Any] = read_json(cell, "how a variant ended") if cell.exists() else {"reason": "not made yet", "seconds": 0.0}
        if lineage is None:
            return replace(line, reason=told["reason"] or "not made yet")
        return _with(replace(line, seconds=sum(step.seconds for step in lineage.steps)), lineage.steps[-1].after)

    def _command(self, variant: Variant) -> str:
        below = next((one for one in self.variants if one.name == variant.of), None)
        return self.settings.command(variant, before=self._command(below) if below else "", budget=self._budget(variant))

    def _say(self, text: str) -> None:
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)


def _with(line: FrontierModel, figures: Figures) -> FrontierModel:
    """With what was measured of it."""
    return replace(
        line, quality=_mean(list(figures.scores.values())), scores=figures.scores, parameters=figures.parameters, bytes=figures.bytes,
        runtime=figures.runtime,
    )  # fmt: skip


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
