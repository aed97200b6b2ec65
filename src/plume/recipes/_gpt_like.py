"""What the bridges of GPT, GPT-2 and CTRL share: names of parameters and keys of config.json."""

from __future__ import annotations

from typing import Any

from plume.model.config_map import ConfigMap, ConfigRule, entries
from plume.model.keymap import Fused, Rename
from plume.model.recipe import Recipe


def decoder_keys(*, token: str, position: str) -> tuple[Rename | Fused, ...]:
    """GPT's and GPT-2's names: matrices input-first, query, key and value side by side."""
    block, theirs = "stack.blocks.*", "transformer.h.*"
    return (
        Rename("embedding.token", f"transformer.{token}"),
        Rename("embedding.position.table", f"transformer.{position}"),
        Fused(tuple(f"{block}.attention.{part}" for part in ("query", "key", "value")), f"{theirs}.attn.c_attn"),
        Rename(f"{block}.attention.output", f"{theirs}.attn.c_proj", transposed=True),
        Rename(f"{block}.feed_forward.inner", f"{theirs}.mlp.c_fc", transposed=True),
        Rename(f"{block}.feed_forward.output", f"{theirs}.mlp.c_proj", transposed=True),
        Rename(f"{block}.attention_norm", f"{theirs}.ln_1"),
        Rename(f"{block}.feed_forward_norm", f"{theirs}.ln_2"),
    )


def decoder_config(base: Recipe, *more: ConfigRule, **defaults: Any) -> ConfigMap:
    """config.json of a decoder, with what a family has beyond."""
    shared = entries(
        n_embd=("network.width", "embedding.width"),
        n_layer="network.depth",
        n_head="network.heads",
        n_positions="positions.longest",
        resid_pdrop="network.dropout",
        embd_pdrop="embedding.dropout",
        layer_norm_epsilon="network.epsilon",
        initializer_range="network.initial_range",
    )
    return ConfigMap(base=base, entries=(*shared, *more), defaults=defaults)
