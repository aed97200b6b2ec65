"""Training sentence vectors: from a model and a file of texts to a model directory whose `embed` gives them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from plume.core.errors import PlumeError
from plume.core.files import read_json, removed_if_refused
from plume.core.part import part_from_json, replace
from plume.data.loader import Cursor, Mixture
from plume.model.checkpoint import TOKENIZER, WEIGHTS, save_recipe
from plume.model.networks.model import Model
from plume.model.resources import save_resources
from plume.readers.example import Example
from plume.sentences.card import write_card
from plume.sentences.dev import BEST, BEST_SCORE, Keeper
from plume.sentences.network import ALIGNMENT, UNIFORMITY, ContrastModel
from plume.sentences.planning import Data, PlannedSentences, planned, pooled_width, read_data, source_of
from plume.sentences.rows import CONTRAST, TOKENS, SentenceGroups, lay_out, lay_out_written, texts_as_embedded
from plume.sentences.settings import SentenceSettings, dropping, token_head, writing_recipe
from plume.text.tokenizer import Tokenizer
from plume.train.checkpoint import publish_weights
from plume.train.device import to_device
from plume.train.fit import begin, fit, refuse_other_data
from plume.train.loop import Outcome, TrainingPlan
from plume.train.metrics import METRICS
from plume.train.settings import RUN
from plume.tuning.bodies import rebuilt
from plume.tuning.rows.questions import QuestionReader
from plume.tuning.task import Columns
from plume.tuning.tuned import coder_for, finished, reading_order
from plume.vectors.sentence import SentenceVectors


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A run that has ended."""

    folder: Path
    outcome: Outcome
    scores: dict[str, float]  # of the weights that were kept, on dev; empty where there was none


def start(model: Path, folder: Path, *, quiet: bool = False, **options: Any) -> Trained:
    """A new run into a directory that does not exist yet or is empty; the options are those of `planned`."""
    first = os.environ.get("RANK", "0") == "0"  # of torchrun's: the others may be late, and find what it wrote
    if first and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlumeError(f"{folder} exists already. Choose another --out, or resume it with: plume sentences train --resume {folder}")
    made = planned(model, **options)
    with removed_if_refused(folder, unless=lambda: not first or (folder / METRICS).exists()):  # it is opened when the run begins
        return run(made, folder, quiet=quiet)


def resume(folder: Path, *, quiet: bool = False) -> Trained:
    """Go on from the last checkpoint."""
    if not (folder / RUN).exists():
        raise PlumeError(f"{folder} holds no run to resume: there is no {RUN} in it.")
    settings = part_from_json(read_json(folder / RUN, "it should hold the run's settings"))
    if not isinstance(settings, SentenceSettings):
        raise PlumeError(f"{folder} is no run of plume sentences train.")
    refuse_other_data(
        folder, _fingerprint(settings), f"The files that {folder} was trained on have changed: restore them, or start a new run."
    )
    data = read_data(settings.method, settings.text, settings.dev, Columns(texts=settings.columns, answer=settings.score))
    source, tokenizer, _ = source_of(Path(settings.model))
    return run(PlannedSentences(settings=settings, data=data, source=source, tokenizer=tokenizer), folder, quiet=quiet, fresh=False)


def run(made: PlannedSentences, folder: Path, *, quiet: bool = False, fresh: bool = True) -> Trained:
    """Train on what has been read."""
    settings, data, source, tokenizer = made
    processes = begin(settings)
    groups, lost = _laid_out(settings, data, source, tokenizer)
    model = contrast_model(settings, source, tokenizer).to(processes.device)
    reader = reader_of(settings, groups, model.body, tokenizer, processes=processes.size)
    (batch,) = reader.step(Cursor(), [slice(0, 2)])
    model.eval().settle(to_device(batch, processes.device))
    keeper = Keeper(model, tokenizer, lambda: vectors_of(settings, model), data.dev, folder, write=processes.first)
    model.train()
    outcome = fit(
        model, Mixture(readers=(reader,), shares=(1.0,), seed=settings.seed), plan=plan_of(settings, rows=reader.rows), settings=settings,
        folder=folder, processes=processes, fingerprint=_fingerprint(settings), write=_writer(folder, settings, source, tokenizer),
        measure=keeper.measure, opening=[*data.notes, *lost, _opening(settings, model, reader)], publish=False, fresh=fresh, quiet=quiet,
    )  # fmt: skip
    if data.dev is None or not keeper.history:  # stopped before the first mark
        keeper.measure(outcome.position.spent)
    processes.wait()
    best = {} if data.dev is None else read_json(folder / BEST_SCORE, "the run keeps its best measurement there")
    if processes.first:
        if best:
            publish_weights(folder / BEST, folder / WEIGHTS)
        write_card(
            folder, settings=settings, notes=[*data.notes, *lost], groups=len(groups), outcome=outcome, best=best, curve=keeper.history
        )
    processes.wait()
    return Trained(folder=folder, outcome=outcome, scores=dict(best.get("scores", {})))


def contrast_model(settings: SentenceSettings, source: Model, tokenizer: Tokenizer) -> ContrastModel:
    """The source with the dropout of training, and what the method puts on it."""
    body = rebuilt(source, dropping(source.recipe, settings.dropout), tokenizer)
    head = token_head(source.recipe) if settings.method.views.writes else None
    return ContrastModel(
        body, settings.method.loss, pooling=settings.pooling, parts=settings.parts,
        layer=None if settings.layer is None else settings.layer.build(pooled_width(body, settings.pooling), settings.seed),
        writer=None if head is None else body.head(head.name),
    )  # fmt: skip


def vectors_of(settings: SentenceSettings, model: ContrastModel) -> SentenceVectors:
    """How the model makes them at use: with the layer, where that is kept."""
    if model.layer is None or not model.layer.part.kept:
        return settings.vectors
    return replace(settings.vectors, transforms=(model.layer.transform(), *settings.vectors.transforms))


def reader_of(
    settings: SentenceSettings, groups: SentenceGroups, body: Model, tokenizer: Tokenizer, *, processes: int = 1
) -> QuestionReader:
    """Batches in an order that follows from the seed; as many rows for each process."""
    rows = min(settings.training.batch, len(groups)) // processes * processes
    if rows < 2 * processes:
        raise PlumeError(
            f"{len(groups)} rows and batches of {settings.training.batch} give {processes} processes nothing to tell apart: give more."
        )
    order = reading_order(body, tokenizer)
    return QuestionReader(
        questions=groups, rows=rows, seed=settings.seed,
        finish=lambda batch, asked: batch if asked.complete else finished(batch, asked, body, order),
    )  # fmt: skip


def plan_of(settings: SentenceSettings, *, rows: int) -> TrainingPlan:
    """One kind of batch; what is only shown weighs nothing."""
    weights = {CONTRAST: 1.0, TOKENS: 1.0, ALIGNMENT: 0.0, UNIFORMITY: 0.0}
    return TrainingPlan(training=replace(settings.training, batch=rows), weights=[weights], during=[(0.0, 1.0)])


def _laid_out(settings: SentenceSettings, data: Data, source: Model, tokenizer: Tokenizer) -> tuple[SentenceGroups, list[str]]:
    prompt = settings.vectors.prompt
    grouped = replace(data.groups, texts=[tuple(prompt + text for text in texts) for texts in data.groups.texts]) if prompt else data.groups
    coder = texts_as_embedded(coder_for(source, tokenizer, length=settings.training.length, usual=settings.language))
    if coder.usual is None:
        coder.usual = coder.usual_language([Example(texts=texts) for texts in grouped.texts])
    if settings.method.views.writes:
        return lay_out_written(grouped, coder)
    groups, lost = lay_out(grouped, coder)
    taught = settings.taught([texts[0] for texts in data.groups.texts])
    return (groups if taught is None else replace(groups, taught=taught[groups.member[:, 0]])), lost


def _writer(folder: Path, settings: SentenceSettings, source: Model, tokenizer: Tokenizer) -> Callable[[], None]:
    """Everything but the weights of a model directory; the recipe is the source's own."""

    def write() -> None:
        save_recipe(folder, writing_recipe(source.recipe, settings.method))
        tokenizer.save(folder / TOKENIZER)
        save_resources(folder, source)

    return write


def _opening(settings: SentenceSettings, model: torch.nn.Module, reader: QuestionReader) -> str:
    learning = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    pooled = (
        "as the family pools" if settings.pooling is None else f"pooling {', '.join(type(one).__name__ for one in settings.pooling.tokens)}"
    )
    return (
        f"{settings.method.name}: {len(reader.questions):,} groups of texts, {learning:,} trainable parameters, {pooled}; {settings.budget}, "
        f"batch size {reader.rows}, learning rate {settings.training.peak:.2g}, dropout {settings.dropout}"
    )


def _fingerprint(settings: SentenceSettings) -> dict[str, str]:
    found = {}
    for path in settings.files:
        with open(path, "rb") as opened:
            found[path] = hashlib.file_digest(opened, "sha256").hexdigest()
    return found
