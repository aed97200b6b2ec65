"""Texts as rows of tokens, framed as the family frames them, with the way back from every token to the text it came from."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.data.layouts.carried import MENTIONS, NONE, token_values
from plume.kb.link import Linker
from plume.readers.example import Example
from plume.text.format import Format
from plume.text.known_languages import Languages
from plume.text.pieces import Joined, bounds
from plume.text.tokenizer import Tokenizer
from plume.text.words import Words
from plume.tuning.rows.spoken import languages_of, usual_language

Array = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Of each row, the tokens from `begin` to `end` of one of several texts that were cut into tokens together."""

    cut: Joined
    begin: Array  # [R] into `cut.ids`
    end: Array  # [R]
    language: Array | None = None  # [R] where the model has a vector for each

    def of(self, index: Array, begin: Array | None = None, end: Array | None = None) -> Stretch:
        """Rows of these texts: whole, or from here to there."""
        return Stretch(
            cut=self.cut,
            begin=self.begin[index] if begin is None else begin,
            end=self.end[index] if end is None else end,
            language=None if self.language is None else self.language[index],
        )


@dataclass(frozen=True, kw_only=True)
class TextRows:
    """Rows one behind the other; `place` says which token of which text each one is, -1 for special tokens."""

    tokens: Array  # [total]
    segment: Array | None  # [total]
    text: Array  # [total] 0, 1 … -1
    place: Array  # [total] into that text's `Joined`
    bounds: Array  # [R + 1]
    pad: int = 0
    unseen: tuple[str, ...] = ()  # words whose ids stand behind the vocabulary
    named: Array | None = None  # [total] the entity that each token is part of a mention of, -1: none; None: texts are not linked
    named_as: str = MENTIONS.name  # what the network knows that by
    cut: NDArray[np.bool_] | None = None  # [R] rows that do not hold all of their text; None: every row does

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def length(self) -> Array:
        """[R]"""
        return np.diff(self.bounds)

    def padded(self, flat: Array, index: Array, fill: int) -> Array:
        """[B, T] these rows of an array like `tokens`."""
        begin, length = self.bounds[index], self.length[index]
        column = np.arange(int(length.max()))
        inside = column < length[:, None]
        return np.where(inside, flat[np.minimum(begin[:, None] + column, len(flat) - 1)], fill)


class Coder:
    """Cuts texts for one model and lays them out in rows of at most `length` tokens. `spells_from`: the first id of words that it spells.

    `languages` are those that the model has a vector for, and `usual` the one of texts that say too little by themselves. `linker` finds what a
    text mentions, for models that read that.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        length: int,
        spells_from: int | None = None,
        last: bool = False,
        languages: Languages | None = None,
        usual: str | None = None,
    ) -> None:
        self.tokenizer, self.length = tokenizer, length
        self.linker: Linker | None = None
        self.linked_as = MENTIONS.name
        self.languages, self.usual = languages, usual
        form = tokenizer.format
        self.single, self.pair, self.segments = _frames(form)
        # The last token has read all, or else the first one stands for the row.
        self.sums_up_last = last or form.begin is None or self.single[-1] == form.begin
        self.unseen: dict[str, int] = {}  # words without an id, where the model spells words: numbered behind its vocabulary
        self._spells_from = spells_from

    def fresh(self) -> Coder:
        """The same for other texts, with no words unseen so far."""
        made = copy(self)
        made.unseen = {}
        return made

    def cut(self, texts: Sequence[str]) -> Joined:
        """Texts as tokens, with their offsets and links; words without an id of their own are kept by their spelling."""
        return self.linked(self.tokens(texts), texts)

    def tokens(self, texts: Sequence[str]) -> Joined:
        """The same without links."""
        cut = self.tokenizer.encode_joined(texts, words=Words.SPACES)
        return cut if self._spells_from is None else replace(cut, ids=self._spelled(cut, "".join(texts), self._spells_from))

    def linked(self, cut: Joined, texts: Sequence[str]) -> Joined:
        """With what these texts mention, where the model reads that."""
        if self.linker is None:
            return cut
        found = [
            (base + one.start, base + one.end, one.entity)
            for text, base in zip(texts, cut.character_bounds.tolist(), strict=False)
            for one in self.linker.mentions(text)
        ]
        return replace(cut, named=token_values(np.array(found, np.int64).reshape(-1, 3), cut.start, cut.end))

    def texts(self, examples: Sequence[Example]) -> list[Stretch]:
        """The examples' first texts, their second ones …, each from its first token to its last."""
        cuts = [self.cut([example.texts[place] for example in examples]) for place in range(len(examples[0].texts))]
        told = self.languages_of(examples, cuts)
        return [replace(whole(cut), language=None if told is None else told[:, place]) for place, cut in enumerate(cuts)]

    def languages_of(self, examples: Sequence[Example], cuts: Sequence[Joined]) -> Array | None:
        """[E, T] numbers of the languages of the examples' texts, which are cut already; None: the model reads all alike."""
        if self.languages is None:
            return None
        usual = None if self.usual is None else self.languages.number(self.usual)
        return np.array(languages_of(examples, cuts, self.languages, usual), np.int64).reshape(len(examples), len(cuts))

    def usual_language(self, examples: Sequence[Example]) -> str | None:
        """The language that nearly all first texts are in, as far as it can be told."""
        if self.languages is None:
            return None
        found = usual_language(examples, [self.cut([example.texts[0] for example in examples])], self.languages)
        return None if found is None else self.languages.names[found]

    def _spelled(self, cut: Joined, text: str, first: int) -> Array:
        ids = cut.ids.copy()
        for token in np.flatnonzero(ids == self.tokenizer.unknown).tolist():
            ids[token] = self.unseen.setdefault(text[cut.start[token] : cut.end[token]], first + len(self.unseen))
        return ids

    def room(self, texts: int) -> int:
        """Tokens of text that a row holds beside its special ones."""
        left = self.length - sum(piece not in ("A", "B") for piece in (self.single if texts == 1 else self.pair))
        if left < 2 * texts:
            raise PlumeError(f"Rows of {self.length} tokens leave no room for text: raise --length.")
        return left

    def lay_out(self, *stretches: Stretch) -> TextRows:
        """One row for each place of the stretches, which fit the room."""
        frame = self.single if len(stretches) == 1 else self.pair
        rows = len(stretches[0].begin)
        texts = iter(enumerate(stretches))
        parts = [next(texts) if piece in ("A", "B") else self._special(piece) for piece in frame]
        size = np.stack([np.ones(rows, np.int64) if isinstance(p, int) else p[1].end - p[1].begin for p in parts], axis=1)  # [R, P]
        flat_begin = (np.cumsum(size) - size.ravel()).reshape(size.shape)
        total = int(size.sum())
        tokens, text, place = np.empty(total, np.int64), np.full(total, -1), np.full(total, -1)
        named = None if self.linker is None else np.full(total, NONE)
        segments = self.segments if len(stretches) == 2 else self.tokenizer.format.single_segments
        language = stretches[
            0
        ].language  # special tokens have that of the text before them, as in training; the first ones have the first's
        segment = np.zeros(total, np.int64) if any(segments) or language is not None else None
        for column, part in enumerate(parts):
            there = runs(flat_begin[:, column], size[:, column])
            if isinstance(part, int):
                tokens[there] = part
            else:
                number, stretch = part
                source = runs(stretch.begin, size[:, column])
                tokens[there], text[there], place[there] = stretch.cut.ids[source], number, source
                language = stretch.language
                if named is not None and stretch.cut.named is not None:
                    named[there] = stretch.cut.named[source]
            if language is not None and segment is not None:
                segment[there] = np.repeat(language, size[:, column])
            elif segment is not None:
                segment[there] = segments[column]
        return TextRows(
            tokens=tokens,
            segment=segment,
            text=text,
            place=place,
            bounds=bounds(size.sum(1)),
            pad=self.tokenizer.pad,
            unseen=tuple(self.unseen),
            named=named,
            named_as=self.linked_as,
        )

    def summary(self, rows: TextRows) -> Array:
        """[R] the column whose state stands for the whole row."""
        return rows.length - 1 if self.sums_up_last else np.zeros(len(rows), np.int64)

    def _special(self, token: str) -> int:
        found = self.tokenizer.id(token)
        assert found is not None, "a format's tokens are in its tokenizer"
        return found


def whole(cut: Joined) -> Stretch:
    """Every text from its first token to its last."""
    return Stretch(cut=cut, begin=cut.token_bounds[:-1], end=cut.token_bounds[1:])


def shortened(stretch: Stretch, room: Array | int) -> Stretch:
    """Each text's first `room` tokens."""
    return replace(stretch, end=np.minimum(stretch.end, stretch.begin + room))


def shortened_pair(first: Stretch, second: Stretch, room: int) -> tuple[Stretch, Stretch]:
    """The longer of the two is cut first (BERT's truncate_seq_pair), each at its end."""
    sizes = first.end - first.begin, second.end - second.begin
    half = room - room // 2
    keep = np.minimum(sizes[0], np.maximum(room - sizes[1], half))
    return shortened(first, keep), shortened(second, np.minimum(sizes[1], room - keep))


def runs(begin: Array, size: Array) -> Array:
    """begin, begin + 1 … of each, one behind the other."""
    return np.repeat(begin - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))


def _frames(form: Format) -> tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...]]:
    """The family's; where a text stands alone, as in GPT §3.3: a delimiter between two, and at the end a token that has read all."""
    single, pair, segments = form.single, form.pair, form.segments
    if single == ("A",):
        single, pair, segments = ("A", form.separator), ("A", form.separator, "B", form.separator), ()
    return single, pair, segments or (0,) * len(pair)
