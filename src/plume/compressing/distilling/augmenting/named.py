"""The ways to alter rows, as users call them."""

from __future__ import annotations

from plume.compressing.distilling.augmenting.augmentation import Augmentation
from plume.compressing.distilling.augmenting.by_vectors import ByVectors
from plume.compressing.distilling.augmenting.masking import Masking
from plume.compressing.distilling.augmenting.ngrams import TextNGrams
from plume.compressing.distilling.augmenting.same_words import SameFrames
from plume.core.errors import PlumeError
from plume.core.part import replace

WAYS: dict[str, Augmentation] = {"masking": Masking(), "same-words": SameFrames(), "ngrams": TextNGrams(), "vectors": ByVectors()}


def way_to_alter(words: str) -> Augmentation:
    """`masking`, or with so many copies of each row: `masking=20`.

    >>> way_to_alter("ngrams=5")
    TextNGrams(copies=5, p=0.25)
    """
    name, _, copies = words.partition("=")
    if name not in WAYS or (copies and not copies.isdecimal()):
        raise PlumeError(f"--augment {words}: choose {', '.join(WAYS)}, or such a one with a number of copies (masking=20).")
    return replace(WAYS[name], copies=int(copies)) if copies else WAYS[name]
