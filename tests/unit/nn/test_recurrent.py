"""LSTM and GRU stacks: held against a loop of plain autograd, torch's own networks, and each row run alone."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.nn.recurrent.bidirectional import Bidirectional
from plume.nn.recurrent.layer import RecurrentCell, RecurrentLayer, Start
from plume.nn.recurrent.recurrent import Recurrent, RecurrentStack, run_together
from plume.nn.recurrent.rows import State

ROWS, TIME, INPUT, WIDTH = 4, 7, 5, 6
CLIPS = [(None, None), (0.3, None), (0.3, 0.2), (9.0, 9.0)]


def numbers(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale


def stack_of(part: Recurrent, *, seed: int = 1, scale: float = 0.6) -> RecurrentStack:
    stack = part.build(INPUT).double()
    with torch.no_grad():
        for number, parameter in enumerate(stack.parameters()):
            parameter.copy_(numbers(*parameter.shape, seed=seed * 100 + number, scale=scale))
    return stack


def lstm_by_steps(layer: RecurrentLayer, value: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """[B, T, E]: the textbook, one token at a time; TensorFlow's LSTMCell says where to clip."""
    part, outputs = layer.part, []
    for token in value.unbind(1):
        opens, enters, keeps, new = (token @ layer.input.t() + hidden @ layer.recurrent.t() + layer.bias).chunk(4, dim=1)
        cell = torch.sigmoid(keeps) * cell + torch.sigmoid(enters) * torch.tanh(new)
        if part.cell_clip:
            cell = cell.clamp(-part.cell_clip, part.cell_clip)
        hidden = torch.sigmoid(opens) * torch.tanh(cell)
        if layer.projection is not None:
            hidden = hidden @ layer.projection.t()
            if part.projection_clip:
                hidden = hidden.clamp(-part.projection_clip, part.projection_clip)
        outputs.append(hidden)
    return torch.stack(outputs, 1), hidden, cell


def by_steps(stack: RecurrentStack, value: Tensor, state: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    ends = []
    for index, (hidden, cell) in enumerate(state):
        made, *end = lstm_by_steps(stack.layer(index), value, hidden, cell)
        ends.append((end[0], end[1]))
        value = made + value if stack.part.residual and index else made
    return value, ends


@pytest.mark.parametrize(("cell_clip", "projection_clip"), CLIPS)
@pytest.mark.parametrize("projection", [None, 3])
@pytest.mark.parametrize("residual", [True, False])
def test_an_lstm_is_the_loop_of_its_steps(
    projection: int | None, residual: bool, cell_clip: float | None, projection_clip: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outputs, last states and every gradient, with a state carried in and gradients that come through the last state too."""
    monkeypatch.setattr("plume.nn.recurrent.steps._IN_CACHE", 3 * ROWS * 4 * WIDTH)  # blocks that do not divide the time
    part = Recurrent(
        width=WIDTH,
        depth=2,
        projection=projection,
        residual=residual,
        cell_clip=cell_clip,
        projection_clip=projection_clip if projection else None,
    )
    found = []
    for ours in (True, False):
        stack = stack_of(part)
        value = numbers(ROWS, TIME, INPUT).requires_grad_()
        state = [
            (numbers(ROWS, part.output_width, seed=7 + i).requires_grad_(), numbers(ROWS, WIDTH, seed=9 + i).requires_grad_())
            for i in (0, 1)
        ]
        if ours:
            output = stack(value, state=[State(hidden=hidden, cell=cell) for hidden, cell in state])
            last, ends = output.last, [(end.hidden, end.cell) for end in output.state]
        else:
            last, ends = by_steps(stack, value, state)
        total = (last * numbers(*last.shape, seed=3)).sum()
        for number, end in enumerate(itertools.chain(*ends)):
            total = total + (end * numbers(*end.shape, seed=20 + number)).sum()
        leaves = [value, *itertools.chain(*state), *stack.parameters()]
        found.append([last, *itertools.chain(*ends), *torch.autograd.grad(total, leaves)])
    for mine, expected in zip(*found, strict=True):
        assert float((mine - expected).detach().abs().max()) < 1e-9
    clipped = (found[1][2].abs() == cell_clip).any() if cell_clip == 0.3 else True
    assert clipped, "nothing was clipped: the case shows nothing"


def test_gradcheck_with_clipping_and_projection() -> None:
    stack = stack_of(Recurrent(width=3, depth=1, projection=2, cell_clip=0.4, projection_clip=0.3))
    layer = stack.layer(0)

    def run(value: Tensor, hidden: Tensor, cell: Tensor, weight: Tensor, recurrent: Tensor, projection: Tensor) -> tuple[Tensor, ...]:
        made = torch.func.functional_call(
            layer, {"input": weight, "recurrent": recurrent, "projection": projection}, (value, State(hidden=hidden, cell=cell))
        )
        return tuple(made)

    inputs = [numbers(3, 2, INPUT), numbers(2, 2), numbers(2, 3), layer.input, layer.recurrent, layer.projection]
    assert torch.autograd.gradcheck(run, [tensor.detach().clone().requires_grad_() for tensor in inputs if tensor is not None])


@pytest.mark.parametrize("projection", [0, 3])
def test_an_lstm_equals_torch_s(projection: int) -> None:
    stack = stack_of(Recurrent(width=WIDTH, depth=2, projection=projection or None))
    theirs = nn.LSTM(INPUT, WIDTH, num_layers=2, batch_first=True, proj_size=projection, dtype=torch.float64)
    with torch.no_grad():
        for index in (0, 1):
            layer = stack.layer(index)
            for name, mine in (("weight_ih", layer.input), ("weight_hh", layer.recurrent), ("bias_ih", layer.bias)):
                opens, enters, keeps, new = mine.chunk(4)
                getattr(theirs, f"{name}_l{index}").copy_(torch.cat([enters, keeps, new, opens]))
            getattr(theirs, f"bias_hh_l{index}").zero_()
            if layer.projection is not None:
                getattr(theirs, f"weight_hr_l{index}").copy_(layer.projection)
    value = numbers(ROWS, TIME, INPUT)
    expected, (hidden, cell) = theirs(value)
    found = stack(value, keep_layers=True)
    assert float((found.last - expected).detach().abs().max()) < 1e-12
    assert len(found.layers) == 2
    for index, state in enumerate(found.state):
        assert float((state.hidden - hidden[index]).detach().abs().max()) < 1e-12
        assert float((state.cell - cell[index]).detach().abs().max()) < 1e-12


def test_a_gru_equals_torch_s_with_its_gradients() -> None:
    stack = stack_of(Recurrent(cell=RecurrentCell.GRU, width=WIDTH, depth=2))
    theirs = nn.GRU(INPUT, WIDTH, num_layers=2, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for index in (0, 1):
            layer = stack.layer(index)
            for name, mine in (("weight_ih", layer.input), ("weight_hh", layer.recurrent), ("bias_ih", layer.bias)):
                getattr(theirs, f"{name}_l{index}").copy_(mine)
            getattr(theirs, f"bias_hh_l{index}").zero_()
    value, first = numbers(ROWS, TIME, INPUT).requires_grad_(), numbers(2, ROWS, WIDTH, seed=4).requires_grad_()
    weight = numbers(ROWS, TIME, WIDTH, seed=3)
    expected, last = theirs(value, first)
    found = stack(value, state=[State(hidden=hidden) for hidden in first])
    assert float((found.last - expected).detach().abs().max()) < 1e-12
    mine = torch.autograd.grad(
        (found.last * weight).sum() + found.state[0].hidden.square().sum(),
        [value, first, *(p for _, p in sorted(stack.named_parameters()))],
    )
    others = [getattr(theirs, f"{name}_l{index}") for index in (0, 1) for name in ("bias_ih", "weight_ih", "weight_hh")]
    for one, other in zip(
        mine, torch.autograd.grad((expected * weight).sum() + last[0].square().sum(), [value, first, *others]), strict=True
    ):
        assert float((one - other).abs().max()) < 1e-9


@pytest.mark.parametrize("cell", list(RecurrentCell))
@pytest.mark.parametrize("reverse", [False, True])
def test_each_row_is_as_if_it_were_alone(cell: RecurrentCell, reverse: bool) -> None:
    """Padding is never seen: the outputs, the last state and the gradients of a padded batch are those of its rows."""
    stack = stack_of(Recurrent(cell=cell, width=WIDTH, depth=2, residual=True, cell_clip=0.5 if cell is RecurrentCell.LSTM else None))
    length = torch.tensor([3, TIME, 1, 0])
    value = numbers(ROWS, TIME, INPUT).requires_grad_()
    before = [
        State(hidden=numbers(ROWS, WIDTH, seed=5 + i), cell=numbers(ROWS, WIDTH, seed=8) if cell is RecurrentCell.LSTM else None)
        for i in (0, 1)
    ]
    output = stack(value, state=before, length=length, reverse=reverse, keep_layers=True)
    weight = numbers(ROWS, TIME, WIDTH, seed=3)
    for row, count in enumerate(length.tolist()):
        assert (output.last[row, count:] == 0).all()
        if count == 0:
            assert torch.equal(output.state[1].hidden[row], before[1].hidden[row])
            continue
        alone = value[row : row + 1, :count].flip(1) if reverse else value[row : row + 1, :count]
        one = stack(alone, state=[state.pick(torch.tensor([row])) for state in before], keep_layers=True)
        placed = [layer.flip(1) if reverse else layer for layer in (*one.layers, one.last)]
        for mine, expected in zip((*output.layers, output.last), placed, strict=True):
            assert float((mine[row, :count] - expected[0]).detach().abs().max()) < 1e-12
        for mine, expected in zip(output.state, one.state, strict=True):
            assert float((mine.hidden[row] - expected.hidden[0]).detach().abs().max()) < 1e-12
            if expected.cell is not None:
                assert float((mine.cell[row] - expected.cell[0]).detach().abs().max()) < 1e-12
        mine = torch.autograd.grad((output.last[row] * weight[row]).sum() + output.state[0].hidden[row].sum(), value, retain_graph=True)[0]
        expected = torch.autograd.grad((placed[-1][0] * weight[row, :count]).sum() + one.state[0].hidden.sum(), value)[0]
        assert float((mine - expected).abs().max()) < 1e-9
        assert (mine[row, count:] == 0).all()


def test_a_text_in_two_pieces_is_one_text() -> None:
    stack = stack_of(Recurrent(width=WIDTH, depth=2, projection=3, residual=True, cell_clip=0.4))
    value = numbers(ROWS, TIME, INPUT)
    whole, first = stack(value), stack(value[:, :4])
    second = stack(value[:, 4:], state=[state.detach() for state in first.state])
    assert float((torch.cat([first.last, second.last], 1) - whole.last).detach().abs().max()) < 1e-12
    assert not any(state.detach().hidden.requires_grad for state in first.state)


def test_two_directions_together_are_each_alone_and_never_meet() -> None:
    part = Recurrent(width=WIDTH, depth=2, projection=3, cell_clip=0.3, projection_clip=0.2, residual=True)
    stacks, length = [stack_of(part, seed=1), stack_of(part, seed=2)], torch.tensor([TIME, 2, 5, 1])
    value = numbers(ROWS, TIME, INPUT).requires_grad_()
    weights = [numbers(ROWS, TIME, 3, seed=seed) for seed in (3, 4)]
    together = run_together(stacks, [value, value], length=length, reverse=[False, True], keep_layers=True)
    alone = [stack(value, length=length, reverse=way, keep_layers=True) for stack, way in zip(stacks, (False, True), strict=True)]
    gradients = []
    for outputs in (together, alone):
        total = sum(((output.last * weight).sum() for output, weight in zip(outputs, weights, strict=True)), torch.zeros(()))
        gradients.append(torch.autograd.grad(total, [value, *stacks[0].parameters(), *stacks[1].parameters()], retain_graph=True))
    for mine, expected in zip(*gradients, strict=True):
        assert float((mine - expected).abs().max()) < 1e-9
    onward = torch.autograd.grad(together[0].layers[-1][0, 3].sum(), value, retain_graph=True)[0][0].abs().sum(1) > 0
    back = torch.autograd.grad(together[1].layers[-1][0, 3].sum(), value)[0][0].abs().sum(1) > 0
    assert onward.tolist() == [True] * 4 + [False] * 3
    assert back.tolist() == [False] * 3 + [True] * 4


def test_a_bidirectional_stack_equals_torch_s() -> None:
    stack = Bidirectional(network=Recurrent(width=WIDTH, depth=2)).build(INPUT).double()
    theirs = nn.LSTM(INPUT, WIDTH, num_layers=2, batch_first=True, bidirectional=True, dtype=torch.float64)
    with torch.no_grad():
        for index, way in itertools.product((0, 1), (0, 1)):
            layer: Any = (stack.onward, stack.back)[way][index].layers[0]
            for name, mine in (("weight_ih", layer.input), ("weight_hh", layer.recurrent), ("bias_ih", layer.bias)):
                opens, enters, keeps, new = mine.chunk(4)
                getattr(theirs, f"{name}_l{index}{'_reverse' * way}").copy_(torch.cat([enters, keeps, new, opens]))
            getattr(theirs, f"bias_hh_l{index}{'_reverse' * way}").zero_()
    length = torch.tensor([TIME, 5, 3, 1])
    value = numbers(ROWS, TIME, INPUT)
    packed, (hidden, _) = theirs(nn.utils.rnn.pack_padded_sequence(value, length, batch_first=True))
    expected = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)[0]
    found = stack(value, length=length)
    assert float((found.last - expected).detach().abs().max()) < 1e-12
    assert float((found.state[1].hidden - torch.cat([hidden[2], hidden[3]], 1)).detach().abs().max()) < 1e-12


def test_widths_flops_and_the_forget_bias() -> None:
    awd = Recurrent(width=1150, depth=3, output=400, forget_bias=1.0, start=Start.GLOROT).build(400)
    assert [tuple(awd.layer(i).recurrent.shape) for i in range(3)] == [(4600, 1150), (4600, 1150), (1600, 400)]
    assert [awd.layer(i).input.shape[1] for i in range(3)] == [400, 1150, 1150]
    assert awd.flops(rows=2, time=3) == 2 * 6 * sum(p.numel() for p in awd.parameters() if p.ndim == 2)
    layer = awd.layer(0)
    assert float(layer.bias.detach().sum()) == 1150
    assert (layer.bias[2300:3450] == 1).all()
    assert float(layer.input.detach().std()) == pytest.approx(math.sqrt(2 / (400 + 4600)), rel=0.01)
    elmo = Recurrent(width=32, depth=2, projection=8).build(8)
    assert elmo(torch.zeros(1, 2, 8)).last.shape == (1, 2, 8)
    assert elmo.flops(rows=1, time=1) == 2 * 2 * (2 * 128 * 8 + 8 * 32)
    square = Recurrent(cell=RecurrentCell.GRU, width=8, depth=1, start=Start.ORTHOGONAL).build(4).layer(0).recurrent[8:16]
    assert torch.allclose(square @ square.t(), torch.eye(8), atol=1e-5)


def test_locked_dropout_keeps_one_mask_for_all_steps() -> None:
    torch.manual_seed(0)
    stack = Recurrent(width=64, depth=1, output_dropout=0.5, locked=True).build(INPUT).train()
    last = stack(torch.randn(3, 9, INPUT)).last
    zero = last == 0
    assert (zero == zero[:, :1]).all()
    assert float(zero[:, 0].float().mean()) == pytest.approx(0.5, abs=0.12)
    assert not (zero[0] == zero[1]).all()
    loose = replace(stack.part, locked=False).build(INPUT).train()(torch.randn(3, 9, INPUT)).last == 0
    assert not (loose == loose[:, :1]).all()


def test_weight_drop_leaves_out_recurrent_weights_only() -> None:
    """The first step has no past, so it is the same with and without; the next are not (the check of AWD-LSTM's own code)."""
    torch.manual_seed(0)
    stack = Recurrent(width=64, depth=1, weight_drop=0.5).build(INPUT).train()
    value = torch.randn(2, 5, INPUT)
    one, two = stack(value).last, stack(value).last
    assert torch.equal(one[:, 0], two[:, 0])
    assert not torch.allclose(one[:, 1], two[:, 1])
    stack.eval()
    assert torch.equal(stack(value).last, stack(value).last)
    share = [float((stack.train().layer(0).dropped() == 0).float().mean()) for _ in range(5)]
    assert sum(share) / 5 == pytest.approx(0.5, abs=0.01)
    kept = stack.layer(0).dropped()
    assert torch.allclose(kept[kept != 0], 2 * stack.layer(0).recurrent[kept != 0])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"width": 0}, "width of at least 1"),
        ({"cell": RecurrentCell.GRU, "projection": 3}, "no projection"),
        ({"projection_clip": 3.0}, "set projection"),
        ({"projection": 3, "output": 4}, "not both"),
        ({"residual": True, "output": 4, "width": 8}, "one width"),
        ({"cell_clip": -1.0}, "above 0"),
    ],
)
def test_what_cannot_be_built_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(PlumeError, match=says):
        Recurrent(**changes)


def test_a_state_of_another_depth_is_refused() -> None:
    with pytest.raises(PlumeError, match="1 layers was given to a network of 2"):
        Recurrent(width=4, depth=2).build(3)(torch.zeros(1, 2, 3), state=[State(hidden=torch.zeros(1, 4), cell=torch.zeros(1, 4))])
