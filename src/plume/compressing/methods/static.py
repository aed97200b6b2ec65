"""Static vectors: static vectors distilled from an encoder, so that a text costs a look-up (model2vec); --text says how frequent its tokens are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from plume.compressing.job import CompressionJob
from plume.compressing.method import Compression
from plume.core.errors import PlumeError
from plume.sentences.static_distillation import distil_static


@dataclass(frozen=True, kw_only=True)
class StaticVectors(Compression):
    """As `plume sentences static`."""

    by_pairs: ClassVar[bool] = True

    dimensions: int = 256
    smoothing: float = 1e-3  # a token of share p weighs a / (a + p)
    column: str | None = None  # of the text, where the files are tables

    def reads_text(self, *, tuned: bool) -> bool:
        return True

    def run(self, job: CompressionJob) -> None:
        job.settings.refuse_training("vectors are read off the model as it is")
        if not job.settings.text:
            raise PlumeError("How frequent a token is, is counted in a corpus: give one with --text FILE.")
        distil_static(job.source, job.settings.text, job.folder, dimensions=self.dimensions, smoothing=self.smoothing, column=self.column)


METHOD = StaticVectors()
