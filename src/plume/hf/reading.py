"""The files of a Hugging Face directory: config.json, the weights in one file or several, the tokenizer."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from plume.core.errors import PlumeError, suggest
from plume.core.files import read_json
from plume.hf.dpr import DPR, as_bert, without_wrapping
from plume.model.bridge import Bridge
from plume.model.checkpoint import WEIGHTS, read_weights
from plume.model.config_map import Config
from plume.model.keymap import State
from plume.model.recipe import Recipe
from plume.recipes import _catalog as catalog
from plume.text.format import Format
from plume.text.known_languages import Languages
from plume.text.tokenizer import Tokenizer

INDEX, PICKLED = "model.safetensors.index.json", "pytorch_model.bin"


def read_config(folder: Path) -> Config:
    """config.json."""
    if not folder.is_dir():
        raise PlumeError(f"There is no directory at {folder}.")
    config: Config = read_json(folder / "config.json", "a Hugging Face directory has one beside its weights")
    return as_bert(config, folder) if config.get("model_type") == DPR else config


def bridge_of(config: Config, folder: Path) -> Bridge:
    """Of the family that config.json names."""
    known = catalog.bridges()
    kind = config.get("model_type")
    if kind not in known:
        raise PlumeError(f"{folder} is of type '{kind}', which plume cannot import: {suggest(str(kind), known)}.")
    return known[kind]


def read_languages(config: Config, recipe: Recipe) -> Languages | None:
    """As config.json names them, in the order of their vectors; None: it does not, or not all."""
    named = {number: name for name, number in (config.get("lang2id") or {}).items()}
    if not recipe.languages or sorted(named) != list(range(recipe.embedding.segments)):
        return None
    return Languages.named([named[number] for number in range(len(named))])


def read_state(folder: Path) -> State:
    """The weights, from one safetensors file, several, or a .bin that holds tensors and nothing else."""
    if (folder / WEIGHTS).exists():
        state = read_weights(folder / WEIGHTS)
    elif (folder / INDEX).exists():
        names = set(read_json(folder / INDEX, "it lists the weight files")["weight_map"].values())
        state = {key: value for name in sorted(names) for key, value in read_weights(folder / name).items()}
    elif (folder / PICKLED).exists():
        state = _unpickled(folder / PICKLED)
    else:
        raise PlumeError(f"{folder} has no weights: neither {WEIGHTS} nor {PICKLED}.")
    state = without_wrapping(state)
    # The first BERTs were converted from TensorFlow and kept its names for the norms.
    return {
        key.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): value
        for key, value in state.items()
    }


def _unpickled(path: Path) -> State:
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for a damaged or unsafe file
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PlumeError(f"{path} cannot be read as plain tensors ({reason}). Convert it to safetensors where it was made.") from None
    if not isinstance(loaded, dict) or not all(isinstance(value, Tensor) for value in loaded.values()):
        raise PlumeError(f"{path} does not hold named tensors.")
    return loaded


def read_tokenizer(folder: Path, form: Format) -> Tokenizer:
    """tokenizer.json, vocab.txt, or vocab.json with merges.txt; anything else by way of transformers."""
    readable = any((folder / name).exists() for name in ("tokenizer.json", "vocab.txt")) or (folder / "merges.txt").exists()
    if readable:
        return Tokenizer.load(folder, format=form)
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise PlumeError(f"{folder} has a tokenizer that only transformers can convert: pip install 'plume-lm[hf]'.") from None
    try:
        return Tokenizer(AutoTokenizer.from_pretrained(folder, local_files_only=True).backend_tokenizer, format=form, source=str(folder))
    except Exception as error:  # whatever transformers finds missing
        raise PlumeError(f"{folder} has no tokenizer that can be read ({str(error).splitlines()[0]}).") from None
