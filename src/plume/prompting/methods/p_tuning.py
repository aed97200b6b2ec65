"""P-tuning (Liu et al., arXiv:2103.10385): tokens within the template learn, through a small network that reads them both ways; so does the model."""

from __future__ import annotations

from dataclasses import dataclass

from plume.nn.soft_tokens import SoftEncoder, SoftTokens
from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod
from plume.prompting.soft import soft_task, soft_way
from plume.tuning.adapting.soft import SoftPrompting


@dataclass(frozen=True, kw_only=True)
class PTuning(PromptMethod):
    """With few examples the authors tune the model too, the tokens at ten times its learning rate (`factor`). `tokens`: where nothing is said as many
    as the template has, or 6."""

    tokens: int | None = None
    encoder: SoftEncoder = SoftEncoder.LSTM
    frozen: bool = False
    factor: float = 10.0

    def run(self, job: PromptJob) -> str | None:
        task = soft_task(job, self.tokens, usual=6, around=True)
        way = SoftPrompting(
            soft=SoftTokens(encoder=self.encoder), learns_body=not self.frozen, factor=self.factor, dropout=0.0 if self.frozen else None
        )
        return job.tune(task, job.folder, adaptation=soft_way(way, task)).outcome.stopped_by


METHOD = PTuning()
