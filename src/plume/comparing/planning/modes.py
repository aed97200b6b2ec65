"""Full tuning or frozen features: what a model that was there already gets, by how long it would take.

Models that are pre-trained here are as large as the study makes them; a public checkpoint may be a hundred times as large. Tuning it is within reason
as long as no task takes longer with one seed than three times the budget, or ten minutes where that is more. Else its features are taken as they
are, which needs no backward pass; and where that takes too long as well, the task is left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from plume.comparing.entrants.entrant import Entrant
from plume.comparing.planning.plan import budget_seconds, tuning_seconds
from plume.comparing.planning.rehearsal import Look, Rehearsal
from plume.comparing.results import Origin
from plume.comparing.study import Study
from plume.core.files import read_json, write_json
from plume.train.progress import duration

MODES = "modes.json"  # in the study's directory: what was decided at its start stays, however fast the machine is later
FEATURES = "features"
_TIMES, _LEAST = 3.0, 600.0  # of the budget; seconds


@dataclass(frozen=True, kw_only=True)
class TuningModes:
    """What was decided, by entrant: those that are not tuned in the usual way, and the tasks that are left out, with the reason."""

    mode: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, dict[str, str]] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """As modes.json."""
        write_json(folder / MODES, {"mode": self.mode, "left_out": self.left_out})

    def applied(self, entrants: Sequence[Entrant]) -> list[Entrant]:
        """The entrants, each with its mode."""
        return [replace(one, mode=self.mode[one.name]) if one.name in self.mode else one for one in entrants]

    def told(self, rehearsals: Sequence[Rehearsal]) -> list[Rehearsal]:
        """The rehearsals, with what is left out among what cannot be done."""
        return [replace(one, cannot=self.left_out.get(one.entrant, {}) | one.cannot) for one in rehearsals]


def read_modes(folder: Path) -> TuningModes | None:
    """Of the study that lies there; None: there is none yet, or it is of an earlier version, when everything was tuned."""
    return TuningModes(**read_json(folder / MODES, "how the study's models are tuned")) if (folder / MODES).exists() else None


def choose_modes(study: Study, entrants: Sequence[Entrant], looks: Sequence[Look], rehearsals: Sequence[Rehearsal]) -> TuningModes:
    """By what the rehearsals took."""
    most = max(_TIMES * budget_seconds(study.budget, rehearsals), _LEAST)
    rehearsed = {one.entrant: one for one in rehearsals}
    mode: dict[str, str] = {}
    left_out: dict[str, dict[str, str]] = {}
    for one in entrants:
        if one.static or one.control is not None or one.origin is Origin.RECIPE or one.made_from or "" in rehearsed[one.name].cannot:
            continue
        found = rehearsed[one.name]
        tasks = [look for look in looks if look.name not in found.cannot]
        if all(tuning_seconds(study, look, found) <= most for look in tasks):
            continue
        mode[one.name] = FEATURES
        frozen = {look.name: tuning_seconds(study, look, found, mode=FEATURES) for look in tasks}
        if slow := {name: _reason(seconds, most) for name, seconds in frozen.items() if seconds > most}:
            left_out[one.name] = slow
    return TuningModes(mode=mode, left_out=left_out)


def _reason(seconds: float, most: float) -> str:
    return (
        f"with frozen features alone it would take about {duration(seconds)} a seed, more than {duration(most)}: "
        "give a larger --budget, fewer examples, or a limit: --tune budget=20m"
    )
