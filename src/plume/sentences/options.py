"""From what a user writes, on the command line or in Python, to a run that trains sentence vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.use.language_model import LanguageModel
from plume.nn.pooling import Pooling, pooling_of
from plume.sentences import training
from plume.sentences.losses import Matryoshka
from plume.sentences.method import SentenceMethod, method
from plume.sentences.training import Trained
from plume.train.signals import raise_if_stopped
from plume.tuning.options import ONE_TOKEN, check_numbers, parsed
from plume.tuning.settings import Wishes
from plume.tuning.task import Columns

Paths = str | Path | Sequence[str | Path]


def train(
    model: str | Path, *, method: str | SentenceMethod = "simcse", text: Paths, out: str | Path, quiet: bool = False, **options: Any
) -> LanguageModel:
    """Train the sentence vectors of `model`, a model directory, and return the model; everything is in `out`.

    `method` is a name (`plume.sentences.method_names()`) or a `SentenceMethod` of your own. `text` is a file of texts, pairs or triples, or several.
    `options` are those of the command line: dev, dimensions (Matryoshka's), pooling, dropout, columns, score, epochs, batch, rate, length, budget,
    seed, accumulate, language, precision, device, save_every, tensorboard, overrides.
    """
    made = start_from_options(Path(model), method=method, text=text, out=Path(out), quiet=quiet, **options)
    raise_if_stopped(made.outcome.stopped_by, out)
    return LanguageModel.load(out)


def resume(folder: str | Path, *, quiet: bool = False) -> LanguageModel:
    """Go on with a run, from its last checkpoint."""
    raise_if_stopped(training.resume(Path(folder), quiet=quiet).outcome.stopped_by, folder)
    return LanguageModel.load(folder)


def start_from_options(
    model: Path,
    *,
    method: str | SentenceMethod,
    text: Paths,
    out: Path,
    dev: Paths = (),
    dimensions: str | Sequence[int] = (),
    pooling: Pooling | str | None = None,
    columns: str | Sequence[str] = (),
    score: str | None = None,
    accumulate: int | None = None,
    quiet: bool = False,
    **options: Any,
) -> Trained:
    """`pooling` is a word (mean, first or cls …) or a `Pooling`; `dimensions` are Matryoshka's cuts, as numbers or "128,64"."""
    check_numbers(options | {"accumulate": accumulate})
    chosen = _method(method, dimensions)
    options = parsed(options)
    wishes = Wishes(**{field.name: options.pop(field.name) for field in fields(Wishes) if field.name in options})
    return training.start(
        model, out, method=chosen, text=_listed(text), dev=_listed(dev), wishes=wishes,
        pooling=None if pooling is None else pooling_of("first" if pooling == ONE_TOKEN else pooling),
        columns=Columns(texts=(columns,) if isinstance(columns, str) else tuple(columns), answer=score), parts=accumulate or 1, quiet=quiet,
        **{name: value for name, value in options.items() if value is not None},
    )  # fmt: skip


def _method(asked: str | SentenceMethod, dimensions: str | Sequence[int]) -> SentenceMethod:
    chosen = method(asked) if isinstance(asked, str) else asked
    if not dimensions:
        return chosen
    try:
        cuts = tuple(int(one) for one in (dimensions.split(",") if isinstance(dimensions, str) else dimensions))
    except ValueError:
        raise PlumeError(f"--dimensions {dimensions}: give numbers, such as 128,64.") from None
    loss = chosen.loss.loss if isinstance(chosen.loss, Matryoshka) else chosen.loss
    return replace(chosen, loss=Matryoshka(loss=loss, dimensions=cuts))


def _listed(paths: Paths) -> list[str]:
    return [str(paths)] if isinstance(paths, str | Path) else [str(path) for path in paths]
