"""LM-BFF (Gao et al., arXiv:2012.15723): one pattern, trained with an example of each label beside the text; several draws of them at use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from plume.core.errors import PlumeError
from plume.core.files import write_text
from plume.core.part import replace
from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod
from plume.prompting.shots import demonstrations_of
from plume.prompting.template_choice import chosen_template
from plume.readers.example import Example
from plume.train.card import CARD
from plume.tuning.prompts.demonstrations import Demonstrations
from plume.tuning.prompts.one_of_each import OneOfEachLabel


@dataclass(frozen=True, kw_only=True)
class TrainedDemonstrations(PromptMethod):
    """All weights learn, as with `pattern`. Of several templates, the user's and those that `writer` writes, the one is taken that is best by folds
    of the training examples."""

    several: ClassVar[bool] = True

    draws: int = 16  # of demonstrations, whose scores are averaged (§6.1)
    nearest: float = 0.5  # share of a label's examples that they are drawn from: those most like the text (§6.2)
    between: str = " "  # what stands between two
    writer: str = ""  # the directory of a model that writes templates: t5 or its kin (§5.2)
    beams: int = 30  # of its search
    offer: int = 5  # of what it writes, how many are tried
    folds: int = 4  # by which a template is chosen

    def run(self, job: PromptJob) -> str | None:
        choice = OneOfEachLabel(draws=self.draws, nearest=self.nearest, seed=job.settings.seed)
        if not job.prompted(job.templates[0]).labels:
            raise PlumeError(
                "--method lm-bff shows an example of each label, and these examples have choices of their own: take pattern or in-context."
            )
        _refuse_single(job.prepared.train)
        writer = Path(self.writer) if self.writer else None
        found = chosen_template(job, writer, beams=self.beams, offer=self.offer, folds=self.folds)
        if found.stopped_by is not None:
            return found.stopped_by
        task = job.prompted(found.template)
        shown = replace(
            task, demonstrations=Demonstrations(pool=demonstrations_of(task, job.prepared.train), choice=choice, between=self.between)
        )
        stopped_by = job.tune(shown, job.folder).outcome.stopped_by
        if stopped_by is None and found.section:
            card = (job.folder / CARD).read_text(encoding="utf-8")
            write_text(job.folder / CARD, card + "\n" + found.section)
            job.clear_parts()
        return stopped_by


def _refuse_single(examples: Sequence[Example]) -> None:
    """A text that is its label's only one would be shown itself, and so its answer."""
    texts: dict[object, set[tuple[str, ...]]] = {}
    for one in examples:
        texts.setdefault(one.answer, set()).add(one.texts)
    for label, some in texts.items():
        if len(some) < 2:
            raise PlumeError(
                f"The label '{label}' has one example, which cannot be both asked about and shown beside itself: give two or more of each, or "
                "take --method pattern."
            )


METHOD = TrainedDemonstrations()
