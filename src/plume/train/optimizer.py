"""The recipe's optimizer with the usual exemptions, and rates that differ from layer to layer."""

from __future__ import annotations

import re

import torch
from torch import nn

from plume.model.optimizers.optimizer import Group
from plume.model.recipe import Training
from plume.model.trainable import Trainable, trained_parameters

# Blocks of a Transformer and layers of a recurrent network are numbered in their names (CoVe's by direction first).
_BLOCK = re.compile(r"(?:^|\.)blocks\.\d+\.(?:.*\.)?weight$")
_LAYER = re.compile(r"(?:^|\.)(?:blocks|layers|onward|back)\.(\d+)\.")
_TOP = ("heads.", "pooler.", "decoders.", "decoder.ask", "decoder.combine", "network.", "mixes.", "pooling.", "maps.")
_BODY = "body."  # before the names of a model that carries a task's head


def decayed(name: str, parameter: nn.Parameter) -> bool:
    """Weight decay is for matrices; biases and norms are exempt (as in BERT's optimization.py)."""
    return parameter.ndim > 1 and not name.endswith("bias")


def make_optimizer(model: nn.Module, training: Training) -> torch.optim.Optimizer:
    """A group for the blocks' matrices, one for other matrices, one for the rest; each by layer where layers are to learn differently."""
    trained = {name: parameter for name, parameter in trained_parameters(model).items() if parameter.requires_grad}
    paces = {name.removeprefix(_BODY): model.pace(name) if isinstance(model, Trainable) else 1.0 for name in trained}
    named = [(name.removeprefix(_BODY), parameter) for name, parameter in trained.items()]
    depth = max((number + 1 for name, _ in named if (number := _numbered(name)) is not None), default=0)
    layered = training.layer_decay < 1 or training.thaw > 0
    groups: dict[tuple[int, bool, bool, float], Group] = {}
    for name, parameter in named:
        below = layers_below_the_top(name, depth) if layered else 0
        decays = decayed(name, parameter)
        fresh: Group = {
            "params": [],
            "matrices": decays,
            "blocks": decays and _BLOCK.search(name) is not None,
            "weight_decay": training.decay if decays else 0.0,
            "scale": paces[name] * training.layer_decay**below,
            "from": training.thaw * below / (depth + 1) if layered else 0.0,
        }
        groups.setdefault((below, not decays, not fresh["blocks"], paces[name]), fresh)["params"].append(parameter)
    betas = (training.beta1, training.beta2)
    ordered = [groups[key] for key in sorted(groups)]
    return training.optimizer.build(ordered, rate=training.peak, betas=betas, epsilon=training.epsilon)


def set_rate(optimizer: torch.optim.Optimizer, rate: float, progress: float) -> None:
    """A layer that is still frozen has a rate of 0: its moments already gather."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group["scale"] if progress >= group["from"] else 0.0


def layers_below_the_top(name: str, depth: int) -> int:
    """0 for heads and poolers, 1 for the last layer … and one more than the first layer for the embedding.

    >>> [layers_below_the_top(name, 2) for name in ("heads.masked_lm.bias", "stack.blocks.1.x", "layers.layers.0.bias", "embedding.token.weight")]
    [0, 1, 2, 3]
    >>> [layers_below_the_top(name, 2) for name in ("decoders.following_sentence.layer.bias", "encoder.onward.1.layers.0.bias")]
    [0, 1]
    """
    number = _numbered(name)
    if number is not None:
        return depth - number
    return 0 if name.startswith(_TOP) or "final_norm" in name else depth + 1


def _numbered(name: str) -> int | None:
    found = _LAYER.search(name)
    return None if found is None or name.startswith(_TOP) else int(found.group(1))
