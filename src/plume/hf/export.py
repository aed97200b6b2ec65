"""Write a Hugging Face directory: transformers' Auto classes load it, with the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from plume.core.batch import Order
from plume.core.errors import PlumeError
from plume.core.files import write_folder, write_json
from plume.model.assembly import EncoderDecoder
from plume.model.bridge import Bridge
from plume.model.checkpoint import TOKENIZER, WEIGHTS, save_weights, state_of
from plume.model.keymap import State
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.recipes import _catalog as catalog
from plume.text.known_languages import Languages
from plume.text.tokenizer import Tokenizer

SECOND = "generator"  # ELECTRA's, in a folder of its own


def config_of(recipe: Recipe, bridge: Bridge, *, vocabulary: int, tokenizer: Tokenizer | None = None) -> dict[str, Any]:
    """config.json."""
    config = {"model_type": bridge.model_type, "architectures": [bridge.architecture(recipe)], "vocab_size": vocabulary, "dtype": "float32"}
    return config | bridge.config.write(recipe) | ({} if tokenizer is None else _token_ids(recipe, tokenizer))


def _token_ids(recipe: Recipe, tokenizer: Tokenizer) -> dict[str, int | None]:
    ids: dict[str, int | None] = {"pad_token_id": tokenizer.pad}
    form = tokenizer.format
    if recipe.assembly.decodes:  # what transformers' generate() starts and ends with; it must not end a text that is cut
        return ids | {
            "bos_token_id": tokenizer.begin,
            "decoder_start_token_id": tokenizer.id(form.start or form.separator),
            "eos_token_id": tokenizer.id(form.end or form.separator),
            "forced_eos_token_id": None,
        }
    if any(objective.noise and objective.noise.order is Order.CAUSAL for objective in recipe.objectives):
        begin = tokenizer.separator if tokenizer.begin is None else tokenizer.begin
        ids |= {"bos_token_id": begin, "eos_token_id": tokenizer.separator}
    return ids


def export(model: Model, tokenizer: Tokenizer, out: Path, *, more: Callable[[Path], object] = lambda folder: None) -> None:
    """The whole directory or nothing. `more` writes into it what other libraries look for."""
    bridge = bridge_for(model.recipe, out)
    whole = catalog.parent(model.recipe)
    if whole is not None and whole.assembly.decodes and not model.recipe.assembly.decodes:
        raise PlumeError(f"This {model.recipe.name} is an encoder alone, imported below a task's head: export the tuned model instead.")

    def fill(folder: Path) -> None:
        _fill(folder, model, tokenizer, bridge)
        more(folder)

    write_folder(out, fill)


def bridge_for(recipe: Recipe, out: Path) -> Bridge:
    """The family's, if this model can be written there."""
    if recipe.name not in catalog.families():
        raise PlumeError(f"{recipe.name} is a recipe of your own: transformers has no class for it, so it cannot be exported to it.")
    bridge = catalog.bridge(recipe)
    if bridge is None:
        raise PlumeError(f"{recipe.name} has no counterpart in transformers, so it cannot be exported to it.")
    _refuse_pruned(recipe)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PlumeError(f"{out} exists already: choose another --out.")
    if out.exists():
        out.rmdir()
    return bridge


def _refuse_pruned(recipe: Recipe) -> None:
    networks = [recipe.transformer]
    if isinstance(recipe.assembly, EncoderDecoder):
        networks.append(recipe.assembly.decoder(recipe.transformer))
    if any(network.pruned or network.pruned_across for network in networks):
        raise PlumeError("This model's heads are pruned, and transformers no longer knows pruned models: export the unpruned one.")
    if any(network.inner for network in networks):
        raise PlumeError(
            "This model's blocks have feed-forward widths of their own, and transformers knows one for all: export it to ONNX, or prune with "
            "--set even=true."
        )


def multiplied(state: State) -> State:
    """Token vectors that are a narrow table and a matrix (nn/factorised.py), written out: transformers has no place for the two."""
    widen = state.get("embedding.token.widen.weight")
    if widen is None:
        return state
    whole = {"embedding.token.weight": state["embedding.token.weight"] @ widen.T}
    return {name: value for name, value in (state | whole).items() if value is not widen}


def _fill(folder: Path, model: Model, tokenizer: Tokenizer, bridge: Bridge) -> None:
    state = {
        name: value
        for name, value in multiplied(state_of(model)).items()
        if not any(name.startswith(f"{module}.") for module in bridge.unmatched)
    }
    second = {name: value for name, value in state.items() if bridge.second is not None and bridge.second.keys.knows(name)}
    body = {name: value for name, value in state.items() if bridge.keys.knows(name)}
    if lost := sorted(set(state) - set(body) - set(second)):
        raise PlumeError(f"{len(lost)} tensors have no place in transformers' {bridge.model_type}, such as {lost[0]}.")
    _write(folder, model.recipe, tokenizer, bridge, body, language_names(bridge, model.languages))
    if bridge.second is not None and set(second) - set(body):
        _write(folder / SECOND, model.recipe, tokenizer, bridge.second, second)


def language_names(bridge: Bridge, languages: Languages | None) -> dict[str, Any]:
    """As config.json says them."""
    if not bridge.languages or languages is None or not languages.have_names:
        return {}
    return {
        "lang2id": {name: number for number, name in enumerate(languages.names)},
        "id2lang": {str(number): name for number, name in enumerate(languages.names)},
    }


def _write(folder: Path, recipe: Recipe, tokenizer: Tokenizer, bridge: Bridge, state: State, more: Mapping[str, Any] = {}) -> None:
    folder.mkdir(exist_ok=True)
    theirs = bridge.keys.revert(state)
    if bridge.architecture(recipe) == list(bridge.architectures)[-1]:  # the bare model
        theirs = {name.removeprefix(bridge.prefix): value for name, value in theirs.items()}
    config = config_of(recipe, bridge, vocabulary=len(state["embedding.token.weight"]), tokenizer=tokenizer)
    write_json(folder / "config.json", {**config, **more})
    save_weights(folder / WEIGHTS, theirs)
    tokenizer.save(folder / TOKENIZER)
    write_json(folder / "tokenizer_config.json", tokenizer_config(recipe, tokenizer, bridge))


def tokenizer_config(recipe: Recipe, tokenizer: Tokenizer, bridge: Bridge) -> dict[str, Any]:
    """tokenizer_config.json: special tokens by role, what the tokenizer returns, and how long a text may be."""
    form = tokenizer.format
    roles = {
        "pad_token": form.pad,
        "unk_token": form.unknown,
        "cls_token": form.begin,
        "bos_token": form.begin or form.separator,
        "sep_token": form.separator,
        "eos_token": form.separator,
        "mask_token": form.mask,
    }
    longest = recipe.positions.longest
    # XLNet's are no embedding, but its <cls> has one of its own in every text.
    typed = bridge.token_types and (recipe.embedding.segments > 1 or any(form.single_segments))
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": longest if longest is not None else int(1e30),
        "model_input_names": ["input_ids", *(["token_type_ids"] if typed else []), "attention_mask"],
        **{role: token for role, token in roles.items() if token is not None},
    }
