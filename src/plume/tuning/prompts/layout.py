"""Examples in a template, as rows that a model's blank is asked with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from plume.core.errors import PlumeError
from plume.readers.example import Example
from plume.text.tokenizer import Tokenizer
from plume.text.words import Words
from plume.tuning.prompts.blank import AskedRow, BlankReading, LabelWord, PromptBlank, refuse_before
from plume.tuning.prompts.label_words import PlacedWord, in_text, worded
from plume.tuning.prompts.template import Fixed, Piece, Soft, Text, pieces_of, slot_in_text

_LEAST = 2  # tokens of each text that must fit beside the template


@dataclass(frozen=True)
class Filler:
    """What fills the blank for one label, in tokens; `among`: the label has so many words."""

    label: int
    among: int
    said: PlacedWord


@dataclass(frozen=True)
class PromptedRows:
    """One example's rows; `cut`: its texts do not stand in them whole."""

    rows: list[AskedRow]
    cut: bool


class PromptLayout:
    """One template over one model. `words` are those of each label; None: the choices of each example, its texts behind the first.

    `soft_from` is the id of the first token that is learned.
    """

    def __init__(
        self,
        template: str,
        words: Sequence[Sequence[str]] | None,
        blank: PromptBlank,
        tokenizer: Tokenizer,
        *,
        length: int,
        texts: int = 1,
        name: str = "",
        soft_from: int = 0,
    ) -> None:
        self.template, self.words, self.blank, self.tokenizer = template, words, blank, tokenizer
        self.length, self.soft_from = length, soft_from
        self.pieces = pieces_of(template, texts=texts, blank_in_text=words is None)
        places = [place for place, piece in enumerate(self.pieces) if isinstance(piece, Fixed) and piece.slot]
        self.slot: int | None = places[0] if places else None
        behind = self.pieces[self.slot + 1 :] if self.slot is not None else []
        if any(isinstance(piece, Text) for piece in behind):
            refuse_before(blank, name)
        self.text_numbers = [piece.number for piece in self.pieces if isinstance(piece, Text)]
        self._known: dict[str, list[int]] = {}
        self._worded: dict[str, PlacedWord] = {}

    def lay_out(self, examples: Sequence[Example], demonstrations: Sequence[Sequence[int]] | None = None) -> list[PromptedRows]:
        """The rows of each, with what is shown beside it, in tokens."""
        cut = {number: self._cut(number, examples) for number in self.text_numbers}
        shown = demonstrations or [()] * len(examples)
        return [
            self._one(example, {number: ids[place] for number, ids in cut.items()}, shown[place]) for place, example in enumerate(examples)
        ]

    def demonstrated(self, texts: Sequence[str], word: str, *, room: int) -> list[int]:
        """An example with its answer in the blank; its texts have so many tokens together at most."""
        example = Example(texts=tuple(texts))
        if self.slot is None:
            place = self._text_place
            said, own = _nearest(self._in_text(example.texts[0], word), room), self.pieces
            return [*self._ids(own[:place], {}), *said.before, *said.word, *said.after, *self._ids(own[place + 1 :], {})]
        said = self._said(word)
        kept = _shortened({number: self._cut(number, [example])[0] for number in self.text_numbers}, room)
        front, back = self._ids(self.pieces[: self.slot], kept), self._ids(self.pieces[self.slot + 1 :], kept)
        return [*front, *said.before, *said.word, *said.after, *back]

    def text_room(self, examples: Sequence[Example]) -> int:
        """Tokens of text beside which all of these fit, where nothing is shown."""
        if self.words is not None:
            return self.room(self.fillers)
        if self.slot is not None:
            return self.room(self._choices(Example(texts=("", *{choice for one in examples for choice in one.texts[1:]}))))
        longest = max(len(one.said.word) for example in examples for one in self._gaps(example))
        return self._room_around(longest)

    def room(self, fillers: Iterable[Filler], shown: int = 0) -> int:
        """Tokens of text that a row holds beside the template, the longest of these words and what else is shown."""
        around = sum(
            len(self._ids([piece], {})) for place, piece in enumerate(self.pieces) if place != self.slot and not isinstance(piece, Text)
        )
        needs = [len(one.said.before) + len(one.said.after) + self.blank.taken(len(one.said.word)) for one in fillers]
        left = self.length - around - max(needs) - shown
        if left < _LEAST * len(self.text_numbers):
            raise PlumeError(
                f"The template and its labels leave no room for the text in {self.length} tokens: shorten them ('{self.template[:60]}')."
            )
        return left

    @cached_property
    def fillers(self) -> list[Filler]:
        """Of the labels, where they are the same for all examples."""
        assert self.words is not None, "an example's choices are its own"
        return [Filler(label, len(words), self._said(word)) for label, words in enumerate(self.words) for word in words]

    def _one(self, example: Example, texts: dict[int, list[int]], shown: Sequence[int]) -> PromptedRows:
        if self.slot is None:
            return self._around_the_blank(example, shown)
        fillers = self.fillers if self.words is not None else self._choices(example)
        kept = _shortened(texts, self._room(fillers, len(shown)))
        front, back = self._ids(self.pieces[: self.slot], kept), self._ids(self.pieces[self.slot + 1 :], kept)
        return PromptedRows(self._rows(front, fillers, back, shown), cut=any(len(kept[n]) < len(texts[n]) for n in texts))

    def _room(self, fillers: list[Filler], shown: int) -> int:
        if self.words is None:
            return self.room(fillers, shown)
        return self._usual_room - shown if shown < self._usual_room - _LEAST * len(self.text_numbers) else self.room(fillers, shown)

    @cached_property
    def _usual_room(self) -> int:
        return self.room(self.fillers)

    def _rows(self, front: list[int], fillers: Iterable[Filler], back: list[int], shown: Sequence[int]) -> list[AskedRow]:
        """Words around which the template's tokens are the same share their rows."""
        alike: dict[tuple[tuple[int, ...], tuple[int, ...]], list[LabelWord]] = {}
        for one in fillers:
            alike.setdefault((one.said.before, one.said.after), []).append(LabelWord(one.label, one.among, one.said.word))
        first, last = (shown, ()) if self.blank.demonstrations_first else ((), shown)
        shared = len(self.blank.begin) + len(first) if first else 0
        known = None if self.words is not None else {word.label: word for words in alike.values() for word in words}
        return [
            replace(row, shared=shared, readings=row.readings if known is None else self._legible(row.readings, known))
            for (before, after), words in alike.items()
            for row in self.blank.rows([*first, *front, *before], words, [*after, *back, *last])
        ]

    def _legible(self, readings: Sequence[BlankReading], words: dict[int, LabelWord]) -> list[BlankReading]:
        """Of choices what the vocabulary has: no model expects an unknown sign. One that has nothing else is left as it is."""
        unknown = self.tokenizer.unknown
        count = {label: sum(token != unknown for token in word.tokens) for label, word in words.items()}
        return [replace(one, among=count[one.label] or one.among) for one in readings if one.token != unknown or not count[one.label]]

    def _around_the_blank(self, example: Example, shown: Sequence[int]) -> PromptedRows:
        """The blank stands in the text itself: what is nearest to it is kept."""
        fillers = self._gaps(example)
        room = self._room_around(max(len(one.said.word) for one in fillers)) - len(shown)
        kept = [Filler(one.label, one.among, _nearest(one.said, room)) for one in fillers]
        place = self._text_place
        front, back = self._ids(self.pieces[:place], {}), self._ids(self.pieces[place + 1 :], {})
        cut = any(len(one.said.before) + len(one.said.after) > room for one in fillers)
        return PromptedRows(self._rows(front, kept, back, shown), cut=cut)

    @property
    def _text_place(self) -> int:
        return next(number for number, piece in enumerate(self.pieces) if isinstance(piece, Text))

    def _gaps(self, example: Example) -> list[Filler]:
        """The choices, each in the blank of the text."""
        return [Filler(label, 1, self._in_text(example.texts[0], choice)) for label, choice in enumerate(example.texts[1:])]

    def _room_around(self, longest: int) -> int:
        """Tokens of a text with a word of so many in it."""
        around = [piece for piece in self.pieces if not isinstance(piece, Text)]
        return self.length - self.blank.taken(longest) - sum(len(self._ids([piece], {})) for piece in around)

    def _in_text(self, text: str, word: str) -> PlacedWord:
        slot = slot_in_text(text)
        if slot is None:
            raise PlumeError(f"There is no blank in '{text[:60]}': the text needs one, ___ or #idiom#, or the template does.")
        return in_text(text, slot.start(), slot.end(), word, self.tokenizer, strict=False)

    def _choices(self, example: Example) -> list[Filler]:
        return [Filler(label, 1, self._said(choice)) for label, choice in enumerate(example.texts[1:])]

    def _said(self, word: str) -> PlacedWord:
        assert self.slot is not None, "the template has the blank"
        piece = self.pieces[self.slot]
        assert isinstance(piece, Fixed), "the blank stands among the template's words"
        if word not in self._worded:
            self._worded[word] = worded(piece, word, self.tokenizer, strict=self.words is not None)
        return self._worded[word]

    def _cut(self, number: int, examples: Sequence[Example]) -> list[list[int]]:
        spaced = next(piece.spaced for piece in self.pieces if isinstance(piece, Text) and piece.number == number)
        texts = [f" {one.texts[number]}" if spaced else one.texts[number] for one in examples]
        cut = self.tokenizer.encode_joined(texts, words=Words.SPACES)
        ids, bounds = cut.ids.tolist(), cut.token_bounds.tolist()
        return [ids[begin:end] for begin, end in pairwise(bounds)]

    def _ids(self, pieces: Sequence[Piece], texts: dict[int, list[int]]) -> list[int]:
        found: list[int] = []
        for piece in pieces:
            if isinstance(piece, Text):
                found += texts.get(piece.number, [])
            elif isinstance(piece, Soft):
                found += [self.soft_from + number for number in piece.numbers]
            else:
                found += self._fixed(piece.said)
        return found

    def _fixed(self, said: str) -> list[int]:
        if said not in self._known:
            self._known[said] = self.tokenizer.encode([said])[0]
        return self._known[said]


def _shortened(texts: dict[int, list[int]], room: int) -> dict[int, list[int]]:
    """The longer of two is cut first, each at its end."""
    if len(texts) < 2:
        return {number: ids[:room] for number, ids in texts.items()}
    (first, a), (second, b) = texts.items()
    keep = min(len(a), max(room - len(b), room - room // 2))
    return {first: a[:keep], second: b[: room - keep]}


def _nearest(said: PlacedWord, room: int) -> PlacedWord:
    """What stands nearest around a word, in so many tokens; where one side is short the other has more."""
    before = min(len(said.before), max(room - len(said.after), room - room // 2))
    return PlacedWord(said.before[len(said.before) - before :], said.word, said.after[: room - before])
