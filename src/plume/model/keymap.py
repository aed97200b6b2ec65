"""KeyMap: one table of parameter names that reads a foreign checkpoint and writes one.

A `*` stands for a layer number. A rule names a module, and carries every tensor below it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from plume.core.errors import PlumeError

State = dict[str, Tensor]


def _match(pattern: str, key: str) -> tuple[tuple[str, ...], str] | None:
    """The layer numbers and what follows the module's name."""
    found = re.fullmatch(re.escape(pattern).replace(r"\*", r"(\d+)") + r"(?P<leaf>(\.weight|\.bias)?)", key)
    return (found.groups()[:-2], found.group("leaf")) if found else None


def _fill(pattern: str, numbers: Iterable[str]) -> str:
    for number in numbers:
        pattern = pattern.replace("*", number, 1)
    return pattern


def _named(pattern: str, found: tuple[tuple[str, ...], str]) -> str:
    """The tensor of another module at the same place."""
    return _fill(pattern, found[0]) + found[1]


class KeyRule:
    """Moves the tensors that it names between two states, and says which it moved."""

    def read(self, theirs: State, ours: State) -> set[str]:
        """From their names to ours; returns the names of theirs."""
        raise NotImplementedError

    def write(self, ours: State, theirs: State) -> set[str]:
        """From our names to theirs; returns the names of ours."""
        raise NotImplementedError


@dataclass(frozen=True)
class Rename(KeyRule):
    """A module of ours is one of theirs."""

    ours: str
    theirs: str
    transposed: bool = False  # GPT-2 keeps its matrices input-first
    axes: int = 0  # of length one, which theirs has in front (XLNet's mask_emb)
    beside: str | None = None  # written only where this module of ours is there too (T5's gate, which gives its neighbour another name)

    def read(self, theirs: State, ours: State) -> set[str]:
        return self._move(theirs, ours, self.theirs, self.ours, lambda value: value[(0,) * self.axes])

    def write(self, ours: State, theirs: State) -> set[str]:
        wanted = ours
        if self.beside is not None:
            wanted = {key: value for key, value in ours.items() if (found := _match(self.ours, key)) and _named(self.beside, found) in ours}
        return self._move(wanted, theirs, self.ours, self.theirs, lambda value: value[(None,) * self.axes])

    def _move(self, source: State, target: State, from_pattern: str, to_pattern: str, shape: Callable[[Tensor], Tensor]) -> set[str]:
        used = set()
        for key, value in source.items():
            if found := _match(from_pattern, key):
                numbers, leaf = found
                target[_fill(to_pattern, numbers) + leaf] = value.t() if self.transposed and value.ndim == 2 else shape(value)
                used.add(key)
        return used


@dataclass(frozen=True)
class Fused(KeyRule):
    """Several of our modules are one of theirs, side by side (GPT's query, key and value), input-first."""

    ours: tuple[str, ...]
    theirs: str

    def read(self, theirs: State, ours: State) -> set[str]:
        used = set()
        for key, value in theirs.items():
            if found := _match(self.theirs, key):
                numbers, leaf = found
                for pattern, piece in zip(self.ours, value.chunk(len(self.ours), dim=-1), strict=True):
                    ours[_fill(pattern, numbers) + leaf] = piece.t() if value.ndim == 2 else piece
                used.add(key)
        return used

    def write(self, ours: State, theirs: State) -> set[str]:
        used = set()
        for key in ours:
            if found := _match(self.ours[0], key):
                numbers, leaf = found
                parts = [_fill(pattern, numbers) + leaf for pattern in self.ours]
                joined = torch.cat([ours[part].t() if ours[part].ndim == 2 else ours[part] for part in parts], dim=-1)
                theirs[_fill(self.theirs, numbers) + leaf] = joined
                used.update(parts)
        return used


@dataclass(frozen=True)
class Headed(KeyRule):
    """A matrix that they keep as [width, heads, head width] (XLNet). Ours maps the width to the heads, or with `output` the heads to it.

    `heads` names a tensor of ours that is [heads, head width], so that writing knows them; the rule that moves it comes later.
    """

    ours: str
    theirs: str
    heads: str
    output: bool = False

    def read(self, theirs: State, ours: State) -> set[str]:
        used = set()
        for key, value in theirs.items():
            if found := _match(self.theirs, key):
                flat = value.reshape(value.shape[0], -1)
                ours[_fill(self.ours, found[0]) + ".weight"] = flat if self.output else flat.t()
                used.add(key)
        return used

    def write(self, ours: State, theirs: State) -> set[str]:
        used = set()
        for key, value in ours.items():
            if found := _match(self.ours, key):
                shape = ours[_fill(self.heads, found[0])].shape
                flat = value if self.output else value.t()
                theirs[_fill(self.theirs, found[0])] = flat.reshape(flat.shape[0], *shape)
                used.add(key)
        return used


@dataclass(frozen=True)
class KeyMap:
    """All of a family's parameter names, ours and theirs.

    >>> KeyMap(rules=(Rename("stack.blocks.*.attention.query", "h.*.q"),)).knows("stack.blocks.3.attention.query.weight")
    True
    """

    rules: tuple[Rename | Fused | Headed, ...]
    copies: tuple[tuple[str, str], ...] = ()  # (their copy, their original): tied tensors that older files repeat
    ignored: tuple[str, ...] = ()  # buffers that carry nothing
    zero: tuple[str, ...] = ()  # buffers that carry nothing as long as they are zero (BART's final_logits_bias)

    def knows(self, ours: str) -> bool:
        """Does a rule name this parameter of ours?"""
        patterns = [pattern for rule in self.rules for pattern in (rule.ours if isinstance(rule, Fused) else (rule.ours,))]
        return any(_match(pattern, ours) for pattern in patterns)

    def apply(self, theirs: State) -> State:
        """Their names to ours; a tensor that no rule names is an error."""
        passed = (*self.ignored, *self.zero)
        left = {key: value for key, value in theirs.items() if not any(_match(pattern, key) for pattern in passed)}
        for key in self.zero:
            if key in theirs and bool(theirs[key].any()):
                raise PlumeError(f"'{key}' is not zero in this checkpoint, and this family has no place for it.")
        for copy, original in self.copies:
            if copy in left and original in left:
                if torch.equal(left[copy], left[original]):
                    del left[copy]
                elif not any(rule.read({copy: left[copy]}, {}) for rule in self.rules):
                    raise PlumeError(
                        f"'{copy}' differs from '{original}': this checkpoint was trained without tying them, which is not supported."
                    )
        ours: State = {}
        for rule in self.rules:
            for key in rule.read(left, ours):
                del left[key]
        if left:
            raise PlumeError(f"{len(left)} tensors have no place in this family, among them {_some(left)}. Is it really of this type?")
        return {key: value.contiguous() for key, value in ours.items()}

    def revert(self, ours: State) -> State:
        """Our names to theirs."""
        left = dict(ours)
        theirs: State = {}
        for rule in self.rules:
            for key in rule.write(left, theirs):
                del left[key]
        if left:
            raise PlumeError(f"{len(left)} tensors cannot be written for this family: {_some(left)}.")
        return {key: value.contiguous() for key, value in theirs.items()}


def _some(keys: Iterable[str]) -> str:
    return ", ".join(sorted(keys)[:3])


def block_names(
    theirs: str, *, attention: Sequence[str], feed_forward: Sequence[str], norms: Sequence[str], ours: str = "stack.blocks.*"
) -> dict[str, str]:
    """A block's modules, ours: theirs, which begin alike. Attention has query, key, value and output; feed-forward and norms are two each.

    >>> names = block_names("h.*.", attention="qkvo", feed_forward=("fc1", "fc2"), norms=("ln_1", "ln_2"))
    >>> names["stack.blocks.*.attention.key"], names["stack.blocks.*.feed_forward_norm"]
    ('h.*.k', 'h.*.ln_2')
    """
    parts = ("attention.query", "attention.key", "attention.value", "attention.output", "feed_forward.inner", "feed_forward.output")
    named = zip((*parts, "attention_norm", "feed_forward_norm"), (*attention, *feed_forward, *norms), strict=True)
    return {f"{ours}.{part}": f"{theirs}{name}" for part, name in named}


def prefixed(rules: Iterable[tuple[str, str]], prefix: str) -> tuple[Rename, ...]:
    """Rules whose foreign side stands below a prefix."""
    return tuple(Rename(ours, prefix + theirs) for ours, theirs in rules)
