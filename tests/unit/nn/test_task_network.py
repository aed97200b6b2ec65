"""The network on top of frozen features: against torch's LSTM, each row alone, and where its dropout is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.part import part_from_json
from plume.nn.task_network import TaskNetwork, TaskNetworkModule

ROWS, TIME, INPUT, WIDTH = 4, 7, 5, 6
LENGTH = torch.tensor([7, 3, 0, 1])


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def network_of(**changes: Any) -> TaskNetworkModule:
    torch.manual_seed(3)
    return TaskNetwork(**{"width": WIDTH} | changes).build(INPUT).double().eval()


@pytest.mark.parametrize("depth", [1, 2])
def test_it_is_a_bidirectional_lstm(depth: int) -> None:
    network, value = network_of(depth=depth), numbers(ROWS, TIME, INPUT)
    assert network.output_width == 2 * WIDTH
    oracle = nn.LSTM(INPUT, WIDTH, num_layers=depth, batch_first=True, bidirectional=True).double()
    assert network.network is not None
    with torch.no_grad():
        for layer in range(depth):
            for suffix, stacks in (("", network.network.onward), ("_reverse", network.network.back)):
                ours = stacks[layer].layer(0)  # type: ignore[operator]
                # Here output, input, forget, cell; torch has input, forget, cell, output.
                for name, mine in (("weight_ih", ours.input), ("weight_hh", ours.recurrent), ("bias_ih", ours.bias)):
                    last, first, second, third = mine.chunk(4)
                    getattr(oracle, f"{name}_l{layer}{suffix}").copy_(torch.cat([first, second, third, last]))
                getattr(oracle, f"bias_hh_l{layer}{suffix}").zero_()
        assert (network(value) - oracle(value)[0]).abs().max() < 1e-12
        kept = LENGTH[LENGTH > 0]
        packed = nn.utils.rnn.pack_padded_sequence(value[LENGTH > 0], kept, batch_first=True, enforce_sorted=False)
        expected = nn.utils.rnn.pad_packed_sequence(oracle(packed)[0], batch_first=True)[0]
        found = network(value, LENGTH)
    assert (found[LENGTH > 0] - expected).abs().max() < 1e-12
    assert not found[2].any()


def test_padding_does_not_reach_real_positions() -> None:
    network, value = network_of(depth=2), numbers(ROWS, TIME, INPUT).requires_grad_()
    other = numbers(ROWS, TIME + 4, INPUT, seed=9) * 50
    inside = torch.arange(TIME) < LENGTH[:, None]
    other[:, :TIME][inside] = value.detach()[inside]
    found = network(value, LENGTH)
    assert torch.allclose(network(other, LENGTH)[:, :TIME], found, atol=1e-12)
    for row, length in enumerate(LENGTH.tolist()):
        if length:
            assert torch.allclose(network(value[row : row + 1, :length]), found[row : row + 1, :length], atol=1e-12)
    found.square().sum().backward()
    assert value.grad is not None
    assert torch.equal(value.grad.abs().amax(2) > 0, inside)


def test_depth_zero_hands_the_features_on() -> None:
    network, value = network_of(depth=0).train(), numbers(ROWS, TIME, INPUT)
    assert network.output_width == INPUT
    assert not list(network.parameters())
    assert network(value, LENGTH) is value
    assert network.flops(rows=2, time=3) == 0


def test_dropout_at_both_ends_and_in_training_alone() -> None:
    network, value = network_of(dropout=0.3, width=40).train(), torch.ones(20, 30, INPUT, dtype=torch.float64)
    torch.manual_seed(0)
    outputs = network(value)
    assert float((outputs == 0).double().mean()) == pytest.approx(0.3, abs=0.01)
    # What is left at the first step, read onward, is one value a row and unit if the input were whole.
    first = outputs[:, 0, :40].abs().amax(0)
    assert (outputs[:, 0, :40].abs() - first).abs().masked_fill(outputs[:, 0, :40] == 0, 0.0).max() > 1e-3
    network.eval()
    assert torch.equal(network(value), network(value))
    assert not (network(value) == 0).any()
    network = network_of(dropout=0.0).train()
    assert torch.equal(network(value), network.eval()(value))


def test_it_counts_its_products() -> None:
    network = network_of()
    weights = sum(parameter.numel() for name, parameter in network.named_parameters() if not name.endswith("bias"))
    assert network.flops(rows=2, time=3) == 2 * 2 * 3 * weights == 2 * 2 * 3 * 2 * 4 * WIDTH * (INPUT + WIDTH)


@pytest.mark.parametrize("wrong", [{"width": 0}, {"depth": -1}, {"dropout": 1.0}])
def test_impossible_declarations_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(PlumeError, match=next(iter(wrong))):
        TaskNetwork(**wrong)


def test_the_declaration_round_trips() -> None:
    part = TaskNetwork(width=64, depth=0)
    assert part_from_json(part.to_json()) == part
