"""Training a RAG: from an encoder–decoder, documents and questions with their answers to a directory that answers."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from plume.core.errors import PlumeError
from plume.core.files import read_json, removed_if_refused, write_json
from plume.core.part import part_from_json, replace
from plume.data.loader import Cursor, Mixture
from plume.metrics.squad import answer_scores
from plume.model.checkpoint import TOKENIZER, WEIGHTS, save_recipe, save_weights, state_of
from plume.model.networks.model import Model
from plume.model.resources import save_resources
from plume.model.use.language_model import LanguageModel
from plume.nn.pooling import Pooling
from plume.retrieval.rag.answering import RagAnswerer
from plume.retrieval.rag.card import write_rag_card
from plume.retrieval.rag.declared import RAG_FILE, RETRIEVER
from plume.retrieval.rag.finding import Finder, VectorFinder, WordFinder, load_retriever, vector_finder
from plume.retrieval.rag.network import DISTINCT, RagModel, RagRows
from plume.retrieval.rag.pages import RAG, Pages, RagQuestions
from plume.retrieval.rag.settings import PlannedRag, RagData, RagSettings, planned_rag, read_rag_data
from plume.retrieval.settings import QUESTIONS
from plume.sentences.planning import source_of
from plume.sentences.rows import texts_as_embedded
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
from plume.tuning.rows.questions import QuestionReader, one_each
from plume.tuning.rows.rows import shortened, whole
from plume.tuning.tuned import coder_for, finished, reading_order
from plume.tuning.writing.written import lay_out_targets
from plume.vectors.sentence import SentenceVectors

METRIC = "f1"
_MEASURED = 100  # questions of dev, of which the run measures itself
_BEST, _BEST_ASKING = Path("train") / "best.safetensors", Path("train") / "best-questions.safetensors"
BEST_SCORE = Path("train") / "best.json"


def start_rag_run(model: Path, folder: Path, *, quiet: bool = False, **options: Any) -> Trained:
    """A new run into a directory that does not exist yet or is empty; the options are those of `planned_rag`."""
    first = os.environ.get("RANK", "0") == "0"  # of torchrun's: the others may be late, and find what it wrote
    if first and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlumeError(f"{folder} exists already. Choose another --out, or resume it with: plume tune --resume {folder}")
    made = planned_rag(model, **options)
    with removed_if_refused(folder, unless=lambda: not first or (folder / METRICS).exists()):
        return run_rag(made, folder, quiet=quiet)


def resume_rag(folder: Path, settings: RagSettings, *, quiet: bool = False) -> Trained:
    """Go on from the last checkpoint."""
    refuse_other_data(
        folder, _fingerprint(settings), f"The files that {folder} was trained on have changed: restore them, or start a new run."
    )
    declared = settings.declared
    data = read_rag_data(declared.task, settings.train, settings.dev, declared.documents, settings.seed)
    source, tokenizer, _ = source_of(Path(settings.model))
    return run_rag(PlannedRag(settings=settings, data=data, source=source, tokenizer=tokenizer), folder, quiet=quiet, fresh=False)


def rag_settings_of(folder: Path) -> RagSettings | None:
    """Of a run that trains a RAG; None: the folder holds another."""
    if not (folder / RUN).exists():
        return None
    settings = part_from_json(read_json(folder / RUN, "it should hold the run's settings"))
    return settings if isinstance(settings, RagSettings) else None


def run_rag(made: PlannedRag, folder: Path, *, quiet: bool = False, fresh: bool = True) -> Trained:
    """Train on what has been read."""
    settings, data, source, tokenizer = made
    processes = begin(settings)
    retriever = None if settings.retriever is None else load_retriever(Path(settings.retriever))
    finder = _finder(settings, data, retriever)
    model, questions, notes = rag_model(settings, data, source, tokenizer, retriever, finder)
    model.to(processes.device)
    reader = _reader(settings, questions, model, source, tokenizer, retriever)
    (batch,) = reader.step(Cursor(), [slice(0, 2)])
    model.eval().settle(to_device(batch, processes.device))
    keeper = _Keeper(settings, model, tokenizer, retriever, data, finder, folder, write=processes.first)
    model.train()
    outcome = fit(
        model, Mixture(readers=(reader,), shares=(1.0,), seed=settings.seed), plan=_plan(settings, rows=reader.rows), settings=settings,
        folder=folder, processes=processes, fingerprint=_fingerprint(settings),
        write=_writer(folder, settings, source, tokenizer, retriever), measure=keeper.measure, enough=keeper.enough,
        opening=[*data.notes, *notes, _opening(settings, model, reader)], publish=False, fresh=fresh, quiet=quiet,
    )  # fmt: skip
    if not keeper.history:  # stopped before the first mark
        keeper.measure(outcome.position.spent)
    processes.wait()
    best = read_json(folder / BEST_SCORE, "the run keeps its best measurement there")
    if processes.first:
        publish_weights(folder / _BEST, folder / WEIGHTS)
        if (folder / _BEST_ASKING).exists():
            publish_weights(folder / _BEST_ASKING, folder / RETRIEVER / QUESTIONS / WEIGHTS)
        write_rag_card(
            folder,
            settings=settings,
            notes=[*data.notes, *notes],
            questions=len(data.train),
            outcome=outcome,
            best=best,
            curve=keeper.history,
        )
    processes.wait()
    return Trained(folder=folder, outcome=outcome, scores=dict(best["scores"]))


def _finder(settings: RagSettings, data: RagData, retriever: LanguageModel | None) -> Finder:
    if retriever is None or settings.retriever is None:
        return WordFinder(data.passages)
    return vector_finder(Path(settings.retriever), retriever, data.passages, scale=settings.declared.task.scale)


def rag_model(
    settings: RagSettings, data: RagData, source: Model, tokenizer: Tokenizer, retriever: LanguageModel | None, finder: Finder
) -> tuple[RagModel, RagQuestions, list[str]]:
    """The writer with the dropout of training, what reads questions, and the rows of both."""
    declared, texts = settings.declared, [question for question, _ in data.train]
    coder = coder_for(source, tokenizer, length=declared.length)
    pages = Pages(coder, texts, data.passages.texts)
    left = np.full(len(texts), min(declared.way.most(coder), declared.longest))
    targets, cut = lay_out_targets([answer for _, answer in data.train], declared.way, coder, left=left)
    learns = retriever is not None and declared.task.learn_to_find
    fixed = None if learns else finder.find(texts, declared.task.passages)
    asking, pooling = None, None
    if learns:
        assert retriever is not None and isinstance(finder, VectorFinder)
        side = retriever.asking or retriever
        asking, pooling = rebuilt(side.model, dropping(side.recipe, settings.dropout), side.tokenizer), _pooling(side)
    model = RagModel(
        rebuilt(source, dropping(source.recipe, settings.dropout), tokenizer), declared.task, declared.way,
        RagRows(pages=pages, targets=targets, fixed=fixed), asking=asking, pooling=pooling,
        finder=finder if learns and isinstance(finder, VectorFinder) else None,
    )  # fmt: skip
    reads = coder
    if learns and retriever is not None:
        side = retriever.asking or retriever
        reads = texts_as_embedded(coder_for(side.model, side.tokenizer, length=min(side.model.longest or declared.length, declared.length)))
    rows = reads.lay_out(shortened(whole(reads.cut(texts)), reads.room(1)))
    questions = RagQuestions(name=RAG, rows=rows, groups=one_each(len(rows)), size=targets.length)
    return model, questions, [f"{cut:,} answers are cut to {declared.longest} tokens"] if cut else []


def _pooling(side: LanguageModel) -> Pooling | None:
    found = None if side.sentence is None else side.sentence.pooling
    return found if isinstance(found, Pooling) else None


class _Keeper:
    """Answers some questions of dev now and then, and keeps the weights that answer best."""

    def __init__(
        self, settings: RagSettings, model: RagModel, tokenizer: Tokenizer, retriever: LanguageModel | None, data: RagData, finder: Finder,
        folder: Path, *, write: bool,
    ) -> None:  # fmt: skip
        self.settings, self.model, self.folder, self.data, self.write = settings, model, folder, data, write
        if model.reader is not None and isinstance(finder, VectorFinder) and retriever is not None:
            sentence = replace(retriever.sentence or SentenceVectors(), questions="")
            side = retriever.asking or retriever
            learned = LanguageModel(retriever.model, retriever.tokenizer, sentence)
            learned.asking = LanguageModel(model.reader.body, side.tokenizer, sentence)
            finder = VectorFinder(learned, finder.vectors, scale=finder.scale)
        writer = LanguageModel(model.writer, tokenizer)
        greedy = replace(settings.declared, task=replace(settings.declared.task, beams=1))
        self.answerer = RagAnswerer(writer, greedy, passages=data.passages, finder=finder)

    @cached_property
    def history(self) -> list[float]:
        """What was measured so far; read back where a run goes on."""
        return [float(line[f"held_out/{METRIC}"]) for line in read_metrics(self.folder) if f"held_out/{METRIC}" in line]

    def measure(self, spent: Spent) -> dict[str, float]:
        """Dev figures; the weights are kept if they are the best, or where nothing is held out the last."""
        asked = self.data.dev[:_MEASURED]
        self.model.eval()
        given = self.answerer.answer([one.question for one in asked])
        self.model.train()
        found = answer_scores([list(one.answers) for one in asked], [one.answer for one in given])
        if self.write and (not self.data.held_out or found[METRIC] >= max(self.history, default=-np.inf)):
            save_weights(self.folder / _BEST, state_of(self.model.writer))
            if self.model.reader is not None:
                save_weights(self.folder / _BEST_ASKING, state_of(self.model.reader.body))
            write_json(self.folder / BEST_SCORE, {"step": spent.steps, "scores": found})
        self.history.append(found[METRIC])
        return found

    def enough(self) -> bool:
        """Have the last measurements brought nothing better?"""
        after = len(self.history) - 1 - int(np.argmax(self.history)) if self.history else 0
        return self.data.held_out and after >= self.settings.patience


def _reader(
    settings: RagSettings, questions: RagQuestions, model: RagModel, source: Model, tokenizer: Tokenizer, retriever: LanguageModel | None
) -> QuestionReader:
    side = None if retriever is None or model.reader is None else retriever.asking or retriever
    body, words = (source, tokenizer) if side is None else (side.model, side.tokenizer)
    order = reading_order(body, words)
    return QuestionReader(
        questions=questions, rows=min(settings.training.batch, len(questions)), seed=settings.seed,
        finish=lambda batch, asked: finished(batch, asked, body, order),
    )  # fmt: skip


def _plan(settings: RagSettings, *, rows: int) -> TrainingPlan:
    return TrainingPlan(training=replace(settings.training, batch=rows), weights=[{RAG: 1.0, DISTINCT: 0.0}], during=[(0.0, 1.0)])


def _writer(
    folder: Path, settings: RagSettings, source: Model, tokenizer: Tokenizer, retriever: LanguageModel | None
) -> Callable[[], None]:
    """Everything but the weights that learn; the retriever's passage side as it is."""

    def write() -> None:
        save_recipe(folder, source.recipe)
        tokenizer.save(folder / TOKENIZER)
        save_resources(folder, source)
        write_json(folder / RAG_FILE, settings.declared.to_json())
        if retriever is None:
            return
        sentence = replace(retriever.sentence or SentenceVectors(), questions=QUESTIONS)
        side = retriever.asking or retriever
        LanguageModel(retriever.model, retriever.tokenizer, sentence).save(folder / RETRIEVER)
        LanguageModel(side.model, side.tokenizer, replace(sentence, questions="")).save(folder / RETRIEVER / QUESTIONS)

    return write


def _opening(settings: RagSettings, model: RagModel, reader: QuestionReader) -> str:
    learning = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    task = settings.declared.task
    finds = "BM25 finds" if settings.retriever is None else "what finds learns too" if model.reader is not None else "what finds stays"
    return (
        f"rag: {len(reader.questions):,} questions and answers, {task.passages} passages each, likelihood by {task.likelihood}, {finds}; "
        f"{learning:,} trainable parameters; {settings.budget}, batch size {reader.rows}, learning rate {settings.training.peak:.2g}"
    )


def _fingerprint(settings: RagSettings) -> dict[str, str]:
    found = {}
    for path in settings.files:
        with open(path, "rb") as opened:
            found[path] = hashlib.file_digest(opened, "sha256").hexdigest()
    return found
