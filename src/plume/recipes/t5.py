"""T5: every task from text to text; pre-trained to write the spans that were taken out of the input.

The target holds only what was taken out, so the decoder writes a fifth of what BART's does. Sentinels mark the gaps, relative buckets the
positions. Use it when every task should be text in, text out, or to fill several gaps of unknown length at once. Published 1.1 sizes have a
gated feed-forward network and an output matrix of their own. The published sizes are trained by Adafactor.

Differs from the paper:

- the small sizes are trained by AdamW with a warm-up, and have output weights of their own, as 1.1 has.
- supervised tasks are not mixed in; they may join as objectives of their own, with a weight each.
- the token vectors' first weights are the authors', all others start alike.
- sentinels take the first ids; in the published vocabulary they are the last ones, descending. They are known by name.
- a separator, which is never hidden, stands between documents; the authors' rows run on without one.
"""

from __future__ import annotations

from typing import Any

from plume.core.part import replace
from plume.data.layouts.layout import Blocks
from plume.heads.token_prediction import TokenPrediction
from plume.model.bridge import Bridge
from plume.model.config_map import ConfigMap, ConfigRule, Entry, FixedValue, Word, entries
from plume.model.keymap import KeyMap, Rename
from plume.model.optimizers.adafactor import Adafactor
from plume.model.recipe import Training
from plume.model.schedule import HeldInverseSquareRoot
from plume.model.task_head import own_layer, span_head, text_head, token_head
from plume.nn.activation import Activation
from plume.nn.block import Norm, NormKind
from plume.nn.embedding import Embedding
from plume.nn.positions.t5 import Buckets
from plume.nn.stack import Transformer
from plume.objectives.span_corruption import span_corruption
from plume.recipes._bart_like import decoder_depth
from plume.recipes._sizes import sized, with_small
from plume.recipes.transformer import TRANSFORMER
from plume.text.tokenizers import Unigram

T5 = replace(
    TRANSFORMER,
    name="t5",
    title="text to text: writes the spans that sentinels stand for; fills, generates",
    paper="arXiv:1910.10683",
    tokenizer=Unigram(vocabulary=32128),
    format=replace(TRANSFORMER.format, segments=(), start="<pad>", sentinels=100, order=("<pad>", "</s>", "<unk>")),
    embedding=Embedding(width=768, norm=False, initial_range=1.0),
    positions=Buckets(),
    network=Transformer(
        depth=12,
        activation=Activation.RELU,
        norm=Norm.PRE,
        norm_kind=NormKind.RMS,
        epsilon=1e-6,
        bias=False,
        attention_bias=False,
        scaled=False,
    ),
    layout=Blocks(overlap=0),
    objectives=(span_corruption(),),
    # §3.1.2: 1/√max(n, 10,000), over 524,288 steps
    training=Training(
        length=512, batch=128, peak=0.01, schedule=HeldInverseSquareRoot(hold=0.0191), optimizer=Adafactor(), decay=0.0, clip=0.0
    ),
)
UNTIED = TokenPrediction(transform=False, bias=False, tied=False)
_OWN_OUTPUT = (span_corruption(head=UNTIED),)

# Version 1.1 (the authors' released_checkpoints.md): gated GELU, output weights of its own, no dropout in pre-training.
_NEWER: dict[str, Any] = {
    "gated": True,
    "activation": Activation.GELU_TANH,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "objectives": _OWN_OUTPUT,
}

# Why the small sizes have output weights of their own: tied ones start at 1, so that the model first says every token again that it has
# just read, and are slow to leave that: after 90 s on 4 MB of text, tied 5.96, untied 5.79, with 5.95 for knowing frequencies alone.
SIZES = with_small(
    T5,
    sized(T5, "small-paper", width=512, depth=6, heads=8),
    sized(T5, "large", width=1024, depth=24, heads=16),
    sized(T5, "3b", width=1024, depth=24, heads=32, feed_forward=16384, key_width=128),
    sized(T5, "11b", width=1024, depth=24, heads=128, feed_forward=65536, key_width=128),
    sized(T5, "v1.1-small", width=512, depth=8, heads=6, feed_forward=1024, key_width=64, **_NEWER),
    sized(T5, "v1.1-base", width=768, depth=12, heads=12, feed_forward=2048, **_NEWER),
    sized(T5, "v1.1-large", width=1024, depth=24, heads=16, feed_forward=2816, **_NEWER),
    sized(T5, "v1.1-xl", width=2048, depth=24, heads=32, feed_forward=5120, **_NEWER),
    sized(T5, "v1.1-xxl", width=4096, depth=24, heads=64, feed_forward=10240, **_NEWER),
    small=lambda recipe: replace(recipe, objectives=_OWN_OUTPUT),
)
PARENT = "transformer"


def _attention(ours: str, theirs: str) -> tuple[Rename, ...]:
    return tuple(Rename(f"{ours}.{name}", f"{theirs}.{name[0]}") for name in ("query", "key", "value", "output"))


def _side(stack: str, embedding: str, theirs: str, *, last: int) -> tuple[Rename, ...]:
    block, layer = f"{stack}.blocks.*", f"{theirs}.block.*.layer"
    inner, gate = f"{block}.feed_forward.inner", f"{block}.feed_forward.gate"
    dense = f"{layer}.{last}.DenseReluDense"
    return (
        *_attention(f"{block}.attention", f"{layer}.0.SelfAttention"),
        Rename(f"{block}.attention_norm", f"{layer}.0.layer_norm"),
        Rename(inner, f"{dense}.wi_1", beside=gate),
        Rename(gate, f"{dense}.wi_0"),
        Rename(inner, f"{dense}.wi"),
        Rename(f"{block}.feed_forward.output", f"{dense}.wo"),
        Rename(f"{block}.feed_forward_norm", f"{layer}.{last}.layer_norm"),
        Rename(f"{stack}.final_norm", f"{theirs}.final_layer_norm"),
        # One table for all blocks, which stands in the first.
        Rename(f"{embedding}.position.table", f"{theirs}.block.0.layer.0.SelfAttention.relative_attention_bias"),
    )


_CONFIG: tuple[ConfigRule, ...] = (
    *entries(
        d_model=("network.width", "embedding.width"), d_ff="network.feed_forward", num_layers="network.depth", num_heads="network.heads"
    ),
    Entry(
        "d_kv",
        "network.key_width",
        read=lambda width, look: None if look("network.heads") * width == look("network.width") else width,
        write=lambda width, look: look("network.head_width"),
    ),
    decoder_depth("num_decoder_layers"),
    *entries(
        relative_attention_num_buckets="positions.buckets",
        relative_attention_max_distance="positions.distance",
        dropout_rate=("network.dropout", "network.attention_dropout", "embedding.dropout"),
        layer_norm_epsilon="network.epsilon",
    ),
    Word(
        "feed_forward_proj",
        ("network.activation", "network.gated"),
        {"relu": (Activation.RELU, False), "gated-gelu": (Activation.GELU_TANH, True)},
    ),
    Entry(
        "tie_word_embeddings",
        "objectives",
        read=lambda tied, look: look("objectives") if tied else _OWN_OUTPUT,
        write=lambda objectives, look: all(isinstance(one.head, TokenPrediction) and one.head.tied for one in objectives),
    ),
    # transformers 5 saves this name, and the one above as true whatever the weights are.
    Entry(
        "scale_decoder_outputs",
        "objectives",
        read=lambda scaled, look: look("objectives") if scaled else _OWN_OUTPUT,
        written=False,
    ),
    FixedValue("is_encoder_decoder", True),
)

HF = Bridge(
    model_type="t5",
    architectures={"T5ForConditionalGeneration": ("span_corruption",), "T5Model": ()},
    prefix="",
    keys=KeyMap(
        rules=(
            Rename("embedding.token", "shared"),
            *_side("stack", "embedding", "encoder", last=1),
            *_side("decoder", "decoder_embedding", "decoder", last=2),
            *_attention("decoder.blocks.*.across", "decoder.block.*.layer.1.EncDecAttention"),
            Rename("decoder.blocks.*.across_norm", "decoder.block.*.layer.1.layer_norm"),
            Rename("heads.span_corruption.token", "lm_head"),
        ),
        copies=tuple((f"{copy}.weight", "shared.weight") for copy in ("encoder.embed_tokens", "decoder.embed_tokens", "lm_head")),
        # The first checkpoints carry a table that no code reads.
        ignored=("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias",),
    ),
    config=ConfigMap(base=T5, entries=_CONFIG, defaults={"d_model": 512, "d_ff": 2048, "num_layers": 6, "num_heads": 8, "d_kv": 64}),
    # Texts and answers are read from the decoder, which reads the text once more; tokens from the encoder, alone.
    tasks=(
        text_head("T5ForSequenceClassification", prefix="transformer.", **own_layer("classification_head")),
        token_head("T5ForTokenClassification", prefix="transformer.", encoder_alone=True),
        span_head("T5ForQuestionAnswering"),
    ),
)
