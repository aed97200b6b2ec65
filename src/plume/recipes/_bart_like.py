"""What the bridges of encoder–decoders with BART's shape share: names of parameters and keys of config.json."""

from __future__ import annotations

from typing import Any

from plume.model.config_map import ConfigMap, ConfigRule, Entry, FixedValue, activation, entries
from plume.model.keymap import KeyMap, Rename, block_names, prefixed
from plume.model.recipe import Recipe

FIXED_POSITIONS = ("model.encoder.embed_positions", "model.decoder.embed_positions")


_ATTENTION = ("q_proj", "k_proj", "v_proj", "out_proj")


def _blocks(ours: str, theirs: str) -> dict[str, str]:
    across = zip(("query", "key", "value", "output"), _ATTENTION, strict=True)
    return {
        **block_names(
            f"{theirs}.layers.*.",
            attention=[f"self_attn.{name}" for name in _ATTENTION],
            feed_forward=("fc1", "fc2"),
            norms=("self_attn_layer_norm", "final_layer_norm"),
            ours=f"{ours}.blocks.*",
        ),
        **{f"{ours}.blocks.*.across.{name}": f"{theirs}.layers.*.encoder_attn.{other}" for name, other in across},
        f"{ours}.blocks.*.across_norm": f"{theirs}.layers.*.encoder_attn_layer_norm",
        f"{ours}.final_norm": f"{theirs}.layer_norm",
    }


# Marian's, BART's and PEGASUS' names below the prefix.
_BODY = {
    "embedding.token": "shared",
    "embedding.norm": "encoder.layernorm_embedding",
    "decoder_embedding.norm": "decoder.layernorm_embedding",
    **_blocks("stack", "encoder"),
    **_blocks("decoder", "decoder"),
}
_COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")


def body_keys(*further: Rename, ignored: tuple[str, ...] = ()) -> KeyMap:
    """Both stacks with the token vectors that they and the output share."""
    return KeyMap(
        rules=(*prefixed(_BODY.items(), "model."), *further),
        copies=tuple((copy, "model.shared.weight") for copy in _COPIES),
        ignored=ignored,
        zero=("final_logits_bias",),
    )


def decoder_depth(theirs: str) -> Entry:
    """The key of a depth that is told of the decoder too; here only where it is another than the encoder's."""
    return Entry(
        theirs,
        "assembly.depth",
        read=lambda depth, look: None if depth == look("network.depth") else depth,
        write=lambda depth, look: depth or look("network.depth"),
    )


_SHARED = "encoder, decoder and output do not share their token vectors, and here they do"
_CONFIG: tuple[ConfigRule, ...] = (
    *entries(d_model=("network.width", "embedding.width")),
    activation("activation_function"),
    *entries(
        dropout=("network.dropout", "embedding.dropout"),
        attention_dropout="network.attention_dropout",
    ),
    FixedValue("activation_dropout", 0.0),
    *entries(init_std="network.initial_range", scale_embedding="embedding.scaled"),
    # Sines have no end.
    Entry(
        "max_position_embeddings",
        "positions.longest",
        read=lambda rows, look: None if look("positions.longest") is None else rows,
        write=lambda longest, look: longest or 1024,
    ),
    FixedValue("is_encoder_decoder", True),
    FixedValue("tie_word_embeddings", True, otherwise=_SHARED),
    # Both sides have one shape, but may differ in depth.
    Entry("encoder_layers", "network.depth"),
    Entry(("encoder_attention_heads", "decoder_attention_heads"), "network.heads"),
    Entry(("encoder_ffn_dim", "decoder_ffn_dim"), "network.feed_forward"),
    decoder_depth("decoder_layers"),
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
    sharing = FixedValue("share_encoder_decoder_embeddings", True, otherwise=_SHARED, written=names_sharing)
    return ConfigMap(base=base, entries=(*_CONFIG, sharing), defaults=_DEFAULTS)
