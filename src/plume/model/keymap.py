"""KeyMap: one table of parameter names that reads a foreign checkpoint and writes one.

A `*` stands for a layer number. A rule names a module, and carries every tensor below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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


@dataclass(frozen=True)
class Rename:
    ours: str
    theirs: str
    transposed: bool = False  # GPT-2 keeps its matrices input-first

    def read(self, theirs: State, ours: State) -> set[str]:
        return self._move(theirs, ours, self.theirs, self.ours)

    def write(self, ours: State, theirs: State) -> set[str]:
        return self._move(ours, theirs, self.ours, self.theirs)

    def _move(self, source: State, target: State, from_pattern: str, to_pattern: str) -> set[str]:
        used = set()
        for key, value in source.items():
            if found := _match(from_pattern, key):
                numbers, leaf = found
                target[_fill(to_pattern, numbers) + leaf] = value.t() if self.transposed and value.ndim == 2 else value
                used.add(key)
        return used


@dataclass(frozen=True)
class Fused:
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
class KeyMap:
    rules: tuple[Rename | Fused, ...]
    copies: tuple[tuple[str, str], ...] = ()  # (their copy, their original): tied tensors that older files repeat
    ignored: tuple[str, ...] = ()  # buffers that carry nothing

    def knows(self, ours: str) -> bool:
        """Does a rule name this parameter of ours?"""
        patterns = [pattern for rule in self.rules for pattern in ((rule.ours,) if isinstance(rule, Rename) else rule.ours)]
        return any(_match(pattern, ours) for pattern in patterns)

    def apply(self, theirs: State) -> State:
        """Their names to ours; a tensor that no rule names is an error."""
        left = {key: value for key, value in theirs.items() if not any(_match(pattern, key) for pattern in self.ignored)}
        for copy, original in self.copies:
            if copy in left and original in left:
                if not torch.equal(left[copy], left[original]):
                    raise PlumeError(
                        f"'{copy}' differs from '{original}': this checkpoint was trained without tying them, which is not supported."
                    )
                del left[copy]
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


def prefixed(rules: Iterable[tuple[str, str]], prefix: str) -> tuple[Rename, ...]:
    """Rules whose foreign side stands below a prefix."""
    return tuple(Rename(ours, prefix + theirs) for ours, theirs in rules)
