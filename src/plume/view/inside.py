"""Pages of what goes on inside: predictions by layer, gradients of an answer, senses of a word, what each layer knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from plume.core.catalog import load
from plume.core.errors import PlumeError
from plume.model.use.abilities import Said
from plume.model.use.language_model import LanguageModel
from plume.static.model import WordModel
from plume.tuning.tuned import TunedModel
from plume.view.page import Page
from plume.view.recording.agreeing import Agreed
from plume.view.recording.gradients import explain
from plume.view.recording.layers import layer_knowledge
from plume.view.recording.pieces import shown
from plume.view.recording.predictions import predictions
from plume.view.recording.senses import senses
from plume.view.words import Words, in_language

_WORDS: Words = {
    "predictions": ("Predictions of {model}", "{model} 的预测"),
    "gradients": ("Why {model} answers so", "{model} 为何如此回答"),
    "senses": ("“{word}” in {model}", "{model} 中的“{word}”"),
    "senses_lede": ("{shown} of {total} occurrences in {file}.", "取自 {file}，共 {total} 次出现，显示其中 {shown} 次。"),
    "left_out": (" {count} more were left out: the model's text ends before the word.", "另有 {count} 次因超出模型可读长度而略去。"),
    "layers": ("What the layers of {model} know", "{model} 各层知道什么"),
}


def predictions_page(
    model: LanguageModel | TunedModel,
    text: str,
    *,
    written: str | None = None,
    top: int = 5,
    said: Said = None,
    name: str | None = None,
    language: str = "en",
) -> Page:
    """Each token of the text hidden in turn, and what every layer guesses; `said` is the text's language, `language` the page's.

    Of a model that reads one text and writes another, `written` is the second (by itself it writes what it finds likeliest).
    """
    body = _network(model, "They predict no tokens.")
    found = predictions(body, text, written=written, top=top, language=said)
    tokenizer = body.tokenizer
    guessed = sorted({guess for layers in found.guesses for guesses in layers for guess in guesses})
    text_of = {token: shown(tokenizer, [token])[0].text for token in guessed}
    data: dict[str, Any] = {
        "tokens": _pieces(tokenizer, found.tokens),
        "source": _pieces(tokenizer, found.source),
        "places": found.places,
        "layers": found.layers,
        "hides": found.hides,
        "guesses": [[[text_of[guess] for guess in guesses] for guesses in layers] for layers in found.guesses],
        "probability": found.probability,
        "right": found.right,
        "rank": found.rank,
        "norm": _has_final_norm(body),
    }
    return _page("predictions", data, language, lede=f"“{_shortened(text)}”", model=name or body.recipe.name)


def gradients_page(
    model: TunedModel,
    item: Any,
    *,
    task: str | None = None,
    baseline: str | None = None,
    answers: int = 6,
    name: str | None = None,
    language: str = "en",
) -> Page:
    """What in a text, a pair or a question made a tuned model answer so. `item` is what `predict` takes, `baseline` mask, pad or zero."""
    found = explain(model, item, task=task, baseline=baseline, answers=answers)
    data = {"task": found.task, "unit": found.unit, "baseline": str(found.baseline), "answers": [asdict(one) for one in found.answers]}
    called = name or model.model.body.recipe.name
    return _page("gradients", data, language, lede=found.task, model=called)


def senses_page(
    model: LanguageModel | TunedModel,
    word: str,
    file: str | Path,
    *,
    most: int = 300,
    label: str | None = None,
    text: str | None = None,
    said: str | None = None,
    seed: int = 0,
    name: str | None = None,
    language: str = "en",
) -> Page:
    """A word's vectors in the sentences of a file, layer by layer. Of a table `text` and `label` name columns: the label says which sense it is."""
    body = _network(model, "They have one vector a word, whatever stands around it: there are no senses to tell apart.")
    found = senses(body, word, file, most=most, label=label, text=text, language=said, seed=seed)
    layers = found.layers
    data = {
        "word": word,
        "texts": [[one.text[: one.start], one.text[one.start : one.end], one.text[one.end :]] for one in found.occurrences],
        "labels": found.labels,
        "principal": np.stack([_spread(one.principal) for one in layers]),
        "neighbours": np.stack([_spread(one.neighbours) for one in layers]),
        "member": np.stack([one.member for one in layers]).astype(np.uint8),
        "nearest": np.stack([one.nearest for one in layers]).astype(np.uint16),
        "shown": [one.shown for one in layers],
        "silhouette": [one.silhouette for one in layers],
        "label_silhouette": [one.label_silhouette for one in layers],
        "information": [one.information for one in layers],
    }
    words = in_language(_WORDS, language)
    lede = words["senses_lede"].format(shown=len(found.occurrences), total=f"{found.total:,}", file=Path(file).name)
    if found.left_out:
        lede += words["left_out"].format(count=found.left_out)
    return _page("senses", data, language, lede=lede, helpers=["curves"], model=name or body.recipe.name, word=word)


def layers_page(
    model: LanguageModel | TunedModel,
    tasks: Sequence[str] = (),
    *,
    most: int = 1000,
    seed: int = 0,
    name: str | None = None,
    language: str = "en",
) -> Page:
    """What each layer knows: of tasks as the command line writes them ("pos=train.conll,dev.conll"), and of subject–verb agreement."""
    body = _network(model, "They have one layer: there is nothing to compare.")
    found = layer_knowledge(body, tasks, most=most, seed=seed)
    data = {
        "depth": found.depth,
        "probes": [
            {
                "task": one.task, "trained": one.score, "untrained": other.score, "majority": one.majority, "examples": one.examples,
            }
            for one, other in found.probes
        ],
        "phrases": [
            {"task": one.task, "trained": one.information, "untrained": other.information, "spans": one.spans, "labels": one.labels}
            for one, other in found.phrases
        ],
        "agreement": None if found.agreement is None else _agreement(*found.agreement),
        "no_agreement": found.no_agreement,
        "skipped": found.skipped,
    }  # fmt: skip
    return _page("layers", data, language, helpers=["curves"], model=name or body.recipe.name)


def _agreement(trained: Agreed, untrained: Agreed) -> dict[str, Any]:
    weight = np.array(untrained.sentences, float)
    return {
        "layers": trained.layers,
        "attractors": trained.attractors,
        "sentences": trained.sentences,
        "right": trained.right.tolist(),
        "untrained": (weight @ untrained.right / weight.sum()).tolist(),
    }


def _page(view: str, data: dict[str, Any], language: str, *, lede: str = "", helpers: Sequence[str] = (), **named: str) -> Page:
    title = in_language(_WORDS, language)[view].format(**named)
    return Page(title=title, lede=lede, panels=[load("view.views", view).PANEL], data={view: data}, language=language, helpers=helpers)


def _network(model: object, refusal: str) -> LanguageModel:
    """The language model, or the one below a task."""
    if isinstance(model, TunedModel):
        return model.body
    if isinstance(model, WordModel) or not isinstance(model, LanguageModel):
        raise PlumeError(f"These are word vectors. {refusal} Name a network.")
    return model


def _has_final_norm(model: LanguageModel) -> bool:
    stack = getattr(model.model, "decoder", getattr(model.model, "stack", None))
    return getattr(stack, "final_norm", None) is not None


def _pieces(tokenizer: Any, tokens: Sequence[str]) -> list[dict[str, Any]]:
    return [asdict(piece) for piece in shown(tokenizer, tokens)]


def _spread(flat: np.ndarray) -> np.ndarray:
    """Between 0 and 1, the longer side in full: all that a picture needs."""
    low = flat.min(0)
    return ((flat - low) / max(float(np.ptp(flat, axis=0).max()), 1e-12)).astype(np.float32)


def _shortened(text: str, most: int = 160) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
