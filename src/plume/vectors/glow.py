"""Glow on vectors, as BERT-flow has it (arXiv:2011.05864 §3.2; Kingma and Dhariwal, arXiv:1807.03039). The only file here that needs torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from plume.vectors.transform import Floats, VectorRows
from plume.vectors.transforms.flow import Flow

_SMALL = 1e-3  # of the largest deviation: below it a dimension is constant but for rounding, which nine steps would blow up


class GlowStep(nn.Module):
    """Actnorm, reversal, additive coupling."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.kept = width // 2
        self.scale, self.shift = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width))  # the scale's logarithm
        self.coupling = nn.Sequential(
            nn.Linear(self.kept, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, width - self.kept)
        )

    @torch.no_grad()
    def start(self, value: Tensor) -> None:
        """From a first batch: what comes out has mean 0 and variance 1, and the coupling adds nothing yet. Constant dimensions stay small."""
        deviation = value.std(0, correction=0)
        largest = deviation.max().clamp_min(torch.finfo(value.dtype).tiny)
        self.scale.copy_(-torch.where(deviation < _SMALL * largest, largest, deviation).log())
        self.shift.copy_(-value.mean(0))
        for name, parameter in self.coupling.named_parameters():
            if name.endswith("weight") and not name.startswith("4."):
                nn.init.normal_(parameter, std=0.05)
            else:
                nn.init.zeros_(parameter)

    def forward(self, value: Tensor) -> Tensor:
        """[B, D] to [B, D]; the determinant's logarithm is the sum of `scale`."""
        value = ((value + self.shift) * self.scale.exp()).flip(1)
        first, second = value[:, : self.kept], value[:, self.kept :]
        return torch.cat([first, second + self.coupling(first)], dim=1)


class Glow(nn.Module):
    """All levels; half of the dimensions leave after each but the last."""

    def __init__(self, part: Flow, width: int) -> None:
        super().__init__()
        self.part = part
        for number, wide in enumerate(wide for wide in self._widths(width) for _ in range(part.steps)):
            self.add_module(f"step{number}", GlowStep(wide, part.hidden))

    def _widths(self, width: int) -> list[int]:
        found = [width]
        for _ in range(self.part.levels - 1):
            found.append(found[-1] // 2)
        return found

    def forward(self, value: Tensor, *, start: bool = False) -> Tensor:
        """[B, D] vectors to [B, D] in the latent space; `start` sets every step by what reaches it."""
        done: list[Tensor] = []
        for level in range(self.part.levels):
            for place in range(self.part.steps):
                step = self.get_submodule(f"step{level * self.part.steps + place}")
                if start:
                    step.start(value)  # type: ignore[operator]
                value = step(value)
            if level < self.part.levels - 1:
                half = value.shape[1] // 2
                done.append(value[:, half:])
                value = value[:, :half]
        return torch.cat([*done, value], dim=1)

    def loss(self, value: Tensor) -> Tensor:
        """−log p a dimension, but for a constant."""
        scales: list[Tensor] = [parameter for name, parameter in self.named_parameters() if name.endswith(".scale")]
        return (self(value).square().sum(1) / 2).mean() / value.shape[1] - torch.cat(scales).sum() / value.shape[1]


def learn(part: Flow, rows: VectorRows) -> dict[str, NDArray[Any]]:
    """The parameters after `epochs` passes. Rows are shuffled within pieces, so that they may lie on disk."""
    order = np.random.default_rng(part.seed)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(part.seed)
        model: Glow | None = None
        for _ in range(part.epochs):
            for piece in rows.pieces():
                shuffled = torch.from_numpy(piece[order.permutation(len(piece))])
                if model is None:
                    model = Glow(part, rows.width)
                    model(shuffled[: max(2, part.batch)], start=True)
                    optimizer = torch.optim.Adam(model.parameters(), lr=part.rate)
                for first in range(0, len(shuffled), part.batch):
                    optimizer.zero_grad()
                    torch.autograd.backward(model.loss(shuffled[first : first + part.batch]))
                    optimizer.step()
    assert model is not None, "there is at least one vector"
    return {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}


@torch.inference_mode()
def run(part: Flow, rows: Floats) -> NDArray[Any]:
    """The vectors in the latent space."""
    model = Glow(part, rows.shape[1])
    model.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in part.arrays.items()})
    found: NDArray[Any] = model(torch.from_numpy(np.ascontiguousarray(rows))).numpy()
    return found
