"""Predictions by layer: which token a model would name at each place of a text, if its head read an earlier layer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.model.use.abilities import Abilities, Said
from plume.model.use.language_model import LanguageModel
from plume.view.recording.asking import AskAfterSource, AskedPlace, Asking, asking_for


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """P places, L layers, K guesses. A place is hidden while it is asked for, or only what stands before it is seen."""

    tokens: list[str]  # the text as it is read; of a decoder that writes: what it has written
    source: list[str]  # what the decoder has read; empty elsewhere
    places: list[int]  # into `tokens`; one behind the last: what would come next
    layers: list[int]  # 0 is the embedding
    hides: bool  # the place is masked while it is asked for; else only what stands before it is seen
    guesses: list[list[list[str]]]  # [P][L][K]
    probability: NDArray[np.float32]  # [P, L, K]
    right: NDArray[np.float32]  # [P, L] of the token that stands there; -1 where that is not known
    rank: NDArray[np.int64]  # [P, L] of the same, 1 the likeliest; 0 where not known

    def __post_init__(self) -> None:
        assert self.probability.shape[:2] == self.right.shape == self.rank.shape == (len(self.places), len(self.layers))


def predictions(
    model: LanguageModel, text: str, *, written: str | None = None, top: int = 5, language: Said = None, most: int = 512
) -> Predictions:
    """Each token of the text hidden in turn (or asked for after those before it), and the `top` guesses of every layer.

    A mask token or ___ in the text stays hidden all the time. `written`: what a decoder has written after reading the text; it is then its
    tokens that are asked for. Only the first `most` tokens are read.
    """
    can = model.abilities
    if written is not None or _only_writes(can):
        return _of_decoder(model, text, written, top=top, most=most)
    asking = asking_for(can)
    frame, hidden = _framed(can, text, asking, most)
    told = can.language(re.sub(r"_{3,}", " ", text), list(frame), language)
    special = set(can.tokenizer.special_ids.tolist())
    if asking.hides:
        places = [place for place, token in enumerate(frame) if token not in special or place in hidden]
    else:
        places = list(range(len(frame) + 1))
    if not places:
        raise PlumeError("There is no token in the text: write a few words.")
    answers = [None if place in hidden or place == len(frame) else frame[place] for place in places]
    asked = [AskedPlace(frame=frame, place=place, language=told) for place in places]
    return _gathered(can, asking, asked, answers, frame, [], top)


def _only_writes(can: Abilities) -> bool:
    """Does its decoder write something else than the text itself?"""
    try:
        asking_for(can)
    except PlumeError:
        return can.decoder() is not None
    return False


def _framed(can: Abilities, text: str, asking: Asking, most: int) -> tuple[list[int], set[int]]:
    """The text as the family reads it, and where it is masked from the start."""
    mask = can.tokenizer.format.mask
    blank = mask if asking.hides and mask is not None else None
    ids = can.tokenizer.encode([text if blank is None else re.sub(r"_{3,}", blank, text)], allow_special=blank is not None)[0]
    longest = min(filter(None, (most, can.model.recipe.positions.longest)))
    frame = ids if not asking.hides else can.frame(ids[: longest - len(can.frame([])) - 1])
    hidden = {place for place, token in enumerate(frame) if blank is not None and token == can.mask}
    return frame[: longest - 1], hidden


def _of_decoder(model: LanguageModel, text: str, written: str | None, *, top: int, most: int) -> Predictions:
    """What is not said is written by the model itself, the likeliest token each time."""
    can, kind = model.abilities, model.abilities.decoder()
    if kind is None:
        raise PlumeError(f"{can.name} has no decoder that writes after reading: leave out written. {can.words()}")
    source = can.frame(can.tokenizer.encode([text])[0])
    can.check_length(source, text)
    if written is None:
        written = model.generate(source=text, greedy=True, max_tokens=40)
    answer = can.closed(kind, can.tokenizer.encode([written])[0])[:most]
    asked = [AskedPlace(frame=answer, place=place) for place in range(len(answer) + 1 - kind.noise.closes)]
    answers: list[int | None] = [*answer, None]
    return _gathered(can, AskAfterSource(can, kind, source), asked, answers[: len(asked)], answer, source, top)


def _gathered(
    can: Abilities,
    asking: Asking,
    asked: Sequence[AskedPlace],
    answers: Sequence[int | None],
    frame: Sequence[int],
    source: Sequence[int],
    top: int,
) -> Predictions:
    top = min(top, can.model.vocabulary)
    known = np.array([-1 if one is None else one for one in answers])
    layers: dict[int, tuple[list[NDArray], list[NDArray], list[NDArray], list[NDArray]]] = {}
    for part, layer, scores in asking.ask(asked):
        values, tokens = scores.topk(top)
        answer = scores.new_tensor(np.maximum(known[part], 0), dtype=tokens.dtype)
        own = scores.gather(1, answer[:, None])
        found = (tokens, values.exp(), own[:, 0].exp(), (scores > own).sum(1) + 1)
        for kept, one in zip(layers.setdefault(layer, ([], [], [], [])), found, strict=True):
            kept.append(one.cpu().numpy())
    guesses, probability, right, rank = (np.stack([np.concatenate(kept[which]) for kept in layers.values()], axis=1) for which in range(4))
    unknown = (known < 0)[:, None]
    return Predictions(
        tokens=[can.tokenizer.token(number) for number in frame],
        source=[can.tokenizer.token(number) for number in source],
        places=[one.place for one in asked],
        layers=list(layers),
        hides=asking.hides,
        guesses=[[[can.tokenizer.token(number) for number in row] for row in place] for place in guesses.tolist()],
        probability=probability.astype(np.float32),
        right=np.where(unknown, -1, right).astype(np.float32),
        rank=np.where(unknown, 0, rank),
    )
