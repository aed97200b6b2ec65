"""Zero-shot classification: labels that nobody trained the model for, by entailment or by a cloze."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.metrics.scores import label_scores
from plume.readers.example import Example, Reading
from plume.readers.table_choice import AnswerKind
from plume.readers.table_layout import find_layout
from plume.readers.tables import read_table
from plume.text.languages import language_mix
from plume.tuning.kinds.labelling import choose, softmax
from plume.tuning.loaded import Loaded
from plume.tuning.prompts.label_words import Said, read_words
from plume.tuning.task import DirectTask, Prediction
from plume.tuning.tuned import TunedModel
from plume.tuning.zero_shot.blanks import language_model
from plume.tuning.zero_shot.cloze import Cloze
from plume.tuning.zero_shot.entailment import Entailment, find_entailment, hypotheses

_LETTERS = 4  # that say as much as one Chinese character, roughly


class ZeroShotWay(enum.StrEnum):
    """What labels a text that nobody labelled."""

    ENTAILMENT = "entailment"  # a model tuned for it judges whether the text entails a sentence with the label
    CLOZE = "cloze"  # any model that fills blanks or reads left to right says how likely the label is in a sentence after the text


_TEMPLATES = {
    (ZeroShotWay.ENTAILMENT, False): "This text is about {}.",
    (ZeroShotWay.ENTAILMENT, True): "这段文字是关于{}的。",
    (ZeroShotWay.CLOZE, False): "{text} This is about ___.",
    (ZeroShotWay.CLOZE, True): "{text}这是关于___的。",
}


@dataclass(frozen=True, kw_only=True)
class ZeroShot(DirectTask):
    """Labels are said in words, and the model judges or completes them.

    >>> TASK.metric
    'accuracy'
    """

    def predict(  # type: ignore[override]  # its options are named
        self,
        model: Loaded,
        items: Sequence[Any],
        *,
        labels: Said,
        template: str | None = None,
        multi_label: bool = False,
        way: ZeroShotWay | str | None = None,
        calibrate: bool = True,
        language: str | None = None,
    ) -> list[Prediction]:
        """The likeliest label of each text, and how likely all are: together one, or with `multi_label` each for itself.

        `labels` may say what stands in the template for each: {"0": "negative"}, or "0=negative|bad,1=positive". The template has {} or ___ for
        the label; if none is given it is English or Chinese, as the text. `calibrate` (cloze): see `_by_cloze`.
        `language` is that of all texts, for families with a vector for each (XLM); found if it is not said.
        """
        texts, words = _texts(items), {one.label: one.words for one in read_words(labels)}
        if len(words) < 2 and not multi_label:
            raise PlumeError(
                "One label alone is always the likeliest: give two or more, or ask for each by itself (--each; in Python multi_label=True)."
            )
        entailment = _entailment(model, None if way is None else _way(way))
        table = np.zeros((len(texts), len(words)))
        chinese = np.array([_is_chinese(text) for text in texts], bool)
        for script in (False, True):
            index = np.flatnonzero(chinese == script)
            if len(index):
                said = template or _TEMPLATES[ZeroShotWay.ENTAILMENT if entailment else ZeroShotWay.CLOZE, script]
                some = [texts[place] for place in index]
                if entailment is not None and isinstance(model, TunedModel):
                    logits = entailment.logits(model, some, hypotheses(said, [_one_word(one) for one in words.values()]), language=language)
                    table[index] = _by_entailment(logits, multi_label)
                else:
                    cloze = Cloze(language_model(model, self.kind).abilities, said, list(words.values()))
                    table[index] = _by_cloze(cloze, some, multi_label, calibrate, language)
        return choose(list(words), table)

    def evaluate(
        self,
        model: Loaded,
        paths: Sequence[Path],
        *,
        labels: Said | None = None,
        text: str | None = None,
        label: str | None = None,
        **options: Any,
    ) -> dict[str, float]:
        """Accuracy, macro F1 and MCC on a labelled table. Without `labels` the file's own are the words; `text` and `label` name columns."""
        files = [Path(path) for path in paths]
        layout = find_layout(
            files, texts=1, answer=AnswerKind.LABEL, text_columns=() if text is None else (text,), answer_column=label
        )  # fmt: skip
        reading = Reading(file=files[0])
        examples = list(read_table(files, layout, reading, answer=AnswerKind.LABEL, labelled=True))
        words = {one.label: one.words for one in read_words(_own_labels(examples, files[0]) if labels is None else labels)}
        for example in examples:
            if example.answer not in words:
                raise PlumeError(
                    f"{files[0]}, line {example.line}: the label '{example.answer}' is none of {', '.join(words)}. "
                    f"Say it too: --labels {example.answer}=WORDS,…"
                )
        predictions = self.predict(model, [example.texts[0] for example in examples], labels=words, **options)
        return label_scores([example.answer for example in examples], [one["label"] for one in predictions], list(words))


TASK = ZeroShot(kind="zero-shot", title="zero-shot classification", metric="accuracy")


def _own_labels(examples: Sequence[Example], file: Path) -> list[str]:
    """A file's labels as words."""
    found = sorted({example.answer for example in examples})
    if numbers := [label for label in found if re.fullmatch("-?[0-9]+", label)]:
        raise PlumeError(f"{file}: the label '{numbers[0]}' says nothing to a model: put it in words, --labels {numbers[0]}=WORDS,…")
    return found


def _one_word(words: Sequence[str]) -> str:
    if len(words) > 1:
        raise PlumeError(f"A hypothesis is said in one way, and '{'|'.join(words)}' are {len(words)}: several words are for --way cloze.")
    return words[0]


def _texts(items: Sequence[str]) -> list[str]:
    texts = [items] if isinstance(items, str) else list(items)
    for text in texts:
        if not isinstance(text, str):
            raise PlumeError(f"zero-shot: a text is expected, not {str(text)[:60]!r}.")
    return texts


def _way(way: ZeroShotWay | str) -> ZeroShotWay:
    try:
        return ZeroShotWay(way)
    except ValueError:
        raise PlumeError(f"There is no way '{way}' to label texts: choose {' or '.join(ZeroShotWay)}.") from None


def _entailment(model: Loaded, way: ZeroShotWay | None) -> Entailment | None:
    """How the model judges entailment, if it shall and can."""
    found = find_entailment(model) if isinstance(model, TunedModel) and way is not ZeroShotWay.CLOZE else None
    if way is ZeroShotWay.ENTAILMENT and found is None:
        raise PlumeError(
            "This model does not judge entailment: tune one on pairs with the labels entailment, neutral and contradiction "
            "(or entailment and not_entailment), as in SICK or RTE: plume tune MODEL --task nli …"
        )
    return found


def _is_chinese(text: str) -> bool:
    mix = language_mix(text)
    return _LETTERS * mix.han > mix.latin


def _by_entailment(logits: NDArray[np.float64], multi_label: bool) -> NDArray[np.float64]:
    """Among all labels the one that is entailed most; or each against its contradiction (as in transformers' pipeline)."""
    return _sigmoid(logits[..., 0] - logits[..., 1]) if multi_label else softmax(logits[..., 0])


def _by_cloze(cloze: Cloze, texts: Sequence[str], multi_label: bool, calibrate: bool, language: str | None) -> NDArray[np.float64]:
    """Calibrated: how much likelier the text makes a label than the template alone does (domain-conditional PMI, arXiv:2104.08315).

    Otherwise frequent words win whatever the text is. Each label by itself has nothing else to be held against, so there it is always done.
    """
    if not calibrate and not multi_label:
        return softmax(cloze.scores(texts, language=language))
    gain = cloze.scores(texts, language=language) - cloze.scores([""], language=language)
    return _sigmoid(gain) if multi_label else softmax(gain)


def _sigmoid(value: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-np.logaddexp(0, -value))
