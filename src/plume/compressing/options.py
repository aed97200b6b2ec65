"""From what a user writes, on the command line or in Python, to a compression."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plume.compressing.compress import Compressed, absolute, compress
from plume.compressing.distilling.augmenting.named import way_to_alter
from plume.compressing.exploring.explore import Explored, explore
from plume.compressing.exploring.settings import ExploreSettings
from plume.compressing.method import method as named
from plume.core.errors import PlumeError
from plume.tuning.options import check_numbers

Paths = str | Path | Sequence[str | Path] | None
_JOB = ("epochs", "batch", "rate", "length", "budget", "seed", "timed")  # of the run; all else is the method's


def compress_from_options(
    models: Paths,
    *,
    method: str,
    out: Path,
    train: Paths = None,
    dev: Paths = None,
    text: Paths = None,
    augment: str | Sequence[str] = (),
    control: bool = False,
    settings: Sequence[str] = (),
    overrides: Sequence[str] = (),
    quiet: bool = False,
    **options: Any,
) -> Compressed:
    """`settings` are the method's, by dotted path; `overrides` the training's. Other options are the run's (epochs, batch, rate, length, budget,
    seed, timed) or fields of the method (keep, depth, student, start, temperature). `augment` are ways to alter rows, as a user calls them. With
    `control` the same student is trained as long without a teacher."""
    check_numbers(options)
    given = {name: value for name, value in options.items() if value is not None}
    own = {name: value for name, value in given.items() if name not in _JOB}
    if augment:
        own["augmentation"] = tuple(way_to_alter(words) for words in ([augment] if isinstance(augment, str) else augment))
    chosen = named(method).having(own).adjusted(settings)
    chosen = chosen.as_control() if control else chosen
    sources = [Path(path) for path in _listed(models)]
    if not sources:
        raise PlumeError("Name the model to make small: plume compress runs/ner --method distil --out runs/small")
    return compress(
        sources, chosen, out, train=_listed(train), dev=_listed(dev), text=_listed(text), quiet=quiet, overrides=tuple(overrides),
        **{name: value for name, value in given.items() if name in _JOB},
    )  # fmt: skip


def explore_from_options(
    models: Paths,
    *,
    out: Path,
    method: str | Sequence[str] | None = None,
    train: Paths = None,
    dev: Paths = None,
    text: Paths = None,
    overrides: Sequence[str] = (),
    language: str = "en",
    timed: bool = True,
    quiet: bool = False,
    **options: Any,
) -> Explored:
    """`method`: names, or a text with commas; None: all that declare what to explore. `options` are the run's (epochs, batch, rate, length, budget,
    seed), for each variant that trains."""
    check_numbers(options)
    given = {name: value for name, value in options.items() if value is not None}
    if foreign := [name for name in given if name not in _JOB]:
        raise PlumeError(
            f"--explore tries several strengths of each method: leave out --{foreign[0]}, or name one --method without --explore."
        )
    sources = _listed(models)
    if len(sources) != 1:
        raise PlumeError("Name one model to explore: plume compress runs/ner --explore --out frontier")
    chosen = [] if method is None else method.split(",") if isinstance(method, str) else method
    settings = ExploreSettings(
        model=absolute(sources)[0], methods=tuple(named(name.strip()).name for name in chosen), train=absolute(_listed(train)),
        dev=absolute(_listed(dev)), text=absolute(_listed(text)), wishes=given, overrides=tuple(overrides), language=language,
    )  # fmt: skip
    return explore(settings, out, quiet=quiet, timed=timed)


def _listed(paths: Paths) -> tuple[str, ...]:
    if paths is None:
        return ()
    return (str(paths),) if isinstance(paths, str | Path) else tuple(str(path) for path in paths)
