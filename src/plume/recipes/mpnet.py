"""MPNet: BERT and XLNet at once: tokens are predicted in a random order, and every prediction knows where all the others stand.

XLNet's predictions see only part of the row; MPNet also shows masks for what is still to come, so every prediction knows how long the row
is and where the gaps are. Its body, without the second stream, is a BERT with T5's position biases, and the base of many sentence encoders.
Use it for embeddings. In pre-training the second stream and the mask copies cost about a third more than BERT; in use nothing.

Differs from the paper:

- Rows of 512 are 445 tokens of text and the copies of those to be predicted; the authors' rows are 512 of text.
- The order is a permutation of single tokens, also inside whole words; the authors permute whole words.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.heads.token_prediction import TokenPrediction
from plume.model.assembly import QueryStart, TwoStreams
from plume.model.config_map import Entry
from plume.nn.positions.t5 import LearnedAndBuckets
from plume.objectives.masked_permuted_lm import masked_permuted_lm
from plume.recipes._bert_like import BODY, TokenHead, bert_bridge, body_config, unpooled_heads
from plume.recipes._sizes import with_small
from plume.recipes.roberta import ROBERTA
from plume.text.tokenizers import WordPiece

# Trained as RoBERTa is (§3.1); the vocabulary is BERT's, with RoBERTa's special tokens.
MPNET = replace(
    ROBERTA,
    name="mpnet",
    title="predicts hidden words in a random order, knowing where the still hidden ones stand",
    paper="arXiv:2004.09297",
    tokenizer=WordPiece(vocabulary=30527),
    format=replace(ROBERTA.format, unknown="[UNK]", order=("<s>", "<pad>", "</s>", "[UNK]", "<mask>")),
    embedding=replace(ROBERTA.embedding, segments=0),
    positions=LearnedAndBuckets(longest=512, offset=2, buckets=32, distance=128),
    assembly=TwoStreams(query=QueryStart.MASK),
    objectives=(masked_permuted_lm(head=TokenPrediction(epsilon=1e-5)),),
)

SIZES = with_small(MPNET)
PARENT = "roberta"

# BERT's names but for the attention and the positions.
_BODY = BODY | {
    f"stack.blocks.*.attention.{name}": f"encoder.layer.*.attention.attn.{name[0]}" for name in ("query", "key", "value", "output")
}
_BODY |= {
    "stack.blocks.*.attention_norm": "encoder.layer.*.attention.LayerNorm",
    "embedding.position.table": "encoder.relative_attention_bias",
    "embedding.position.absolute.table": "embeddings.position_embeddings",
}

HF = bert_bridge(
    "MPNet",
    TokenHead("lm_head", objective="masked_permuted_lm", norm="layer_norm"),
    body=_BODY,
    classes={"ForMaskedLM": ("masked_permuted_lm",)},
    config=body_config(
        MPNET,
        Entry("relative_attention_num_buckets", "positions.buckets"),
        Entry("layer_norm_eps", "objectives.masked_permuted_lm.head.epsilon", written=False),
        segments=False,
    ),
    tasks=unpooled_heads("MPNet", dropout=()),
)
