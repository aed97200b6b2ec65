"""TinyBERT's augmentation (arXiv:1909.10351, algorithm 1): words that the teacher's own language model would put there, or whose vectors are near.

Differs from the paper: words are not hidden one at a time but every seventh together, so that a text is read seven times, however long; a word of
several pieces, for which TinyBERT looks into GloVe, stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from plume.compressing.distilling.augmenting.augmentation import Altering, WordByWord
from plume.compressing.distilling.augmenting.words import CutText
from plume.core.errors import PlumeError
from plume.model.networks.model import Model
from plume.model.use.abilities import Abilities
from plume.model.use.blanks import at_blanks
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.word_body import WordBody
from plume.tuning.tuned import TunedModel

_APART = 7  # of so many words one is hidden at a time, about BERT's share
_ROWS = 32
Candidates = dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class ByVectors(WordByWord):
    """A word's place is taken by one of its `candidates`: the likeliest there by the teacher's masked-token head; without one, the nearest by
    vector."""

    rate: float = 0.4
    candidates: int = 15

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.candidates < 1:
            raise PlumeError(f"ByVectors: at least one candidate is needed, not {self.candidates}.")

    def prepared(self, cuts: Sequence[CutText], teacher: Path | None) -> Altering:
        if teacher is None:
            raise PlumeError("ByVectors takes its words from a teacher, and there is none.")
        tuned = TunedModel.load(teacher)
        body = tuned.model.body
        if isinstance(body, Model):
            can = Abilities(body, tuned.tokenizer)
            if can.masked() is not None and tuned.tokenizer.mask is not None and body.languages is None:
                return _Guesses(self, can, cuts)
            return _Near(self, *_token_table(body, tuned.tokenizer))
        assert isinstance(body, WordBody)
        vectors = body.vectors()
        return _Near(self, list(vectors.words), vectors.matrix)


class _Choosing(Altering):
    """Chooses among what stands to choose."""

    def __init__(self, part: ByVectors) -> None:
        self.part = part

    def choices(self, cut: CutText, place: int) -> list[str]:
        """For the word at this place."""
        raise NotImplementedError

    def change(self, cut: CutText, generator: np.random.Generator) -> CutText:
        chosen = generator.random(len(cut.words)) < self.part.rate
        lots = generator.random(len(cut.words))
        words = list(cut.words)
        for place in np.flatnonzero(chosen).tolist():
            among = self.choices(cut, place)
            words[place] = among[int(lots[place] * len(among))] if among else words[place]
        return replace(cut, words=tuple(words))


class _Near(_Choosing):
    """By the cosine of vectors that stand for whole words."""

    def __init__(self, part: ByVectors, words: list[str], matrix: NDArray[np.float32]) -> None:
        super().__init__(part)
        self._words, self._place = words, {word: number for number, word in enumerate(words)}
        length = np.linalg.norm(matrix, axis=1, keepdims=True)
        self._matrix = (matrix / np.maximum(length, 1e-12)).astype(np.float32)
        self._found: Candidates = {}

    def choices(self, cut: CutText, place: int) -> list[str]:
        word = cut.words[place]
        key = word if word in self._place else word.lower()
        if key not in self._found:
            self._found[key] = self._nearest(self._place[key]) if key in self._place else []
        return self._found[key]

    def _nearest(self, number: int) -> list[str]:
        near = self._matrix @ self._matrix[number]
        near[number] = -np.inf
        most = min(self.part.candidates, len(near) - 1)
        return [self._words[one] for one in np.argsort(-near, kind="stable")[:most].tolist()]


class _Guesses(_Choosing):
    """By a masked-token head, in each place."""

    def __init__(self, part: ByVectors, can: Abilities, cuts: Sequence[CutText]) -> None:
        super().__init__(part)
        self._can = can
        names, self._ids = _whole_words(can.tokenizer)
        self._name = dict(zip(self._ids.tolist(), names, strict=True))
        unlike = list({cut.text: cut for cut in cuts}.values())
        self._found = self._guessed(unlike)

    def choices(self, cut: CutText, place: int) -> list[str]:
        return [word for word in self._found.get((cut.text, place), ()) if word != cut.words[place]]

    @torch.inference_mode()
    def _guessed(self, cuts: Sequence[CutText]) -> dict[tuple[str, int], list[str]]:
        tokens = torch.from_numpy(self._ids).to(self._can.device)
        found: dict[tuple[str, int], list[str]] = {}
        for rows in _batches(self._hidden(cuts)):
            width, asked = max(len(ids) for _, ids, _ in rows), max(len(places) for _, _, places in rows)
            batch = np.full((len(rows), width), self._can.tokenizer.pad)
            read = np.zeros((len(rows), asked), np.int64)
            for row, (_, ids, places) in enumerate(rows):
                batch[row, : len(ids)], read[row, : len(places)] = ids, [column for _, column in places]
            head, states = at_blanks(self._can, batch, np.array([len(ids) for _, ids, _ in rows]), read)
            top = head.logits(states)[..., tokens].topk(min(self.part.candidates, len(tokens)), dim=-1).indices
            best = tokens[top].cpu().tolist()
            for row, (text, _, places) in enumerate(rows):
                for number, (word, _) in enumerate(places):
                    found[text, word] = [self._name[one] for one in best[row][number]]
        return found

    def _hidden(self, cuts: Sequence[CutText]) -> Iterator[tuple[str, list[int], list[tuple[int, int]]]]:
        """Each text several times: its tokens with some words hidden, and which words stand in which columns."""
        tokenizer = self._can.tokenizer
        frame = self._can.frame([])
        before = len(self._can.frame([-1])[: self._can.frame([-1]).index(-1)])
        room = (self._can.model.longest or 512) - len(frame)
        for cut in cuts:
            pieces = tokenizer.encode_pieces([cut.text])[0]
            ids, start, end = pieces.ids.tolist()[:room], pieces.start.tolist(), pieces.end.tolist()
            at = {(begin, stop): number for number, (begin, stop) in enumerate(zip(start, end, strict=True)) if number < len(ids)}
            single = [(word, at[span]) for word, span in enumerate(cut.spans) if span in at]
            for turn in range(_APART):
                places = single[turn::_APART]
                if places:
                    hidden = list(ids)
                    for _, column in places:
                        hidden[column] = tokenizer.mask
                    yield cut.text, self._can.frame(hidden), [(word, column + before) for word, column in places]


Row = tuple[str, list[int], list[tuple[int, int]]]


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Of like length, in an order that depends on the texts alone."""
    ordered = sorted(rows, key=lambda row: (len(row[1]), row[0]))
    for first in range(0, len(ordered), _ROWS):
        yield ordered[first : first + _ROWS]


def _whole_words(tokenizer: Tokenizer) -> tuple[list[str], NDArray[np.int64]]:
    """The words that are one token, and their ids."""
    special = set(tokenizer.special_ids.tolist())
    ids = [number for number in range(tokenizer.size) if number not in special]
    spelled = [tokenizer.decode([number]).strip() for number in ids]
    alone, behind = tokenizer.encode(spelled), tokenizer.encode([f" {word}" for word in spelled])
    kept = [
        (word, number)
        for word, number, one, other in zip(spelled, ids, alone, behind, strict=True)
        if word and word[0].isalnum() and [number] in (one, other)
    ]
    return [word for word, _ in kept], np.array([number for _, number in kept], np.int64)


def _token_table(body: Model, tokenizer: Tokenizer) -> tuple[list[str], NDArray[np.float32]]:
    table = getattr(body.embedding, "token", None)
    if not isinstance(table, torch.nn.Embedding):
        raise PlumeError(
            f"{body.recipe.name} spells its words and has no vectors to find others by: choose --augment masking or same-words."
        )
    words, ids = _whole_words(tokenizer)
    return words, table.weight.detach().cpu().numpy()[ids].astype(np.float32)
