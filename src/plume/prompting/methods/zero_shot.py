"""Zero-shot (Schick and Schütze, arXiv:2001.07676 §3): nothing is trained; the model's own head says which label's word fits the blank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from plume.core.errors import PlumeError
from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod
from plume.prompting.untrained import calibrated, leave, saying_nothing, untrained


@dataclass(frozen=True, kw_only=True)
class ZeroShotPrompt(PromptMethod):
    """The examples say which labels there are, and no more. Texts without a label, where there are some, say what each label is worth among them."""

    unlabelled: ClassVar[bool] = True
    text_optional: ClassVar[bool] = True

    calibrate: bool = True  # take off what each label is worth for texts that say nothing (arXiv:2102.09690), or for the texts of --text

    def run(self, job: PromptJob) -> str | None:
        task = job.prompted()
        if job.settings.text and not task.labels:
            raise PlumeError(
                "Texts without a label say what labels are worth, and these examples have choices of their own: leave out --text."
            )
        tuned = untrained(job, task)
        texts = job.unlabelled or saying_nothing(task)
        leave(job, calibrated(tuned, texts) if self.calibrate and task.labels else tuned)
        return None


METHOD = ZeroShotPrompt()
