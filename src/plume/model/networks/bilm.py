"""ELMo's bidirectional language model (arXiv:1802.05365 §3.1): one network a direction, the embedding and the softmax shared."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from plume.core.batch import Batch, Encoded, Order
from plume.model.networks.recurrent import RecurrentModel
from plume.nn.recurrent.recurrent import Recurrent, RecurrentOutput, run_together
from plume.nn.recurrent.rows import State


class BiLM(RecurrentModel):
    """In training a row belongs to one direction (`Batch.backward`) and its tokens stand in the order in which they are read. At use every row
    is read from both sides, and the two networks' states stand side by side; read left to right only (`Order.CAUSAL`), the first one's alone.
    """

    def _build_body(self, vocabulary: int) -> None:
        super()._build_body(vocabulary)
        network = self.recipe.network
        assert isinstance(network, Recurrent)
        self.backward_layers = network.build(self.recipe.embedding.width)

    @property
    def width(self) -> int:
        return 2 * super().width

    def _encode(self, batch: Batch, *, keep_layers: bool, cache: list[Any] | None) -> Encoded:
        if batch.backward is not None or batch.order is Order.CAUSAL:
            return super()._encode(batch, keep_layers=keep_layers, cache=cache)
        value = self._embedded(batch)
        sides = run_together(
            [self.layers, self.backward_layers], [value, value], length=batch.length, reverse=[False, True], keep_layers=True
        )
        layers = [
            torch.cat([value, value], dim=2),
            *(torch.cat(pair, dim=2) for pair in zip(*(side.layers for side in sides), strict=True)),
        ]
        return Encoded(last=layers[-1], layers=tuple(layers) if keep_layers else ())

    def _read(self, batch: Batch, value: Tensor, held: tuple[State, ...] | None, *, keep_layers: bool) -> RecurrentOutput:
        if batch.backward is None:
            return super()._read(batch, value, held, keep_layers=keep_layers)
        rows = [(~batch.backward).nonzero().squeeze(1), batch.backward.nonzero().squeeze(1)]
        stacks = [self.layers, self.backward_layers]
        back = torch.cat(rows).argsort()  # where each row of the batch stands among those of the two directions
        states = [None if held is None else tuple(layer.pick(index) for layer in held) for index in rows]
        if len(rows[0]) == len(rows[1]) and batch.length is None:
            both = None if held is None else [state for state in states if state is not None]
            values = [value[index] for index in rows]
            return _joined(run_together(stacks, values, states=both, reverse=[False, False], keep_layers=keep_layers), back)
        found = [
            stack(value[index], state=state, length=None if batch.length is None else batch.length[index], keep_layers=keep_layers)
            for stack, index, state in zip(stacks, rows, states, strict=True)
            if len(index)
        ]
        return _joined(found, back)

    def body_flops(self, batch: Batch) -> int:
        rows, time = batch.tokens.shape
        each_way = 1 if batch.backward is not None or batch.order is Order.CAUSAL else 2
        return 3 * (each_way * self.layers.flops(rows=rows, time=time) + self._embedding_flops(batch))


def _joined(parts: list[RecurrentOutput], back: Tensor) -> RecurrentOutput:
    """The rows of both directions as the batch has them."""

    def together(tensors: list[Tensor]) -> Tensor:
        return torch.cat(tensors)[back]

    state = []
    for layers in zip(*(part.state for part in parts), strict=True):
        cells = [layer.cell for layer in layers if layer.cell is not None]
        state.append(State(hidden=together([layer.hidden for layer in layers]), cell=together(cells) if cells else None))
    return RecurrentOutput(
        last=together([part.last for part in parts]),
        state=tuple(state),
        layers=tuple(together(list(layers)) for layers in zip(*(part.layers for part in parts), strict=True)),
    )
