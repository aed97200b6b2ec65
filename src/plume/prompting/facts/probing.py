"""Facts asked of a model's own head: where is the right object among all objects of its relation?"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.model.use.abilities import Abilities
from plume.model.use.language_model import LanguageModel
from plume.prompting.facts.ranks import RankScores, Scores, by_chance, by_frequency, rank_scores, ranks_of
from plume.prompting.facts.reading import RelationFact, by_relation, read_facts, read_relations
from plume.tuning.zero_shot.cloze import Cloze

_AT_ONCE = 16  # facts whose rows are laid out together
_SHOWN = 3  # of the likeliest objects, in the file
_FEWEST = 2  # candidates between which there is a choice


@dataclass(frozen=True, kw_only=True)
class ProbeSettings(Part):
    """`candidates`: the most frequent objects of a relation that each fact's own is ranked among; 0: all. `rows`: facts of a relation that are asked,
    drawn by the seed; 0: all."""

    candidates: int = 0
    rows: int = 200
    seed: int = 0
    untrained: bool = False  # also ask a model of the same shape that has read nothing

    def __post_init__(self) -> None:
        if min(self.candidates, self.rows) < 0 or self.candidates == 1:
            raise PlumeError("--candidates is 2 or more, --rows 1 or more; 0 is all.")


@dataclass(frozen=True, kw_only=True)
class FactAnswer(Part):
    """One fact as it was asked."""

    subject: str
    object: str
    rank: float
    likeliest: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RelationProbe(Part):
    """A relation's scores and those of its baselines, by name; the model's come first."""

    relation: str
    templates: tuple[str, ...]
    facts: int
    candidates: int
    unwritable: int  # objects that the model's vocabulary cannot write; they are no candidates, and their facts are not asked
    scores: dict[str, RankScores]
    answers: tuple[FactAnswer, ...]


MODEL, LESS_PRIOR, NO_SUBJECT, MAJORITY, CHANCE, UNTRAINED = "model", "model, less prior", "no subject", "majority", "chance", "untrained"
MEANS = {
    MODEL: "mean log-probability of the object's tokens in the blank",
    LESS_PRIOR: "the same, less that of the object where the subject is left empty",
    NO_SUBJECT: "the template with an empty subject: what the model says whoever it is about",
    MAJORITY: "the object most frequent in the relation's other facts",
    CHANCE: "the mean over all orders",
    UNTRAINED: "the same model with first weights",
}


def probe_facts(
    whole: LanguageModel, facts: Path, templates: Path, settings: ProbeSettings, *, tell: Callable[[RelationProbe], None] = lambda _: None
) -> list[RelationProbe]:
    """All relations that have a template, in the order of the file."""
    said = read_relations(templates)
    asked = [_Asked.of(name, said[name], some, settings, whole.abilities) for name, some in by_relation(read_facts(facts), said, templates)]
    usable = [one for one in asked if one.facts]
    if not usable:
        raise PlumeError(
            f"{facts}: no relation has two objects that this model's vocabulary can write, one right and one wrong: give others."
        )
    for one in usable:  # templates that this model cannot read are refused before anything is computed
        for template in one.templates:
            Cloze(whole.abilities, template, one.candidates[:_FEWEST])
    blank = _untrained(whole, settings.seed) if settings.untrained else None
    found = []
    for one in usable:
        found.append(one.probed(whole.abilities, None if blank is None else blank.abilities))
        tell(found[-1])
    return found


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A relation, ready to be asked."""

    relation: str
    templates: tuple[str, ...]
    known: list[RelationFact]
    facts: list[RelationFact]
    candidates: list[str]
    unwritable: int

    @classmethod
    def of(
        cls, relation: str, templates: tuple[str, ...], known: list[RelationFact], settings: ProbeSettings, can: Abilities
    ) -> _Asked:  # fmt: skip
        counts = Counter(fact.object for fact in known)
        ordered = sorted(counts, key=lambda one: (-counts[one], one))
        cut = dict(zip(ordered, can.tokenizer.encode(ordered), strict=True))
        written = [one for one in ordered if cut[one] and can.tokenizer.unknown not in cut[one]]
        candidates = written[: settings.candidates or None]
        among = set(candidates)
        right = Counter(fact.subject for fact in known if fact.object in among)  # each fact stands once
        facts = [fact for fact in known if fact.object in among and right[fact.subject] < len(candidates)]  # the others could only be right
        if settings.rows and len(facts) > settings.rows:
            facts = random.Random(f"{settings.seed} {relation}").sample(facts, settings.rows)
        return cls(
            relation=relation,
            templates=templates,
            known=known,
            facts=facts,
            candidates=candidates,
            unwritable=len(ordered) - len(written),
        )

    def probed(self, can: Abilities, untrained: Abilities | None) -> RelationProbe:
        scores, prior = self._scored(can)
        ranks = ranks_of(scores, self.facts, self.candidates, self.known)
        tables = {
            MODEL: scores,
            LESS_PRIOR: scores - prior,
            NO_SUBJECT: np.tile(prior, (len(self.facts), 1)),
            MAJORITY: by_frequency(self.facts, self.candidates, self.known),
        } | ({} if untrained is None else {UNTRAINED: self._scored(untrained)[0]})
        made = {name: rank_scores(ranks_of(one, self.facts, self.candidates, self.known)) for name, one in tables.items()}
        return RelationProbe(
            relation=self.relation,
            templates=self.templates,
            facts=len(self.facts),
            candidates=len(self.candidates),
            unwritable=self.unwritable,
            scores=made | {CHANCE: by_chance(self.facts, self.candidates, self.known)},
            answers=tuple(self._answer(fact, row, rank) for fact, row, rank in zip(self.facts, scores, ranks.tolist(), strict=True)),
        )

    def _scored(self, can: Abilities) -> tuple[Scores, Scores]:
        """[facts, candidates], and [candidates] with no subject: means over templates."""
        subjects = [fact.subject for fact in self.facts]
        clozes = [Cloze(can, template, self.candidates) for template in self.templates]
        tables = [np.concatenate([cloze.scores(some) for some in _pieces(subjects)]) for cloze in clozes]
        return np.mean(tables, axis=0), np.mean([cloze.scores([""])[0] for cloze in clozes], axis=0)

    def _answer(self, fact: RelationFact, row: Scores, rank: float) -> FactAnswer:
        best = np.argsort(-row, kind="stable")[:_SHOWN]
        return FactAnswer(subject=fact.subject, object=fact.object, rank=rank, likeliest=tuple(self.candidates[place] for place in best))


def _pieces(subjects: Sequence[str]) -> list[Sequence[str]]:
    return [subjects[first : first + _AT_ONCE] for first in range(0, len(subjects), _AT_ONCE)]


def _untrained(whole: LanguageModel, seed: int) -> LanguageModel:
    recipe = whole.model.recipe
    made = recipe.assembly.build(recipe, vocabulary=whole.model.vocabulary)
    made.initialise(seed)
    made.spell(whole.tokenizer.tokens())
    made.languages = whole.model.languages
    return LanguageModel(made.to(whole.device), whole.tokenizer)


def means_of(found: Sequence[RelationProbe]) -> dict[str, RankScores]:
    """Over relations, each of equal weight (LAMA's macro average)."""
    return {
        name: RankScores(**{field: float(np.mean([getattr(one.scores[name], field) for one in found])) for field in ("p1", "p10", "mrr")})
        for name in found[0].scores
    }
