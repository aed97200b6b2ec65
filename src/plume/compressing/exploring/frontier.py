"""Frontier: every model that was made, what it is worth and what it costs; results.json."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from plume.core.files import read_json, write_json

RESULTS = "results.json"


class FrontierRole(enum.StrEnum):
    """What a model stands for."""

    BASELINE = "baseline"  # the model that is made small
    VARIANT = "variant"
    CONTROL = "control"  # a student that had no teacher


@dataclass(frozen=True, kw_only=True)
class FrontierModel:
    """A line of the table, and a point, if it could be made and measured."""

    name: str
    role: FrontierRole
    method: str = ""
    command: str = ""  # that makes it
    reason: str = ""  # why it is not there
    quality: float | None = None  # mean over tasks of the metric that decides; of models without a task, agreement with the baseline
    scores: dict[str, float] = field(default_factory=dict)
    parameters: int = 0
    bytes: int = 0
    latency: float | None = None  # milliseconds, median, one text
    per_second: float | None = None  # texts, many together
    runtime: str = ""
    seconds: float = 0.0  # to make it
    control: str = ""  # the control that belongs to it
    on_front: bool = False  # no other is as good and as fast

    @property
    def measured(self) -> bool:
        """Is it a point?"""
        return self.quality is not None and self.latency is not None


@dataclass(frozen=True, kw_only=True)
class Frontier:
    """All of an exploration."""

    model: str
    metric: str  # what quality is, in words
    plume: str
    made: str  # date and time
    machine: str  # that was timed
    data: tuple[str, ...]  # what scores are of
    models: tuple[FrontierModel, ...]

    def save(self, folder: Path) -> None:
        """As results.json."""
        write_json(folder / RESULTS, asdict(self))


def read_frontier(folder: Path) -> Frontier:
    """What an exploration has found so far."""
    told: dict[str, Any] = read_json(folder / RESULTS, "it should hold the results of an exploration")
    models = tuple(FrontierModel(**{**one, "role": FrontierRole(one["role"])}) for one in told["models"])
    return Frontier(**{**told, "data": tuple(told["data"]), "models": models})


def with_front(models: Sequence[FrontierModel]) -> tuple[FrontierModel, ...]:
    """Those on the front are marked: no other is at least as good and at least as fast, and better in one."""
    return tuple(replace(one, on_front=one.measured and not any(_beats(other, one) for other in models)) for one in models)


def _beats(one: FrontierModel, other: FrontierModel) -> bool:
    if one.quality is None or one.latency is None or other.quality is None or other.latency is None:
        return False
    as_good = one.quality >= other.quality and one.latency <= other.latency
    return as_good and (one.quality > other.quality or one.latency < other.latency)
