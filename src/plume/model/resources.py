"""What a model needs beside its weights, and nobody learns: the spelling of its tokens, its languages, its knowledge base.

They lie beside the weights in a model directory. Whoever writes one calls `save_resources`, whoever builds a network from one `hand_over`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, write_atomic, write_json, write_text
from plume.core.knowledge import Knowledge
from plume.data.layouts.carried import FORMS, MENTIONS
from plume.kb.candidates import spelled_out
from plume.kb.known_names import KnownNames
from plume.kb.link import Linker
from plume.model.networks.model import Model
from plume.text.known_languages import Languages
from plume.text.tokenizer import Tokenizer

LANGUAGES = "languages.json"  # of models whose segments are languages: their names, scripts and words, in the order of their vectors
KNOWLEDGE = "knowledge.json"  # of models with a knowledge base: which one
_ENTITIES, _RELATIONS, _ARRAYS = "entities.txt", "relations.txt", "knowledge.safetensors"  # its names by number; what is read of it


def save_resources(folder: Path, model: Model) -> None:
    """All that the model was told, but its tokens."""
    if model.languages is not None and model.languages.have_names:
        model.languages.save(folder / LANGUAGES)
    if model.knowledge is not None:
        save_knowledge(folder, model.knowledge)


def hand_over(model: Model, tokenizer: Tokenizer, folder: Path) -> None:
    """To a model that was just built, what its directory keeps; those of old ones know nothing of languages."""
    model.spell(tokenizer.tokens())
    if model.languages is not None and (folder / LANGUAGES).exists():
        found = Languages.load(folder / LANGUAGES)
        if len(found.names) > len(model.languages.names):
            raise PlumeError(
                f"{folder / LANGUAGES} names {len(found.names)} languages, and the model has {len(model.languages.names)} vectors."
            )
        model.languages = found
    if (folder / KNOWLEDGE).exists():
        model.know(read_knowledge(folder))


def save_knowledge(folder: Path, knowledge: Knowledge) -> None:
    """Which knowledge base it is, its names, and the arrays that are read."""
    make_folder(folder)
    _write_names(folder / _ENTITIES, knowledge.entities)
    _write_names(folder / _RELATIONS, knowledge.relations)
    arrays = {name: np.ascontiguousarray(values) for name, values in knowledge.arrays.items()}
    if arrays:
        write_atomic(folder / _ARRAYS, lambda target: save_file(arrays, target))
    counts = {"entities": len(knowledge.entities), "relations": len(knowledge.relations), "facts": knowledge.facts}
    write_json(folder / KNOWLEDGE, {"path": knowledge.path, "fingerprint": knowledge.fingerprint, **counts})


def read_knowledge(folder: Path) -> Knowledge:
    """What a model directory keeps of its knowledge base."""
    said = read_json(folder / KNOWLEDGE, "it should say which knowledge base the model was trained with")
    arrays: Mapping[str, NDArray[Any]] = load_file(folder / _ARRAYS) if (folder / _ARRAYS).exists() else {}
    found = Knowledge(
        entities=_read_names(folder / _ENTITIES), relations=_read_names(folder / _RELATIONS), path=str(said["path"]),
        fingerprint=str(said["fingerprint"]), facts=int(said["facts"]), arrays=arrays,
    )  # fmt: skip
    for kind, names in (("entities", found.entities), ("relations", found.relations)):
        if len(names) != said[kind]:
            raise PlumeError(f"{folder / KNOWLEDGE} counts {said[kind]} {kind}, and {kind}.txt beside it names {len(names)}.")
    return found


def linker_of(model: Model) -> Linker | None:
    """What finds mentions in texts that come without links, by the names that the model keeps; None: it reads none."""
    if model.knowledge is None or MENTIONS not in model.recipe.carries:
        return None
    if linked_as(model) == FORMS.name:
        return _linker(tuple(spelled_out(model.knowledge.array("names"))), model.knowledge.path)
    return _linker(model.knowledge.entities, model.knowledge.path)


def linked_as(model: Model) -> str:
    """The batch's array for what it finds: entities, or names that may mean several of them."""
    return FORMS.name if FORMS in model.recipe.carries else MENTIONS.name


@functools.lru_cache(maxsize=4)
def _linker(entities: tuple[str, ...], path: str) -> Linker:
    return Linker(KnownNames(entities, Path(path)))


def exchange(model: Model, knowledge: Knowledge) -> None:
    """Let a trained model use another state of its knowledge base: other facts between the same entities."""
    own = model.knowledge
    if own is None:
        raise PlumeError(f"{model.recipe.name}/{model.recipe.size} was trained without a knowledge base: leave out --kb.")
    own.refuse_other(knowledge, f"This {model.recipe.name}")
    kept = {name: values for name, values in own.arrays.items() if name not in knowledge.arrays}
    given = knowledge.as_known_to(own)
    model.know(replace(given, arrays={**kept, **given.arrays}))


def _write_names(path: Path, names: tuple[str, ...]) -> None:
    write_text(path, "".join(" ".join(name.split()) + "\n" for name in names))


def _read_names(path: Path) -> tuple[str, ...]:
    try:
        return tuple(path.read_text(encoding="utf-8").split("\n")[:-1])
    except OSError:
        raise PlumeError(
            f"{path} is missing: the model's knowledge base is not whole. Copy the model directory with all its files."
        ) from None
