"""Training a bi-encoder: from a model and questions to a directory that embeds passages, and questions beside them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, removed_if_refused, write_json
from plume.core.part import part_from_json, replace
from plume.data.loader import Cursor, Mixture
from plume.model.checkpoint import TOKENIZER, WEIGHTS, save_recipe, save_weights, state_of
from plume.model.networks.model import Model
from plume.model.resources import save_resources
from plume.model.use.language_model import LanguageModel
from plume.readers.example import Example
from plume.retrieval.bi_encoder import BiEncoder
from plume.retrieval.card import write_card
from plume.retrieval.loss import PassageLoss
from plume.retrieval.measuring import Pool, measured, pool_of
from plume.retrieval.planning import PlannedRetrieval, RetrievalRows, planned, read_rows
from plume.retrieval.settings import QUESTIONS, RetrievalSettings
from plume.retrieval.words import WordIndex
from plume.sentences.grouping import Grouped
from plume.sentences.network import ALIGNMENT, UNIFORMITY
from plume.sentences.planning import source_of
from plume.sentences.rows import CONTRAST, SentenceGroups, lay_out, texts_as_embedded
from plume.sentences.settings import dropping
from plume.sentences.training import Trained
from plume.text.tokenizer import Tokenizer
from plume.train.budget import Spent
from plume.train.checkpoint import publish_weights
from plume.train.device import to_device
from plume.train.fit import begin, fit, refuse_other_data
from plume.train.loop import TrainingPlan
from plume.train.metrics import METRICS, read_metrics
from plume.train.settings import RUN
from plume.tuning.bodies import rebuilt
from plume.tuning.rows.questions import QuestionReader
from plume.tuning.tuned import coder_for, finished, reading_order

METRIC = "mrr"
_POOL, _MEASURED = 500, 200  # passages and questions of dev, among which and of which the run measures itself
_BEST = {"": Path("train") / "best.safetensors", QUESTIONS: Path("train") / "best-questions.safetensors"}
BEST_SCORE = Path("train") / "best.json"


def start(model: Path, folder: Path, *, quiet: bool = False, **options: Any) -> Trained:
    """A new run into a directory that does not exist yet or is empty; the options are those of `planned`."""
    first = os.environ.get("RANK", "0") == "0"  # of torchrun's: the others may be late, and find what it wrote
    if first and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlumeError(f"{folder} exists already. Choose another --out, or resume it with: plume tune --resume {folder}")
    made = planned(model, **options)
    with removed_if_refused(folder, unless=lambda: not first or (folder / METRICS).exists()):
        return run(made, folder, quiet=quiet)


def resume(folder: Path, settings: RetrievalSettings, *, quiet: bool = False) -> Trained:
    """Go on from the last checkpoint."""
    refuse_other_data(
        folder, _fingerprint(settings), f"The files that {folder} was trained on have changed: restore them, or start a new run."
    )
    rows = read_rows(settings.task, settings.data, settings.seed)
    source, tokenizer, _ = source_of(Path(settings.model))
    return run(PlannedRetrieval(settings=settings, rows=rows, source=source, tokenizer=tokenizer), folder, quiet=quiet, fresh=False)


def settings_of(folder: Path) -> RetrievalSettings | None:
    """Of a run that trains a bi-encoder; None: the folder holds another."""
    if not (folder / RUN).exists():
        return None
    settings = part_from_json(read_json(folder / RUN, "it should hold the run's settings"))
    return settings if isinstance(settings, RetrievalSettings) else None


def run(made: PlannedRetrieval, folder: Path, *, quiet: bool = False, fresh: bool = True) -> Trained:
    """Train on what has been read."""
    settings, rows, source, tokenizer = made
    processes = begin(settings)
    groups, lost = _laid_out(settings, rows.grouped(settings.task, settings.seed), source, tokenizer)
    model = bi_encoder(settings, source, tokenizer).to(processes.device)
    reader = _reader(settings, groups, model.body, tokenizer, processes=processes.size)
    (batch,) = reader.step(Cursor(), [slice(0, 2)])
    model.eval().settle(to_device(batch, processes.device))
    keeper = _Keeper(settings, model, tokenizer, rows, folder, write=processes.first)
    model.train()
    notes = [*rows.notes, *lost, *keeper.yardstick()]
    outcome = fit(
        model, Mixture(readers=(reader,), shares=(1.0,), seed=settings.seed), plan=_plan(settings, rows=reader.rows), settings=settings,
        folder=folder, processes=processes, fingerprint=_fingerprint(settings), write=_writer(folder, settings, source, tokenizer),
        measure=keeper.measure, enough=keeper.enough, opening=[*notes, _opening(settings, model, reader)], publish=False, fresh=fresh,
        quiet=quiet,
    )  # fmt: skip
    if not keeper.history:  # there is no dev, or the run was stopped before the first mark
        keeper.measure(outcome.position.spent)
    processes.wait()
    best = read_json(folder / BEST_SCORE, "the run keeps its best measurement there") if rows.dev else {}
    if processes.first:
        for side, path in _BEST.items():
            if (folder / path).exists():
                publish_weights(folder / path, folder / side / WEIGHTS)
        write_card(folder, settings=settings, notes=notes, questions=len(rows.train), outcome=outcome, best=best, curve=keeper.history)
    processes.wait()
    return Trained(folder=folder, outcome=outcome, scores=dict(best.get("scores", {})))


def bi_encoder(settings: RetrievalSettings, source: Model, tokenizer: Tokenizer) -> BiEncoder:
    """The source with the dropout of training, once or twice."""
    task, recipe = settings.task, dropping(source.recipe, settings.dropout)
    loss = PassageLoss(similarity=task.similarity, scale=task.scale, in_batch=task.in_batch)
    body, asking = (rebuilt(source, recipe, tokenizer) if wanted else None for wanted in (True, task.two))
    assert body is not None
    pooling = settings.vectors.pooling
    return BiEncoder(body, asking, loss, views=2 + task.negatives, pooling=pooling, parts=settings.parts)  # type: ignore[arg-type]


class _Keeper:
    """Measures on dev, and keeps the weights that are best there; where there is no dev, the last."""

    def __init__(
        self, settings: RetrievalSettings, model: BiEncoder, tokenizer: Tokenizer, rows: RetrievalRows, folder: Path, *, write: bool
    ) -> None:
        self.settings, self.model, self.tokenizer, self.folder, self.write = settings, model, tokenizer, folder, write
        self.pool: Pool | None = None
        if rows.dev:
            self.pool = pool_of(rows.dev[:_MEASURED], rows.passages.texts, most=_POOL, seed=settings.seed)

    @cached_property
    def history(self) -> list[float]:
        """What was measured so far; read back where a run goes on."""
        return [float(line[f"held_out/{METRIC}"]) for line in read_metrics(self.folder) if f"held_out/{METRIC}" in line]

    def yardstick(self) -> list[str]:
        """What words alone find on dev."""
        if self.pool is None:
            return []
        words = WordIndex(self.pool.texts)
        found = self.pool.scores([keys.tolist() for keys, _ in self.pool.by_words(words)])
        said = ", ".join(f"{name} {value:.4f}" for name, value in found.items())
        return [
            f"retrieval: BM25 alone would score {said} on dev ({len(self.pool.questions):,} questions, {len(self.pool.texts):,} passages)."
        ]

    def measure(self, spent: Spent) -> dict[str, float]:
        """Dev figures; the weights are kept if they are the best, or if nothing chooses among them."""
        if self.pool is None:
            self._keep()
            return {}
        self.model.eval()
        found = measured(self._as_used(), self.pool, self.settings.task.similarity)
        self.model.train()
        if found[METRIC] >= max(self.history, default=-np.inf):
            self._keep()
            if self.write:
                write_json(self.folder / BEST_SCORE, {"step": spent.steps, "scores": found})
        self.history.append(found[METRIC])
        return found

    def enough(self) -> bool:
        """Have the last measurements brought nothing better?"""
        after = len(self.history) - 1 - int(np.argmax(self.history)) if self.history else 0
        return after >= self.settings.patience

    def _as_used(self) -> LanguageModel:
        made = LanguageModel(self.model.body, self.tokenizer, replace(self.settings.vectors, questions=""))
        if self.model.asking is not None:
            made.asking = LanguageModel(self.model.asking.body, self.tokenizer, made.sentence)
        return made

    def _keep(self) -> None:
        if not self.write:
            return
        save_weights(self.folder / _BEST[""], state_of(self.model.body))
        if self.model.asking is not None:
            save_weights(self.folder / _BEST[QUESTIONS], state_of(self.model.asking.body))


def _laid_out(settings: RetrievalSettings, grouped: Grouped, source: Model, tokenizer: Tokenizer) -> tuple[SentenceGroups, list[str]]:
    coder = texts_as_embedded(coder_for(source, tokenizer, length=settings.training.length))
    if coder.usual is None:
        coder.usual = coder.usual_language([Example(texts=texts[:1]) for texts in grouped.texts])
    return lay_out(grouped, coder)


def _reader(settings: RetrievalSettings, groups: SentenceGroups, body: Model, tokenizer: Tokenizer, *, processes: int) -> QuestionReader:
    rows = min(settings.training.batch, len(groups)) // processes * processes
    if rows < 2 * processes:
        raise PlumeError(
            f"{len(groups)} questions and batches of {settings.training.batch} give {processes} processes nothing to tell apart: give more."
        )
    order = reading_order(body, tokenizer)
    return QuestionReader(questions=groups, rows=rows, seed=settings.seed, finish=lambda batch, asked: finished(batch, asked, body, order))


def _plan(settings: RetrievalSettings, *, rows: int) -> TrainingPlan:
    weights = {CONTRAST: 1.0, ALIGNMENT: 0.0, UNIFORMITY: 0.0}
    return TrainingPlan(training=replace(settings.training, batch=rows), weights=[weights], during=[(0.0, 1.0)])


def _writer(folder: Path, settings: RetrievalSettings, source: Model, tokenizer: Tokenizer) -> Callable[[], None]:
    """Everything but the weights, of each encoder."""

    def write() -> None:
        for side in ("", QUESTIONS) if settings.task.two else ("",):
            make_folder(folder / side)
            save_recipe(folder / side, source.recipe)
            tokenizer.save(folder / side / TOKENIZER)
            save_resources(folder / side, source)
            (settings.vectors if not side else replace(settings.vectors, questions="")).save(folder / side)

    return write


def _opening(settings: RetrievalSettings, model: BiEncoder, reader: QuestionReader) -> str:
    learning = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    task = settings.task
    told = "random" if task.random else "hard"
    return (
        f"retrieval: {len(reader.questions):,} questions, {'two encoders' if task.two else 'one encoder'}, {learning:,} trainable parameters, "
        f"{task.negatives} {told} negative{'s' * (task.negatives != 1)} a question{' and those of the batch' * task.in_batch}; "
        f"{settings.budget}, batch size {reader.rows}, learning rate {settings.training.peak:.2g}"
    )


def _fingerprint(settings: RetrievalSettings) -> dict[str, str]:
    found = {}
    for path in settings.files:
        with open(path, "rb") as opened:
            found[path] = hashlib.file_digest(opened, "sha256").hexdigest()
    return found
