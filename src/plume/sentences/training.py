"""Training sentence vectors: from a model and a file of texts to a model directory whose `embed` gives them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from plume.core.errors import PlumeError
from plume.core.files import read_json, removed_if_refused
from plume.core.part import part_from_json, replace
from plume.data.loader import Cursor, Mixture
from plume.model.checkpoint import TOKENIZER, WEIGHTS, save_languages, save_recipe
from plume.model.networks.model import Model
from plume.nn.pooling import Pooling
from plume.readers.example import Example
from plume.sentences.card import write_card
from plume.sentences.dev import BEST, BEST_SCORE, Keeper
from plume.sentences.grouping import Grouped, ScoredPairs
from plume.sentences.method import SentenceMethod
from plume.sentences.network import ALIGNMENT, UNIFORMITY, ContrastModel
from plume.sentences.reading import SentenceRows, read_sentences
from plume.sentences.rows import CONTRAST, TOKENS, SentenceGroups, lay_out, lay_out_written, texts_as_embedded
from plume.sentences.settings import SentenceSettings, dropping, pooling_for, token_head, training_for, writing_recipe
from plume.text.tokenizer import Tokenizer
from plume.train.budget import Budget
from plume.train.checkpoint import publish_weights
from plume.train.device import to_device
from plume.train.fit import begin, fit, refuse_other_data
from plume.train.loop import Outcome, TrainingPlan
from plume.train.metrics import METRICS
from plume.train.settings import RUN
from plume.tuning.adapting.body import layer_widths, network
from plume.tuning.bodies import read_model, rebuilt
from plume.tuning.rows.questions import QuestionReader
from plume.tuning.settings import Wishes
from plume.tuning.task import Columns
from plume.tuning.tuned import coder_for, finished, reading_order, require_languages
from plume.vectors.sentence import SentenceVectors

_NO_WORDS = (
    "Word vectors give a word the same vector in every text, and nothing here would change that: train a network, or weigh and whiten them "
    "(plume sentences fit)."
)
_LAST = "no --dev file was given: nothing chooses among the weights, so the last are kept."


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A run that has ended."""

    folder: Path
    outcome: Outcome
    scores: dict[str, float]  # of the weights that were kept, on dev; empty where there was none


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


def start(
    model: Path,
    folder: Path,
    *,
    method: SentenceMethod,
    text: Sequence[str],
    dev: Sequence[str] = (),
    columns: Columns = Columns(),
    wishes: Wishes = Wishes(),
    pooling: Pooling | None = None,
    dropout: float | None = None,
    budget: str | None = None,
    language: str | None = None,
    overrides: Sequence[str] = (),
    quiet: bool = False,
    **settings: Any,
) -> Trained:
    """A new run into a directory that does not exist yet or is empty."""
    first = os.environ.get("RANK", "0") == "0"  # of torchrun's: the others may be late, and find what it wrote
    if first and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlumeError(f"{folder} exists already. Choose another --out, or resume it with: plume sentences train --resume {folder}")
    text, dev = ([os.path.abspath(path) for path in paths] for paths in (text, dev))
    data = read_data(method, text, dev, columns)
    source, tokenizer, before = _source(model)
    require_languages(source, language)
    writing_recipe(source.recipe, method)
    chosen = pooling_for(method, source, reading_order(source, tokenizer), asked=pooling, before=before)
    method = replace(method, loss=method.loss.fitting(_width(source, chosen)))
    training = training_for(source, method, wishes, groups=len(data.groups.texts))
    for assignment in overrides:
        training = training.override(assignment)
    epochs = method.epochs if wishes.epochs is None else wishes.epochs
    steps = max(1, round(epochs * -(-len(data.groups.texts) // training.batch)))
    made = SentenceSettings(
        model=os.path.abspath(model), method=method, text=tuple(text), dev=tuple(dev), columns=columns.texts, score=columns.answer,
        vectors=SentenceVectors(pooling=chosen, prompt="" if before is None else before.prompt), training=training,
        dropout=method.dropout if dropout is None else dropout, language=language,
        budget=Budget(unit="steps", amount=steps) if budget is None else Budget.parse(budget), **settings,
    )  # fmt: skip
    if before is not None and before.transforms:
        data.notes.append("the transforms of the model's sentence.json were fitted to vectors that training changes: they are left out.")
    with removed_if_refused(folder, unless=lambda: not first or (folder / METRICS).exists()):  # it is opened when the run begins
        return run(made, data, source, tokenizer, folder, quiet=quiet)


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
    source, tokenizer, _ = _source(Path(settings.model))
    return run(settings, data, source, tokenizer, folder, quiet=quiet, fresh=False)


def run(
    settings: SentenceSettings, data: Data, source: Model, tokenizer: Tokenizer, folder: Path, *, quiet: bool = False, fresh: bool = True
) -> Trained:
    """Train on what has been read."""
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
        layer=None if settings.layer is None else settings.layer.build(body.width, settings.seed),
        writer=None if head is None else body.head(head.name),
    )  # fmt: skip


def vectors_of(settings: SentenceSettings, model: ContrastModel) -> SentenceVectors:
    """How the model makes them at use: with the layer, where that is kept."""
    if model.layer is None or not model.layer.part.kept:
        return settings.vectors
    return replace(settings.vectors, transforms=(model.layer.transform(),))


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


def _source(folder: Path) -> tuple[Model, Tokenizer, SentenceVectors | None]:
    body, tokenizer = read_model(folder)
    return network(body, _NO_WORDS), tokenizer, SentenceVectors.read(folder)


def _width(body: Model, pooling: Pooling | None) -> int:
    return body.width if pooling is None else pooling.build(layer_widths(body)).width


def _laid_out(settings: SentenceSettings, data: Data, source: Model, tokenizer: Tokenizer) -> tuple[SentenceGroups, list[str]]:
    prompt = settings.vectors.prompt
    grouped = replace(data.groups, texts=[tuple(prompt + text for text in texts) for texts in data.groups.texts]) if prompt else data.groups
    coder = texts_as_embedded(coder_for(source, tokenizer, length=settings.training.length, usual=settings.language))
    if coder.usual is None:
        coder.usual = coder.usual_language([Example(texts=texts) for texts in grouped.texts])
    if settings.method.views.writes:
        return lay_out_written(grouped, coder)
    return lay_out(grouped, coder)


def _writer(folder: Path, settings: SentenceSettings, source: Model, tokenizer: Tokenizer) -> Callable[[], None]:
    """Everything but the weights of a model directory; the recipe is the source's own."""

    def write() -> None:
        save_recipe(folder, writing_recipe(source.recipe, settings.method))
        tokenizer.save(folder / TOKENIZER)
        save_languages(folder, source.languages)

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
    for path in (*settings.text, *settings.dev):
        with open(path, "rb") as opened:
            found[path] = hashlib.file_digest(opened, "sha256").hexdigest()
    return found
