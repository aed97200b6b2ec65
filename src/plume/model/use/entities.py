"""Entities at use: what a text mentions, and what belongs in its blanks, with the facts that were asked for it (EaE, FaE)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from plume.core.batch import Batch, Encoded
from plume.core.errors import PlumeError
from plume.core.knowledge import Knowledge
from plume.data.layouts.carried import NONE, token_values
from plume.heads.entity_prediction import EntityPredictionModule
from plume.heads.fact_prediction import FactPredictionModule
from plume.kb.link import Linker
from plume.model.use.abilities import Abilities
from plume.nn.knowledge.entity_memory import ASKED, FIRST, LAST, MENTIONS

_LENGTHS = (1, 2, 3, 4)  # tokens that a blank may stand for; the answers are averaged


@dataclass(frozen=True, kw_only=True)
class EntityGuess:
    """One entity that a mention may be of."""

    entity: int
    name: str
    probability: float


@dataclass(frozen=True, kw_only=True)
class FactAsked:
    """A subject and a relation that were asked; `inverse`: an object, and what has it by that relation."""

    subject: str
    relation: str
    objects: tuple[str, ...]
    probability: float
    inverse: bool = False

    @property
    def said(self) -> str:
        """In words, the first few objects."""
        several = ", ".join(self.objects[:3]) + (" …" if len(self.objects) > 3 else "")
        ends = (several, self.subject) if self.inverse else (self.subject, several)
        return f"{ends[0]} — {self.relation} — {ends[1]}"


@dataclass(frozen=True, kw_only=True)
class Mention:
    """A mention or a blank, and what it is of, the likeliest first."""

    text: str
    start: int  # in characters
    end: int
    guesses: tuple[EntityGuess, ...]
    blank: bool = False
    context: float | None = None  # λ: the share of the answer that no fact gave; None: the model asks no facts
    facts: tuple[FactAsked, ...] = ()


class _Token(NamedTuple):
    """A token of the text, and where it stands there; a blank is one token, which is repeated."""

    id: int
    start: int
    end: int
    named: int = NONE  # the entity that it is linked to; of a blank, a number that its neighbours do not have
    blank: int = NONE  # which one it is


def find_entities(can: Abilities, text: str, *, top: int, linker: Linker | None = None) -> list[Mention]:
    """Of every mention and blank in the order of the text. Mentions are those that the linker finds, or else that the model does."""
    knowledge, head = can.model.knowledge, _head(can, hidden=False)
    if knowledge is None or head is None:
        raise PlumeError(f"{can.name} was not trained to tell entities: use eae or fae (plume pretrain eae/tiny --kb kb/). {can.words()}")
    tokens = _read(can, text, linker, knowledge)
    if not tokens:
        raise PlumeError("The text is empty: write one, with ___ where an entity belongs.")
    blanks = [one for one in tokens if one.blank != NONE]
    filler = _head(can, hidden=True) or head
    found: list[Mention] = []
    answers: list[list[_Answer]] = [[] for _ in blanks]
    for length in _LENGTHS if blanks else _LENGTHS[:1]:
        row = [one for one in tokens for _ in range(1 if one.blank == NONE else length)]
        can.check_length(can.frame([one.id for one in row]), text)
        opening = can.tokenizer.format.single.index("A")
        encoded = can.model.encode(_batch(can, row, opening, given=linker is not None))
        first, last = (encoded.named[name] - opening for name in (FIRST, LAST))
        asked = [number for number, place in enumerate(first.tolist()) if 0 <= place < len(row)]
        ends = _ends(encoded)[asked]
        for number, begin, end in zip(range(len(asked)), first[asked].tolist(), last[asked].tolist(), strict=True):
            if row[begin].blank != NONE:
                answers[row[begin].blank].append(_answer(filler, ends[[number]]))
            elif length == 1:
                place = slice(row[begin].start, row[min(end, len(row) - 1)].end)
                scores = head.logits(ends[[number]])[0].float().softmax(-1)
                found.append(Mention(text=text[place], start=place.start, end=place.stop, guesses=_best(scores, knowledge, top)))
    for one, said in zip(blanks, answers, strict=True):
        made = Mention(text=text[one.start : one.end], start=one.start, end=one.end, guesses=(), blank=True)
        found.append(_filled(made, said, filler, knowledge, top))
    return sorted(found, key=lambda one: one.start)


def _read(can: Abilities, text: str, linker: Linker | None, knowledge: Knowledge) -> list[_Token]:
    mask = can.tokenizer.format.mask
    assert mask is not None and can.mask is not None, "what hides mentions has a mask"
    spans = np.array([(one.start, one.end, one.entity) for one in (linker.mentions(text) if linker else ())], np.int64).reshape(-1, 3)
    spans = spans[spans[:, 2] < len(knowledge.entities)]
    found: list[_Token] = []
    begin = 0
    blanks = list(re.finditer(rf"_{{3,}}|{re.escape(mask)}", text))
    for number, (stop, after) in enumerate([*(one.span() for one in blanks), (len(text), len(text))]):
        (pieces,) = can.tokenizer.encode_pieces([text[begin:stop]], words=can.model.recipe.words)
        start, end = pieces.start + begin, pieces.end + begin
        linked = token_values(spans, start, end)
        found += [_Token(*values) for values in zip(pieces.ids.tolist(), start.tolist(), end.tolist(), linked.tolist(), strict=True)]
        if number < len(blanks):
            found.append(_Token(can.mask, stop, after, len(knowledge.entities) + number, number))
        begin = after
    return found


def _batch(can: Abilities, row: Sequence[_Token], opening: int, *, given: bool) -> Batch:
    """With the links and blanks that were given, or with the blanks alone, beside which the model finds mentions."""
    frame = can.frame([one.id for one in row])
    values = [one.named if given else one.blank for one in row]
    named = [*[NONE] * opening, *values, *[NONE] * (len(frame) - opening - len(row))]
    segments = can.segments(frame, None)
    batch = can.rows([frame])
    return replace(
        batch, segment=None if segments is None else can.tensor([segments]), named={MENTIONS if given else ASKED: can.tensor([named])}
    )


def _ends(encoded: Encoded) -> Tensor:
    """[S, 2D] states at both ends of each mention."""
    states = encoded.last.reshape(-1, encoded.last.shape[-1])
    return torch.cat([states[encoded.named[FIRST]], states[encoded.named[LAST]]], -1)


class _Answer(NamedTuple):
    """[entities] probabilities, and [keys + 1] those of what was asked."""

    entities: Tensor
    keys: Tensor | None


def _answer(head: EntityPredictionModule, ends: Tensor) -> _Answer:
    if isinstance(head, FactPredictionModule):
        answer = head.respond(ends)
        return _Answer(answer.scores[0].float().softmax(-1), answer.keys[0].exp())
    return _Answer(head.logits(ends)[0].float().softmax(-1), None)


def _head(can: Abilities, *, hidden: bool) -> EntityPredictionModule | None:
    """What tells the entity of a mention, or of a hidden one."""
    for objective in reversed(can.model.recipe.objectives):
        made = can.model.head(objective.name)
        if isinstance(made, EntityPredictionModule) and (objective.asks == "hidden_mentions") is hidden:
            return made
    return None


def _filled(made: Mention, answers: Sequence[_Answer], head: EntityPredictionModule, knowledge: Knowledge, top: int) -> Mention:
    """The mean over the lengths that were tried."""
    made = replace(made, guesses=_best(torch.stack([one.entities for one in answers]).mean(0), knowledge, top))
    keys = [one.keys for one in answers if one.keys is not None]
    if not isinstance(head, FactPredictionModule) or not keys:
        return made
    share = torch.stack(keys).mean(0)
    values, numbers = share[:-1].topk(min(top, len(share) - 1))
    facts = (_fact(head, knowledge, number, value) for value, number in zip(values.tolist(), numbers.tolist(), strict=True))
    return replace(made, context=float(share[-1]), facts=tuple(facts))


def _fact(head: FactPredictionModule, knowledge: Knowledge, key: int, probability: float) -> FactAsked:
    facts = head.facts
    relation, known = int(facts.relation[key]), head.part.relations
    return FactAsked(
        subject=knowledge.entities[int(facts.subject[key])], relation=knowledge.relations[relation % known], inverse=relation >= known,
        objects=tuple(knowledge.entities[one] for one in facts.objects(key).tolist()), probability=probability,
    )  # fmt: skip


def _best(probability: Tensor, knowledge: Knowledge, top: int) -> tuple[EntityGuess, ...]:
    values, numbers = probability.topk(min(top, len(probability)))
    pairs = zip(values.tolist(), numbers.tolist(), strict=True)
    return tuple(EntityGuess(entity=number, name=knowledge.entities[number], probability=value) for value, number in pairs)
