"""Tuned miniatures of any family and task, with weights that nobody trained but that answer differently to every text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from plume.core import catalog
from plume.core.batch import Order
from plume.core.part import replace
from plume.readers.example import Example
from plume.text.known_languages import Languages
from plume.tuning.adapting.adaptation import way
from plume.tuning.declared import Declared
from plume.tuning.tuned import TunedModel, assemble, reading_order
from plume.tuning.writing.written import WrittenTask

LABELS = ("cold", "warm", "other")
TASKS: dict[str, dict[str, Any]] = {
    "classification": {"texts": 1, "labels": LABELS},
    "multi-label": {"texts": 1, "labels": LABELS},
    "regression": {"texts": 1},
    "similarity": {},
    "nli": {"labels": ("entailment", "neutral", "contradiction")},
    "ner": {"labels": ("O", "B-PER", "I-PER", "B-LOC", "I-LOC"), "crf": False},
    "ner-crf": {"labels": ("O", "B-PER", "I-PER", "B-LOC", "I-LOC"), "crf": True},
    "segmentation": {"labels": ("O", "B-W", "I-W"), "crf": False, "characters": True},
    "pos": {"labels": ("ADJ", "NOUN", "VERB"), "crf": False, "usual": "NOUN"},
    "qa": {"unanswerable": True},
    "multiple-choice": {},
}
TEXTS = [
    "The cat finds a wooden box near the river.",
    "我们喜欢苹果。老师今天早上看见图书馆。",
    "",
    "My sister paints",
    "that old captain, without a word, forgets two apples in the morning and the letter " * 2,
    "a",
    "北京大学的学生研究自然语言 near the lighthouse",
]
ITEMS: dict[str, list[Any]] = {
    **dict.fromkeys(("classification", "multi-label", "regression", "ner", "ner-crf", "segmentation", "pos"), TEXTS),
    **{task: list(zip(TEXTS, reversed(TEXTS), strict=True)) for task in ("similarity", "nli")},
    "qa": [{"question": "who finds it?", "context": text} for text in TEXTS],
    **dict.fromkeys(("summarisation", "dialogue"), TEXTS),
    "multiple-choice": [{"context": text, "choices": ["it is warm", "it is cold 苹果", "near"]} for text in TEXTS],
}


@pytest.fixture(scope="session")
def tuned(miniature: Any, built: Any, tokenizer_for: Any) -> Callable[..., TunedModel]:
    """A family with a head for one of `TASKS`."""

    def make(family: str, task: str = "classification", *, mode: str = "full", length: int = 32, **size: Any) -> TunedModel:
        recipe = miniature(family, length=64, **size)
        tokenizer = tokenizer_for(recipe)
        body = built(recipe, vocabulary=tokenizer.size).float()
        body.spell(tokenizer.tokens())
        if body.languages is not None:
            body.languages = Languages.named(["en", "zh"])
        declared = Declared(
            tasks=(replace(catalog.load("tasks", task.removesuffix("-crf")).TASK, **TASKS[task]),),
            adaptation=way(mode),
            length=length,
            order=reading_order(body, tokenizer) if family != "word2vec" else Order.FULL,
            language="en" if body.languages is not None else None,
        )
        model = assemble(body, declared)
        model.initialise(3, spread=0.5)
        return TunedModel(model.eval(), tokenizer, declared)

    return make


def livelier(body: Any) -> Any:
    """With weights that nobody trained a decoder repeats itself, whatever it has read. Norms that let states differ make it look."""
    with torch.no_grad():
        for name, parameter in body.named_parameters():
            if name.endswith("norm.weight"):
                parameter.add_(1.0)
            elif name.endswith("bias"):
                parameter.mul_(0.1)
            elif ".across." in name or ".attention." in name:
                parameter.mul_(1.5)
    return body


@pytest.fixture(scope="session")
def written(miniature: Any, built: Any, tokenizer_for: Any) -> Callable[..., TunedModel]:
    """A family that answers a task in words."""

    def make(family: str, task: str = "summarisation", *, length: int = 64, **own: Any) -> TunedModel:
        recipe = miniature(family, length=64)
        tokenizer = tokenizer_for(recipe)
        body = livelier(built(recipe, vocabulary=tokenizer.size).float())
        part = replace(catalog.load("tasks", task).TASK, **TASKS.get(task, {}))
        worded = part if isinstance(part, WrittenTask) else part.in_words([Example(texts=("a",), answer=1.5)] * 2)
        asked = replace(worded, longest=8, **own).suited(body, tokenizer, [])
        declared = Declared(tasks=(asked,), adaptation=way("full"), length=length, order=reading_order(body, tokenizer))
        model = assemble(body, declared)
        return TunedModel(model.eval(), tokenizer, declared)

    return make
