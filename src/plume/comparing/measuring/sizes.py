"""What a model weighs, what this process took, and what machine it ran on."""

from __future__ import annotations

import math
import os
import platform
import resource
import sys
from importlib.metadata import version
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from plume._version import __version__
from plume.core.errors import PlumeError
from plume.core.machine import cores, processor
from plume.model.checkpoint import WEIGHTS
from plume.model.eight_bits import is_scale

_RUN = "train"  # what a run needs to go on, and a model that predicts does not
_PACKAGES = ("torch", "numpy", "tokenizers", "safetensors", "scikit-learn", "scipy", "numba", "seqeval", "sacrebleu")


def disk(folder: Path) -> int:
    """Bytes of all that a model directory holds beside `train/`."""
    if not folder.is_dir():
        raise PlumeError(f"There is no model directory at {folder}.")
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and file.relative_to(folder).parts[0] != _RUN)


def parameters(folder: Path) -> int:
    """Numbers in the weights, heads included, by what the file's header says: nothing is loaded."""
    path = folder / WEIGHTS
    if not path.is_file():
        raise PlumeError(f"{path} is missing: the folder holds no trained model. Was the run stopped before its first save?")
    try:
        with safe_open(path, framework="numpy") as opened:
            names = set(opened.keys())
            return sum(math.prod(opened.get_slice(name).get_shape()) for name in names if not is_scale(name, names))
    except (SafetensorError, OSError) as error:
        raise PlumeError(
            f"{path} cannot be read as safetensors ({error}): it is cut short or of another kind. Restore or retrain it."
        ) from None


def peak_memory() -> int:
    """Bytes that this process held at most so far.

    Linux hands the peak of a parent down to the programs it starts (getrusage(2), ru_maxrss), so that a small run that a large process started
    would look large. The kernel's own account of this program alone is asked first.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    if own := next((line for line in lines if line.startswith("VmHWM:")), None):
        return int(own.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # macOS counts bytes, others KiB


def machine() -> dict[str, str]:
    """What speed was measured on, in words."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": processor(),
        "cores": str(cores()),
        "threads": str(torch.get_num_threads()),
        "memory": f"{memory / 2**30:.1f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Of plume, Python and what the numbers depend on."""
    return {"plume": __version__, "python": platform.python_version()} | {name: version(name) for name in _PACKAGES}
