"""A run that trains sentence vectors, planned before it runs: what it reads, and its settings completed from the method and the model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.networks.model import Model
from plume.nn.pooling import Pooling
from plume.sentences.grouping import Grouped, ScoredPairs
from plume.sentences.method import SentenceMethod
from plume.sentences.reading import SentenceRows, read_sentences
from plume.sentences.settings import SentenceSettings, pooling_for, training_for, writing_recipe
from plume.text.tokenizer import Tokenizer
from plume.train.budget import Budget
from plume.tuning.adapting.body import layer_widths, network
from plume.tuning.bodies import read_model
from plume.tuning.settings import Wishes
from plume.tuning.task import Columns
from plume.tuning.tuned import reading_order, require_languages
from plume.vectors.sentence import SentenceVectors

_NO_WORDS = (
    "Word vectors give a word the same vector in every text, and nothing here would change that: train a network, or weigh and whiten them "
    "(plume sentences fit)."
)
_LAST = "no --dev file was given: nothing chooses among the weights, so the last are kept."


@dataclass(frozen=True, kw_only=True)
class Data:
    """The files, read: groups to learn from, pairs to choose by, and what is to be said of both."""

    groups: Grouped
    dev: Grouped | None
    read: SentenceRows
    notes: list[str]


def read_data(method: SentenceMethod, text: Sequence[str], dev: Sequence[str], columns: Columns) -> Data:
    """What a method lacks is said here, before anything is loaded."""
    found = read_sentences([Path(path) for path in text], columns)
    groups = method.views(found, method.name)
    if len(groups.texts) < 2:
        raise PlumeError(f"{found.file} has one usable row, and {method.name} tells texts of a batch apart: give more.")
    notes = [line for reading in found.readings for line in reading.lines()] + groups.notes
    chosen = None
    if dev:
        measured = read_sentences([Path(path) for path in dev])
        chosen = ScoredPairs()(measured, "--dev")
        notes += [line for reading in measured.readings for line in reading.lines()]
    return Data(groups=groups, dev=chosen, read=found, notes=notes if dev else [*notes, _LAST])


class PlannedSentences(NamedTuple):
    """Settings, and what was read to make them."""

    settings: SentenceSettings
    data: Data
    source: Model
    tokenizer: Tokenizer


def planned(
    model: Path,
    *,
    method: SentenceMethod,
    text: Sequence[str],
    dev: Sequence[str] = (),
    kind: type[SentenceSettings] = SentenceSettings,
    columns: Columns = Columns(),
    wishes: Wishes = Wishes(),
    pooling: Pooling | None = None,
    dropout: float | None = None,
    budget: str | None = None,
    language: str | None = None,
    overrides: Sequence[str] = (),
    **settings: Any,
) -> PlannedSentences:
    """Nothing is written yet. `settings` are further fields of `kind`."""
    text, dev = ([os.path.abspath(path) for path in paths] for paths in (text, dev))
    data = read_data(method, text, dev, columns)
    source, tokenizer, before = source_of(model)
    require_languages(source, language)
    writing_recipe(source.recipe, method)
    chosen = pooling_for(method, source, reading_order(source, tokenizer), asked=pooling, before=before)
    method = replace(method, loss=method.loss.fitting(pooled_width(source, chosen)))
    training = training_for(source, method, wishes, groups=len(data.groups.texts))
    for assignment in overrides:
        training = training.override(assignment)
    epochs = method.epochs if wishes.epochs is None else wishes.epochs
    steps = max(1, round(epochs * -(-len(data.groups.texts) // training.batch)))
    made = kind(
        model=os.path.abspath(model), method=method, text=tuple(text), dev=tuple(dev), columns=columns.texts, score=columns.answer,
        vectors=SentenceVectors(pooling=chosen, prompt="" if before is None else before.prompt), training=training,
        dropout=method.dropout if dropout is None else dropout, language=language,
        budget=Budget(unit="steps", amount=steps) if budget is None else Budget.parse(budget), **settings,
    )  # fmt: skip
    if before is not None and before.transforms:
        data.notes.append("the transforms of the model's sentence.json were fitted to vectors that training changes: they are left out.")
    return PlannedSentences(settings=made, data=data, source=source, tokenizer=tokenizer)


def source_of(folder: Path) -> tuple[Model, Tokenizer, SentenceVectors | None]:
    """The network of a directory, and how it makes vectors so far."""
    body, tokenizer = read_model(folder)
    return network(body, _NO_WORDS), tokenizer, SentenceVectors.read(folder)


def pooled_width(body: Model, pooling: Pooling | None) -> int:
    """Of a pooled vector; None: as the family pools."""
    return body.width if pooling is None else pooling.build(layer_widths(body)).width
