"""Prompt: a template and words for the labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.tuning.prompts.label_words import LabelWords
from plume.tuning.prompts.template import pieces_of, soft_tokens


@dataclass(frozen=True, kw_only=True)
class Prompt(Part):
    """The template has {text}, for pairs {text_b} too, a blank, ___, and where wanted tokens that are learned, {soft:3}."""

    template: str
    words: tuple[LabelWords, ...] = ()  # empty: the labels themselves
    left_to_right: bool = False  # masks are filled one after the other, not all at once

    def __post_init__(self) -> None:
        pieces_of(self.template, texts=2 if "{text_b}" in self.template else 1, blank_in_text=True)

    @property
    def soft(self) -> int:
        """Tokens that are learned."""
        return soft_tokens(self.template)

    def words_of(self, labels: Sequence[str]) -> list[tuple[str, ...]]:
        """Of each label."""
        known = {one.label: one.words for one in self.words} or {label: (label,) for label in labels}
        for label in labels:
            if label not in known:
                raise PlumeError(f"There is no word for the label '{label}': say one for each, --labels {label}=WORDS,…")
            if not self.words and re.fullmatch("-?[0-9]+", label):
                raise PlumeError(f"The label '{label}' says nothing to a model: put it in words, --labels {label}=WORDS,…")
        if strange := [label for label in known if label not in labels]:
            raise PlumeError(
                f"There are words for '{strange[0]}', which is no label of the training file ({', '.join(labels)}): leave them out, or give "
                "examples of it."
            )
        return [known[label] for label in labels]
