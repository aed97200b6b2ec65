"""Find a recipe by the name a user types: family, or family/size."""

from __future__ import annotations

import inspect

from plume.core import catalog
from plume.core.errors import PlumeError, suggest
from plume.model.bridge import Bridge
from plume.model.recipe import Recipe
from plume.nn.stack import Transformer
from plume.static.recipe import StaticRecipe

ROOM = "recipes"


def families() -> list[str]:
    """All of them: networks, and word vectors."""
    return catalog.names(ROOM)


def networks() -> list[str]:
    """Those that a network is built for, by parts."""
    return [family for family in families() if isinstance(declarations(family)["base"], Recipe)]


def declarations(family: str) -> dict[str, Recipe | StaticRecipe]:
    """By size."""
    found: dict[str, Recipe | StaticRecipe] = catalog.load(ROOM, family).SIZES
    return found


def sizes(family: str) -> dict[str, Recipe]:
    """Of a family of networks."""
    return {size: _network(found, family) for size, found in declarations(family).items()}


def declaration(name: str) -> Recipe | StaticRecipe:
    """A family, or family/size, of either kind.

    >>> declaration("word2vec").window
    5
    """
    family, _, size = name.partition("/")
    known = declarations(family)
    size = size or "base"
    if size not in known:
        raise PlumeError(f"{family} has no size '{size}': {suggest(size, known)}.")
    return known[size]


def recipe(name: str) -> Recipe:
    """Of a network, by family or family/size.

    >>> recipe("bert/base").transformer.width
    768
    """
    return _network(declaration(name), name)


def _network(found: Recipe | StaticRecipe, name: str) -> Recipe:
    if isinstance(found, StaticRecipe):
        raise PlumeError(f"{name} makes word vectors; a network is needed here: {', '.join(networks())}.")
    return found


def parameters(of: Recipe) -> int:
    """How many, with the vocabulary the recipe asks for; nothing is allocated."""
    import torch

    with torch.device("meta"):
        return sum(parameter.numel() for parameter in of.assembly.build(of, vocabulary=of.tokenizer.vocabulary).parameters())


def figures(of: Recipe | StaticRecipe) -> dict[str, int]:
    """What tells its sizes apart, by name."""
    if isinstance(of, StaticRecipe):
        return {"dimension": of.dimension, "window": of.window, "epochs": of.epochs, "least count": of.least}
    network = of.network
    heads = {"heads": network.heads} if isinstance(network, Transformer) else {}
    return (
        {"width": network.width, "depth": network.depth}
        | heads
        | {"embedding": of.embedding.width, "vocabulary": of.tokenizer.vocabulary, "length": of.training.length}
        | {"parameters": parameters(of)}
    )


def about(family: str) -> str:
    """What its file says of it: what it is, when to use it, and where it differs from the paper."""
    return inspect.cleandoc(catalog.load(ROOM, family).__doc__ or "")


def learns(of: Recipe | StaticRecipe) -> list[str]:
    """The names of its objectives."""
    return [of.objective] if isinstance(of, StaticRecipe) else [objective.name for objective in of.objectives]


def parent(of: Recipe) -> Recipe | None:
    """The family's published base, which a size is described against."""
    return sizes(of.name)["base"] if of.name in families() else None


def made_from(family: str) -> str | None:
    """The family whose declaration this one's is a change of, as its file declares it: `PARENT`.

    >>> made_from("albert"), made_from("bert"), made_from("cove")
    ('bert', None, None)
    """
    found: str | None = getattr(catalog.load(ROOM, family), "PARENT", None)
    return found


def bridge(of: Recipe) -> Bridge | None:
    """To transformers' classes, if there are such for the family."""
    return getattr(catalog.load(ROOM, of.name), "HF", None)


def bridges() -> dict[str, Bridge]:
    """By Hugging Face's model type; a family that only borrows another's bridge does not count."""
    found = [getattr(catalog.load(ROOM, family), "HF", None) for family in families()]
    # Several families may be written as one type: it is read as the one that bears its name, or comes first.
    return {one.model_type: one for one in reversed(found) if one is not None}
