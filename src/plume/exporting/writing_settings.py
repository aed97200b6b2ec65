"""config.json of what writes: how a text becomes a row, where the decoder begins and ends, and the shapes of its cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from plume.core.errors import PlumeError
from plume.exporting.writing_graphs import StepGraph
from plume.model.use.abilities import Abilities
from plume.model.use.writing import begin
from plume.readers.conversations import Role
from plume.readers.example import Example
from plume.text.tidy import TIDYING
from plume.tuning.kinds.labelling import TextTask
from plume.tuning.kinds.regression import Regression
from plume.tuning.rows.rows import Coder
from plume.tuning.writing.dialogue import Dialogue
from plume.tuning.writing.text_to_text import TextToText
from plume.tuning.writing.ways import ByDecoder
from plume.tuning.writing.worded import ByText, LabelByText, NumberByText
from plume.tuning.writing.worded_answers import AnswerByText
from plume.tuning.writing.written import WrittenTask, lay_out_targets

Settings = dict[str, Any]
_UNLIMITED = 1 << 20
_HERE = "\0"  # where a text stands among the words around it


def shared_settings(can: Abilities, step: StepGraph, *, memory: int | None) -> Settings:
    """Of all that writes. `memory`: so many tokens are remembered; None: all."""
    tokenizer = can.tokenizer
    return {
        "family": can.name,
        "past": step.shapes,
        "memory": memory,
        "ends": [can.end],
        "empty": [tokenizer.separator],
        "pad_id": tokenizer.pad,
        "tidy": [(pattern.pattern, by) for pattern, by in TIDYING] if tokenizer.decoder_adds_spaces else [],
    }


def language_writing(can: Abilities, *, room: int) -> Settings:
    """Of a language model that goes on with a text or, if it has a decoder, writes one of its own; as `generate` has it."""
    longest = can.model.longest or _UNLIMITED
    mark = can.tokenizer.encode(["a"])[0] or [can.end]
    begun = begin(can, mark, room=1)
    found: Settings = {"around": ["", ""], "echo": bool(begun.text), "ends": [can.end, *sorted(begun.ends)]}
    if begun.source is None:
        room = min(room, longest // 2)
        return {
            **found,
            "room": room,
            "before": [],
            "after": [],
            "start": [],
            "positions": can.model.longest,
            "keeps_end": True,
            "longest": longest - room,
        }
    place = next(n for n in range(len(begun.source)) if list(begun.source[n : n + len(mark)]) == mark)
    before, after = list(begun.source[:place]), list(begun.source[place + len(mark) :])
    return {
        **found,
        "room": min(room, longest - 1),
        "before": before,
        "after": after,
        "start": list(begun.prompt),
        "positions": None,
        "keeps_end": False,
        "longest": longest - len(before) - len(after),
    }


def task_writing(task: WrittenTask, coder: Coder, *, room: int) -> tuple[str, Settings]:
    """Of a task that is answered in words; and by which script."""
    way = task.writes
    place = coder.single.index("A")
    ids = [coder.tokenizer.id(piece) for piece in coder.single]
    script, own = _own(task, coder)
    return script, {
        "task": task.kind,
        "name": task.called,
        "labels": list(task.labels),
        "room": room,
        "positions": None,
        "before": ids[:place],
        "after": ids[place + 1 :],
        "start": [way.start] if isinstance(way, ByDecoder) else [],
        "longest": way.room(coder, task.most(coder)),
        "keeps_end": isinstance(task, Dialogue),
        "echo": False,
        **own,
    }


def _own(task: WrittenTask, coder: Coder) -> tuple[str, Settings]:
    if isinstance(task, Dialogue):
        tokenizer = coder.tokenizer
        words = tokenizer.encode([task.template.word(role) for role in Role])
        return "write_reply", {
            "roles": dict(zip((role.value for role in Role), words, strict=True)),
            "separator": tokenizer.separator,
            "structural": tokenizer.structural_ids.tolist(),
        }
    if isinstance(task, TextToText):
        return "write", {"around": _around(task, 1)}
    if isinstance(task, AnswerByText):
        return "write_answer", {"around": _around(task, 2)}
    assert isinstance(task, ByText)
    around = {"around": _around(task, (task.task.texts if isinstance(task.task, TextTask) else None) or 1)}
    if isinstance(task, LabelByText):
        way = task.writes
        targets, _ = lay_out_targets(task.labels, way, coder, left=np.full(len(task.labels), way.most(coder)))
        spellings = [targets.tokens[a:b].tolist() for a, b in zip(targets.bounds[:-1], targets.bounds[1:], strict=True)]
        return "write_label", {**around, "spellings": spellings}
    if isinstance(task, NumberByText) and isinstance(task.task, Regression):
        return "write_number", {**around, "mean": task.task.mean}
    raise PlumeError(f"{task.called} is answered in words that no script knows: it cannot be exported. Let plume answer.")


def _around(task: WrittenTask, texts: int) -> list[str]:
    """The words before, between and after the texts that are read."""
    return task.source(Example(texts=(_HERE,) * texts)).split(_HERE)
