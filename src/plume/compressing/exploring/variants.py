"""Variant: one way, at one strength, to make a model small; and which of them are tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plume.compressing.method import Compression, method, names

QUANTISED = "int8"  # put on top of every other


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A compression with a name. `of`: the variant that it is made of; "": the model itself."""

    name: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    of: str = ""
    control_of: str = ""  # the distilled variant whose student this is, trained on labels alone

    def chosen(self) -> Compression:
        """The method as it is run."""
        return method(self.method).having(self.settings)


def planned(chosen: Sequence[str], *, depth: int, labelled: bool) -> list[Variant]:
    """Those that the methods declare, each distilled one with its student as control, each also in 8 bits.

    `chosen` are methods by name, all if it is empty; one that is named and declares nothing is tried as it is. Without labelled rows there is no
    control, for there is nothing to train a student on.
    """
    found: dict[str, Variant] = {}
    for name in chosen or names():
        declared = method(name).variants(depth) or ([{}] if chosen else [])
        for settings in declared:
            for variant in _with_control(name, settings, labelled=labelled):
                found.setdefault(variant.name, variant)
    quantises = QUANTISED in (chosen or names())
    tops = [_quantised(one) for one in found.values() if quantises and one.method != QUANTISED and not one.control_of]
    return sorted([*found.values(), *tops], key=_effort)


def _with_control(name: str, settings: Mapping[str, Any], *, labelled: bool) -> Iterator[Variant]:
    made = Variant(name=_called(name, settings), method=name, settings=settings)
    yield made
    control = made.chosen().direct()
    if control is not None and labelled:
        yield Variant(name=_called(control, settings), method=control, settings=settings, control_of=made.name)


def _effort(one: Variant) -> int:
    """What is made in seconds comes first, what learns from a teacher last, what is made of another after that."""
    return 3 if one.of else 2 if one.control_of or one.chosen().direct() else 1 if one.method != QUANTISED else 0


def _quantised(one: Variant) -> Variant:
    return Variant(name=f"{one.name}+{QUANTISED}", method=QUANTISED, of=one.name)


def _called(name: str, settings: Mapping[str, Any]) -> str:
    """
    >>> _called("distil", {"student": "bert/tiny"}), _called("heads", {"keep": 0.5})
    ('distil-bert-tiny', 'heads-0.5')
    """
    return "-".join([name, *(str(value).replace("/", "-") for value in settings.values())])
