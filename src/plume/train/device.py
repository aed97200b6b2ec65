"""Which device, and in which precision."""

from __future__ import annotations

import contextlib
import enum
import subprocess
import sys
from typing import Any

import numpy as np
import torch

from plume.core.batch import Batch
from plume.core.errors import PlumeError

_DEVICES = ("cpu", "cuda", "mps", "xpu")


class Precision(enum.StrEnum):
    """Of the matrix products while training."""

    AUTO = "auto"
    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"


def choose_device(name: str = "auto") -> torch.device:
    """The one that is named, else the fastest that is there."""
    if name != "auto":
        if name.partition(":")[0] not in _DEVICES:
            raise PlumeError(f"The device '{name}' cannot be used here: choose auto, {', '.join(_DEVICES)}.")
        try:
            device = torch.device(name)
            torch.empty(1, device=device)
        except (RuntimeError, AssertionError) as error:
            raise PlumeError(f"The device '{name}' cannot be used here: {str(error).splitlines()[0]}") from None
        return device
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


# Run apart, because a virtual machine may promise bf16 instructions and then die of them.
_PROBE = """
import time, torch
def seconds(kind):
    matrix, best = torch.randn(512, 512).to(kind), float("inf")
    for _ in range(4):
        started = time.perf_counter(); matrix @ matrix; best = min(best, time.perf_counter() - started)
    return best
print(seconds(torch.float32) / seconds(torch.bfloat16))
"""


def bf16_gain() -> float:
    """How much faster this CPU multiplies matrices in bf16 than in fp32; 0 where it cannot."""
    result = subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, text=True, check=False)
    return float(result.stdout) if result.returncode == 0 else 0.0


def choose_precision(wanted: Precision, device: torch.device) -> Precision:
    """AUTO takes bf16 on a CUDA device that has it, fp32 elsewhere; a half precision that would only slow the device is refused."""
    if device.type == "cuda":
        automatic = Precision.BF16 if torch.cuda.is_bf16_supported() else Precision.FP16
        return automatic if wanted is Precision.AUTO else wanted
    if wanted is Precision.FP16:
        raise PlumeError(f"fp16 is for CUDA devices; on {device.type} use fp32" + (" or bf16." if device.type == "cpu" else "."))
    if wanted is Precision.BF16 and device.type == "cpu" and (gain := bf16_gain()) < 1:
        found = f"its products run at {gain:.2g} times the speed of fp32" if gain else "its products crash"
        raise PlumeError(f"bf16 is of no use on this CPU: {found}. Use --precision fp32.")
    return Precision.FP32 if wanted is Precision.AUTO else wanted


def autocast(precision: Precision, device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Within it, matrix products run in that precision."""
    kinds = {Precision.BF16: torch.bfloat16, Precision.FP16: torch.float16}
    return torch.autocast(device.type, dtype=kinds[precision]) if precision in kinds else contextlib.nullcontext()


def to_device(batch: Batch, device: torch.device) -> Batch:
    """A batch of numpy arrays as tensors there."""
    return batch.map(lambda array: torch.from_numpy(np.ascontiguousarray(array)).to(device))
