"""ALBERT: BERT with one block's parameters for all, narrow embeddings, n-gram masks, and sentences that may be swapped.

Sharing makes the model on disk up to eighteen times smaller, not faster: every block still runs. Swapped sentences are harder to tell than
random ones, since the topic does not give them away. Use it when parameters must be few; for speed take a smaller BERT. Masks are static,
in forty versions (dupe_factor of the authors' create_pretraining_data.py). The published sizes are those of version 2, without dropout, trained
by LAMB.

Differs from the paper:

- the small sizes are trained by AdamW, at rates of their own.
- words are the tokenizer's; in the authors' code a piece with other than English letters is a word of its own.
- one chunk in ten aims at a shorter row; in the authors' code it is one document in ten, with all its chunks.
- the rate falls from the end of the warm-up on; in the authors' code from the first step.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.layout import PairLabel, SentencePairs
from plume.heads.sentence_classification import SentenceClassification
from plume.heads.token_prediction import TokenPrediction
from plume.model.bridge import Bridge, Config
from plume.model.keymap import KeyMap, Rename
from plume.model.optimizers.lamb import LAMB
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.nn.activation import Activation
from plume.nn.stack import Sharing
from plume.noise.select import NGrams
from plume.objectives.masked_lm import masked_lm
from plume.objectives.sentence_order import sentence_order
from plume.recipes._sizes import with_small
from plume.recipes.bert import BERT, body_config, body_from_config, pooled_heads
from plume.text.tokenizers import Unigram

ALBERT = replace(
    BERT,
    name="albert",
    title="BERT with one block for all layers and sentence order instead of next sentence",
    paper="arXiv:1909.11942",
    tokenizer=Unigram(vocabulary=30000),
    format=replace(BERT.format, pad="<pad>", unknown="<unk>"),
    embedding=replace(BERT.embedding, width=128, dropout=0.0),
    network=replace(BERT.transformer, activation=Activation.GELU_TANH, dropout=0.0, attention_dropout=0.0),
    sharing=Sharing.ALL,
    layout=SentencePairs(label=PairLabel.SWAPPED),
    objectives=(
        masked_lm(select=NGrams(longest=3), head=TokenPrediction(activation=Activation.GELU_TANH), duplicates=40),
        sentence_order(),
    ),
    training=Training(length=512, batch=4096, peak=1.76e-3, schedule=Linear(warmup=0.025), optimizer=LAMB()),
)


def _sized(size: str, *, width: int, depth: int, heads: int) -> Recipe:
    return replace(ALBERT, size=size, network=replace(ALBERT.transformer, width=width, depth=depth, heads=heads, feed_forward=4 * width))


SIZES = with_small(
    {
        "base": ALBERT,
        "large": _sized("large", width=1024, depth=24, heads=16),
        "xlarge": _sized("xlarge", width=2048, depth=24, heads=16),
        "xxlarge": _sized("xxlarge", width=4096, depth=12, heads=64),
    }
)

_BLOCK = "albert.encoder.albert_layer_groups.*.albert_layers.0"


def _to_config(recipe: Recipe) -> Config:
    return body_config(recipe) | {
        "embedding_size": recipe.embedding.width,
        "max_position_embeddings": recipe.positions.longest,
        "num_hidden_groups": 1,
        "inner_group_num": 1,
        "classifier_dropout_prob": max(
            (o.head.dropout for o in recipe.objectives if isinstance(o.head, SentenceClassification)), default=0.1
        ),
    }


def _from_config(config: Config) -> Recipe:
    return body_from_config(ALBERT, {"embedding_size": 128, "hidden_act": "gelu_new"} | config)


HF = Bridge(
    model_type="albert",
    architectures={"AlbertForPreTraining": ("masked_lm", "sentence_order"), "AlbertForMaskedLM": ("masked_lm",), "AlbertModel": ()},
    prefix="albert.",
    keys=KeyMap(
        rules=(
            Rename("embedding.token", "albert.embeddings.word_embeddings"),
            Rename("embedding.position.table", "albert.embeddings.position_embeddings"),
            Rename("embedding.segment", "albert.embeddings.token_type_embeddings"),
            Rename("embedding.norm", "albert.embeddings.LayerNorm"),
            Rename("stack.project", "albert.encoder.embedding_hidden_mapping_in"),
            Rename("stack.blocks.*.attention.query", f"{_BLOCK}.attention.query"),
            Rename("stack.blocks.*.attention.key", f"{_BLOCK}.attention.key"),
            Rename("stack.blocks.*.attention.value", f"{_BLOCK}.attention.value"),
            Rename("stack.blocks.*.attention.output", f"{_BLOCK}.attention.dense"),
            Rename("stack.blocks.*.attention_norm", f"{_BLOCK}.attention.LayerNorm"),
            Rename("stack.blocks.*.feed_forward.inner", f"{_BLOCK}.ffn"),
            Rename("stack.blocks.*.feed_forward.output", f"{_BLOCK}.ffn_output"),
            Rename("stack.blocks.*.feed_forward_norm", f"{_BLOCK}.full_layer_layer_norm"),
            Rename("pooler.dense", "albert.pooler"),
            Rename("heads.masked_lm.dense", "predictions.dense"),
            Rename("heads.masked_lm.norm", "predictions.LayerNorm"),
            Rename("heads.masked_lm", "predictions"),
            Rename("heads.sentence_order.output", "sop_classifier.classifier"),
        ),
        copies=(
            ("predictions.decoder.weight", "albert.embeddings.word_embeddings.weight"),
            ("predictions.decoder.bias", "predictions.bias"),
        ),
        ignored=("albert.embeddings.position_ids",),
    ),
    to_config=_to_config,
    from_config=_from_config,
    tasks=pooled_heads("Albert", dropout="classifier_dropout_prob"),
)
