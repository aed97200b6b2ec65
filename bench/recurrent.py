"""Recurrent networks: a training step's forward and backward pass, against the same network written step by step in plain autograd.

The step by step network is what one writes first: a loop over time, a product for the input and one for the state at each step, the gates,
clipping, projection, residual. Both hold the same weights, and their gradients are compared before anything is timed. Rounds are interleaved;
shown are medians with the smallest and largest ratio of a round. With one thread processor time is taken, which a busy machine disturbs less.

    python bench/recurrent.py [--rounds 7] [--threads 1]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from plume.nn.recurrent.layer import RecurrentLayer
from plume.nn.recurrent.recurrent import Recurrent, RecurrentStack, run_together
from plume.train.allocator import keep_freed_memory


@dataclass(frozen=True)
class Case:
    name: str
    part: Recurrent
    time: int
    directions: int = 1
    rows: int = 32

    @property
    def input_width(self) -> int:
        return self.part.output_width


def elmo(width: int, projection: int, depth: int = 2) -> Recurrent:
    return Recurrent(width=width, depth=depth, projection=projection, cell_clip=3.0, projection_clip=3.0, residual=True, forget_bias=1.0)


CASES = [
    *(Case(f"LSTMP 512/128, T {steps}", elmo(512, 128, 1), steps) for steps in (20, 64, 128)),
    *(Case(f"ELMo 512/128, both ways, T {steps}", elmo(512, 128), steps, directions=2) for steps in (20, 128)),
    *(Case(f"ELMo 256/64, both ways, T {steps}", elmo(256, 64), steps, directions=2) for steps in (20, 128)),
    *(Case(f"ELMo 128/32, both ways, T {steps}", elmo(128, 32), steps, directions=2) for steps in (20, 128)),
    Case("LSTM 256, 2 layers, T 64", Recurrent(width=256, depth=2), 64),
]


def layer_by_steps(layer: RecurrentLayer, value: Tensor) -> Tensor:
    """[B, T, E] to [B, T, P]."""
    part, outputs = layer.part, []
    hidden, cell = value.new_zeros(len(value), layer.output_width), value.new_zeros(len(value), layer.width)
    for step in range(value.shape[1]):
        gates = F.linear(value[:, step], layer.input, layer.bias) + F.linear(hidden, layer.recurrent)
        opens, enters, keeps, new = gates.chunk(4, dim=1)
        cell = torch.sigmoid(keeps) * cell + torch.sigmoid(enters) * torch.tanh(new)
        if part.cell_clip is not None:
            cell = cell.clamp(-part.cell_clip, part.cell_clip)
        hidden = torch.sigmoid(opens) * torch.tanh(cell)
        if layer.projection is not None:
            hidden = F.linear(hidden, layer.projection)
        if part.projection_clip is not None:
            hidden = hidden.clamp(-part.projection_clip, part.projection_clip)
        outputs.append(hidden)
    return torch.stack(outputs, dim=1)


def by_steps(stack: RecurrentStack, value: Tensor) -> Tensor:
    for index in range(len(stack.layers)):
        made = layer_by_steps(stack.layer(index), value)
        value = made + value if stack.part.residual and index else made
    return value


def runners(case: Case) -> list[Callable[[], None]]:
    torch.manual_seed(0)
    stacks = [case.part.build(case.input_width) for _ in range(case.directions)]
    value = torch.randn(case.rows, case.time, case.input_width, requires_grad=True)
    weight = torch.randn(case.rows, case.time, case.part.output_width)
    leaves = [value, *(parameter for stack in stacks for parameter in stack.parameters())]

    def plain() -> list[Tensor]:
        return [by_steps(stack, value.flip(1) if way else value).flip([1] if way else []) for way, stack in enumerate(stacks)]

    def ours() -> list[Tensor]:
        ways = [bool(way) for way in range(case.directions)]
        return [output.last for output in run_together(stacks, [value] * case.directions, reverse=ways)]

    def step(run: Callable[[], list[Tensor]]) -> tuple[Tensor, ...]:
        return torch.autograd.grad(sum(((output * weight).sum() for output in run()), torch.zeros(())), leaves)

    for mine, expected in zip(step(ours), step(plain), strict=True):
        assert float((mine - expected).abs().max()) < 1e-3 * (1 + float(expected.abs().max())), case.name
    return [lambda: void(step(plain)), lambda: void(step(ours))]


def void(_: object) -> None:
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    keep_freed_memory()  # as in training
    clock = time.process_time if given.threads == 1 else time.perf_counter
    print(f"{given.threads} thread(s), load average {os.getloadavg()[0]:.1f}, torch {torch.__version__}; forward and backward, B 32")
    print(f"{'':34}{'by steps':>10}{'plume':>10}{'times faster':>22}{'of the products':>18}")
    for case in CASES:
        runs = runners(case)
        taken: list[list[float]] = [[], []]
        for _ in range(given.rounds):
            for run, seconds in zip(runs, taken, strict=True):
                begin = clock()
                run()
                seconds.append(clock() - begin)
        ratios = [plain / mine for plain, mine in zip(*taken, strict=True)]
        slow, fast = (statistics.median(seconds) * 1e3 for seconds in taken)
        flops = 3 * case.directions * case.part.build(case.input_width).flops(rows=case.rows, time=case.time)
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"
        print(f"{case.name:34}{slow:8.1f} ms{fast:7.1f} ms{spread:>22}{flops / fast / 1e6:>11.0f} GFLOP/s")


if __name__ == "__main__":
    main()
