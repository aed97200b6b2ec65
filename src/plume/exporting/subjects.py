"""What is exported: graphs, what a script must know, and how both are checked. A task with a head, or a language model that embeds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.data.lines import read_lines
from plume.exporting.checking import Checked, FileBesideTorch, check_language, check_task
from plume.exporting.formats import Run
from plume.exporting.language_graph import LanguageGraph
from plume.exporting.samples import examples_for
from plume.exporting.settings_file import language_config, task_config
from plume.model.use.language_model import LanguageModel
from plume.model.use.runtimes._graph import Graph, Signature, require_graph
from plume.model.use.runtimes._samples import TEXTS
from plume.model.use.text_batches import TextBatches
from plume.text.tokenizer import Tokenizer
from plume.train.device import to_device
from plume.tuning.exchange import framed
from plume.tuning.graphs import require_no_links
from plume.tuning.rows.questions import in_reading_order, inference_batches
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel


class ExportSubject:
    """A model as it is exported."""

    title: str
    script: str  # by which run.py answers
    shared: str = "_model"  # … and what it shares with others
    config: dict[str, Any]
    tokenizer: Tokenizer
    graphs: Mapping[str, Graph]  # a file each, by its name

    def check(self, runs: Mapping[str, Run]) -> Checked:
        """Hold the files, as they run, against torch."""
        raise NotImplementedError

    def notes(self) -> list[str]:
        """What the user should know beside."""
        return []


class TaskSubject(ExportSubject):
    """One task of a tuned model, answered by a head."""

    def __init__(self, tuned: TunedModel, task: Task, file: Path | None) -> None:
        self.tuned, self.task = tuned, task
        require_graph(tuned.model, tuned.model.body.recipe.name)
        require_one_language(tuned.body)
        require_no_links(tuned.model)
        self.examples = examples_for(task, file)
        questions, _ = task.questions(self.examples[:2], tuned.coder())
        batch = in_reading_order(questions.batch(next(iter(inference_batches(questions)))), tuned.declared.order)
        graph = tuned.graph(task.called, Signature.of(to_device(batch, tuned.device)))
        self.graphs, self.tokenizer = {"model": graph}, framed(tuned)
        self.script, self.config = task_config(task, graph, tuned.coder())
        self.title = f"{tuned.model.body.recipe.name}, tuned for {task.called}"

    def check(self, runs: Mapping[str, Run]) -> Checked:
        return check_task(self.tuned, self.task, self.examples, FileBesideTorch(self.graphs["model"], runs["model"]))


class LanguageSubject(ExportSubject):
    """A language model that embeds and predicts tokens."""

    def __init__(self, language: LanguageModel, file: Path | None) -> None:
        require_graph(language.model, language.recipe.name)
        require_one_language(language)
        self.batches = _batches(language, texts_for(file))
        self.graphs = {"model": LanguageGraph(language, Signature.of(self.batches[0]))}
        self.tokenizer = language.tokenizer
        self.script, self.config = language_config(language)
        self.title = language.recipe.name

    def check(self, runs: Mapping[str, Run]) -> Checked:
        return check_language(self.batches, FileBesideTorch(self.graphs["model"], runs["model"]))


def texts_for(file: Path | None) -> list[str]:
    """What a language model is checked on."""
    texts = list(TEXTS) if file is None else [line for _, line in islice(read_lines(file, longest=None), 1000) if line.strip()]
    if not texts:
        raise PlumeError(f"{file} has no text to check with.")
    return texts


def _batches(language: LanguageModel, texts: list[str]) -> list[Batch]:
    """Some together, some alone."""
    read = TextBatches(language.abilities, texts, [None] * len(texts))
    return [batch for rows in (8, 1) for _, batch in islice(read.batches(rows=rows), 8 if rows == 1 else None)]


def require_one_language(language: LanguageModel) -> None:
    """What is told a language with every text needs plume to find it."""
    if language.model.languages is not None:
        raise PlumeError(
            f"{language.recipe.name} is told the language of every text, which no other tool does: it cannot be exported as a graph. "
            "plume runs it by ONNX Runtime with --runtime onnx."
        )
