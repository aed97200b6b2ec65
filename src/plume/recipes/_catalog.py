"""Find a recipe by the name a user types: family, or family/size."""

from __future__ import annotations

from plume.core import catalog
from plume.core.errors import PlumeError, suggest
from plume.model.bridge import Bridge
from plume.model.recipe import Recipe

ROOM = "recipes"


def families() -> list[str]:
    return catalog.names(ROOM)


def sizes(family: str) -> dict[str, Recipe]:
    found: dict[str, Recipe] = catalog.load(ROOM, family).SIZES
    return found


def recipe(name: str) -> Recipe:
    """
    >>> recipe("bert/base").network.width
    768
    """
    family, _, size = name.partition("/")
    known = sizes(family)
    size = size or "base"
    if size not in known:
        raise PlumeError(f"{family} has no size '{size}': {suggest(size, known)}.")
    return known[size]


def parameters(of: Recipe) -> int:
    """How many, with the vocabulary the recipe asks for; nothing is allocated."""
    import torch

    with torch.device("meta"):
        return sum(parameter.numel() for parameter in of.assembly.build(of, vocabulary=of.tokenizer.vocabulary).parameters())


def parent(of: Recipe) -> Recipe | None:
    """The family's published base, which a size is described against."""
    return sizes(of.name)["base"] if of.name in families() else None


def bridge(of: Recipe) -> Bridge | None:
    return getattr(catalog.load(ROOM, of.name), "HF", None)


def bridges() -> dict[str, Bridge]:
    """By Hugging Face's model type; a family that only borrows another's bridge does not count."""
    found = [getattr(catalog.load(ROOM, family), "HF", None) for family in families()]
    # Several families may be written as one type: it is read as the one that bears its name, or comes first.
    return {one.model_type: one for one in reversed(found) if one is not None}
