"""Graph: what other runtimes than torch run. Rows of tokens, padded on the right, to named arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from plume._version import __version__
from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.model.checkpoint import state_of
from plume.model.networks.model import Model
from plume.model.use.abilities import Abilities
from plume.model.use.runtimes._samples import TEXTS
from plume.nn.recurrent.layer import RecurrentLayer
from plume.text.tokenizer import Tokenizer

INPUTS = ("input_ids", "attention_mask", "token_type_ids")  # as transformers calls them, so that its tools know the file
_CLOSE = 1e-3


@dataclass(frozen=True, kw_only=True)
class Signature:
    """What differs between the graphs of one model: the order in which it reads, and whether its tokens carry segments."""

    order: Order = Order.FULL
    segments: bool = False

    @classmethod
    def of(cls, batch: Batch) -> Signature:
        """That of a batch at use, which is ranked only where it is read from right to left."""
        order = Order.REVERSED if batch.order is Order.RANKED else batch.order
        return cls(order=order, segments=batch.segment is not None)


class Graph(nn.Module):
    """`model` reads a batch, and `compute` says what comes of it, an array for each of `outputs`."""

    outputs: tuple[str, ...] = ()
    precise: tuple[str, ...] = ()  # parts of parameters' names: these stay in float32 where others get 8 bits

    def __init__(self, model: nn.Module, tokenizer: Tokenizer, signature: Signature) -> None:
        super().__init__()
        self.model, self.tokenizer, self.signature = model, tokenizer, signature
        self.eval()  # also itself: an exporter leaves what it exports in the mode that the outermost module was in

    @property
    def body(self) -> Model:
        """The network that reads the tokens."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[str, ...]:
        """By name, in the order of `forward`."""
        return INPUTS if self.signature.segments else INPUTS[:2]

    def axes(self, name: str) -> dict[int, str]:
        """Those of an input or output that may have any length."""
        return {0: "rows", 1: "time"}

    def compute(self, batch: Batch) -> tuple[Tensor, ...]:
        """The outputs."""
        raise NotImplementedError

    def described(self) -> str:
        """All that the graph follows from beside the weights."""
        raise NotImplementedError

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> tuple[Tensor, ...]:
        """All [B, T]; the mask is 1 for a token, 0 for the padding behind it."""
        batch = Batch(tokens=input_ids, length=attention_mask.sum(1), segment=token_type_ids, order=self.signature.order)
        if self.signature.order is Order.REVERSED:
            rank = torch.arange(input_ids.shape[1], 0, -1, device=input_ids.device).expand(input_ids.shape)
            batch = Batch(tokens=batch.tokens, length=batch.length, segment=batch.segment, order=Order.RANKED, rank=rank)
        return self.compute(batch)

    def given(self, batch: Batch) -> tuple[Tensor, ...]:
        """The inputs that a batch is."""
        rows, time = batch.tokens.shape
        length = torch.full((rows,), time) if batch.length is None else batch.length
        mask = (torch.arange(time) < length[:, None]).long()
        found: tuple[Tensor, ...] = (batch.tokens, mask)
        return (*found, batch.segment) if batch.segment is not None else found

    def example(self, *, rows: int = 2, time: int = 7) -> tuple[Tensor, ...]:
        """Some inputs, to trace the graph with; the last row is padded."""
        places = torch.arange(rows * time).view(rows, time)
        mask = torch.ones_like(places)
        mask[-1, time - time // 3 :] = 0
        return (places * 7 % self.body.vocabulary, mask, torch.zeros_like(places))[: len(self.inputs)]

    def trials(self) -> Iterator[tuple[Tensor, ...]]:
        """Inputs of other shapes."""
        for rows, time in ((1, 1), (1, 12), (3, 2), (2, 33)):
            yield self.example(rows=rows, time=min(time, self.body.longest or time))

    def samples(self) -> Iterator[tuple[Tensor, ...]]:
        """Texts of all sorts, each by itself: nothing is padding."""
        can = Abilities(self.body, self.tokenizer)
        for ids in self.tokenizer.encode(list(TEXTS)):
            tokens = torch.tensor([can.frame(ids)[: self.body.longest]])
            yield (tokens, torch.ones_like(tokens), torch.zeros_like(tokens))[: len(self.inputs)]

    def require_alike(self, run: Callable[[tuple[Tensor, ...]], Sequence[Tensor]]) -> None:
        """Raise an AssertionError unless `run` computes the same at other shapes: a trace may take for constant what is not."""
        for given in self.trials():
            for found, right in zip(run(given), self(*given), strict=True):
                torch.testing.assert_close(found, right, atol=_CLOSE, rtol=_CLOSE)

    def key(self) -> str:
        """The same for the same graph, weights and plume."""
        made = hashlib.sha256(f"{__version__} {type(self).__name__} {self.signature} {self.described()}".encode())
        for name, value in state_of(self.model).items():
            made.update(name.encode())
            made.update(value.contiguous().cpu().numpy().data)
        return made.hexdigest()[:32]


Build = Callable[[Signature], Graph]


class EncoderGraph(Graph):
    """The states of the last layer: pooling and transforms stay plume's, so that one file serves every sentence.json."""

    outputs = ("last_hidden_state",)
    model: Model

    @property
    def body(self) -> Model:
        return self.model

    def compute(self, batch: Batch) -> tuple[Tensor, ...]:
        return (self.model.encode(batch).last,)

    def described(self) -> str:
        return str(self.model.recipe.to_json())


def require_graph(model: nn.Module, name: str) -> None:
    """Only what reads all tokens of a text at once, and nothing but these, has such a graph."""
    recurs = any(isinstance(module, RecurrentLayer) for module in model.modules())
    if recurs or any(isinstance(module, Model) and module.spells for module in model.modules()):
        what = "Recurrent networks, which read token by token," if recurs else "Models that read the characters of words"
        raise PlumeError(
            f"{name} cannot be run by ONNX Runtime or exported as a graph. {what} have none; Transformers have one. Use torch."
        )
