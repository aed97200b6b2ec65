"""Position schemes against their papers' formulas."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from plume.nn.attention import Sight
from plume.nn.positions.learned import Learned
from plume.nn.positions.rotary import Rotary
from plume.nn.positions.scheme import NoPositions, PositionModule
from plume.nn.positions.sinusoidal import SineColumns, Sinusoidal
from plume.nn.positions.two_dimensional import TwoDimensional
from plume.nn.visibility import AttentionMask

WIDTH = 8
SIZES: dict[str, Any] = {"width": WIDTH, "heads": 2, "head_width": 4, "depth": 1}


def seen_from(query: torch.Tensor, key: torch.Tensor) -> Sight:
    return Sight(mask=AttentionMask(), positions=PositionModule(), query_position=query[None], key_position=key[None])


def test_sinusoidal_is_the_formula() -> None:
    found = Sinusoidal().build(**SIZES).at_input(torch.tensor([[0, 1, 5, 511]]), None)
    assert found is not None
    for row, position in enumerate((0, 1, 5, 511)):
        for pair in range(WIDTH // 2):
            angle = position / 10000 ** (2 * pair / WIDTH)
            assert float(found[0, row, 2 * pair]) == pytest.approx(math.sin(angle), abs=1e-6)
            assert float(found[0, row, 2 * pair + 1]) == pytest.approx(math.cos(angle), abs=1e-6)


def test_sinusoidal_is_exact_in_a_float64_network() -> None:
    module = Sinusoidal().build(**SIZES).double()
    found = torch.zeros(1, 1, WIDTH, dtype=torch.float64) + module.at_input(torch.tensor([[5]]), None)
    assert abs(float(found[0, 0, 0]) - math.sin(5)) < 1e-12


def test_sinusoidal_in_halves_has_the_same_columns_in_another_order() -> None:
    position = torch.tensor([[0, 3, 200]])
    in_turn = Sinusoidal().build(**SIZES).at_input(position, None)
    halves = Sinusoidal(columns=SineColumns.HALVES).build(**SIZES).at_input(position, None)
    assert torch.equal(halves, torch.cat([in_turn[..., 0::2], in_turn[..., 1::2]], dim=-1))


def test_sinusoidal_has_no_parameters() -> None:
    module = Sinusoidal().build(**SIZES)
    assert not list(module.parameters())
    assert not module.state_dict()


@pytest.fixture(scope="module")
def turned() -> Any:
    """Scores of one query and one key vector at all pairs of the given positions."""
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 1, 1, 1, WIDTH, generator=generator, dtype=torch.float64)
    module = Rotary().build(width=WIDTH, heads=1, head_width=WIDTH, depth=1)

    def scores(positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        many = (1, 1, len(positions), WIDTH)
        left, right = module.at_query_key(query.expand(many), key.expand(many), sight=seen_from(positions, positions), layer=0)
        return (left @ right.transpose(-1, -2))[0, 0], left

    return scores


def test_rotary_scores_depend_on_distance_only(turned: Any) -> None:
    near, _ = turned(torch.arange(6))
    far, _ = turned(torch.arange(6) + 100)
    assert (near - far).abs().max() < 1e-12
    for distance in range(-5, 6):
        assert near.diagonal(distance).std(correction=0) < 1e-12
    assert len({round(float(near.diagonal(distance)[0]), 9) for distance in range(-5, 6)}) == 11


def test_rotary_keeps_lengths(turned: Any) -> None:
    _, left = turned(torch.tensor([0, 1, 17, 1000]))
    norms = left.norm(dim=-1)[0, 0]
    assert (norms - norms[0]).abs().max() < 1e-12


def test_rotary_turns_pairs_of_columns_by_the_paper_s_angles() -> None:
    """Equation 34: columns 2i and 2i+1 are turned by m · 10000^(-2i/d)."""
    vector = torch.zeros(1, 1, 1, WIDTH, dtype=torch.float64)
    vector[..., 0::2] = 1.0
    module = Rotary().build(width=WIDTH, heads=1, head_width=WIDTH, depth=1)
    query, key = module.at_query_key(vector, vector, sight=seen_from(torch.tensor([3]), torch.tensor([0])), layer=0)
    for pair in range(WIDTH // 2):
        angle = 3 * 10000 ** (-2 * pair / WIDTH)
        assert query[0, 0, 0, 2 * pair : 2 * pair + 2].tolist() == pytest.approx([math.cos(angle), math.sin(angle)], abs=1e-12)
    assert torch.equal(key, vector)


def test_learned_positions_begin_after_the_offset() -> None:
    module = Learned(longest=10, offset=2).build(**SIZES)
    (table,) = module.parameters()
    assert table.shape == (12, WIDTH)
    found = module.at_input(torch.tensor([[0, 9]]), None)
    assert found is not None
    assert torch.equal(found[0], table[[2, 11]])


def test_no_positions_add_nothing() -> None:
    module = NoPositions().build(**SIZES)
    query, key = torch.ones(1, 1, 2, 4), torch.ones(1, 1, 3, 4)
    sight = seen_from(torch.arange(2), torch.arange(3))
    assert module.at_input(torch.arange(3)[None], None) is None
    assert module.at_query_key(query, key, sight=sight, layer=0) == (query, key)
    assert module.at_scores(query, sight=sight, layer=0) is None
    assert module.at_values(torch.ones(1, 1, 2, 3), sight=sight, layer=0) is None


def test_two_dimensional_positions_are_the_sum_of_both() -> None:
    """The authors' tables have a row more than the longest input; the second counts 0 in the text, 1 … l + 1 in a span."""
    module = TwoDimensional(longest=10, longest_span=3).build(**SIZES)
    assert (module.table.weight.shape, module.inner.weight.shape) == ((11, WIDTH), (5, WIDTH))
    found = module.at_input(torch.tensor([[7, 2, 2]]), torch.tensor([[0, 1, 4]]))
    assert torch.equal(found[0], module.table.weight[[7, 2, 2]] + module.inner.weight[[0, 1, 4]])
    assert torch.equal(module.at_input(torch.tensor([[7]]), None)[0, 0], module.table.weight[7] + module.inner.weight[0])
    assert TwoDimensional(longest=10).build(**SIZES).inner.weight.shape == (11, WIDTH)
