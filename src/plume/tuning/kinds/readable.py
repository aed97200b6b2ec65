"""Tags and spans of one text in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plume.readers.example import Example
from plume.readers.schemes import Span
from plume.tuning.task import NOTHING, Prediction, Readable, listed


def readable_spans(text: str, spans: Sequence[Span]) -> str:
    """Each with its type, in the order of the text.

    >>> readable_spans("Ada came to Paris", [Span(start=12, end=17, label="LOC"), Span(start=0, end=3, label="PER")])
    'Ada [PER], Paris [LOC]'
    """
    return listed([f"{text[span.start : span.end]} [{span.label}]" for span in sorted(spans, key=lambda span: span.start)])


def readable_words(text: str, spans: Sequence[Span]) -> str:
    """With a bar between words.

    >>> readable_words("我在北京", [Span(start=0, end=1, label=""), Span(start=1, end=2, label=""), Span(start=2, end=4, label="")])
    '我 | 在 | 北京'
    """
    return " | ".join(text[span.start : span.end] for span in sorted(spans, key=lambda span: span.start)) or NOTHING


def readable_tags(example: Example, given: Mapping[str, Prediction]) -> Readable:
    """Only the words that some model has wrong."""
    text = example.texts[0]
    places = example.words or [(word["start"], word["end"]) for word in next(iter(given.values()))["words"]]
    shown = [place for place, tag in enumerate(example.answer) if any(one["tags"][place] != tag for one in given.values())]

    def wording(tags: Sequence[str]) -> str:
        return listed([f"{text[places[place][0] : places[place][1]]} [{tags[place]}]" for place in shown])

    return wording(example.answer), {model: wording(one["tags"]) for model, one in given.items()}
