"""CoVe's decoder against its equations, and Skip-Thought's against the gates written out."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from plume.core.errors import PlumeError
from plume.nn.recurrent.attention_decoder import AttentionDecoder, AttentionDecoderModule, DecoderState
from plume.nn.recurrent.rows import State
from plume.nn.recurrent.vector_decoder import Conditioning, VectorDecoder

ROWS, TIME, SOURCE, INPUT, WIDTH = 3, 5, 6, 4, 7


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def decoder_of(**changes: object) -> tuple[AttentionDecoderModule, DecoderState]:
    decoder = AttentionDecoder(**{"width": WIDTH, "depth": 2, "dropout": 0.0} | changes).build(INPUT).double()  # type: ignore[arg-type]
    with torch.no_grad():
        for number, parameter in enumerate(decoder.parameters()):
            parameter.copy_(numbers(*parameter.shape, seed=50 + number) * 0.5)
    states = [State(hidden=numbers(ROWS, WIDTH, seed=1 + i), cell=numbers(ROWS, WIDTH, seed=3 + i)) for i in range(decoder.part.depth)]
    return decoder, decoder.start(states)


def lstm(layer: object, value: Tensor, state: State) -> State:
    gates = value @ layer.input.t() + state.hidden @ layer.recurrent.t() + layer.bias  # type: ignore[attr-defined]
    opens, enters, keeps, new = gates.chunk(4, 1)
    assert state.cell is not None
    cell = keeps.sigmoid() * state.cell + enters.sigmoid() * new.tanh()
    return State(hidden=opens.sigmoid() * cell.tanh(), cell=cell)


def oracle(decoder: AttentionDecoderModule, value: Tensor, state: DecoderState, source: Tensor, length: list[int]) -> Tensor:
    """A row and a step at a time, as arXiv:1708.00107 §3 has it; the padding is cut off, not masked."""
    rows = []
    for row, count in enumerate(length):
        states, attended, made = [one.pick(torch.tensor([row])) for one in state.layers], state.attended[row], []
        seen = source[row, :count]
        for token in value[row]:
            fed = torch.cat([token, attended])[None]
            for index, layer in enumerate(decoder.layers):
                states[index] = lstm(layer, fed, states[index])
                fed = states[index].hidden
            hidden = fed[0]
            looks = torch.softmax(seen @ (decoder.ask.weight @ hidden + decoder.ask.bias), 0)
            attended = torch.tanh(decoder.combine.weight @ torch.cat([seen.t() @ looks, hidden]) + decoder.combine.bias)
            made.append(attended)
        rows.append(torch.stack(made))
    return torch.stack(rows)


@pytest.mark.parametrize("depth", [1, 2])
def test_the_attention_decoder_is_its_equations(depth: int) -> None:
    decoder, state = decoder_of(depth=depth)
    value, source, length = numbers(ROWS, TIME, INPUT, seed=9), numbers(ROWS, SOURCE, WIDTH, seed=8).requires_grad_(), [SOURCE, 2, 4]
    expected = oracle(decoder, value, state, source, length)
    found, _ = decoder(value, state, source=source, length=torch.tensor(length))
    assert float((found - expected).detach().abs().max()) < 1e-12
    leaves = [source, *decoder.parameters()]
    for mine, other in zip(
        torch.autograd.grad(found.square().sum(), leaves), torch.autograd.grad(expected.square().sum(), leaves), strict=True
    ):
        assert float((mine - other).abs().max()) < 1e-9


def test_steps_are_the_whole_run_and_see_no_later_token() -> None:
    decoder, state = decoder_of()
    value, source, length = numbers(ROWS, TIME, INPUT, seed=9), numbers(ROWS, SOURCE, WIDTH, seed=8), torch.tensor([SOURCE, 2, 4])
    whole, end = decoder(value, state, source=source, length=length)
    stepped = []
    for token in value.unbind(1):
        made, state = decoder.step(token, state, source=source, length=length)
        stepped.append(made)
    assert float((torch.stack(stepped, 1) - whole).detach().abs().max()) < 1e-12
    assert torch.allclose(end.attended, state.attended)
    assert torch.equal(end.pick(torch.tensor([2, 0])).layers[1].hidden, end.layers[1].hidden[[2, 0]])
    changed = value.clone()
    changed[:, 3] += 1
    other = decoder(changed, decoder_of()[1], source=source, length=length)[0]
    assert torch.equal(other[:, :3], whole[:, :3])
    assert not torch.allclose(other[:, 3], whole[:, 3])


def test_flops_are_those_of_the_products() -> None:
    decoder, state = decoder_of()
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        decoder(numbers(ROWS, TIME, INPUT), state, source=numbers(ROWS, SOURCE, WIDTH))
    assert counter.get_total_flops() == decoder.flops(rows=ROWS, time=TIME, source=SOURCE)


def test_a_vector_in_the_gates_is_the_paper_s_equations() -> None:
    """Eq. 5–8 with r ⊙ (U h) for U (r ⊙ h), as the authors' code has it; the update gate keeps the past, as there."""
    decoder = VectorDecoder(width=WIDTH).build(INPUT, vector_width=3).double()
    value, vector = numbers(ROWS, TIME, INPUT), numbers(ROWS, 3, seed=2).requires_grad_()
    assert decoder.condition is not None
    of_input, of_state, of_vector = (weight.chunk(3) for weight in (decoder.layer.input, decoder.layer.recurrent, decoder.condition.weight))
    hidden, made = torch.zeros(ROWS, WIDTH, dtype=torch.float64), []
    for token in value.unbind(1):
        reset, update = (torch.sigmoid(token @ of_input[i].t() + hidden @ of_state[i].t() + vector @ of_vector[i].t()) for i in (0, 1))
        new = torch.tanh(token @ of_input[2].t() + reset * (hidden @ of_state[2].t()) + vector @ of_vector[2].t())
        hidden = update * hidden + (1 - update) * new
        made.append(hidden)
    expected = torch.stack(made, 1)
    found, state = decoder(value, vector)
    assert float((found - expected).detach().abs().max()) < 1e-12
    leaves = [vector, decoder.layer.input, decoder.layer.recurrent, decoder.condition.weight]
    for mine, other in zip(
        torch.autograd.grad(found.square().sum(), leaves), torch.autograd.grad(expected.square().sum(), leaves), strict=True
    ):
        assert float((mine - other).abs().max()) < 1e-9
    _, half = decoder(value[:, :2], vector)
    assert float((decoder(value[:, 2:], vector, state=half)[0] - found[:, 2:]).detach().abs().max()) < 1e-12
    assert torch.equal(state.hidden, found[:, -1])


def test_a_vector_as_the_first_state_is_the_published_code() -> None:
    decoder = VectorDecoder(width=WIDTH, conditioning=Conditioning.STATE).build(INPUT, vector_width=WIDTH).double()
    value, vector = numbers(ROWS, TIME, INPUT), numbers(ROWS, WIDTH, seed=2)
    expected, _ = decoder.layer(value.transpose(0, 1).contiguous(), State(hidden=vector))
    assert torch.equal(decoder(value, vector)[0], expected.transpose(0, 1))
    with pytest.raises(PlumeError, match="cannot be the first state"):
        VectorDecoder(width=WIDTH, conditioning=Conditioning.STATE).build(INPUT, vector_width=WIDTH + 1)


def test_a_decoder_given_other_layers_is_refused() -> None:
    decoder, state = decoder_of()
    with pytest.raises(PlumeError, match="2 layers was given the states of 1"):
        decoder.start(state.layers[:1])
