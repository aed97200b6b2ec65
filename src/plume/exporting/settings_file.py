"""config.json of an exported model: all that its script must know beside weights and tokenizer. And which script that is."""

from __future__ import annotations

from typing import Any

from plume.core.errors import PlumeError
from plume.heads.token_labelling import TokenLabellingModule
from plume.model.use.language_model import LanguageModel
from plume.tasks.multi_label import MultiLabel
from plume.tasks.multiple_choice import MultipleChoice
from plume.text.languages import HAN
from plume.text.tokenizer import Tokenizer
from plume.tuning.graphs import TaskGraph
from plume.tuning.kinds.answering import QuestionAnswering
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.kinds.regression import Regression
from plume.tuning.kinds.tagging import Tagging, TagKind
from plume.tuning.long_texts.answering import RecalledAnswering
from plume.tuning.prompts.prompted import Prompted
from plume.tuning.rows.rows import Coder
from plume.tuning.rows.word_cuts import ALONE
from plume.tuning.task import Task

Config = dict[str, Any]
_UNLIMITED = 1 << 20


def language_config(language: LanguageModel) -> tuple[str, Config]:
    """Of a language model that embeds and predicts tokens."""
    sentence = language.sentence
    limits = [limit for limit in (language.recipe.positions.longest, None if sentence is None else sentence.longest) if limit is not None]
    return "embed", {
        "family": language.recipe.name,
        "max_length": min(limits, default=_UNLIMITED),
        "prompt": "" if sentence is None else sentence.prompt,
        "similarity": "cosine" if sentence is None else str(sentence.similarity),
        **_padding(language.tokenizer),
    }


def task_config(task: Task, graph: TaskGraph, coder: Coder) -> tuple[str, Config]:
    """Of a tuned model."""
    script, own = _own(task, graph, coder)
    return script, {
        "family": graph.body.recipe.name,
        "task": task.kind,
        "name": task.called,
        "labels": list(task.labels),
        "max_length": coder.length,
        **own,
        **_padding(coder.tokenizer),
    }


def _padding(tokenizer: Tokenizer) -> Config:
    return {"pad_id": tokenizer.pad, "pad_token": tokenizer.format.pad}


def _own(task: Task, graph: TaskGraph, coder: Coder) -> tuple[str, Config]:
    """What a kind of task needs."""
    if isinstance(task, Tagging):
        return "tag", _tagging(task, graph, coder)
    if isinstance(task, RecalledAnswering):
        raise PlumeError(f"{task.called} recalls what matters of a long text round by round, which no graph does: let plume answer.")
    if isinstance(task, QuestionAnswering):
        room = coder.room(2)
        return "span", {
            "stride": int(room * task.overlap / 2),
            "longest_answer": task.longest_answer,
            "unanswerable": task.unanswerable,
            "threshold": task.threshold,
            "reads_last": coder.sums_up_last,
        }
    if isinstance(task, MultipleChoice):
        return "choose", {}
    if isinstance(task, Regression):
        return "label", {"answer": "number", "zero": task.mean if task.centred else 0.0}
    if isinstance(task, MultiLabel):
        return "label", {"answer": "labels", "threshold": task.threshold}
    if isinstance(task, LabelTask):
        return "label", {"answer": "label"}
    if isinstance(task, Prompted):
        raise PlumeError(
            f"{task.called} is answered through a prompt, by the head that the model was pre-trained with, and a graph holds heads of tasks only: "
            "predict and serve with --runtime torch, or export what --method pet leaves."
        )
    raise PlumeError(f"{task.called} cannot be exported as a graph: labels, numbers, tags, answer spans and choices can.")


def _tagging(task: Tagging, graph: TaskGraph, coder: Coder) -> Config:
    head = graph.head
    assert isinstance(head, TokenLabellingModule)
    place = coder.single.index("A")
    ids = [coder.tokenizer.id(piece) for piece in coder.single]
    found: Config = {
        "bio": task.tags is not TagKind.PLAIN,
        "han": f"[{HAN}]",
        "alone": ALONE.pattern if task.characters else "",  # characters that are words by themselves
        "before": ids[:place],
        "after": ids[place + 1 :],
    }
    if head.crf is not None:
        transition, begin, end = head.crf.path_scores()
        found["crf"] = {"transition": transition.tolist(), "begin": begin.tolist(), "end": end.tolist()}
    return found
