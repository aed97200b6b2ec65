"""sentence-transformers' folders, in and out: modules.json names a Transformer, a Pooling, perhaps Dense layers and a Normalize.

Read are the configs of 5.2 and older (`pooling_mode_*` booleans, `word_embedding_dimension`) and of 6.2 (`pooling_mode`); written the older
ones, which both read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plume.core.errors import PlumeError
from plume.core.files import read_json, write_json
from plume.core.part import replace
from plume.model.checkpoint import read_weights, save_weights
from plume.model.keymap import State
from plume.model.networks.model import Model
from plume.nn.pooling import FIRST, LAST, MAX, MEAN, WEIGHTED, Pooling, TokenPooling
from plume.text.tokenizer import Tokenizer
from plume.vectors.dense import Dense
from plume.vectors.sentence import SentenceVectors, Similarity
from plume.vectors.transform import Affine, Transform
from plume.vectors.transforms._projection import Projection
from plume.vectors.transforms.normalise import Normalise

MODULES = "modules.json"
_CONFIG, PACKAGE = "sentence_bert_config.json", "config_sentence_transformers.json"
# In the order in which sentence-transformers joins them, with the names of both kinds of config.
_MODES: dict[str, tuple[str, TokenPooling]] = {
    "cls": ("pooling_mode_cls_token", FIRST),
    "max": ("pooling_mode_max_tokens", MAX),
    "mean": ("pooling_mode_mean_tokens", MEAN),
    "mean_sqrt_len_tokens": ("pooling_mode_mean_sqrt_len_tokens", MEAN),  # refused
    "weightedmean": ("pooling_mode_weightedmean_tokens", WEIGHTED),
    "lasttoken": ("pooling_mode_lasttoken", LAST),
}
_NO_LIMIT = 1_000_000  # tokens
_ACTIVATIONS = {"torch.nn.modules.linear.Identity": False, "torch.nn.modules.activation.Tanh": True}


def is_sentence_folder(folder: Path) -> bool:
    """Was it written by sentence-transformers?"""
    return (folder / MODULES).exists()


def modules_of(folder: Path) -> list[tuple[str, Path]]:
    """The kind of each module, and where it is."""
    listed = read_json(folder / MODULES, "it should list the modules of sentence-transformers")
    return [(str(one["type"]).rpartition(".")[2], folder / one["path"]) for one in sorted(listed, key=lambda one: one["idx"])]


def is_static_folder(folder: Path) -> bool:
    """Does it hold a table of tokens' vectors, and no network?"""
    return is_sentence_folder(folder) and modules_of(folder)[0][0] == "StaticEmbedding"


def transformer_folder(folder: Path) -> Path:
    """Where config.json and the weights are: the folder itself, or in old ones 0_Transformer."""
    return next((path for kind, path in modules_of(folder) if kind == "Transformer"), folder) if is_sentence_folder(folder) else folder


def read_sentence(folder: Path, tokenizer: Tokenizer) -> SentenceVectors | None:
    """How the model of such a folder makes vectors; None where sentence-transformers has no part in it."""
    if not is_sentence_folder(folder):
        return None
    (first, body), *rest = modules_of(folder)
    if first != "Transformer" or not rest or rest[0][0] != "Pooling":
        raise PlumeError(
            f"{folder / MODULES}: plume reads a Transformer with Pooling behind it, not {', '.join([first, *(k for k, _ in rest)])}."
        )
    return replace(finishing(folder, rest[1:]), pooling=_pooling(rest[0][1]), longest=_longest(body, tokenizer))


def finishing(folder: Path, modules: Sequence[tuple[str, Path]]) -> SentenceVectors:
    """What these modules do to pooled vectors, the prompt and the similarity."""
    package = _optional(folder / PACKAGE)
    prompts = package.get("prompts") or {}
    return SentenceVectors(
        transforms=tuple(one for kind, path in modules for one in [_transform(kind, path)] if one is not None),
        prompt=prompts.get(package.get("default_prompt_name"), ""),
        similarity=Similarity(package.get("similarity_fn_name") or "cosine"),
    )


def _optional(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(path, "sentence-transformers wrote it") if path.exists() else {}
    return found


def _longest(body: Path, tokenizer: Tokenizer) -> int | None:
    config = _optional(body / _CONFIG)
    if config.get("do_lower_case") and tokenizer.encode(["A"]) != tokenizer.encode(["a"]):
        raise PlumeError(f"{body / _CONFIG}: do_lower_case with a tokenizer that keeps case; plume reads texts as they are.")
    # 6.2 leaves it to the tokenizer, whose files say 1e30 for no limit.
    found = config.get("max_seq_length") or _optional(body / "tokenizer_config.json").get("model_max_length")
    return None if found is None or found > _NO_LIMIT else int(found)


def _pooling(folder: Path) -> Pooling:
    path = folder / "config.json"
    config = read_json(path, "it should say how sentence-transformers pools")
    said = config.get("pooling_mode") or [mode for mode, (old, _) in _MODES.items() if config.get(old)] or ["mean"]
    modes = [said] if isinstance(said, str) else list(said)
    unknown = [mode for mode in modes if mode not in _MODES or mode == "mean_sqrt_len_tokens"]
    if unknown:
        raise PlumeError(f"{path}: plume has no pooling '{unknown[0]}'.")
    if config.get("include_prompt") is False:
        raise PlumeError(f"{path}: include_prompt is false; plume pools over the prompt too.")
    return Pooling(tokens=tuple(_MODES[mode][1] for mode in modes))


def _transform(kind: str, folder: Path) -> Transform | None:
    if kind == "Normalize":
        return Normalise()
    if kind == "Dropout":
        return None
    if kind != "Dense":
        raise PlumeError(f"{folder}: plume cannot read sentence-transformers' module {kind}.")
    config = read_json(folder / "config.json", "it should describe a Dense layer")
    if (activation := config.get("activation_function", "torch.nn.modules.activation.Tanh")) not in _ACTIVATIONS:
        raise PlumeError(f"{folder / 'config.json'}: plume has no {activation} here: Identity and Tanh are known.")
    state = module_weights(folder)
    weight = state["linear.weight"].float().numpy().T.copy()
    bias = state["linear.bias"].float().numpy() if "linear.bias" in state else np.zeros(weight.shape[1], np.float32)
    return Dense(tanh=_ACTIVATIONS[activation]).with_arrays({"weight": weight, "bias": bias.copy()})


def module_weights(folder: Path) -> State:
    """Of one module."""
    if (folder / "model.safetensors").exists():
        return read_weights(folder / "model.safetensors")
    found: State = torch.load(folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
    return found


# Out


def write_modules(folder: Path, model: Model, sentence: SentenceVectors) -> None:
    """What makes a Hugging Face directory one of sentence-transformers'."""
    pooling = _writable(model, sentence)
    modules: list[tuple[str, str]] = [("Transformer", ""), ("Pooling", "1_Pooling")]
    tokens = {one: mode for mode, (_, one) in _MODES.items() if mode != "mean_sqrt_len_tokens"}
    chosen = {_MODES[tokens[one]][0] for one in pooling.tokens}
    write_json(
        folder / "1_Pooling" / "config.json",
        {"word_embedding_dimension": model.width} | {old: old in chosen for old, _ in _MODES.values()} | {"include_prompt": True},
    )
    modules += write_layers(folder, sentence, model.width * len(pooling.tokens), first=len(modules))
    listed = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (kind, path) in enumerate(modules)
    ]
    write_json(folder / MODULES, listed)
    longest = [limit for limit in (sentence.longest, model.longest) if limit is not None]
    write_json(folder / _CONFIG, {"max_seq_length": min(longest, default=None), "do_lower_case": False})
    prompts = {"default": sentence.prompt} if sentence.prompt else {}
    write_json(
        folder / PACKAGE,
        {"prompts": prompts, "default_prompt_name": "default" if prompts else None, "similarity_fn_name": sentence.similarity.value},
    )


def write_layers(folder: Path, sentence: SentenceVectors, width: int, *, first: int) -> list[tuple[str, str]]:
    """Dense layers and normalisations for the transforms, each in a folder numbered from `first`; returns their kinds and folders."""
    found: list[tuple[str, str]] = []
    for number, made in enumerate(layers_of(sentence.transforms, width), first):
        kind = "Normalize" if made is None else "Dense"
        found.append((kind, f"{number}_{kind}"))
        (folder / found[-1][1]).mkdir()
        if made is not None:
            _write_dense(folder / found[-1][1], *made)
    return found


def _writable(model: Model, sentence: SentenceVectors) -> Pooling:
    """As sentence-transformers can do it, or an error that says why it cannot."""
    if sentence.questions:
        raise PlumeError(
            f"A folder of sentence-transformers holds one encoder, and this model has another for questions, in {sentence.questions}/: export that "
            "directory by itself, and this one with --to hf."
        )
    pooling = sentence.pooling if isinstance(sentence.pooling, Pooling) else Pooling(tokens=(model.pooling,))
    if model.recipe.assembly.decodes:
        raise PlumeError(f"{model.recipe.name} has a decoder, which sentence-transformers would read through: it cannot be exported to it.")
    if not pooling.last_only:
        raise PlumeError("sentence-transformers pools the last layer alone: a list of layers cannot be exported to it.")
    order = [one for _, one in _MODES.values()]
    if [order.index(one) for one in pooling.tokens] != sorted(order.index(one) for one in pooling.tokens):
        raise PlumeError("sentence-transformers joins first, max, mean, weighted and last in this order: pool so to export it.")
    return pooling


def layers_of(transforms: Sequence[Transform], width: int) -> list[tuple[Affine, bool] | None]:
    """Dense layers (with a tanh or not) and normalisations (None) that do what the transforms do; neighbours that are linear become one.

    But centring stays a layer of its own: folded into the bias behind a whitening matrix, float32 would lose what is left of x − mean.
    """
    found: list[tuple[Affine, bool] | None] = []
    for one in transforms:
        if isinstance(one, Normalise):
            found.append(None)
        else:
            for affine, tanh in _steps(one, width):
                before = found[-1] if found else None
                if before is not None and not before[1] and (not _shifts(before[0]) or _shifts(affine)):
                    affine = Affine(weight=before[0].weight @ affine.weight, bias=before[0].bias @ affine.weight + affine.bias)
                    found.pop()
                found.append((affine, tanh))
        width = one.width(width)
    return found


def _steps(transform: Transform, width: int) -> list[tuple[Affine, bool]]:
    """Its products, and whether a tanh follows."""
    if isinstance(transform, Projection):
        mean, matrix = transform.arrays["mean"], transform.arrays["matrix"]
        return [(Affine(weight=np.eye(width), bias=-mean), False), (Affine(weight=matrix, bias=np.zeros(matrix.shape[1])), False)]
    if isinstance(transform, Dense) and transform.tanh:
        return [(Affine(weight=transform.arrays["weight"], bias=transform.arrays["bias"]), True)]
    affine = transform.linear(width)
    if affine is None:
        raise PlumeError(f"{type(transform).__name__} is not linear: sentence-transformers has no module for it, so it cannot be exported.")
    return [(affine, False)]


def _shifts(affine: Affine) -> bool:
    """Does it only add something?"""
    square = affine.weight.shape[0] == affine.weight.shape[1]
    return square and bool((affine.weight == np.eye(len(affine.weight))).all())


def _write_dense(folder: Path, affine: Affine, tanh: bool) -> None:
    before, after = affine.weight.shape
    activation = next(name for name, is_tanh in _ACTIVATIONS.items() if is_tanh is tanh)
    config = {"in_features": before, "out_features": after, "bias": True, "activation_function": activation}
    write_json(folder / "config.json", config)
    weight, bias = (torch.from_numpy(np.ascontiguousarray(one, np.float32)) for one in (affine.weight.T, affine.bias))
    save_weights(folder / "model.safetensors", {"linear.weight": weight, "linear.bias": bias})
