"""What would settle a choice that is open: more seeds, more test examples, or longer pre-training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from plume.comparing.recommending.chances import JointDraws, spreads_of
from plume.comparing.recommending.choice import OPEN
from plume.comparing.results import CatchUp, PretrainRecord, Status
from plume.comparing.significance.pair_noise import PairNoise, noise_between
from plume.comparing.significance.resampling import Resampled
from plume.comparing.significance.statistics import more_seeds
from plume.metrics.resampled.measures import Floats

_Number = TypeVar("_Number", int, float)
_LONGEST = 32.0  # times the budget: further than that no line may be drawn
_FEWEST = 3  # measurements that a slope needs


@dataclass(frozen=True, kw_only=True)
class MoreData:
    """Either alone would do; None: it would not."""

    seeds: int | None  # more of each model
    rows: float | None  # times as many test examples


def more_data(model: str, rivals: Sequence[str], table: Mapping[str, Resampled], margin: float) -> MoreData:
    """So that no rival is better by more than the margin with a probability over `OPEN`, if means and noise stay what they are."""
    spreads, level = spreads_of(table), 2 * OPEN / len(rivals)
    seeds: list[int | None] = []
    rows: list[float | None] = []
    for rival in rivals:
        one, other = table[model], table[rival]
        noise = noise_between(one, other, (spreads[model], spreads[rival]))
        lead = one.mean - other.mean + margin
        count = min(len(one.seeds), len(other.seeds))
        seeds.append(more_seeds(lead, noise, seeds=count, level=level) if lead > 0 else None)
        rows.append(_times_rows(lead, noise, level) if lead > 0 else None)
    return MoreData(seeds=_most(seeds), rows=_most(rows))


def _times_rows(lead: float, noise: PairNoise, level: float) -> float | None:
    """The variance by rows falls as their number grows, that by seeds does not."""
    allowed = (lead / noise.quantile(level)) ** 2 - noise.seeds
    return max(noise.rows, noise.least - noise.seeds) / allowed if allowed > 0 else None


def _most(found: Sequence[_Number | None]) -> _Number | None:
    """What is enough for all."""
    known = [one for one in found if one is not None]
    return max(known) if len(known) == len(found) else None


def catch_up(model: str, target: str, scratch: str, runs: Sequence[PretrainRecord], draws: JointDraws) -> CatchUp | None:
    """How much longer a network would have to be pre-trained to draw level with a model that stays as it is.

    Two lines are drawn on: the held-out loss falls by as much with every doubling of the tokens as it did over the last half of the run, and every
    nat below the loss that needs no context brings as much quality as it has brought against the network without pre-training.
    """
    own = [run for run in runs if run.model == model and run.status is Status.DONE and run.trivial and len(run.curve) > _FEWEST]
    growths = [growth for run in own if (growth := _growth(run)) is not None]
    if not growths:
        return None
    gap, gained = draws.of(target) - draws.of(model), draws.of(model) - draws.of(scratch)
    shares = np.divide(gap, gained, out=np.full_like(gap, np.inf), where=gained > 0)  # of what it has gained so far, once more
    low, middle, high = np.percentile(np.exp(np.clip(shares * np.resize(growths, len(shares)), 0.0, 50.0)), [10, 50, 90])
    if middle > _LONGEST:
        return None
    return CatchUp(model=model, target=target, low=float(low), middle=float(middle), high=float(high) if high <= _LONGEST else None)


def _growth(run: PretrainRecord) -> float | None:
    """By how much the logarithm of the tokens must grow for the loss to fall once more by what it has fallen below the loss that needs no context.
    None: it is not below, or has stopped falling."""
    late = [point for point in run.curve if point.tokens >= run.curve[-1].tokens / 2]
    late = late if len(late) >= _FEWEST else list(run.curve[-_FEWEST:])
    slope: Floats = np.polyfit(np.log([point.tokens for point in late]), [point.loss for point in late], 1)
    fallen = (run.trivial or 0.0) - run.curve[-1].loss
    return fallen / -float(slope[0]) if fallen > 0 and slope[0] < 0 else None
