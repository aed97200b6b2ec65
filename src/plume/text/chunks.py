"""Tokens remembered by the word: text repeats its words, and looking one up is ten times as fast as cutting it again.

Only for tokenizers that are known to cut a text at spaces before anything else, so that a word's tokens do not depend on its neighbours.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.text.pieces import Joined, bounds

REMEMBERED_CHUNKS, REMEMBERED_TOKENS = 200_000, 1_000_000  # together some 60 MB

# Chunks tile the text, so that their lengths give their places. BERT's cut: Chinese characters alone, and what stands between spaces.
_BERT_HAN = (
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f"
)
_SPACES = r" \t\n\r"  # fewer than there are: what else is space, or dropped, is left to the tokenizer
_BERT = re.compile(f"[{_BERT_HAN}][{_SPACES}]*|[^{_SPACES}{_BERT_HAN}]+[{_SPACES}]*|[{_SPACES}]+")
# GPT-2's: a word carries the space before it; of several spaces the last goes with the word, the others stand together.
_WHITE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BYTE_LEVEL = re.compile(f"[{_WHITE}]+(?![^{_WHITE}])| ?[^{_WHITE}]+|[{_WHITE}]+")


def independent_chunks(file: dict[str, Any]) -> re.Pattern[str] | None:
    """How to cut text for the tokenizer of this tokenizer.json, or None if it is not known to treat words one by one."""
    if any(not token["special"] for token in file["added_tokens"]) or file["model"].get("dropout"):
        return None
    cut, normalizer = file["pre_tokenizer"] or {}, file["normalizer"] or {}
    if cut.get("type") == "BertPreTokenizer" and normalizer.get("type") == "BertNormalizer" and normalizer["handle_chinese_chars"]:
        return _BERT
    if cut.get("type") == "ByteLevel" and cut.get("use_regex", True) and not cut["add_prefix_space"] and not normalizer:
        return _BYTE_LEVEL
    return None


class ChunkMemory:
    """Encodes texts by chunks. `encode` is asked for those not seen before, as if each was a text."""

    def __init__(self, pattern: re.Pattern[str], encode: Callable[[Sequence[str]], Joined]) -> None:
        self._cut, self._encode = pattern.findall, encode
        self._lock = threading.Lock()  # threads that serve a model share its memory
        self._forget()

    def encode(self, texts: Sequence[str]) -> Joined:
        """The same as encoding the texts themselves."""
        with self._lock:
            return self._remembered(texts)

    def _remembered(self, texts: Sequence[str]) -> Joined:
        if len(self._number) > REMEMBERED_CHUNKS or len(self._ids) > REMEMBERED_TOKENS:
            self._forget()
        cuts = [self._cut(text) for text in texts]
        chunks = [chunk for cut in cuts for chunk in cut]
        self._learn(chunks)
        which = np.fromiter(map(self._number.__getitem__, chunks), np.int64, len(chunks))
        lengths = self._bounds[which + 1] - self._bounds[which]
        after = np.cumsum(lengths)
        places = np.repeat(self._bounds[which] - (after - lengths), lengths) + np.arange(lengths.sum())  # in the arrays of what is known
        base = np.repeat(bounds(map(len, chunks))[:-1], lengths)
        return Joined(
            ids=self._ids[places],
            word_start=self._word_start[places],
            start=self._start[places] + base,
            end=self._end[places] + base,
            token_bounds=np.concatenate([np.zeros(1, np.int64), after])[bounds(map(len, cuts))],
            character_bounds=bounds(map(len, texts)),
        )

    def _forget(self) -> None:
        self._number: dict[str, int] = {}
        self._bounds: NDArray[np.int64] = np.zeros(1, np.int64)
        self._ids: NDArray[np.int64] = np.zeros(0, np.int64)
        self._word_start: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._start: NDArray[np.int64] = np.zeros(0, np.int64)  # within the chunk
        self._end: NDArray[np.int64] = np.zeros(0, np.int64)

    def _learn(self, chunks: Sequence[str]) -> None:
        new = [chunk for chunk in dict.fromkeys(chunks) if chunk not in self._number]
        if not new:
            return
        joined = self._encode(new)
        base = np.repeat(joined.character_bounds[:-1], np.diff(joined.token_bounds))
        self._number.update(zip(new, range(len(self._number), len(self._number) + len(new)), strict=True))
        self._bounds = np.concatenate([self._bounds, self._bounds[-1] + joined.token_bounds[1:]])
        self._ids = np.concatenate([self._ids, joined.ids])
        self._word_start = np.concatenate([self._word_start, joined.word_start])
        self._start = np.concatenate([self._start, joined.start - base])
        self._end = np.concatenate([self._end, joined.end - base])
