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
from plume.heads.token_prediction import TokenPrediction
from plume.model.config_map import Told, constants
from plume.model.keymap import Rename, block_names
from plume.model.optimizers.lamb import LAMB
from plume.model.schedule import Linear
from plume.nn.activation import Activation
from plume.nn.stack import Sharing
from plume.noise.select import NGrams
from plume.objectives.masked_lm import masked_lm
from plume.objectives.sentence_order import sentence_order
from plume.recipes._bert_like import BODY, TokenHead, bert_bridge, body_config, pooled_heads, pretraining
from plume.recipes._sizes import sized, with_small
from plume.recipes.bert import BERT
from plume.text.tokenizers import Unigram

_HEAD = TokenPrediction(activation=Activation.GELU_TANH)
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
    objectives=(masked_lm(select=NGrams(longest=3), head=_HEAD, duplicates=40), sentence_order()),
    training=replace(BERT.training, batch=4096, peak=1.76e-3, schedule=Linear(warmup=0.025), optimizer=LAMB()),
)

SIZES = with_small(
    ALBERT,
    sized(ALBERT, "large", width=1024, depth=24, heads=16),
    sized(ALBERT, "xlarge", width=2048, depth=24, heads=16),
    sized(ALBERT, "xxlarge", width=4096, depth=12, heads=64),
)
PARENT = "bert"

_ONE_BLOCK = block_names(
    "encoder.albert_layer_groups.*.albert_layers.0.",
    attention=("attention.query", "attention.key", "attention.value", "attention.dense"),
    feed_forward=("ffn", "ffn_output"),
    norms=("attention.LayerNorm", "full_layer_layer_norm"),
)
_DROPOUT = Told("classifier_dropout_prob", "objectives.sentence_order.head.dropout", missing=0.1)
HF = bert_bridge(
    "Albert",
    TokenHead("predictions"),
    Rename("heads.sentence_order.output", "sop_classifier.classifier"),
    body=BODY | _ONE_BLOCK | {"stack.project": "encoder.embedding_hidden_mapping_in", "pooler.dense": "pooler"},
    classes=pretraining("sentence_order"),
    config=body_config(ALBERT, *constants(num_hidden_groups=1, inner_group_num=1), _DROPOUT, embedding_size=128, hidden_act="gelu_new"),
    tasks=pooled_heads("Albert", dropout="classifier_dropout_prob"),
)
