"""Texts as bert-as-service reads them: a text, a pair written `a ||| b`, or tokens that its client has cut."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from plume.model.use.language_model import LanguageModel
from plume.model.use.text_batches import Framed, TextBatches
from plume.readers.example import Example
from plume.serve.errors import BadRequest
from plume.text.pieces import Joined, bounds
from plume.text.tokenizer import Tokenizer
from plume.tuning.rows.rows import Coder, Stretch, shortened_pair, whole
from plume.tuning.tuned import coder_for

Given = str | Sequence[str]  # a text, or its tokens
_PAIR = re.compile(r"(.*) \|\|\| (.*)", re.DOTALL)
_BETWEEN = "|||"
_UNBOUNDED = 1 << 30


def read_given(model: LanguageModel, given: Sequence[Given], *, longest: int | None) -> TextBatches:
    """Framed as the family does, cut to `longest` tokens with the special ones."""
    if model.model.spells:  # reads words by their characters, whoever cut them
        given = [as_text(one) for one in given]
    pairs = {place: pair for place, one in enumerate(given) if (pair := pair_of(one)) is not None}
    single = [place for place in range(len(given)) if place not in pairs]
    texts = [one if isinstance(one, str) else _ids(model.tokenizer, one) for one in (given[place] for place in single)]
    read = TextBatches(model.abilities, texts, [None] * len(texts), longest=longest)
    if not pairs:
        return read
    both = TextBatches.joined([read, _read_pairs(model, list(pairs.values()), longest)])
    order = {place: number for number, place in enumerate([*single, *pairs])}
    both.framed = [both.framed[order[place]] for place in range(len(given))]
    return both


def as_text(one: Given) -> str:
    """Tokens as a text again."""
    return one if isinstance(one, str) else " ".join(one)


def pair_of(one: Given) -> tuple[Given, Given] | None:
    """Its two texts, if it is a pair."""
    if isinstance(one, str):
        found = _PAIR.fullmatch(one)
        return None if found is None else (found[1], found[2])
    if _BETWEEN not in one:
        return None
    place = list(one).index(_BETWEEN)
    return one[:place], one[place + 1 :]


def _read_pairs(model: LanguageModel, pairs: Sequence[tuple[Given, Given]], longest: int | None) -> TextBatches:
    limits = [limit for limit in (longest, model.recipe.positions.longest) if limit is not None]
    coder = coder_for(model.model, model.tokenizer, length=min(limits, default=_UNBOUNDED))
    if coder.length < sum(piece not in ("A", "B") for piece in coder.pair) + 4:
        raise BadRequest(f"max_seq_len {coder.length} leaves no room for two texts and the special tokens around them.", param="texts")
    whole_texts = coder.texts([Example(texts=(as_text(first), as_text(second))) for first, second in pairs])
    first, second = (_looked_up(coder, stretch, [pair[side] for pair in pairs]) for side, stretch in enumerate(whole_texts))
    rows = coder.lay_out(*shortened_pair(first, second, coder.room(2)))
    made = TextBatches(model.abilities, (), ())
    made.unseen = list(rows.unseen)
    for begin, end in zip(rows.bounds[:-1].tolist(), rows.bounds[1:].tolist(), strict=True):
        segment = None if rows.segment is None else rows.segment[begin:end].tolist()
        made.framed.append(Framed(tokens=rows.tokens[begin:end].tolist(), segment=segment))
    return made


def _looked_up(coder: Coder, read: Stretch, given: Sequence[Given]) -> Stretch:
    """What was read as texts; or, where tokens were given, these."""
    if all(isinstance(one, str) for one in given):
        return read
    ids = [_ids(coder.tokenizer, [one] if isinstance(one, str) else one) for one in given]
    flat = np.fromiter(chain.from_iterable(ids), np.int64)
    nowhere = np.zeros(len(flat), np.int64)
    found = Joined(
        ids=flat, word_start=np.ones(len(flat), np.bool_), start=nowhere, end=nowhere, token_bounds=bounds(map(len, ids)),
        character_bounds=np.zeros(len(ids) + 1, np.int64),
    )  # fmt: skip
    return replace(whole(found), language=read.language)


def _ids(tokenizer: Tokenizer, tokens: Sequence[str]) -> list[int]:
    """One id a token, so that answers for tokens stay theirs; where a family has no unknown token, as many as it takes to write it."""
    found: list[int] = []
    for token in tokens:
        known = tokenizer.id(token)
        pieces = tokenizer.encode([token])[0] if known is None else [known]
        found += pieces if len(pieces) == 1 or tokenizer.unknown is None else [tokenizer.unknown]
    return found
