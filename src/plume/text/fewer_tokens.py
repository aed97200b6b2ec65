"""A tokenizer with fewer tokens: what some text never uses goes, and every text can still be cut.

Text that needs no token that went is cut as before. Special tokens stay, and so do single characters and bytes, into which other words fall.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.text.piece_kinds import kind_of
from plume.text.tokenizer import Tokenizer

Ids = NDArray[np.int64]


def choose_tokens(tokenizer: Tokenizer, counts: Ids, *, at_least: int = 1, most: int | None = None, characters: bool = True) -> Ids:
    """The ids that stay, rising: those that occur `at_least` times, or the most frequent of them up to `most` in all; and what must stay.

    `characters`: also single ones that never occur, so that no text becomes unknown. Bytes always stay.
    """
    kind = kind_of(tokenizer)
    must = kind.always(characters=characters) | _fixed(tokenizer)
    if most is not None and most < len(must):
        hint = "; --set characters=false lets those go that never occur" if characters and kind.spells else ""
        raise PlumeError(f"{most:,} tokens are too few: {len(must):,} have to stay, special tokens and single characters{hint}.")
    used = [number for number in np.argsort(-counts, kind="stable").tolist() if counts[number] >= max(1, at_least)]
    if not used:
        raise PlumeError(
            f"No token occurs {at_least:,} times or more in this text: nothing would be left of the vocabulary. Give more text."
        )
    return np.array(sorted(_up_to(most, must, used, kind.parts)), np.int64)


def _fixed(tokenizer: Tokenizer) -> set[int]:
    """Tokens with a role."""
    roles = [tokenizer.id(token) for token in tokenizer.format.specials()]
    return {number for number in (*tokenizer.special_ids.tolist(), *roles, tokenizer.unknown) if number is not None}


def _up_to(most: int | None, must: set[int], used: Sequence[int], parts: Callable[[int], set[int]]) -> set[int]:
    kept = set(must)
    for number in used:
        wanted = parts(number)
        if most is not None and len(kept | wanted) > most:
            break
        kept |= wanted
    return kept


def with_tokens(tokenizer: Tokenizer, kept: Ids) -> Tokenizer:
    """The same tokenizer with these tokens alone, numbered anew in their order."""
    file = json.loads(tokenizer.backend.to_str())
    new = {number: place for place, number in enumerate(kept.tolist())}
    named = {tokenizer.token(number): place for number, place in new.items()}
    file["model"] = kind_of(tokenizer).model(named)
    file["added_tokens"] = [{**one, "id": new[one["id"]]} for one in file["added_tokens"] if one["id"] in new]
    file["post_processor"] = _renumbered(file["post_processor"], new)
    made = Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(file)), format=tokenizer.format)
    if made.tokens() != list(named):
        raise PlumeError("The special tokens of this tokenizer do not stand where others find them again: its vocabulary cannot be cut.")
    return made


def _renumbered(value: Any, new: dict[int, int]) -> Any:
    """What wraps texts names special tokens with their ids: `"ids": [101]` beside their tokens, or `"sep": ["[SEP]", 102]`."""
    if isinstance(value, list):
        return [_renumbered(one, new) for one in value]
    if not isinstance(value, dict):
        return value
    made = {name: _renumbered(one, new) for name, one in value.items()}
    if "ids" in made and "tokens" in made:
        made["ids"] = [new[number] for number in made["ids"]]
    for role in ("sep", "cls"):
        if role in made:
            made[role] = [made[role][0], new[made[role][1]]]
    return made
