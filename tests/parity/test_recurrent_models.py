"""The whole recurrent models, against oracles written from the papers and their authors' code: the same weights, a real batch, float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Batch


@pytest.fixture
def given(miniature: Any, reader_for: Any, built: Any, on_cpu: Any) -> Any:
    """A small model of the family and its reader, one for each kind of batch."""

    def make(family: str, **options: Any) -> Any:
        recipe = miniature(family, length=24, **options)
        readers = [reader_for(recipe, kind=kind) for kind in recipe.kinds]
        return built(recipe, vocabulary=readers[0].tokenizer.size).eval(), readers

    return make


def compared(model: Any, batch: Batch, states: Tensor, logits: Tensor) -> None:
    """The oracle's states [B, T, D] and scores [B, T, V] are the model's, and so is the loss of what the batch asks for."""
    (name, target), *_ = batch.labels.items()
    flat = logits.flatten(0, 1)[target.index]
    with torch.no_grad():
        loss = model.losses(batch)[name]
    torch.testing.assert_close(loss.total, F.cross_entropy(flat, target.value, reduction="sum"), atol=1e-9, rtol=1e-9)
    assert loss.count == len(target.value) > 50
    if batch.stream is None:
        torch.testing.assert_close(
            model.token_states(batch).last.flatten(0, 1)[target.index], states.flatten(0, 1)[target.index], atol=1e-9, rtol=0
        )
        torch.testing.assert_close(model.head(name).logits(states.flatten(0, 1)[target.index]), flat, atol=1e-9, rtol=0)


def turned(gates: Tensor) -> Tensor:
    """torch's gates are input, forget, candidate, output; plume's output, input, forget, candidate."""
    return torch.cat([gates.chunk(4)[place] for place in (1, 2, 3, 0)])


def torch_lstm(layers: Sequence[Any], *, back: Sequence[Any] = ()) -> nn.LSTM:
    """torch's own with the weights of plume's layers."""
    width, wide = layers[0].width, layers[0].input.shape[1]
    made = nn.LSTM(wide, width, num_layers=len(layers), bidirectional=bool(back), batch_first=True).double()
    with torch.no_grad():
        for suffix, stack in (("", layers), ("_reverse", back)):
            for number, layer in enumerate(stack):
                getattr(made, f"weight_ih_l{number}{suffix}").copy_(turned(layer.input))
                getattr(made, f"weight_hh_l{number}{suffix}").copy_(turned(layer.recurrent))
                getattr(made, f"bias_ih_l{number}{suffix}").copy_(turned(layer.bias))
                getattr(made, f"bias_hh_l{number}{suffix}").zero_()
    return made


# ELMo: bilm-tf, bilm/training.py


def elmo_word(word: str, cnn: Any) -> Tensor:
    """One word: bytes between signs, convolutions, the largest value, ReLU, highway layers, projection."""
    longest = cnn.part.longest
    ids = [259, *(byte + 1 for byte in word.encode()[: longest - 2]), 260]
    value = cnn.character.weight[torch.tensor(ids + [261] * (longest - len(ids)))]  # [C, 8]
    found = []
    for convolution in cnn.filters:
        wide = convolution.weight.shape[2]
        slid = torch.stack([torch.einsum("fcw,wc->f", convolution.weight, value[at : at + wide]) for at in range(longest - wide + 1)])
        found.append(slid.max(0).values + convolution.bias)
    value = torch.cat(found).clamp(min=0)
    for highway in cnn.highways:
        gate = torch.sigmoid(highway.gate.weight @ value + highway.gate.bias)
        value = gate * (highway.transform.weight @ value + highway.transform.bias).clamp(min=0) + (1 - gate) * value
    made: Tensor = cnn.project.weight @ value + cnn.project.bias
    return made


def elmo_direction(value: Tensor, layers: Sequence[Any], states: list[tuple[Tensor, Tensor]], clip: float) -> Tensor:
    """[B, T, E] through TensorFlow's LSTMCell with a projection, both clipped; from the second layer on a layer's input is added."""
    for number, layer in enumerate(layers):
        (hidden, cell), outputs = states[number], []
        for step in range(value.shape[1]):
            gates = value[:, step] @ layer.input.T + hidden @ layer.recurrent.T + layer.bias
            opens, enters, keeps, new = gates.chunk(4, dim=1)
            cell = (torch.sigmoid(keeps) * cell + torch.sigmoid(enters) * torch.tanh(new)).clamp(-clip, clip)
            hidden = ((torch.sigmoid(opens) * torch.tanh(cell)) @ layer.projection.T).clamp(-clip, clip)
            outputs.append(hidden)
        states[number] = hidden, cell
        value = torch.stack(outputs, 1) + (value if number else 0)
    return value


def test_elmo(given: Any, on_cpu: Any, batch_of: Any) -> None:
    """Three batches of a stream: both directions, characters, clipping, the residual, the state carried on, the shared softmax."""
    model, (reader,) = given("elmo")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)  # so that clips are reached
    clip = model.recipe.network.cell_clip
    words = reader.tokenizer.tokens()
    model.spell(words)
    with torch.no_grad():
        vectors = torch.stack([elmo_word(word, model.embedding.characters) for word in words])
    network, head, clipped = model.recipe.network, model.head("bidirectional_lm"), 0
    start = torch.zeros(4, network.projection).double(), torch.zeros(4, network.width).double()
    states = [[start] * network.depth for _ in range(2)]
    for step in range(3):
        batch = on_cpu(batch_of(reader, step))
        value = vectors[batch.tokens]
        ways = [
            elmo_direction(value[rows], stack.layers, states[way], clip)
            for way, (rows, stack) in enumerate([(slice(0, 4), model.layers), (slice(4, 8), model.backward_layers)])
        ]
        made = torch.cat(ways)
        clipped += sum(int((part.abs() == clip).sum()) for pair in states[0] for part in pair)
        compared(model, batch, made, made @ head.token.weight.T + head.bias)
    assert clipped > 0


# ULMFiT: AWD-LSTM, arXiv:1708.02182


def test_ulmfit(given: Any, on_cpu: Any, batch_of: Any) -> None:
    """torch's LSTMs one above the other, the last as narrow as the embedding it predicts with; the penalties on the last one's states."""
    model, (reader,) = given("ulmfit")
    network, (embedding, head) = model.recipe.network, (model.embedding.token.weight, model.head("causal_lm"))
    stack = [torch_lstm([layer]) for layer in model.layers.layers]
    assert len(stack) == 3
    states: list[Any] = [None] * 3
    for step in range(3):
        batch = on_cpu(batch_of(reader, step))
        paid = model.losses(batch)["causal_lm"]  # with its gradient asked for, as in training; dropout is off
        with torch.no_grad():
            value = embedding[batch.tokens]
            for number, layer in enumerate(stack):
                value, states[number] = layer(value, states[number])
            logits = value @ embedding.T + head.bias
            penalty = 2.0 * value.pow(2).mean() + 1.0 * (value[:, 1:] - value[:, :-1]).pow(2).mean()
            expected = F.cross_entropy(logits.flatten(0, 1), batch.labels["causal_lm"].value) + penalty
        torch.testing.assert_close(paid.total.detach() / paid.count, expected, atol=1e-9, rtol=0)
    assert (network.activity, network.slowness) == (2.0, 1.0)
    fresh = replace(batch, stream=None)
    value = embedding[fresh.tokens]
    for layer in stack:
        value, _ = layer(value)
    compared(model, fresh, value, value @ embedding.T + head.bias)


# CoVe: arXiv:1708.00107 §3


def test_cove(given: Any, on_cpu: Any, batch_of: Any) -> None:
    """torch's two-layer bidirectional LSTM over packed rows; a decoder that attends, and reads what it made at the step before."""
    model, (reader,) = given("cove")
    steps = (on_cpu(batch_of(reader, step)) for step in range(len(reader.plan(0)[1])))
    batch = next(batch for batch in steps if batch.source.length is not None)  # rows of like length share a batch: some are all of one
    embedding, decoder, (head,) = model.embedding.token.weight, model.decoder, model.heads.values()
    encoder = torch_lstm([stack.layers[0] for stack in model.encoder.onward], back=[stack.layers[0] for stack in model.encoder.back])
    source, length = batch.source.tokens, batch.source.length
    packed = nn.utils.rnn.pack_padded_sequence(embedding[source], length, batch_first=True, enforce_sorted=False)
    read, (hidden, cell) = encoder(packed)
    read, _ = nn.utils.rnn.pad_packed_sequence(read, batch_first=True)
    absent = torch.arange(source.shape[1]) >= length[:, None]
    states = [tuple(torch.cat([part[2 * layer], part[2 * layer + 1]], 1) for part in (hidden, cell)) for layer in range(2)]
    cells = [nn.LSTMCell(layer.input.shape[1], layer.width).double() for layer in decoder.layers]
    for made, layer in zip(cells, decoder.layers, strict=True):
        like = torch_lstm([layer])
        made.load_state_dict({name.removesuffix("_l0"): value for name, value in like.state_dict().items()})
    attended, outputs = torch.zeros_like(states[0][0]), []
    for step in range(batch.tokens.shape[1]):
        value = torch.cat([embedding[batch.tokens[:, step]], attended], 1)  # [z; h̃]
        for number, layer in enumerate(cells):
            states[number] = layer(value, states[number])
            value = states[number][0]
        scores = torch.einsum("bsd,bd->bs", read, value @ decoder.ask.weight.T + decoder.ask.bias).masked_fill(absent, -torch.inf)
        context = torch.einsum("bs,bsd->bd", scores.softmax(1), read)
        attended = torch.tanh(torch.cat([context, value], 1) @ decoder.combine.weight.T + decoder.combine.bias)
        outputs.append(attended)
    made = torch.stack(outputs, 1)
    compared(model, batch, made, made @ head.token.weight.T + head.bias)


# Skip-Thought: arXiv:1506.06726 §2.1


def conditional_gru(value: Tensor, decoder: Any, vector: Tensor) -> Tensor:
    """[B, T, E] to all states: r, z and the candidate, each with C · vector (eq. 5–8); the reset gate as in the published code."""
    layer, hidden, outputs = decoder.layer, torch.zeros_like(vector), []
    (w_r, w_z, w), (u_r, u_z, u), (c_r, c_z, c) = (matrix.chunk(3) for matrix in (layer.input, layer.recurrent, decoder.condition.weight))
    b_r, b_z, b = layer.bias.chunk(3)
    for x in value.unbind(1):
        reset = torch.sigmoid(x @ w_r.T + hidden @ u_r.T + vector @ c_r.T + b_r)
        update = torch.sigmoid(x @ w_z.T + hidden @ u_z.T + vector @ c_z.T + b_z)
        candidate = torch.tanh(x @ w.T + reset * (hidden @ u.T) + vector @ c.T + b)
        hidden = update * hidden + (1 - update) * candidate
        outputs.append(hidden)
    return torch.stack(outputs, 1)


def test_skip_thought(given: Any, on_cpu: Any, batch_of: Any) -> None:
    """One encoder's last state; a decoder for the sentence after, another for the one before; one softmax."""
    model, readers = given("skip-thought")
    embedding, head, layer = model.embedding.token.weight, model.head("following_sentence"), model.layers.layers[0]
    encoder = nn.GRU(layer.input.shape[1], layer.width, batch_first=True).double()
    weights = (layer.input, layer.recurrent, layer.bias, torch.zeros_like(layer.bias))
    encoder.load_state_dict(dict(zip(encoder.state_dict(), weights, strict=True)))
    for reader in readers:
        batch = on_cpu(batch_of(reader))
        (name,) = batch.labels
        source = batch.source
        rows = torch.arange(len(source.tokens))
        vector = encoder(embedding[source.tokens])[0][rows, source.length - 1]
        made = conditional_gru(embedding[batch.tokens], model.decoders[name], vector)
        compared(model, batch, made, made @ head.token.weight.T + head.bias)
    assert {one.collator.token_objectives for one in readers} == {("following_sentence",), ("preceding_sentence",)}
