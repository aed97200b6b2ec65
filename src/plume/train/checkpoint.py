"""What a run needs to go on as if it had never stopped: weights, optimizer moments, data cursor, what was spent.

There is no random state to keep: every step seeds its own (see loop.py).
"""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from plume.core.errors import PlumeError
from plume.core.files import clear_disk_errors, read_json, write_folder, write_json
from plume.data.loader import Cursor
from plume.model.checkpoint import WEIGHTS, load_weights, read_weights, save_weights
from plume.model.sharded import whole
from plume.model.trainable import Trainable, trained_parameters
from plume.train.budget import Spent
from plume.train.distributed import gathered, like, own_share, reshard

_OPTIMIZER, _CARRIED, _STATE = "optimiser.safetensors", "memory.safetensors", "state.json"  # as they have always been called
_ASIDE = "aside.safetensors"


@dataclass(frozen=True, kw_only=True)
class Position:
    """Where a run stands."""

    spent: Spent = Spent()
    cursors: tuple[Cursor, ...] = (Cursor(),)  # one for each kind of batch


def checkpoints(folder: Path) -> list[Path]:
    """Whole checkpoints, oldest first."""
    return sorted(folder.glob("train/checkpoint-*"), key=lambda path: path.name)


def save_checkpoint(
    folder: Path, model: Trainable, optimizer: torch.optim.Optimizer, position: Position, *, write: bool, publish: bool = True
) -> None:
    """Every process calls this; the one with `write` puts it on disk, then makes the weights the run's current ones."""
    reshard(model)
    weights = {name: whole(parameter.detach()) for name, parameter in model.kept()}
    moments = {
        f"{name}.{moment}": whole(value)
        for name, parameter in trained_parameters(model).items()
        if parameter in optimizer.state
        for moment, value in optimizer.state[parameter].items()
    }
    aside = {name: whole(parameter.detach()) for name, parameter in model.aside()}
    carried = gathered(model.carried())
    if not write:
        return

    def fill(target: Path) -> None:
        save_weights(target / WEIGHTS, weights)
        save_weights(target / _OPTIMIZER, moments)
        if aside:
            save_weights(target / _ASIDE, aside)
        if carried:
            save_weights(target / _CARRIED, carried)
        write_json(target / _STATE, {"spent": asdict(position.spent), "cursors": [asdict(cursor) for cursor in position.cursors]})

    older = checkpoints(folder)
    target = folder / "train" / f"checkpoint-{position.spent.steps:09d}"
    if target not in older:
        write_folder(target, fill)
    if publish:
        with clear_disk_errors(folder):
            publish_weights(target / WEIGHTS, folder / WEIGHTS)
    for path in older:
        if path != target:
            shutil.rmtree(path, ignore_errors=True)


def publish_weights(source: Path, target: Path) -> None:
    """A second name for the checkpoint's weights, put in place in one move."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.link(source, temporary)
    except OSError:  # a file system without hard links
        shutil.copyfile(source, temporary)
    temporary.replace(target)


def load_checkpoint(path: Path, model: Trainable, optimizer: torch.optim.Optimizer) -> Position:
    """Put weights, moments and what the model carried back, and say where the run stood."""
    state = read_json(path / _STATE, "the checkpoint is damaged; delete its folder to resume from an older one, or start over")
    weights = read_weights(path / WEIGHTS)
    _load_sharded(model, weights, path / WEIGHTS)
    moments: dict[str, dict[str, Tensor]] = {}
    for key, value in read_weights(path / _OPTIMIZER).items():
        name, _, moment = key.rpartition(".")
        moments.setdefault(name, {})[moment] = value
    _load_aside(model, path / _ASIDE)
    for name, parameter in trained_parameters(model).items():
        if name in moments:
            optimizer.state[parameter] = {moment: _placed(value, parameter) for moment, value in moments[name].items()}
    if carried := read_carried(path, next(model.parameters()).device):
        model.carry_on(carried)
    if "cursors" not in state:
        raise PlumeError(f"{path} was written by an older plume: start a new run from its weights with --init.")
    cursors = tuple(Cursor(**cursor) for cursor in state["cursors"])
    return Position(spent=Spent(**state["spent"]), cursors=cursors)


@torch.no_grad()
def _load_aside(model: Trainable, path: Path) -> None:
    aside = dict(model.aside())
    weights = read_weights(path) if aside else {}
    for name, parameter in aside.items():
        if name not in weights:
            raise PlumeError(f"{path} lacks {name}.")
        parameter.copy_(like(weights[name], parameter))


def read_carried(path: Path, device: torch.device) -> dict[str, Tensor]:
    """What this process's model carried beside its weights."""
    return own_share(read_weights(path / _CARRIED), device) if (path / _CARRIED).exists() else {}


def _placed(moment: Tensor, parameter: Tensor) -> Tensor:
    """What belongs to each weight lies where the weight does; counts, and sums over rows or columns, every process has whole."""
    return like(moment, parameter) if moment.shape == parameter.shape else moment.to(parameter.device)


@torch.no_grad()
def _load_sharded(model: Trainable, weights: dict[str, Tensor], where: Path) -> None:
    if not any(hasattr(parameter, "device_mesh") for parameter in model.parameters()):
        load_weights(model, weights, where)
        return
    for name, parameter in model.kept():
        if name not in weights:
            raise PlumeError(f"{where} lacks {name}.")
        parameter.copy_(like(weights[name], parameter))
