"""Compression: a way to make a model small. From model directories to a model directory, which is as any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from plume.core.errors import PlumeError
from plume.core.method import NamedMethod

if TYPE_CHECKING:
    from pathlib import Path

    from plume.compressing.job import CompressionJob
    from plume.model.recipe import Recipe
    from plume.static.recipe import StaticRecipe


@dataclass(frozen=True, kw_only=True)
class Compression(NamedMethod):
    """Base of the methods, each a file in `methods/` that ends with its declaration, `METHOD`. Its fields are what a user may set."""

    folder: ClassVar[str] = "compressing.methods"
    purpose: ClassVar[str] = "to make a model small"
    several: ClassVar[bool] = False  # does it take more than one model?
    by_task: ClassVar[bool] = False  # … each of them with a task of its own?
    by_pairs: ClassVar[bool] = False  # is it about sentence vectors, which scored pairs of texts measure, and no task?

    def run(self, job: CompressionJob) -> str | None:
        """Write the small model to `job.folder`, whole or not at all; what trains and was stopped by a signal returns the signal's name."""
        raise NotImplementedError

    def resume(self, job: CompressionJob) -> str | None:
        """Go on with a run that was stopped."""
        raise PlumeError(f"{self.name} does not train, so there is nothing to resume: run it again.")

    @property
    def trains(self) -> bool:
        """Does something learn, so that settings of training say something to it?"""
        return type(self).resume is not Compression.resume

    def learns(self, *, labelled: bool) -> bool:
        """…of a model whose labelled rows are known, or of one without any?"""
        return self.trains

    def reads_text(self, *, tuned: bool) -> bool:
        """Does plain text say something to it, of a model that is tuned for a task, or of one that is not?"""
        return False

    @property
    def is_direct(self) -> bool:
        """Is it a control itself: a student without a teacher?"""
        return False

    def makes(self, recipe: Recipe | StaticRecipe) -> Recipe | StaticRecipe:
        """The recipe of what it makes of a model of this one."""
        return recipe

    def likeness(self, source: Path, folder: Path) -> Path:
        """A model directory about as large as what it makes of the one in `source`, to judge what it costs; made in `folder`, where it is another."""
        return source

    def as_control(self) -> Self:
        """The same model, trained as long without what the method adds: what it has to beat."""
        raise PlumeError(f"{self.name} does not teach a student, so there is no student to train directly: leave out --control.")

    def variants(self, depth: int) -> Sequence[Mapping[str, Any]]:
        """The settings to explore for a model of so many layers. By default what the method's own fields ask for: half and two thirds of the
        layers where it has a `depth`, half where it keeps a share, all as it is where the share follows from data; nothing for other methods."""
        own = {one.name: one.default for one in fields(self)}
        if "depth" in own:
            return [{"depth": number} for number in sorted({max(1, depth // 2), max(1, round(depth * 2 / 3))} - {depth})]
        if "keep" in own:
            return [{}] if own["keep"] is None else [{"keep": 0.5}]
        return []

    def direct(self) -> str | None:
        """The method that trains the same network directly, with the same settings; None: nothing is distilled."""
        return None


def names() -> list[str]:
    """Of all methods."""
    return Compression.names()


def method(name: str) -> Compression:
    """The one that a user names."""
    return Compression.named(name)


def described() -> list[tuple[str, str, str]]:
    """Name, what it does, paper, of all."""
    return Compression.described()
