"""What the bridges of encoder–decoders with BART's shape share: names of parameters and keys of config.json."""

from __future__ import annotations

from typing import Any

from plume.model.config_map import ConfigMap, Constant, Entry, activation, entries
from plume.model.keymap import KeyMap, Rename, prefixed
from plume.model.recipe import Recipe

FIXED_POSITIONS = ("model.encoder.embed_positions", "model.decoder.embed_positions")


def _attention(ours: str, theirs: str) -> tuple[tuple[str, str], ...]:
    names = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    return tuple((f"{ours}.{name}", f"{theirs}.{other}") for name, other in names.items())


def _blocks(ours: str, theirs: str) -> tuple[tuple[str, str], ...]:
    return (
        *_attention(f"{ours}.blocks.*.attention", f"{theirs}.layers.*.self_attn"),
        (f"{ours}.blocks.*.attention_norm", f"{theirs}.layers.*.self_attn_layer_norm"),
        *_attention(f"{ours}.blocks.*.across", f"{theirs}.layers.*.encoder_attn"),
        (f"{ours}.blocks.*.across_norm", f"{theirs}.layers.*.encoder_attn_layer_norm"),
        (f"{ours}.blocks.*.feed_forward.inner", f"{theirs}.layers.*.fc1"),
        (f"{ours}.blocks.*.feed_forward.output", f"{theirs}.layers.*.fc2"),
        (f"{ours}.blocks.*.feed_forward_norm", f"{theirs}.layers.*.final_layer_norm"),
        (f"{ours}.final_norm", f"{theirs}.layer_norm"),
    )


# Marian's, BART's and PEGASUS' names below the prefix.
_BODY = (
    ("embedding.token", "shared"),
    ("embedding.norm", "encoder.layernorm_embedding"),
    ("decoder_embedding.norm", "decoder.layernorm_embedding"),
    *_blocks("stack", "encoder"),
    *_blocks("decoder", "decoder"),
)
_COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")


def body_keys(*further: Rename, ignored: tuple[str, ...] = ()) -> KeyMap:
    """Both stacks with the token vectors that they and the output share."""
    return KeyMap(
        rules=(*prefixed(_BODY, "model."), *further),
        copies=tuple((copy, "model.shared.weight") for copy in _COPIES),
        ignored=ignored,
        zero=("final_logits_bias",),
    )


_SHARED = "encoder, decoder and output share their token vectors here"
_CONFIG = (
    *entries(d_model=("network.width", "embedding.width")),
    activation("activation_function"),
    *entries(
        dropout=("network.dropout", "embedding.dropout"),
        attention_dropout="network.attention_dropout",
    ),
    Constant("activation_dropout", 0.0),
    *entries(init_std="network.initial_range", scale_embedding="embedding.scaled"),
    # Sines have no end.
    Entry(
        "max_position_embeddings",
        "positions.longest",
        read=lambda rows, look: None if look("positions.longest") is None else rows,
        write=lambda longest, look: longest or 1024,
    ),
    Constant("is_encoder_decoder", True),
    Constant("tie_word_embeddings", True, otherwise=_SHARED),
    # Both sides have one shape, but may differ in depth.
    Entry("encoder_layers", "network.depth"),
    Entry(("encoder_attention_heads", "decoder_attention_heads"), "network.heads"),
    Entry(("encoder_ffn_dim", "decoder_ffn_dim"), "network.feed_forward"),
    Entry(
        "decoder_layers",
        "assembly.depth",
        read=lambda depth, look: None if depth == look("network.depth") else depth,
        write=lambda depth, look: depth or look("network.depth"),
    ),
)
# What transformers takes for keys that a file leaves out.
_DEFAULTS: dict[str, Any] = {
    "d_model": 1024,
    "activation_function": "gelu",
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "init_std": 0.02,
    "scale_embedding": False,
    "max_position_embeddings": 1024,
    "encoder_layers": 12,
    "decoder_layers": 12,
    "encoder_attention_heads": 16,
    "decoder_attention_heads": 16,
    "encoder_ffn_dim": 4096,
    "decoder_ffn_dim": 4096,
}


def body_config(base: Recipe, *, names_sharing: bool = False) -> ConfigMap:
    """config.json of an encoder and a decoder of this shape; Marian's says that they share token vectors, the others' need not."""
    sharing = Constant("share_encoder_decoder_embeddings", True, otherwise=_SHARED, written=names_sharing)
    return ConfigMap(base=base, entries=(*_CONFIG, sharing), defaults=_DEFAULTS)
