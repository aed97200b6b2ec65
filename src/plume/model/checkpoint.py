"""A model on disk: recipe.json, tokenizer.json, model.safetensors, and what else it was told (`resources.py`). No pickle anywhere."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, write_atomic, write_json
from plume.core.part import part_from_json
from plume.model.eight_bits import in_full
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.model.resources import hand_over, save_resources
from plume.model.trainable import kept_parameters
from plume.text.tokenizer import Tokenizer

RECIPE, TOKENIZER, WEIGHTS = "recipe.json", "tokenizer.json", "model.safetensors"


def state_of(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter that belongs to the model once, by the first of its names."""
    return {name: parameter.detach() for name, parameter in kept_parameters(model).items()}


def save_weights(path: Path, state: dict[str, Tensor]) -> None:
    """As safetensors, in one move."""
    tensors = {name: value.contiguous().cpu() for name, value in state.items()}
    write_atomic(path, lambda target: save_file(tensors, target, metadata={"format": "pt"}))


def read_weights(path: Path) -> dict[str, Tensor]:
    """What `save_weights` wrote, or an error that says what is wrong with the file. Weights that lie in 8 bits are made whole."""
    try:
        with safe_open(path, framework="pt") as opened:
            return in_full({name: opened.get_tensor(name) for name in opened.keys()})  # noqa: SIM118 - not a dict
    except FileNotFoundError:
        raise PlumeError(f"{path} is missing: the folder holds no trained model. Was the run stopped before its first save?") from None
    except (SafetensorError, OSError) as error:
        raise PlumeError(
            f"{path} cannot be read as safetensors ({error}): it is cut short or of another kind. Restore or retrain it."
        ) from None


@torch.no_grad()
def load_weights(model: nn.Module, state: dict[str, Tensor], where: Path) -> None:
    """Copy into the model; every parameter must be there, in its shape, and nothing else."""
    expected = kept_parameters(model)
    missing, foreign = sorted(set(expected) - set(state)), sorted(set(state) - set(expected))
    if missing or foreign:
        detail = [f"{len(names)} {word} (such as {names[0]})" for word, names in (("missing", missing), ("unknown", foreign)) if names]
        raise PlumeError(f"{where} does not fit the recipe beside it: {' and '.join(detail)}. The two files are not of the same run.")
    for name, parameter in expected.items():
        if parameter.shape != state[name].shape:
            raise PlumeError(f"{where}: {name} has shape {tuple(state[name].shape)}, the recipe asks for {tuple(parameter.shape)}.")
        parameter.copy_(state[name])


def save_recipe(folder: Path, recipe: Recipe) -> None:
    """As recipe.json."""
    write_json(folder / RECIPE, recipe.to_json())


def read_recipe(folder: Path) -> Recipe:
    """Of a model directory."""
    path = folder / RECIPE
    if not folder.is_dir():
        raise PlumeError(f"There is no model directory at {folder}.")
    if not path.exists():
        hint = f" It is a Hugging Face directory: run 'plume import {folder} --out DIR' first." if (folder / "config.json").exists() else ""
        raise PlumeError(f"{folder} is not a plume model: it has no {RECIPE}.{hint}")
    try:
        recipe = part_from_json(read_json(path, "it should hold the model's recipe"))
    except TypeError as error:
        raise PlumeError(f"{path} is not a whole recipe ({error}).") from None
    if not isinstance(recipe, Recipe):
        raise PlumeError(f"{path} holds no recipe.")
    return recipe


def save_model(folder: Path, model: Model, tokenizer: Tokenizer) -> None:
    """The files that make a model; whoever loads it needs nothing else."""
    make_folder(folder)
    save_recipe(folder, model.recipe)
    tokenizer.save(folder / TOKENIZER)
    save_resources(folder, model)
    save_weights(folder / WEIGHTS, state_of(model))


def load_model(folder: Path) -> tuple[Model, Tokenizer]:
    """A model directory as a network ready for use, and its tokenizer."""
    recipe = read_recipe(folder)
    tokenizer = Tokenizer.load(folder / TOKENIZER, format=recipe.format)
    state = read_weights(folder / WEIGHTS)
    vocabulary = len(state["embedding.token.weight"]) if "embedding.token.weight" in state else tokenizer.size
    if tokenizer.size > vocabulary:
        raise PlumeError(f"{folder / TOKENIZER} has {tokenizer.size} tokens, the model only {vocabulary}: they are not of the same run.")
    model = recipe.assembly.build(recipe, vocabulary=vocabulary)
    load_weights(model, state, folder / WEIGHTS)
    hand_over(model, tokenizer, folder)
    return model.eval(), tokenizer
