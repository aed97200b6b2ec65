"""Read a Hugging Face directory into a plume model directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from plume.core.errors import PlumeError, suggest
from plume.core.files import read_json, write_folder, write_text
from plume.core.part import replace
from plume.hf.export import SECOND
from plume.model.assembly import GeneratorDiscriminator, OneNetwork
from plume.model.bridge import Bridge
from plume.model.checkpoint import WEIGHTS, load_weights, read_weights, save_model
from plume.model.keymap import State
from plume.model.model import Model
from plume.model.recipe import Recipe
from plume.objectives._objective import Answers
from plume.recipes import _catalog as catalog
from plume.text.format import Format
from plume.text.tokenizer import Tokenizer

INDEX, PICKLED = "model.safetensors.index.json", "pytorch_model.bin"


@dataclass(frozen=True, kw_only=True)
class Imported:
    model: Model
    tokenizer: Tokenizer
    notes: list[str]  # what the checkpoint did not carry


def import_folder(folder: Path, out: Path) -> Imported:
    """Read `folder`, write a model directory at `out`, whole or not at all."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PlumeError(f"{out} exists already: choose another --out.")
    imported = read_folder(folder)
    if out.exists():
        out.rmdir()
    recipe = imported.model.recipe
    card = [
        f"# {recipe.name}, imported",
        f"{recipe.title} ({recipe.paper}). Read from a Hugging Face directory named {folder.name}.",
        *imported.notes,
    ]

    def fill(target: Path) -> None:
        save_model(target, imported.model, imported.tokenizer)
        write_text(target / "card.md", "\n\n".join(card) + "\n")

    write_folder(out, fill)
    return imported


def read_folder(folder: Path) -> Imported:
    if not folder.is_dir():
        raise PlumeError(f"There is no directory at {folder}.")
    config = read_json(folder / "config.json", "a Hugging Face directory has one beside its weights")
    bridge = _bridge(config, folder)
    theirs = _with_prefix(read_state(folder), bridge)
    recipe = bridge.from_config(config)
    if bridge.second is not None and set(config.get("architectures") or ()) & set(bridge.second.architectures) - set(bridge.architectures):
        recipe, state = _generator_alone(recipe, bridge.second, theirs)
    else:
        state = bridge.keys.apply(theirs)
        if bridge.second is not None and (folder / SECOND).is_dir():
            recipe = _add_second(recipe, bridge.second, folder / SECOND, state)
    recipe, notes = fitted(recipe, state)
    tokenizer = read_tokenizer(folder, recipe.format)
    vocabulary = len(state["embedding.token.weight"])
    if tokenizer.size > vocabulary:
        raise PlumeError(
            f"The tokeniser in {folder} has {tokenizer.size} tokens, the model embeds {vocabulary}: they do not belong together."
        )
    model = recipe.assembly.build(recipe, vocabulary=vocabulary)
    load_weights(model, {name: value.float() if value.is_floating_point() else value for name, value in state.items()}, folder)
    return Imported(model=model, tokenizer=tokenizer, notes=notes)


def _bridge(config: dict[str, Any], folder: Path) -> Bridge:
    known = catalog.bridges()
    kind = config.get("model_type")
    if kind not in known:
        raise PlumeError(f"{folder} is of type '{kind}', which plume cannot import: {suggest(str(kind), known)}.")
    return known[kind]


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


def _with_prefix(state: State, bridge: Bridge) -> State:
    """The bare model's names, made those of the classes with heads."""
    if any(key.startswith(bridge.prefix) for key in state):
        return state
    return {bridge.prefix + key: value for key, value in state.items()}


def _add_second(recipe: Recipe, second: Bridge, folder: Path, state: State) -> Recipe:
    """ELECTRA's generator from its own folder; its embeddings must be the discriminator's, for they are shared."""
    config = read_json(folder / "config.json", "the generator's folder needs one")
    for name, value in second.keys.apply(_with_prefix(read_state(folder), second)).items():
        if name in state and not torch.equal(state[name], value):
            raise PlumeError(f"{folder}: {name} is not shared with the discriminator; plume trains them as one (arXiv:2003.10555 §3.2).")
        state[name] = value
    found = second.from_config(config).transformer
    assembly = GeneratorDiscriminator(fraction=found.width / recipe.transformer.width)
    if assembly.generator(recipe.transformer) != replace(
        recipe.transformer, width=found.width, heads=found.heads, feed_forward=found.feed_forward
    ):
        assembly = replace(assembly, heads=found.heads, feed_forward=found.feed_forward)
    return replace(recipe, assembly=assembly)


def _generator_alone(recipe: Recipe, second: Bridge, theirs: State) -> tuple[Recipe, State]:
    """A generator published by itself is a masked language model."""
    state = {name.replace("generator.", "stack.", 1): value for name, value in second.keys.apply(theirs).items()}
    objectives = tuple(objective for objective in recipe.objectives if objective.answers is Answers.NOISE)
    return replace(recipe, assembly=OneNetwork(), objectives=objectives), state


def fitted(recipe: Recipe, state: State) -> tuple[Recipe, list[str]]:
    """The recipe without the heads that the checkpoint lacks, and a word about each."""
    notes: list[str] = []
    with torch.device("meta"):
        expected = [name for name, _ in recipe.assembly.build(recipe, vocabulary=8).named_parameters()]
    kept = []
    for objective in recipe.objectives:
        own = [name for name in expected if name.startswith(f"heads.{objective.head_of or objective.name}.")]
        if all(name in state for name in own):
            kept.append(objective)
        else:
            notes.append(f"The checkpoint has no head for {objective.name}: it was left out.")
    if recipe.pooler and "pooler.dense.weight" not in state:
        recipe = replace(recipe, pooler=False, objectives=tuple(o for o in kept if o.answers is not Answers.LAYOUT))
        notes.append("The checkpoint has no pooler: it was left out.")
        return recipe, notes
    return replace(recipe, pooler="pooler.dense.weight" in state, objectives=tuple(kept)), notes


def read_tokenizer(folder: Path, form: Format) -> Tokenizer:
    """tokenizer.json, vocab.txt, or vocab.json with merges.txt; anything else by way of transformers."""
    readable = any((folder / name).exists() for name in ("tokenizer.json", "vocab.txt")) or (folder / "merges.txt").exists()
    if readable:
        return Tokenizer.load(folder, format=form)
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise PlumeError(f"{folder} has a tokeniser that only transformers can convert: pip install 'plume-lm[hf]'.") from None
    try:
        return Tokenizer(AutoTokenizer.from_pretrained(folder, local_files_only=True).backend_tokenizer, format=form, source=str(folder))
    except Exception as error:  # whatever transformers finds missing
        raise PlumeError(f"{folder} has no tokeniser that can be read ({str(error).splitlines()[0]}).") from None
