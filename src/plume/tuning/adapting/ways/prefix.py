"""The model is frozen; keys and values in front of every layer's learn (prefix tuning, arXiv:2101.00190; P-tuning v2, arXiv:2110.07602)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from plume.core.errors import PlumeError
from plume.nn.prefix import Prefix, PrefixModule
from plume.nn.stack import Stack
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.adaptation import Adaptation, OnTop
from plume.tuning.adapting.body import Body, module

_RATE = 1e-2  # P-tuning v2's, for a table that is learned itself
_THROUGH = 1e-3  # through a network smaller steps go further


@dataclass(frozen=True, kw_only=True)
class PrefixTuning(Adaptation):
    """Each stack has its own: an encoder–decoder's encoder, and its decoder's look at what it has written."""

    prefix: Prefix = Prefix()
    dropout: float | None = 0.0  # what does not learn is read as it was

    exports: ClassVar[bool] = True  # what stands against it says `PrefixedStacks`
    elsewhere: ClassVar[Mapping[str, str]] = {"prefix": "A prefix stands before the keys in --mode prefix; this is --mode {mode}."}

    @property
    def own_rate(self) -> float:
        return _THROUGH if self.prefix.hidden else _RATE

    def prepare(self, body: Body) -> None:
        body.requires_grad_(False)

    def on_top(self, body: Body) -> OnTop:
        return PrefixedStacks(self.prefix, body)


class PrefixedStacks(OnTop):
    """Nothing on top: the stacks below look at their prefixes."""

    def __init__(self, part: Prefix, body: Body) -> None:
        super().__init__(body.width)
        stacks = _stacks(body)
        if not stacks:
            raise PlumeError(f"A prefix stands before the keys of attention, and {body.recipe.name} has none.")
        made: dict[str, PrefixModule] = {name.replace(".", "-"): part.build(stack) for name, stack in stacks.items()}
        for stack, prefix in zip(stacks.values(), made.values(), strict=True):
            stack.prefix = prefix.forward  # not the module: it is no part of the body, which can be saved without it
        self.modules = {"prefix": nn.ModuleDict(made)}
        self.some_unused = len(made) > 1  # ELECTRA's blanks are the generator's, its heads read the discriminator

    def leave(self, body: Body) -> None:
        for stack in _stacks(body).values():
            stack.prefix = None

    def flops(self, *, rows: int, time: int) -> int:
        return sum(one.flops(rows=rows, time=time) for one in self.modules["prefix"].children() if isinstance(one, PrefixModule))

    def exported(self, body: Body, tokenizer: Tokenizer) -> tuple[Body, Tokenizer]:
        raise PlumeError(
            "A prefix stands before the keys of every layer, and transformers' classes have no place for one: tune in --mode full or adapters, or "
            "prompt with soft tokens, to export."
        )


def _stacks(body: Body) -> dict[str, Stack]:
    return {name: one for name, one in module(body).named_modules() if isinstance(one, Stack)}


WAY = PrefixTuning()
