"""A tuned model: one directory that needs nothing else, and one object that predicts and is measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError, suggest
from plume.core.files import make_folder, write_atomic
from plume.core.part import replace
from plume.model.checkpoint import WEIGHTS, load_weights, read_weights, save_weights, state_of
from plume.model.networks.model import Model
from plume.model.resources import linked_as, linker_of
from plume.model.use.abilities import Abilities
from plume.model.use.language_model import LanguageModel
from plume.model.use.runtimes import runner
from plume.model.use.runtimes._graph import Signature
from plume.model.use.runtimes._runtime import Runner
from plume.model.use.side_by_side import side_by_side
from plume.model.use.writing import Begun
from plume.nn.pooling import Pooling
from plume.readers.example import Example, Reading
from plume.static.model import WordModel
from plume.text.tokenizer import Tokenizer
from plume.train.device import to_device
from plume.tuning.adapting.body import Body, network
from plume.tuning.adapting.decoder_rows import decoder_start, through_decoder
from plume.tuning.adapting.network import TaskModel
from plume.tuning.adapting.word_body import WordBody
from plume.tuning.asked import AskedOf
from plume.tuning.declared import Declared, body_of, read_declaration, save_declaration
from plume.tuning.graphs import TaskGraph, head_scores, require_head, require_no_links
from plume.tuning.rows.questions import Floats, Questions, in_reading_order, inference_batches
from plume.tuning.rows.rows import Array, Coder
from plume.tuning.rows.spoken import with_language
from plume.tuning.task import Prediction, Task
from plume.tuning.writing.dialogue import Dialogue
from plume.tuning.writing.replying import ReplyOptions, begin_replies, reply, stream_reply
from plume.vectors.sentence import SentenceVectors

_AT_ONCE = 4096  # examples


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A model's answers to a labelled file, and how good they are."""

    scores: dict[str, float]
    predictions: list[Prediction]
    examples: list[Example]
    reading: Reading
    notes: Counter[str]  # what was lost on the way: texts that had to be cut …


class TunedModel:
    """A model with its tasks: predicts, is measured, saved and loaded. A task answers through it (`plume.tuning.task.Answering`)."""

    def __init__(
        self,
        model: TaskModel,
        tokenizer: Tokenizer,
        declared: Declared,
        sentence: SentenceVectors | None = None,
        *,
        runtime: str | Runner = "torch",
    ) -> None:
        self.model, self.tokenizer, self.declared, self.sentence = model.eval(), tokenizer, declared, sentence
        self.device = next(model.parameters()).device
        self.runtime = runtime
        self.noted: Path | None = None  # where a run keeps what it computed with the weights of one moment
        self._runners = {} if runtime == "torch" else self._run_by(runtime)
        self._below: LanguageModel | None = None
        if self._runners and isinstance(runtime, str):
            assert isinstance(model.body, Model), "what has runners is a network"
            self._below = LanguageModel(model.body, tokenizer, sentence, runtime=runtime)

    def using(self, runtime: str | Runner) -> TunedModel:
        """The same model, answering by another runtime: torch, onnx, onnx-int8; or by what computes the logits of its one task."""
        return TunedModel(self.model, self.tokenizer, self.declared, self.sentence, runtime=runtime)

    def _run_by(self, runtime: str | Runner) -> dict[str, Runner]:
        """What computes each task's logits."""
        network(self.model.body, "Word vectors are read from a table, not computed: use the runtime torch.")
        require_no_links(self.model)
        headed = [task.called for task in self.tasks if task.objective is None]
        if not headed:
            require_head(self.model, self.tasks[0].called)
        if not isinstance(runtime, str):
            return dict.fromkeys(headed, runtime)
        name = self.model.body.recipe.name
        return {task: runner(runtime, self.model, name, partial(self.graph, task)) for task in headed}

    def graph(self, task: str, signature: Signature) -> TaskGraph:
        """What computes a task's logits."""
        return TaskGraph(
            self.model,
            self.tokenizer,
            signature,
            task=task,
            told=str(self.declared.to_json()),
            last=self.coder().sums_up_last,
            start=decoder_start(self.model, task, self.tokenizer),
        )

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What it was tuned for."""
        return self.declared.tasks

    @property
    def body(self) -> LanguageModel:
        """The network below, to fill or generate with."""
        if not isinstance(self.model.body, Model):
            raise PlumeError(f"{self.model.body.recipe.name} has one vector a word: it embeds and answers its task, and nothing else.")
        return self._below or LanguageModel(self.model.body, self.tokenizer, self.sentence)

    @property
    def embedder(self) -> LanguageModel | WordModel:
        """The model below, network or word vectors, as it is after the tuning."""
        if not isinstance(self.model.body, WordBody):
            return self.body
        words = self.model.body
        return WordModel(words.vectors(), recipe=words.recipe, tokenizer=self.tokenizer, sentence=self.sentence)

    @property
    def width(self) -> int:
        """Of what `embed` gives."""
        return self.embedder.width

    def embed(self, texts: str | Sequence[str], *, pooling: Pooling | str | None = None, **options: Any) -> NDArray[np.float32]:
        """As the model below does, which the task has changed if it learned."""
        return self.embedder.embed(texts, pooling=pooling, **options)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name in ("hidden", "fill", "generate", "score", "entities", "know"):
            return getattr(self.body, name)
        raise AttributeError(name)

    def task(self, name: str | None = None) -> Task:
        """The one task, or the one of that name."""
        if name is None and len(self.tasks) == 1:
            return self.tasks[0]
        known = {task.called: task for task in self.tasks}
        if name is None:
            raise PlumeError(f"This model was tuned for {', '.join(known)}: say which with --task.")
        if name not in known:
            raise PlumeError(f"This model was not tuned for '{name}': {suggest(name, known)}.")
        return known[name]

    def predict(self, items: Any, *, task: str | None = None, language: str | None = None) -> list[Prediction]:
        """One answer for each item: a text, a pair, or what the task reads (a dict for questions and choices).

        `language` is for families with a vector for each (XLM): "en", or "en,de" for pairs of both; found for each text if it is not said.
        """
        asked = self.task(task)
        if not isinstance(items, str | dict | Iterable):
            raise PlumeError(f"{asked.called}: give a text or a list of what the task reads, not {items!r}.")
        listed = [items] if isinstance(items, str | dict) else list(items)
        return self.answers(asked, list(self.told((asked.example(item) for item in listed), language)))[0]

    def ask(
        self, question: str | Sequence[str], *, task: str | None = None, kb: str | None = None, documents: str | None = None, **options: Any
    ) -> Any:
        """A `Reply` to a question, or one to each of several: answers, their score, and the steps that led to them.

        `kb` is a knowledge base, `documents` a file, where they are not those of training; `options` are the task's.
        """
        questions = [question] if isinstance(question, str) else list(question)
        if not all(isinstance(one, str) and one.strip() for one in questions):
            raise PlumeError("A question is a text that is not empty.")
        asked = self.task(task)
        replies = asked.ask(self, questions, AskedOf(kb=kb, documents=documents, options=options)) if questions else []
        return replies[0] if isinstance(question, str) else replies

    def reply(self, messages: Any, *, task: str | None = None, **options: Any) -> Any:
        """What the assistant says next: a text for one conversation, a list for a list of them, which are answered together.

        A conversation is a list of {"role": "user", "content": "…"}, or a text that the user says. `options` are those of `ReplyOptions`:
        temperature, top_p, top_k, max_tokens, seed, stop …
        """
        return reply(self, self._dialogue(task), messages, ReplyOptions(**options))

    def stream(self, messages: Any, *, task: str | None = None, **options: Any) -> Iterator[str]:
        """The same for one conversation, in pieces as they are written; never half a character."""
        return stream_reply(self, self._dialogue(task), messages, ReplyOptions(**options))

    def begin_reply(self, messages: Any, *, task: str | None = None, max_tokens: int | None = None) -> Begun:
        """A conversation as a `Completer` of `body.abilities` goes on with it; in so many tokens, or in as many as training suggests."""
        return begin_replies(self, self._dialogue(task), [messages], max_tokens)[0]

    def _dialogue(self, name: str | None) -> Dialogue:
        """The one task that converses."""
        found = [task for task in self.tasks if isinstance(task, Dialogue) and name in (None, task.called)]
        if not found:
            raise PlumeError(
                f"This model was tuned for {', '.join(task.called for task in self.tasks)}, and not to converse. Tune a model that writes: "
                "plume tune MODEL --task dialogue --train turns.jsonl --out DIRECTORY."
            )
        return found[0]

    def told(self, examples: Iterable[Example], language: str | None) -> Iterator[Example]:
        """The examples in the language that was said, if one was."""
        require_languages(self.model.body, language)
        return with_language(examples, language)

    def evaluate(self, data: str | Path | Sequence[str | Path], *, task: str | None = None, language: str | None = None) -> Measured:
        """Measure on a labelled file."""
        asked = self.task(task)
        paths = [Path(path) for path in ([data] if isinstance(data, str | Path) else data)]
        reading = Reading(file=paths[0])
        examples = list(self.told(asked.read(paths, reading, labelled=True), language))
        if not examples:
            raise PlumeError(f"{paths[0]} has no usable example. {' '.join(reading.lines()[1:])}")
        return self.measure(asked, examples, reading)

    def measure(self, task: Task, examples: list[Example], reading: Reading) -> Measured:
        """Answer examples whose answers are known, and score what was said."""
        task.check(examples, reading.file)
        predictions, notes = self.answers(task, examples)
        scores = task.measure(examples, predictions)
        return Measured(scores=scores, predictions=predictions, examples=examples, reading=reading, notes=notes)

    def answers(self, task: Task, examples: Sequence[Example]) -> tuple[list[Prediction], Counter[str]]:
        """One for each example, some thousands at a time: what is held of their windows is bounded."""
        found: list[Prediction] = []
        notes: Counter[str] = Counter()
        for first in range(0, len(examples), _AT_ONCE):
            answered, lost = task.respond(self, examples[first : first + _AT_ONCE])
            found += answered
            notes += lost
        return found, notes

    def coder(self) -> Coder:
        """Which cuts and lays out texts as this model reads them."""
        return coder_for(self.model.body, self.tokenizer, length=self.declared.length, usual=self.declared.language)

    @torch.inference_mode()
    def table(self, questions: Questions) -> Floats:
        """What the head says, a line for each thing asked."""
        table: Floats | None = None
        for index, scores in self._scores(questions):
            if table is None:
                table = np.zeros((questions.lines, scores.shape[-1] if scores.ndim > 1 else 1), np.float32)
            questions.keep(table, scores, index)
        assert table is not None, "there is at least one question"
        return table

    def _scores(self, questions: Questions) -> Iterator[tuple[Array, Floats]]:
        """Of each batch, which groups it asks about, and what the head says of them."""
        run = self._runners.get(questions.name)
        if run is None:
            for index in inference_batches(questions):
                batch = to_device(self.finish(questions.batch(index), questions), self.device)
                yield index, self.model.scores(batch).float().cpu().numpy()
            return
        head = self.model.head(questions.name)

        @torch.inference_mode()
        def work(index: Array) -> tuple[Array, Floats]:
            batch = to_device(in_reading_order(questions.batch(index), self.declared.order), self.device)
            return index, head_scores(head, run(batch), batch.labels[questions.name]).numpy()

        yield from side_by_side(work, inference_batches(questions), device=self.device)

    def once(self, name: str, make: Callable[[], NDArray]) -> NDArray:
        """Computed, or read where the run has computed it before it was stopped. A step is a function of its checkpoint, so what was noted behind
        the one that a run goes on from is what it would compute again."""
        file = None if self.noted is None else self.noted / f"{name}.npy"
        if file is not None and file.exists():
            found: NDArray = np.load(file)
            return found
        made = make()
        if file is not None:
            make_folder(file.parent)
            write_atomic(file, partial(_save_array, made))
        return made

    def renewed(self, task: Task, examples: Sequence[Example], epoch: int) -> Questions | None:
        """What a task asks in this epoch of training, if that is new; the model answers without dropout meanwhile."""
        learning = self.model.training
        self.model.eval()
        try:
            return task.renewed(self, examples, epoch)
        finally:
            self.model.train(learning)

    def finish(self, batch: Batch, questions: Questions) -> Batch:
        """With what the model's way of reading adds, unless the questions say it themselves."""
        if questions.complete:
            return batch
        made = finished(batch, questions, self.model.body, self.declared.order)
        start = decoder_start(self.model, questions.name, self.tokenizer)
        return made if start is None else through_decoder(made, start)

    def save(self, folder: str | Path) -> None:
        """Into one directory, from which `load` reads it."""
        folder = Path(folder)
        make_folder(folder)
        save_declaration(folder, self.declared, self.model.body, self.tokenizer)
        save_weights(folder / WEIGHTS, state_of(self.model))
        if self.sentence is not None:
            self.sentence.save(folder)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "cpu", runtime: str = "torch") -> TunedModel:
        """What `save` or a tuning run has written. `runtime` is what answers and embeds with it: torch, onnx, onnx-int8."""
        folder = Path(folder)
        declared = read_declaration(folder)
        state = read_weights(folder / WEIGHTS)
        body, tokenizer = body_of(folder, state)
        model = assemble(body, declared)
        load_weights(model, state, folder / WEIGHTS)
        declared = replace(declared, adaptation=declared.adaptation.loaded(model.body))
        return cls(model.to(device), tokenizer, declared, SentenceVectors.read(folder), runtime=runtime)


def _save_array(array: NDArray, path: Path) -> None:
    with path.open("wb") as handle:
        np.save(handle, array)


def assemble(body: Body, declared: Declared, *, from_scratch: bool = False) -> TaskModel:
    """A model with heads for the tasks that are declared, whose new weights are not set yet."""
    dropout = declared.adaptation.head_dropout
    heads = {task.called: task.head(body.classifier, dropout=dropout) for task in declared.tasks if task.objective is None}
    writing = {task.called: task.objective for task in declared.tasks if task.objective is not None}
    over = {task.called: task.over for task in declared.tasks}
    return TaskModel(body, heads, declared.adaptation, writing, over, from_scratch=from_scratch)


def coder_for(body: Body, tokenizer: Tokenizer, *, length: int, usual: str | None = None) -> Coder:
    """What makes rows of texts for this body. A decoder has read all at the last token, where a head then reads."""
    spells_from = body.vocabulary if body.spells else None
    made = Coder(tokenizer, length=length, spells_from=spells_from, last=body.through_decoder, languages=body.languages, usual=usual)
    if isinstance(body, Model):
        made.linker, made.linked_as = linker_of(body), linked_as(body)
    return made


def require_languages(body: Body, said: str | None) -> None:
    """A language can be said only where the model knows languages, and this one."""
    if said is None:
        return
    if body.languages is None:
        raise PlumeError(f"{body.recipe.name} reads texts of all languages alike: leave out --language.")
    for language in said.split(","):
        body.languages.number(language)


def finished(batch: Batch, questions: Questions, body: Body, order: Order) -> Batch:
    """With what the body's way of reading adds: the order, and the spelling of words it has no id for."""
    batch = in_reading_order(batch, order)
    if not questions.rows.unseen:
        return batch
    unknown = batch.tokens >= body.vocabulary
    used, place = np.unique(batch.tokens[unknown], return_inverse=True)
    if not len(used):
        return batch
    tokens = batch.tokens.copy()
    tokens[unknown] = body.vocabulary + place
    return replace(
        batch, tokens=tokens, unseen=body.spelling([questions.rows.unseen[number - body.vocabulary] for number in used.tolist()])
    )


def reading_order(body: Body, tokenizer: Tokenizer) -> Order:
    """In which order a model reads what it is asked about: as it was pre-trained."""
    return Abilities(body, tokenizer).reading_order if isinstance(body, Model) else Order.FULL
