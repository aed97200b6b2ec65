"""Does a verb agree with its subject? The right form held against the wrong one, at every layer and past nouns that lead astray."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.embedded.agreement import ATTRACTORS, Agreement, agreement_sentences
from plume.model.use.abilities import Abilities
from plume.model.use.language_model import LanguageModel
from plume.text.languages import has_han
from plume.view.recording.asking import AskedPlace, Asking, asking_for

_HAN = 0.5  # of a vocabulary: then it is a Chinese one, whatever English words it holds
_LEAST = 0.5  # of the sentences must be writable


@dataclass(frozen=True, kw_only=True)
class Agreed:
    """How often the right form was likelier, by the number of attractors and by layer."""

    layers: list[int]
    attractors: list[int]
    sentences: list[int]  # asked, for each number of attractors
    right: NDArray[np.float64]  # [A, L] shares
    left_out: int  # whose verb is not one token


@dataclass(frozen=True, kw_only=True)
class _Question:
    asked: AskedPlace
    right: int
    wrong: int
    attractors: int


def agreement(model: LanguageModel) -> Agreed:
    """Over the embedded sentences. Refuses models that predict no tokens, and those of Chinese, where verbs do not agree."""
    can = model.abilities
    asking = asking_for(can)
    _require_english(can)
    every = agreement_sentences()
    questions = [one for sentence in every if (one := _question(can, asking, sentence)) is not None]
    if len(questions) < _LEAST * len(every):
        raise PlumeError("Agreement is measured on English sentences, and this vocabulary has hardly any of their verbs as one token.")
    margins: dict[int, list[torch.Tensor]] = {}
    own, other = (torch.tensor([getattr(one, name) for one in questions], device=can.device) for name in ("right", "wrong"))
    for part, layer, scores in asking.ask([one.asked for one in questions]):
        difference = scores.gather(1, own[part, None]) - scores.gather(1, other[part, None])
        margins.setdefault(layer, []).append(difference[:, 0])
    # A tie is half right: a network that says the same of both knows nothing.
    right = np.stack([(torch.sign(torch.cat(one)) / 2 + 0.5).double().cpu().numpy() for one in margins.values()])  # [L, N]
    kind = np.array([one.attractors for one in questions])
    there = [number for number in ATTRACTORS if (kind == number).any()]
    return Agreed(
        layers=list(margins),
        attractors=there,
        sentences=[int((kind == number).sum()) for number in there],
        right=np.stack([right[:, kind == number].mean(1) for number in there]),
        left_out=len(every) - len(questions),
    )


def _require_english(can: Abilities) -> None:
    tokens = can.tokenizer.tokens()
    if sum(map(has_han, tokens)) > _HAN * len(tokens):
        raise PlumeError("Agreement does not apply: this is a model of Chinese, whose verbs do not change with their subject.")


def _question(can: Abilities, asking: Asking, sentence: Agreement) -> _Question | None:
    """None where the two forms are not one token each, in the same place."""
    texts = [f"{sentence.before} {verb} {sentence.after}" for verb in (sentence.right, sentence.wrong)]
    right, wrong = can.tokenizer.encode(texts)
    differs = [place for place, pair in enumerate(zip(right, wrong, strict=False)) if pair[0] != pair[1]]
    if len(right) != len(wrong) or len(differs) != 1 or can.tokenizer.unknown in (right[differs[0]], wrong[differs[0]]):
        return None
    (place,) = differs
    before = 0
    frame = right
    if asking.hides:
        frame, before = can.frame(right), can.frame([-1]).index(-1)
    language = can.language(texts[0], right, "en" if _speaks_english(can) else None) if can.model.languages is not None else None
    asked = AskedPlace(frame=frame, place=place + before, language=language)
    return _Question(asked=asked, right=right[place], wrong=wrong[place], attractors=sentence.attractors)


def _speaks_english(can: Abilities) -> bool:
    return can.model.languages is not None and "en" in can.model.languages.names
