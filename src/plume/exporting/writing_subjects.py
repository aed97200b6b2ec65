"""What writes, as it is exported: an encoder and a decoder, or a decoder alone, both with a cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from plume.core.errors import PlumeError
from plume.exporting.checking import Checked
from plume.exporting.formats import Run
from plume.exporting.samples import examples_for
from plume.exporting.subjects import ExportSubject, require_one_language, texts_for
from plume.exporting.writing_check import check_writing
from plume.exporting.writing_graphs import SourceGraph, StepGraph
from plume.exporting.writing_settings import language_writing, shared_settings, task_writing
from plume.heads.head import HeadModule
from plume.model.networks.encoder_decoder import EncoderDecoderModel
from plume.model.use.abilities import Abilities
from plume.model.use.language_model import LanguageModel
from plume.model.use.runtimes._graph import require_graph
from plume.model.use.writing import Begun, begin
from plume.noise.decoder_target import TheSpan
from plume.tuning.tuned import TunedModel
from plume.tuning.writing.replying import ByWay
from plume.tuning.writing.text_to_text import FreeText
from plume.tuning.writing.ways import AfterText, ByDecoder
from plume.tuning.writing.written import WrittenTask

ROOM = 50  # tokens that a language model writes unless it is told otherwise


class WritingSubject(ExportSubject):
    """Something that writes, token after token."""

    shared = "_writing"

    def __init__(self, language: LanguageModel, head: HeadModule) -> None:
        self.can, model = language.abilities, language.model
        self.tokenizer = language.tokenizer
        self.step = StepGraph(model, self.tokenizer, head)
        self.parts: dict[str, SourceGraph | StepGraph] = {"decoder": self.step}
        if isinstance(model, EncoderDecoderModel):
            self.parts = {"encoder": SourceGraph(model, self.tokenizer, head), **self.parts}
        self.graphs = self.parts
        self.texts: Sequence[Begun] = ()

    def check(self, runs: Mapping[str, Run]) -> Checked:
        return check_writing(self.can, self.texts, self.parts, runs)


class LanguageWriting(WritingSubject):
    """A language model that goes on with texts, or writes a text of its own."""

    script = "write"

    def __init__(self, language: LanguageModel, file: Path | None) -> None:
        require_graph(language.model, language.recipe.name)
        require_one_language(language)
        can = language.abilities
        if problem := _cannot(can):
            raise PlumeError(f"{can.name} cannot be exported to write: {problem}. Export it with --task embed, or let plume write with it.")
        kind = can.decoder() or can.causal()
        assert kind is not None, "it can write"
        super().__init__(language, can.head(kind))
        own = language_writing(can, room=ROOM)
        cuts = [ids[-own["longest"] :] if own["keeps_end"] else ids[: own["longest"]] for ids in self.tokenizer.encode(texts_for(file))]
        self.texts = [begin(can, ids, room=ROOM) for ids in cuts if ids]
        memory = language.recipe.memory
        self.config = {**shared_settings(can, self.step, memory=None if memory is None else memory.length), **own}
        self.title = f"{can.name}, to write with"


class TaskWriting(WritingSubject):
    """One task of a tuned model, answered in words."""

    def __init__(self, tuned: TunedModel, task: WrittenTask, file: Path | None) -> None:
        way = task.writes
        if not isinstance(way, ByDecoder | AfterText):
            raise PlumeError(
                f"{task.called} cannot be exported: {tuned.body.recipe.name} writes at masks or in blanks, and not from left to right. "
                "Tune an encoder–decoder (t5, bart) or gpt2, or let plume answer."
            )
        require_graph(tuned.model, tuned.body.recipe.name)
        require_one_language(tuned.body)
        super().__init__(tuned.body, tuned.body.model.head(way.objective))
        coder, self.task = tuned.coder(), task
        questions, _ = task.questions(examples_for(task, file), coder)
        rows, room = questions.rows, task.most(coder) + len(way.opening)
        ids = [rows.tokens[first:last].tolist() for first, last in zip(rows.bounds[:-1], rows.bounds[1:], strict=True)]
        side = "source" if isinstance(way, ByDecoder) else "prompt"
        self.texts = [Begun(writer=ByWay(way), room=room, **{side: one}) for one in ids]
        self.script, own = task_writing(task, coder, room=room)
        self.config = {**shared_settings(self.can, self.step, memory=None), **own}
        self.title = f"{tuned.body.recipe.name}, tuned for {task.called}"

    def notes(self) -> list[str]:
        if isinstance(self.task, FreeText) and self.task.beams > 1:
            return [f"run.py takes the likeliest token each time; plume searches with {self.task.beams} beams"]
        return []


def writes(language: LanguageModel) -> bool:
    """Can it be exported to write?"""
    model = language.model
    return model.languages is None and not model.recipe.recurrent and _cannot(language.abilities) is None


def _cannot(can: Abilities) -> str | None:
    """Why not."""
    kind = can.decoder()
    if kind is not None and isinstance(kind.noise.target, TheSpan):
        return "it writes the hidden end of a text, and how much of it is hidden follows from the text; tuned for a task it can be"
    if "generate" not in can.verbs():
        return "it does not write"
    if kind is None and can.causal() is None:
        return "it writes at masks, in blanks or by a query stream, and not from left to right"
    return None
