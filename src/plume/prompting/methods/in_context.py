"""In context (GPT-3, arXiv:2005.14165): nothing is trained; labelled examples are shown before the one that is asked about."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod
from plume.prompting.shots import answering_with, demonstrations_of, drawn, kept, listed, measured, scored_beside, spread_of
from plume.prompting.untrained import NOTHING, calibrated, leave, prompted_in, saying_nothing, untrained
from plume.train.card import table
from plume.tuning.prompts.demonstrations import Demonstrations, NearestExamples, Shown
from plume.tuning.tuned import TunedModel


class ShownBy(enum.StrEnum):
    """How the examples that are shown are chosen."""

    CHANCE = "chance"  # once, for all questions, as many of each label
    LIKENESS = "likeness"  # for each question those most like it, by the model's own vectors (arXiv:2101.06804)


@dataclass(frozen=True, kw_only=True)
class InContext(PromptMethod):
    """A model that fills masks has them behind the question, one that reads left to right before it, where they are read once for all."""

    shots: int = 4  # examples that are shown, of all labels together
    calibrate: bool = True  # take off what labels are worth for texts that say nothing, with the same examples in front (arXiv:2102.09690)
    choice: ShownBy = ShownBy.CHANCE
    between: str = " "  # what stands between two examples
    draws: int = 5  # of examples, and orders of them, by which the card says how much depends on either; 1: it does not say

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise PlumeError(
                f"What depends on the examples is told by 2 or more draws of them, or, with 1, not at all: not by {self.draws}."
            )

    def run(self, job: PromptJob) -> str | None:
        tuned = untrained(job, job.prompted())
        pool = demonstrations_of(prompted_in(tuned), job.prepared.train)
        if not 1 <= self.shots <= len(pool):
            raise PlumeError(f"There are {len(pool)} examples, and 1 to {len(pool)} can be shown, not {self.shots}: change --shots.")
        shown: Shown = ()
        if self.choice is ShownBy.LIKENESS:
            own = Demonstrations(pool=pool, choice=NearestExamples(count=self.shots), between=self.between)
            made = self._by_likeness(tuned, own)  # an example is never shown to itself
        else:
            shown = drawn(pool, self.shots, seed=job.settings.seed)
            made = self._made(tuned, kept(pool, shown, between=self.between))
        examples = scored_beside(job, set(shown))
        spread = spread_of(job, pool, count=self.shots, times=self.draws, between=self.between, made=lambda one: self._made(tuned, one))
        sections = [] if spread is None else [spread.section()]
        if shown:
            sections.insert(0, "## Examples that are shown\n\n" + table(("text", "word"), listed([pool[place] for place in shown])))
        job.say(*([] if spread is None else spread.lines()))
        leave(job, made, scores=measured(made, examples) if examples else {}, on=self._where(job), sections=sections)
        return None

    def _where(self, job: PromptJob) -> str:
        if job.prepared.held_out:
            return "dev"
        by_likeness = self.choice is ShownBy.LIKENESS
        return "the training examples, none of which is shown to itself" if by_likeness else "the training examples that are not shown"

    def _made(self, tuned: TunedModel, own: Demonstrations) -> TunedModel:
        made = answering_with(tuned, own)
        return calibrated(made, saying_nothing(prompted_in(made))) if self.calibrate and made.tasks[0].labels else made

    def _by_likeness(self, tuned: TunedModel, own: Demonstrations) -> TunedModel:
        """What labels are worth differs with what is shown: it is asked with each question."""
        made = answering_with(tuned, own)
        task = replace(made.tasks[0], nothing=NOTHING if self.calibrate else ())
        return TunedModel(made.model, made.tokenizer, replace(made.declared, tasks=(task,)), made.sentence)


METHOD = InContext()
