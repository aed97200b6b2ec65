"""ExploreSettings: what is explored, kept as explore.json, so that --resume needs nothing but the directory; and the command of each variant."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from plume.compressing.exploring.variants import Variant
from plume.core.errors import PlumeError
from plume.core.files import read_json, write_json
from plume.tuning.declared import is_tuned

EXPLORE = "explore.json"
_FILES = ("train", "dev", "text")


@dataclass(frozen=True, kw_only=True)
class ExploreSettings:
    """A model, the methods to try (none: those that declare what to explore), files, and wishes for what trains."""

    model: str
    methods: tuple[str, ...] = ()
    train: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    wishes: Mapping[str, Any] = field(default_factory=dict)  # epochs, batch, rate, length, budget, seed
    overrides: tuple[str, ...] = ()
    language: str = "en"  # of the page

    def save(self, folder: Path) -> None:
        """As explore.json."""
        write_json(folder / EXPLORE, asdict(self))

    def command(self, variant: Variant, before: str = "", budget: str | None = None) -> str:
        """The line that makes this model by itself, after the one `before` that makes what it is made of."""
        words = ["plume", "compress", variant.of or self.model, "--method", variant.method]
        for name, value in variant.settings.items():
            words += [f"--{name}", str(value)]
        wishes = {**self.wished(variant), **({"budget": budget} if budget else {})}
        words += [part for name, value in wishes.items() for part in (f"--{name}", str(value))]
        words += [part for override in self.overridden(variant) for part in ("--training", override)]
        words += [part for name in _FILES for path in self.files(variant)[name] for part in (f"--{name}", path)]
        made = shlex.join([*words, "--out", variant.name])
        return f"{before} && {made}" if before else made

    def files(self, variant: Variant) -> dict[str, tuple[str, ...]]:
        """What the variant is fed: a control learns from labels alone, and text is for those to whom it says something."""
        given = {name: getattr(self, name) for name in _FILES}
        fed = not variant.control_of and variant.chosen().reads_text(tuned=self._tuned)
        return given if fed else {**given, "text": ()}

    def wished(self, variant: Variant) -> dict[str, Any]:
        """Of the wishes those that say something to the variant: where nothing learns, there is no epoch and no budget."""
        return {name: value for name, value in self.wishes.items() if name == "seed" or self._learns(variant)}

    def overridden(self, variant: Variant) -> tuple[str, ...]:
        """Of the settings of training likewise."""
        return self.overrides if self._learns(variant) else ()

    @property
    def _tuned(self) -> bool:
        return is_tuned(Path(self.model))

    def _learns(self, variant: Variant) -> bool:
        return variant.chosen().learns(labelled=self._tuned)


def read_explore(folder: Path) -> ExploreSettings:
    """Of an exploration that goes on."""
    if not (folder / EXPLORE).exists():
        raise PlumeError(f"{folder} holds no exploration to resume: there is no {EXPLORE} in it.")
    told = read_json(folder / EXPLORE, "it should hold the settings of an exploration")
    listed = {name: tuple(told[name]) for name in ("methods", *_FILES, "overrides")}
    return ExploreSettings(**{**told, **listed})
