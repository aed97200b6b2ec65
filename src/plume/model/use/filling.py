"""Filling blanks, by the way each family was trained to: a token at its mask, or a span of any length."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from plume.core.errors import PlumeError
from plume.model.kinds import BatchKind
from plume.model.use.abilities import Abilities, Said
from plume.model.use.blanks import probabilities_at_blanks
from plume.model.use.generate import beam_search
from plume.model.use.searching import Wanted, Written
from plume.model.use.writers import DecoderWriter, SpanWriter
from plume.noise.decoder_target import TheSpan, WholeText
from plume.noise.sentinels import SpansAfterSentinels

_ROOM = 40  # tokens at most in a blank


@dataclass(frozen=True, kw_only=True)
class Blank:
    """One guess for a blank: what it is, how likely (of a span: the mean of its tokens), and the text with it in place."""

    token: str
    probability: float
    text: str


def fill(can: Abilities, text: str, *, top: int, language: Said = None) -> list[list[Blank]]:
    """For each blank of the text the `top` likeliest guesses."""
    if can.masked() or can.permuted():
        return _fill_tokens(can, text, top, language)
    can.check_language(language)
    if kind := can.spans():
        return _fill_spans(can, kind, text, top)
    if kind := can.decoder():
        if isinstance(kind.noise.target, SpansAfterSentinels):
            return _fill_sentinels(can, kind, text, top)
        if kind.noise.corrupt.shows_mask:
            return _rewritten(can, kind, text, top)
    raise PlumeError(f"{can.name} cannot fill blanks: it has no masked-token head. {can.words()}")


def _fill_tokens(can: Abilities, text: str, top: int, language: Said) -> list[list[Blank]]:
    """One token at each mask, all at once."""
    frame = can.with_blanks(text)
    places = [number for number, token in enumerate(frame) if token == can.mask]
    told = re.sub(rf"_{{3,}}|{re.escape(can.tokenizer.format.mask or '___')}", " ", text)
    spoken = can.language(told, _plain(can, frame), language)
    probability = probabilities_at_blanks(
        can, np.array([frame]), np.array([len(frame)]), np.array([places]), None if spoken is None else np.array([spoken])
    )[0]
    probability[:, torch.from_numpy(can.tokenizer.special_ids).to(can.device)] = 0.0
    values, tokens = probability.topk(min(top, can.model.vocabulary))
    return [
        [_blank(can, frame, place, [int(token)], float(value)) for value, token in zip(values[row], tokens[row], strict=True)]
        for row, place in enumerate(places)
    ]


def _fill_spans(can: Abilities, kind: BatchKind, text: str, top: int) -> list[list[Blank]]:
    """GLM: each blank is written out behind the text, until its end token."""
    frame = can.with_blanks(text)
    found = []
    for place in [number for number, token in enumerate(frame) if token == can.mask]:

        def search(beams: int, place: int = place) -> list[Written]:
            writer = SpanWriter(can.model, can.head(kind), can.rows([frame]), [place], can.start)
            return beam_search(writer, lines=[Wanted(room=_ROOM)], stop=can.end, beams=beams)[0]

        def read(guess: Written, place: int = place) -> list[Blank]:
            return [_blank(can, frame, place, list(guess.tokens), math.exp(guess.score))]

        found += _different(search, read, top)
    return found


def _different(search: Callable[[int], list[Written]], read: Callable[[Written], list[Blank]], top: int) -> list[list[Blank]]:
    """For each blank the `top` best guesses that differ. Beams may write the same and differ in what follows it: then more are tried."""
    found: list[list[Blank]] = []
    for wider in (1, 2, 4, 8):
        guesses = search(max(top, 2) * wider)
        found = [_unlike(blanks)[:top] for blanks in zip(*map(read, guesses), strict=True)]
        if all(len(blanks) == top for blanks in found) or len(guesses) < max(top, 2) * wider:
            break
    return found


def _unlike(blanks: Iterable[Blank]) -> list[Blank]:
    """The first, and so best, of those that read the same."""
    kept: dict[tuple[str, str], Blank] = {}
    for blank in blanks:
        kept.setdefault((blank.token, blank.text), blank)
    return list(kept.values())


def _fill_sentinels(can: Abilities, kind: BatchKind, text: str, top: int) -> list[list[Blank]]:
    """T5: each blank is a sentinel, and the decoder writes the sentinels with what they stand for."""
    names = can.tokenizer.format.sentinel_tokens()
    count = 0

    def numbered(_: re.Match[str]) -> str:
        nonlocal count
        if count == len(names):
            raise PlumeError(f"There are more than {len(names)} blanks, and the model knows no more sentinels: fill some yourself.")
        count += 1
        return names[count - 1]

    marked = re.sub(r"_{3,}|\[MASK\]|<mask>|<extra_id_\d+>", numbered, text)
    if not count:
        raise PlumeError("There is nothing to fill in: write ___ where something is missing.")
    ids = can.tokenizer.encode([marked], allow_special=True)[0]
    frame = can.frame(ids)
    can.check_length(frame, text)
    sentinels = [can.tokenizer.id(name) for name in names[:count]]
    first = sentinels[0]
    assert first is not None, "a format's tokens are in its tokenizer"
    closing = [number for name in names[count:] if (number := can.tokenizer.id(name)) is not None]
    places = [frame.index(sentinel) if sentinel is not None else 0 for sentinel in sentinels]

    def search(beams: int) -> list[Written]:
        writer = _SentinelWriter(can.model, can.head(kind), can.rows([frame]), can.rows([[can.start, first]]))
        writer.closing = torch.tensor([can.end, *closing], device=can.device)
        return beam_search(writer, lines=[Wanted(room=_room(can, _ROOM * count))], stop=can.end, beams=beams)[0]

    def read(guess: Written) -> list[Blank]:
        spans = [_span(can, guess, number, sentinels) for number in range(count)]
        return [_blank(can, frame, place, span, math.exp(guess.score)) for place, span in zip(places, spans, strict=True)]

    return _different(search, read, top)


class _SentinelWriter(DecoderWriter):
    """T5's, which ends where a sentinel follows that no blank stands for: otherwise beams differ in what they write behind the last blank."""

    closing: Tensor  # the end token, and what is as good as it

    def _scores(self, tokens: Tensor) -> Tensor:
        scores = super()._scores(tokens).clone()
        ended = scores[:, self.closing].logsumexp(1)
        scores[:, self.closing[1:]] = -math.inf
        scores[:, self.closing[0]] = ended
        return scores


def _room(can: Abilities, wanted: int) -> int:
    """No more than the decoder has positions for."""
    longest = can.model.recipe.positions.longest
    return wanted if longest is None else min(wanted, longest - 2)


def _span(can: Abilities, guess: Written, number: int, sentinels: list[int | None]) -> list[int]:
    """What was written for one sentinel; the first stands before everything and was given."""
    special = set(can.tokenizer.special_ids.tolist())
    tokens = list(guess.tokens)
    if number > 0:
        sentinel = sentinels[number]
        tokens = tokens[tokens.index(sentinel) + 1 :] if sentinel in tokens else []
    return tokens[: next((place for place, token in enumerate(tokens) if token in special), len(tokens))]


def _rewritten(can: Abilities, kind: BatchKind, text: str, top: int) -> list[list[Blank]]:
    """A decoder that writes the whole text anew (BART), the missing sentences (PEGASUS), or the span at its place (MASS)."""
    frame = can.with_blanks(text)
    first = frame.index(can.mask)
    last = len(frame) - frame[::-1].index(can.mask)
    target, source = kind.noise.target, can.rows([frame])
    if not isinstance(target, WholeText) and frame[first:last] != [can.mask] * (last - first):
        raise PlumeError(f"{can.name} fills one blank at a time: leave the others out, or fill them one after another.")

    def search(beams: int) -> list[Written]:
        if isinstance(target, TheSpan):  # as many tokens as there are masks, at their own positions
            before = can.rows([frame[first - 1 : first] or [can.start]])
            writer = DecoderWriter(can.model, can.head(kind), source, before, position=[max(first - 1, 0)])
            return beam_search(writer, lines=[Wanted(room=last - first)], stop=can.end, beams=beams, least=last - first)[0]
        writer = DecoderWriter(can.model, can.head(kind), source, can.rows([[can.start]]))
        return beam_search(writer, lines=[Wanted(room=_room(can, len(frame) + _ROOM))], stop=can.end, beams=beams)[0]

    def read(guess: Written) -> list[Blank]:
        span = list(guess.tokens)
        if isinstance(target, WholeText):
            return [_compared(can, frame, first, last, span, math.exp(guess.score))]
        return [_blank(can, frame[: first + 1] + frame[last:], first, span, math.exp(guess.score))]

    return _different(search, read, top)


def _compared(can: Abilities, frame: list[int], first: int, last: int, written: list[int], probability: float) -> Blank:
    """The text as rewritten, and what of it stands where the blanks were, if the rest was kept."""
    before, after = _plain(can, frame[:first]), _plain(can, frame[last:])
    tokens = _plain(can, written)
    kept = tokens[: len(before)] == before and tokens[len(tokens) - len(after) :] == after
    span = tokens[len(before) : len(tokens) - len(after)] if kept else tokens
    return Blank(token=can.tokenizer.decode(span), probability=probability, text=can.tokenizer.decode(tokens))


def _plain(can: Abilities, ids: list[int]) -> list[int]:
    special = set(can.tokenizer.special_ids.tolist())
    return [number for number in ids if number not in special]


def _blank(can: Abilities, frame: list[int], place: int, span: list[int], probability: float) -> Blank:
    filled = frame[:place] + span + frame[place + 1 :]
    ends = {can.tokenizer.begin, can.tokenizer.separator, can.tokenizer.pad}
    text = can.tokenizer.decode([number for number in filled if number not in ends], skip_special=False)
    token = can.tokenizer.decode(span)
    if not token and len(span) == 1:
        token = can.tokenizer.token(span[0])
    return Blank(token=token, probability=probability, text=text)
