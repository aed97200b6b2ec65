"""LoRA: a frozen matrix W is tuned by a product of two narrow ones, W x + (alpha / r) B A x (arXiv:2106.09685 §4.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.nn.dropout import dropout
from plume.nn.recurrent.layer import RecurrentLayer


@dataclass(frozen=True, kw_only=True)
class LowRank(Part):
    """Which linear layers are adapted, and how: the paper takes the attention's queries and values (§5.1).

    >>> block = nn.ModuleDict({"query": nn.Linear(64, 64), "value": nn.Linear(64, 64), "output": nn.Linear(64, 64)})
    >>> add_low_rank(block, LowRank(rank=4))
    ['query', 'value']
    >>> sum(parameter.numel() for parameter in block.parameters() if parameter.requires_grad)
    1024
    """

    rank: int = 8
    alpha: float = 16.0
    dropout: float = 0.0  # of what goes into the product, in training
    targets: tuple[str, ...] = ("query", "value")  # last names of layers

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise PlumeError(f"A low-rank product needs a rank of at least 1, not {self.rank}.")
        if not 0 < self.alpha < math.inf:
            raise PlumeError(f"alpha scales the low-rank product and must be above 0, not {self.alpha}.")
        if not 0 <= self.dropout < 1:
            raise PlumeError(f"The low-rank product's dropout is a share from 0 to below 1, not {self.dropout}.")
        if not self.targets:
            raise PlumeError("Low-rank tuning needs targets: the last names of the linear layers to adapt, such as query and value.")


class LowRankLinear(nn.Linear):
    """Takes the place of a linear layer and keeps its parameters under their names, `weight` and `bias`; `down` is A and `up` is B.

    `weight`, when read, is what the layer multiplies with: W + (alpha / r) B A.
    """

    def __init__(self, linear: nn.Linear, part: LowRank) -> None:
        nn.Module.__init__(self)  # not nn.Linear's, which would make a matrix of its own
        self.part, self.scale = part, part.alpha / part.rank
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self._parameters["weight"] = linear._parameters["weight"]  # past the property of that name
        self.register_parameter("bias", linear.bias)
        self.down = nn.Parameter(linear.weight.new_empty(part.rank, self.in_features))
        self.up = nn.Parameter(linear.weight.new_zeros(self.out_features, part.rank))
        # Gaussian, as §4.1 says, with the spread of the authors' code, which draws uniformly.
        nn.init.kaiming_normal_(self.down, a=math.sqrt(5))
        self.train(linear.training)

    @property
    def weight(self) -> Tensor:  # type: ignore[override]
        """The matrix with its low-rank change."""
        return torch.addmm(self.frozen, self.up, self.down, alpha=self.scale)

    @property
    def frozen(self) -> nn.Parameter:
        """The matrix as it was pre-trained."""
        found = self._parameters["weight"]
        assert found is not None
        return found

    def forward(self, input: Tensor) -> Tensor:
        """[..., in] to [..., out]."""
        # Through the narrow side, not through `weight`: its gradient would be as large as the one that is to be saved.
        narrow = nn.functional.linear(dropout(input, self.part.dropout, training=self.training), self.down)
        plain = nn.functional.linear(input, self.frozen, self.bias)
        flat, low = plain.reshape(-1, self.out_features), narrow.reshape(-1, self.part.rank)
        return torch.addmm(flat, low, self.up.t(), alpha=self.scale).view(plain.shape)

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """The plain layer that does the same."""
        linear = nn.Linear(self.in_features, self.out_features, bias=self.bias is not None, device="meta")
        linear.weight, linear.bias = nn.Parameter(self.weight, requires_grad=False), self.bias
        return linear.train(self.training)


def add_low_rank(model: nn.Module, part: LowRank) -> list[str]:
    """Adapt the linear layers that the part names, freeze all else, and return the adapted layers' names; a shared layer has one, its first."""
    found: dict[nn.Linear, str] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, LowRankLinear):
            raise PlumeError(f"{name} is adapted already: call merge_low_rank first.")
        if isinstance(module, nn.Linear) and name.rpartition(".")[2] in part.targets:
            found.setdefault(module, name)
    _check(model, part)
    model.requires_grad_(False)
    made = {linear: LowRankLinear(linear, part) for linear in found}
    for parent, name, linear in _linears(model):
        if linear in made:
            setattr(parent, name, made[linear])
    return list(found.values())


def merge_low_rank(model: nn.Module) -> None:
    """Fold the products into the matrices and put plain layers back. What was frozen stays so: `model.requires_grad_()` thaws it."""
    made: dict[nn.Linear, nn.Linear] = {}
    for parent, name, linear in _linears(model):
        if isinstance(linear, LowRankLinear):
            if linear not in made:
                made[linear] = linear.merged()
            setattr(parent, name, made[linear])


def _linears(model: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Linear]]:
    """Every place where a linear layer stands, of one that is shared all of them."""
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):  # named_children would leave out a child's second name
            if isinstance(child, nn.Linear):
                yield parent, name, child


def _check(model: nn.Module, part: LowRank) -> None:
    known = {name for _, name, _ in _linears(model)}
    if missing := [target for target in part.targets if target not in known]:
        recurrent = any(isinstance(module, RecurrentLayer) for module in model.modules())
        raise PlumeError(
            f"No linear layer is called {' or '.join(missing)}, so low-rank tuning has nothing to adapt there; "
            + (f"the linear layers here are: {', '.join(sorted(known))}." if known else "there are no linear layers here.")
            + (" Recurrent layers are not adapted: tune them whole, or stand a task network on their features." if recurrent else "")
        )
