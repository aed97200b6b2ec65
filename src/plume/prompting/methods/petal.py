"""PETAL (arXiv:2010.13641): words for the labels are found by the model itself, then it is trained through the blank."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, write_json, write_text
from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod
from plume.prompting.verbaliser import find_words
from plume.train.card import CARD, table
from plume.tuning.prompts.label_words import LabelWords

_FOUND = Path("train") / "words.json"


@dataclass(frozen=True, kw_only=True)
class FoundLabelWords(PromptMethod):
    """Texts without a label, if there are some, say which words are frequent."""

    unlabelled: ClassVar[bool] = True
    text_optional: ClassVar[bool] = True
    finds_words: ClassVar[bool] = True

    words: int = 10  # of each label
    pool: int = 4000  # words that are looked at
    candidates: int = 1000  # of these, that the model expects most
    longest: int | None = None  # tokens of a word; None: 2 where words of several are read off one row, as at masks, else 1

    def run(self, job: PromptJob) -> str | None:
        if job.settings.words:
            raise PlumeError("petal finds the words of the labels itself: leave out --labels, or take --method pattern.")
        found = self._words(job)
        job.say(*(f"{one.label}: {', '.join(one.words)}" for one in found))
        stopped_by = job.tune(job.prompted(words=found), job.folder).outcome.stopped_by
        if stopped_by is None:
            card = (job.folder / CARD).read_text(encoding="utf-8")
            shown = table(("label", "words, the most telling first"), [(one.label, ", ".join(one.words)) for one in found])
            write_text(job.folder / CARD, f"{card}\n## Words that were found\n\n{shown}\n")
        return stopped_by

    def _words(self, job: PromptJob) -> tuple[LabelWords, ...]:
        file = job.folder / _FOUND
        if not file.exists():
            found = find_words(job, each=self.words, pool=self.pool, candidates=self.candidates, longest=self.longest)
            make_folder(file.parent)
            write_json(file, {one.label: list(one.words) for one in found})
        return tuple(LabelWords(label=label, words=tuple(words)) for label, words in read_json(file, "the words that were found").items())


METHOD = FoundLabelWords()
