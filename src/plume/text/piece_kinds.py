"""What each kind of tokenizer needs to be cut down: which tokens must stay, and what a token is put together from."""

from __future__ import annotations

import json
import re
from functools import cached_property
from itertools import pairwise
from typing import Any

from plume.core.errors import PlumeError
from plume.text.tokenizer import Tokenizer

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


class WholeWords:
    """Words that are tokens, and no others: nothing stands for one that goes, but the unknown token."""

    spells = False  # do smaller pieces stand for a token that goes?

    def __init__(self, tokenizer: Tokenizer, model: dict[str, Any]) -> None:
        self.backend, self._model = tokenizer.backend, model

    @cached_property
    def ids(self) -> dict[str, int]:
        """Of the model's tokens; those that were added stand beside it."""
        found: dict[str, int] = self._model["vocab"]
        return found

    def always(self, *, characters: bool) -> set[int]:
        """What must stay, so that every text can be cut."""
        unknown = self._model.get("unk_token")
        return {self.ids[unknown]} if unknown in self.ids else set()

    def parts(self, number: int) -> set[int]:
        """The token, and all that it is put together from."""
        return {number}

    def model(self, kept: dict[str, int]) -> dict[str, Any]:
        """The model of these tokens with these ids."""
        return {**self._model, "vocab": {token: place for token, place in kept.items() if token in self.ids}}


class LongestFirst(WholeWords):
    """WordPiece: the longest piece that is known is taken, so fewer pieces change nothing where none that goes is wanted."""

    spells = True

    @property
    def _mark(self) -> str:
        mark: str = self._model["continuing_subword_prefix"]
        return mark

    def always(self, *, characters: bool) -> set[int]:
        found = super().always(characters=characters)
        if characters:
            found |= {number for token, number in self.ids.items() if self._stays(token)}
        return found

    def _stays(self, token: str) -> bool:
        """A character that some text can need here; or a piece of which one has no token, so that nothing else can stand for it."""
        text, inner = token.removeprefix(self._mark), token.startswith(self._mark)
        if len(text) == 1:
            return self._stands(text, inner)
        firsts = text[:1] if not inner else self._mark + text[:1]
        spelled = firsts in self.ids and all(self._mark + character in self.ids for character in text[1:])
        return not spelled and self._stands(text, inner)

    def _stands(self, text: str, inner: bool) -> bool:
        """Can a text have it as a word, or within one? Chinese characters and punctuation stand alone, and lower case knows no capitals."""
        return any(self._one_word(before + text) for before in ("a", text)) if inner else self._one_word(text)

    def _one_word(self, text: str) -> bool:
        backend = self.backend
        plain = text if backend.normalizer is None else backend.normalizer.normalize_str(text)
        words = [(plain, None)] if backend.pre_tokenizer is None else backend.pre_tokenizer.pre_tokenize_str(plain)
        return [word for word, _ in words] == [text]


class Merged(WholeWords):
    """Byte pairs: letters are merged by rank. A token needs every token on the way to it; the merges of others can go."""

    spells = True

    @cached_property
    def _merges(self) -> list[tuple[str, str]]:
        pairs = (pair.split(" ", 1) if isinstance(pair, str) else pair for pair in self._model["merges"])
        return [(left, right) for left, right in pairs]

    @cached_property
    def _ranks(self) -> dict[tuple[str, str], int]:
        ranks: dict[tuple[str, str], int] = {}
        for rank, pair in enumerate(self._merges):
            ranks.setdefault(pair, rank)
        return ranks

    @cached_property
    def _tokens(self) -> dict[int, str]:
        return {number: token for token, number in self.ids.items()}

    @cached_property
    def _byte_level(self) -> bool:
        return '"ByteLevel"' in json.dumps(json.loads(self.backend.to_str())["pre_tokenizer"])

    @property
    def _mark(self) -> str:
        return self._model.get("continuing_subword_prefix") or ""

    @property
    def _end(self) -> str:
        return self._model.get("end_of_word_suffix") or ""

    def always(self, *, characters: bool) -> set[int]:
        found = super().always(characters=characters)
        atoms = [token for token in self.ids if len(token.removesuffix(self._end).removeprefix(self._mark)) == 1]
        if characters or self._byte_level:
            found |= {self.ids[token] for token in atoms}
        return found | {number for token, number in self.ids.items() if _BYTE.fullmatch(token)}

    def parts(self, number: int) -> set[int]:
        """As the library merges: the pair of the lowest rank first, the left one of several."""
        token = self._tokens.get(number)
        if token is None:
            return {number}
        row = self._letters(token)
        needed = {number, *(self.ids[letter] for letter in row if letter in self.ids)}
        while True:
            found = [(self._ranks[pair], place) for place, pair in enumerate(pairwise(row)) if pair in self._ranks]
            if not found:
                return needed
            place = min(found)[1]
            row[place : place + 2] = [self._joined(row[place], row[place + 1])]
            needed.add(self.ids[row[place]])

    def _letters(self, token: str) -> list[str]:
        ends = bool(self._end) and token.endswith(self._end) and token != self._end
        text = token.removesuffix(self._end) if ends else token
        inner = bool(self._mark) and text.startswith(self._mark)
        row = [self._mark + letter if inner or place else letter for place, letter in enumerate(text.removeprefix(self._mark))]
        if ends:
            row[-1] += self._end
        return row

    def _joined(self, left: str, right: str) -> str:
        return left + right.removeprefix(self._mark)

    def model(self, kept: dict[str, int]) -> dict[str, Any]:
        stays = [
            list(pair) for pair in self._merges if pair[0] in kept and pair[1] in kept and self._joined(*pair) in kept
        ]  # in their order, which is their rank
        return {**super().model(kept), "merges": stays}


class Likeliest(WholeWords):
    """Unigram: the likeliest pieces of a text are the same among fewer. How unlikely an unknown character is follows from the least likely piece,
    so one of these stays too."""

    spells = True

    @cached_property
    def ids(self) -> dict[str, int]:
        return {piece: number for number, (piece, _) in enumerate(self._model["vocab"])}

    def always(self, *, characters: bool) -> set[int]:
        scores = self._model["vocab"]
        found = {min(range(len(scores)), key=lambda number: scores[number][1])}
        found |= {number for piece, number in self.ids.items() if _BYTE.fullmatch(piece)}
        if self._model["unk_id"] is not None:
            found.add(self._model["unk_id"])
        if characters:
            single = {piece for piece in self.ids if len(piece) == 1}
            found |= {number for piece, number in self.ids.items() if piece in single or not single.issuperset(piece)}
        return found

    def model(self, kept: dict[str, int]) -> dict[str, Any]:
        before = self._model["vocab"]
        pieces = [before[self.ids[token]] for token in kept if token in self.ids]
        unknown = self._model["unk_id"]
        return {**self._model, "vocab": pieces, "unk_id": None if unknown is None else kept[before[unknown][0]]}


_KINDS = {"WordLevel": WholeWords, "WordPiece": LongestFirst, "BPE": Merged, "Unigram": Likeliest}


def kind_of(tokenizer: Tokenizer) -> WholeWords:
    """By the model that its file names."""
    model = json.loads(tokenizer.backend.to_str())["model"]
    if model["type"] not in _KINDS:
        raise PlumeError(f"A tokenizer of the kind {model['type']} cannot be cut down: plume knows {', '.join(_KINDS)}.")
    return _KINDS[model["type"]](tokenizer, model)
