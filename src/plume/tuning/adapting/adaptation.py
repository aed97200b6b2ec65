"""Adaptation: a way to put a trained model to a task. What learns, and how its states become what heads read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Self

from torch import Tensor, nn

from plume.core import catalog
from plume.core.batch import Batch, Encoded
from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.nn.pooling import Pooling
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.body import Body, layer_widths

WAYS = "tuning.adapting.ways"  # the folder: a file each, called as the mode is
_USUAL = ("full", "features")  # which of them a family's paper took
_DROPOUT = 0.1  # of a Transformer while it is tuned, as the papers have it (BERT §A.3)


class OnTop:
    """What a way puts between the body and the heads: here nothing, and pooling chooses among the body's own layers."""

    modules: Mapping[str, nn.Module] = {}  # that learn; saved under these names
    needs_layers = False  # does it read more than the last layer?
    some_unused = False  # are there modules that a task may not read through?
    paces: Mapping[str, float] = {}  # of modules that learn at another rate than the body: so many times its own

    def __init__(self, width: int) -> None:
        self.width = width  # of what a head reads of a token

    def widths(self, body: Body) -> Sequence[int]:
        """Of the layers that pooling chooses from."""
        return layer_widths(body)

    def told(self, batch: Batch) -> Batch:
        """What the body reads, also where it answers in words of its own."""
        return batch

    def encode(self, body: Body, batch: Batch, *, keep_layers: bool = False, head_mask: Tensor | None = None) -> Encoded:
        """Run the body, with whatever the way adds to what it reads."""
        return body.encode(batch, keep_layers=keep_layers, head_mask=head_mask)

    def layers(self, encoded: Encoded, length: Tensor | None) -> Sequence[Tensor]:
        """[B, T, D] each: what pooling chooses from; heads that read tokens read the last."""
        return (*encoded.layers[:-1], encoded.last)

    def exported(self, body: Body, tokenizer: Tokenizer) -> tuple[Body, Tokenizer]:
        """The body, and what cuts its texts, as transformers can have them."""
        return body, tokenizer

    def leave(self, body: Body) -> None:
        """The body is used without it from now on."""

    def penalty(self) -> Tensor | None:
        """To be added to the loss of each prediction."""
        return None

    def flops(self, *, rows: int, time: int) -> int:
        """Of the matrix products of one forward pass."""
        return 0


@dataclass(frozen=True, kw_only=True)
class Adaptation(Part):
    """Base of the ways, each a file in `ways/` that ends with its declaration, `WAY`."""

    dropout: float | None = None  # of the model while it is tuned; None: 0.1 for Transformers that learn, else the model's own
    pooling: Pooling | None = None  # how one vector is made of a text; None: as the way and the family have it

    frozen: ClassVar[bool] = False  # does the model below run as it is, without learning and without dropout?
    rate_factor: ClassVar[float] = 1.0  # on the learning rate that is safe while all of the body learns
    exports: ClassVar[bool] = False  # has transformers classes for what it makes?
    elsewhere: ClassVar[Mapping[str, str]] = {}  # its fields: what to say to those who ask for one in another `{mode}`

    def __post_init__(self) -> None:
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise PlumeError("dropout is a share below 1.")

    @property
    def mode(self) -> str:
        """What users call it: its file's name."""
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    @property
    def own_rate(self) -> float | None:
        """A learning rate that is safe whatever the body is; None: it depends on the body."""
        return None

    @property
    def from_scratch(self) -> bool:
        """Can a body that has forgotten everything be put to use so? Then all of it learns, also what would be frozen."""
        return self.frozen

    @property
    def head_dropout(self) -> float:
        """Of what a head reads."""
        return _DROPOUT if self.dropout is None else self.dropout

    def prepare(self, body: Body) -> None:
        """Say what of the body learns, and put into it what the way adds."""
        if self.frozen:
            body.requires_grad_(False)

    def on_top(self, body: Body) -> OnTop:
        """What stands between the body and the heads."""
        return OnTop(body.width)

    def pooling_for(self, body: Body) -> Pooling | None:
        """How heads that label texts read the body; None: by the state of one token."""
        return self.pooling or body.task_pooling

    def plain(self, body: Body) -> Body:
        """The body without what the way has put into it, to be exported; the one that was given stays as it is."""
        return body

    def loaded(self, body: Body) -> Adaptation:
        """What a model is from then on that was saved and is opened again."""
        return self

    def adjusted(self, assignments: Sequence[str]) -> Self:
        """With fields by dotted path: `network.width=128`."""
        made = self
        for assignment in assignments:
            made._refuse(assignment.partition("=")[0].partition(".")[0].strip())
            made = made.override(assignment)
        return made

    def _refuse(self, field: str) -> None:
        """A setting of another way is an error that names it."""
        if field in _fields(self):
            return
        for other in map(way, modes()):
            if field in _fields(other):
                said = other.elsewhere.get(field, f"{field} is a setting of --mode {other.mode}; this is --mode {{mode}}.")
                raise PlumeError(said.format(mode=self.mode))


def _fields(adaptation: Adaptation) -> set[str]:
    return {field.name for field in fields(adaptation)}


def modes() -> list[str]:
    """The names of all ways, the usual ones first."""
    known = catalog.names(WAYS)
    return [*_USUAL, *(name for name in known if name not in _USUAL)]


def way(mode: str) -> Adaptation:
    """The way that a user names."""
    if mode not in modes():
        raise PlumeError(f"There is no mode '{mode}': choose {', '.join(modes())}.")
    declared = catalog.load(WAYS, mode).WAY
    assert isinstance(declared, Adaptation)
    return declared
