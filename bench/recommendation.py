"""What a recommendation costs, on simulated studies whose truth is known.

A study has six models, one of them a control. Their true qualities scatter by half a point, two points or five; a run moves from seed to
seed by 1.5 points (more for some models, less for others), the test examples by 0.6. Regret: points lost against the truly best model. Utility:
the quality of the chosen model, where running twice as fast is worth half a point.

The default spread of runs is the one that is assumed where a study has one seed, so that the risk said there is true by construction: see it with
`--spread 0.5` or `--spread 3`, where it is not.

    python bench/recommendation.py [--studies 1000] [--margin 1 2 3] [--spread 1.5]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plume.comparing.recommending.chances import JointDraws, draw_qualities
from plume.comparing.recommending.choice import OPEN, Offer, choose, highest
from plume.comparing.significance.resampling import Resampled
from plume.comparing.significance.statistics import alike, compare_all

SCATTERS = (0.005, 0.02, 0.05)
WORTH = 0.005  # of twice the speed
SPREAD = 0.015  # of a run, from seed to seed
_MODELS, _ROWS, _DRAWS = 6, 0.006, 400


@dataclass(frozen=True, kw_only=True)
class SimulatedStudy:
    """What was measured, and what is true."""

    table: dict[str, Resampled]
    offers: list[Offer]
    draws: JointDraws
    truth: dict[str, float]

    def regret(self, chosen: Offer) -> float:
        """Against the truly best."""
        return max(self.truth.values()) - self.truth[chosen.model]

    def utility(self, chosen: Offer) -> float:
        """With what its speed is worth."""
        return self.truth[chosen.model] + WORTH * math.log2(chosen.per_second / 1000)


def simulate(chance: np.random.Generator, *, seeds: int, scatter: float, spread: float = SPREAD) -> SimulatedStudy:
    """Scores as `resample` gives them: a row may be hard for all runs of a model, or for one."""
    table, offers, truth = {}, [], {}
    for number in range(_MODELS):
        name, true = f"m{number}", 0.6 + scatter * chance.normal()
        deviation = spread * math.exp(0.5 * chance.normal())
        scores = true + _ROWS * chance.normal() + math.hypot(deviation, _ROWS) * chance.normal(size=seeds)
        draws = scores[:, None] + _ROWS * (chance.normal(size=_DRAWS) + chance.normal(size=(seeds, _DRAWS)))
        table[name] = Resampled(rows=1500, seeds=tuple(range(seeds)), scores=scores, draws=draws)
        speed = 1000 * 2 ** (1.5 * chance.normal() + 2 * (number == 0))
        offers.append(Offer(model=name, quality=float(scores.mean()), per_second=speed, disk=1, control=number == 0))
        truth[name] = true
    return SimulatedStudy(table=table, offers=offers, draws=draw_qualities(table), truth=truth)


def fastest_alike(study: SimulatedStudy) -> Offer:
    """The rule of earlier versions: the fastest of those that are not told apart from the best."""
    near = alike(highest(study.offers).model, compare_all("", study.table))
    return max((one for one in study.offers if one.model in near), key=lambda one: one.per_second)


def rules(*margins: float) -> dict[str, Callable[[SimulatedStudy], Offer]]:
    """By name; margins in points."""
    found: dict[str, Callable[[SimulatedStudy], Offer]] = {
        "highest mean": lambda study: highest(study.offers),
        "fastest not told apart": fastest_alike,
    }
    for margin in margins:
        found[f"margin {margin:g}"] = lambda study, margin=margin: choose(study.offers, study.draws, margin / 100)  # type: ignore[misc]
    return found


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Means over studies, in points."""

    regret: dict[str, float]
    utility: dict[str, float]
    said: float  # the probability that another model is better than the recommended one by more than a point
    true: float  # how often one was
    undecided: float


def measure(
    studies: int, *, seeds: int, margins: tuple[float, ...] = (1.0,), scatters: tuple[float, ...] = SCATTERS, spread: float = SPREAD
) -> Measured:
    """So many studies for each scatter of the true qualities."""
    chance = np.random.default_rng(seeds)
    made = [simulate(chance, seeds=seeds, scatter=scatter, spread=spread) for scatter in scatters for _ in range(studies)]
    chosen = {name: [rule(one) for one in made] for name, rule in rules(*margins).items()}
    ours = chosen[f"margin {margins[0]:g}"]
    risks = [one.draws.beaten(pick.model, 0.01) for one, pick in zip(made, ours, strict=True)]
    return Measured(
        regret={name: 100 * float(np.mean([one.regret(p) for one, p in zip(made, picks, strict=True)])) for name, picks in chosen.items()},
        utility={
            name: 100 * float(np.mean([one.utility(p) for one, p in zip(made, picks, strict=True)])) for name, picks in chosen.items()
        },
        said=float(np.mean(risks)),
        true=float(np.mean([one.regret(pick) > 0.01 for one, pick in zip(made, ours, strict=True)])),
        undecided=float(np.mean([risk > OPEN for risk in risks])),
    )


def main() -> None:
    """Print a table for each scatter, and for all together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--margin", type=float, nargs="+", default=[1.0, 2.0, 3.0])
    parser.add_argument("--spread", type=float, default=100 * SPREAD, help="points that a run moves from seed to seed")
    options = parser.parse_args()
    for scatters in (*((one,) for one in SCATTERS), SCATTERS):
        print(f"\ntrue qualities scatter by {' or '.join(f'{100 * one:g}' for one in scatters)} points: regret / utility")
        for seeds in (1, 2, 3, 5, 10):
            found = measure(options.studies, seeds=seeds, margins=tuple(options.margin), scatters=scatters, spread=options.spread / 100)
            cells = [f"{name} {found.regret[name]:.2f} / {found.utility[name]:.2f}" for name in found.regret]
            print(
                f"{seeds:2} seeds  "
                + "  ".join(cells)
                + f"  risk {found.said:.0%}, in truth {found.true:.0%}; undecided {found.undecided:.0%}"
            )


if __name__ == "__main__":
    main()
