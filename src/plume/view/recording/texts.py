"""A text, or two, as a model reads them: its tokens, what each is called on the page, and of which text it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.text.tokenizer import Tokenizer
from plume.train.device import to_device
from plume.tuning.rows.questions import in_reading_order
from plume.view.recording.subject import Subject

SPECIAL = -1


@dataclass(frozen=True, kw_only=True)
class TextRead:
    """One row."""

    tokens: list[int]
    names: list[str]
    text: list[int]  # 0 or 1: of the first or of the second text; -1: a special token
    segment: list[int] | None = None

    @property
    def has_two(self) -> bool:
        """Are there two texts in it?"""
        return 1 in self.text


def read_text(subject: Subject, text: str, pair: str | None = None, *, language: str | None = None) -> TextRead:
    """Framed as the family, or the task, does. ___ stands for the family's mask."""
    can = subject.can
    texts = [text] if pair is None else [text, pair]
    ids = [token_ids(can.tokenizer, one) for one in texts]
    if not any(ids):  # special tokens alone are no text
        raise PlumeError("There is nothing to read: give a text.")
    said = (language.split(",") * 2)[: len(texts)] if language else [None] * len(texts)
    spoken = [can.language(one, own, told) for one, own, told in zip(texts, ids, said, strict=True)]
    pieces, segments = subject.frame(len(texts))
    tokens: list[int] = []
    owner: list[int] = []
    segment: list[int] = []
    latest = spoken[0]  # special tokens have the language of the text before them
    for piece, number in zip(pieces, segments, strict=True):
        place = {"A": 0, "B": 1}.get(piece, SPECIAL)
        special = can.tokenizer.id(piece)
        added = ids[place] if place != SPECIAL else [] if special is None else [special]
        latest = spoken[place] if place != SPECIAL else latest
        tokens += added
        owner += [place] * len(added)
        segment += [number if latest is None else latest] * len(added)
    can.check_length(tokens, text)
    return TextRead(tokens=tokens, names=shown(can.tokenizer, tokens), text=owner, segment=segment if any(segment) else None)


def token_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """Special tokens in it are letters, but for the mask, which may also be written ___."""
    mask = tokenizer.format.mask
    marked = text if mask is None else re.sub(r"_{3,}", mask, text)
    return tokenizer.encode([marked], allow_special=mask is not None and mask in marked)[0]


def shown(tokenizer: Tokenizer, tokens: Sequence[int]) -> list[str]:
    """What stands on the page for each token: without the marks of a word's beginning, bytes of a character as such."""
    special = set(tokenizer.special_ids.tolist())
    return [tokenizer.token(one) if one in special else _plain(tokenizer, one) for one in tokens]


def _plain(tokenizer: Tokenizer, token: int) -> str:
    name = tokenizer.token(token)
    written = tokenizer.decode([token], skip_special=False)
    if name.startswith("##") or "\ufffd" in written:
        return name
    return written.strip() or name


def row_batch(subject: Subject, read: TextRead) -> Batch:
    """The row where the model is, in the order in which it reads."""
    segment = None if read.segment is None else np.array([read.segment])
    batch = Batch(tokens=np.array([read.tokens]), segment=segment)
    device = next(subject.network.parameters()).device
    return to_device(in_reading_order(batch, subject.order), torch.device(device))
