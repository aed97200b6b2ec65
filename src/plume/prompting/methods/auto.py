"""Auto: tries methods and templates by folds of the training examples, tells what each gets, and trains the best on all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, write_json, write_text
from plume.core.part import replace
from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod, method
from plume.prompting.trying import TriedPrompt, alone, refuse_words, section, told, tried_by_folds, verdict
from plume.train.card import CARD

_TRIED = Path("train") / "tried.json"


@dataclass(frozen=True, kw_only=True)
class AutoPrompt(PromptMethod):
    """Controls are tried too, and come first: of equals the simpler one is taken. Only the training examples choose; dev is not looked at."""

    several: ClassVar[bool] = True
    unlabelled: ClassVar[bool] = True
    by_folds: ClassVar[bool] = True

    methods: tuple[str, ...] = ("tfidf", "frozen", "fine-tuning", "zero-shot", "adapters", "pattern")
    folds: int = 4

    def adjusted(self, assignments: Sequence[str]) -> Self:
        """Names of methods have hyphens, which no other setting has."""
        said = {one: one.partition("=") for one in assignments}
        listed = [value for name, _, value in said.values() if name.strip() == "methods"]
        made = super().adjusted([one for one, (name, _, _) in said.items() if name.strip() != "methods"])
        return replace(made, methods=tuple(name.strip() for name in listed[-1].split(",") if name.strip())) if listed else made

    def run(self, job: PromptJob) -> str | None:
        tried = self._tried(job)
        if isinstance(tried, str):
            return tried
        able = [one for one in tried if not one.refused]
        if not able:
            raise PlumeError(f"None of the methods can be used: {tried[0].method}: {tried[0].refused}")
        best = max(able, key=lambda one: one.share)  # of equals the first
        job.say(*verdict(tried, best))
        stopped_by = method(best.method).run(alone(job, best.method, best.template))
        if stopped_by is None:
            card = (job.folder / CARD).read_text(encoding="utf-8")
            write_text(job.folder / CARD, card + "\n" + section(tried, best))
            job.clear_parts()
        return stopped_by

    def _tried(self, job: PromptJob) -> list[TriedPrompt] | str:
        """What every candidate gets; or the signal that stopped it."""
        file = job.folder / _TRIED
        if file.exists():
            return [TriedPrompt.of(one) for one in read_json(file, "what was tried")]
        candidates = list(self._candidates(job))
        refuse_words(job)
        tried: list[TriedPrompt] = []
        for name, template in candidates:
            found = tried_by_folds(job, name, template, self.folds)
            if isinstance(found, str):
                return found
            tried.append(found)
            job.say(told(found))
        make_folder(file.parent)
        write_json(file, [vars(one) for one in tried])
        return tried

    def _candidates(self, job: PromptJob) -> Iterator[tuple[str, str]]:
        if self.name in self.methods or not self.methods:
            raise PlumeError("auto tries other methods: name one or more with --set methods=pattern,fine-tuning")
        for name in self.methods:
            declared = method(name)
            if declared.unlabelled and not declared.text_optional and not job.settings.text:
                raise PlumeError(f"auto cannot try {name} without texts that have no label: give some with --text, or leave it out.")
            for template in job.templates if declared.prompted and not declared.several else job.templates[:1]:
                yield name, template


METHOD = AutoPrompt()
