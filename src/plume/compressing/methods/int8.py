"""Int8: weights in 8 bits, with a scale for each channel and token vector, a quarter of the size; run by ONNX Runtime where that is installed.

Nothing is trained: activations are quantised as they come (dynamic), so no data is needed.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plume.compressing.job import CompressionJob
from plume.compressing.lineage import LINEAGE
from plume.compressing.method import Compression
from plume.core.errors import PlumeError, suggest
from plume.core.files import write_folder
from plume.model.checkpoint import WEIGHTS, read_weights, save_weights
from plume.model.eight_bits import in_eight_bits
from plume.model.use.runtimes._preferred import missing_library, prefer_runtime
from plume.model.use.runtimes._samples import TEXTS
from plume.static.model import is_word_model
from plume.tuning.declared import is_tuned
from plume.tuning.linear.model import is_linear
from plume.tuning.loaded import load

_OTHERS = {"train", LINEAGE}  # what a run needs to go on, and a model that predicts does not; and what says that this compression has ended
_RUNTIMES = ("onnx-int8", "torch-int8", "torch", "onnx")


@dataclass(frozen=True, kw_only=True)
class Int8(Compression):
    """Dynamic int8, per channel. `runtime` is what the directory prefers to be run by; where that does not fit the model, torch."""

    runtime: str = "onnx-int8"

    def variants(self, depth: int) -> Sequence[Mapping[str, Any]]:
        return [{}]

    def run(self, job: CompressionJob) -> str | None:
        self._refuse_misfits(job.source)
        job.settings.refuse_training("weights are rounded as they are")
        write_folder(job.folder, lambda folder: self._fill(job.source, folder))
        return None

    def _fill(self, source: Path, folder: Path) -> None:
        shutil.copytree(source, folder, dirs_exist_ok=True, ignore=lambda where, names: _OTHERS if Path(where) == source else set())
        save_weights(folder / WEIGHTS, in_eight_bits(read_weights(source / WEIGHTS)))
        prefer_runtime(folder, self._fitting(folder))

    def _fitting(self, folder: Path) -> str:
        """The runtime that was asked for, if it can run this model: what is not installed here may be elsewhere."""
        if self.runtime.startswith("onnx") and missing_library() is not None:
            return self.runtime
        try:
            model = load(folder, runtime=self.runtime)
            model.embed(TEXTS[1])
        except PlumeError:
            return "torch"
        return self.runtime

    def _refuse_misfits(self, source: Path) -> None:
        if self.runtime not in _RUNTIMES:
            raise PlumeError(f"There is no runtime '{self.runtime}': {suggest(self.runtime, _RUNTIMES)}.")
        if is_tuned(source) and is_linear(source):
            raise PlumeError(f"{source} is a linear model of terms, which has no matrices to quantise: int8 is for networks.")
        if is_word_model(source) and not is_tuned(source):
            raise PlumeError(f"{source} holds word vectors: int8 is for networks. An index keeps their vectors in 8 bits (--ann SQ8).")


METHOD = Int8()
