"""NEZHA: BERT-wwm for Chinese, but attention knows how far apart two tokens are, by fixed sinusoids, and nothing of absolute positions.

Relative positions carry over to texts longer than those seen in training. They also enter the values, so the attention probabilities must
be written out and no fused kernel applies; at length 128 that costs about a tenth. Use it for Chinese encoders where text length
varies.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.model.recipe import Training
from plume.model.schedule import Linear
from plume.nn.positions.functional import Functional
from plume.recipes._sizes import with_small
from plume.recipes.bert_wwm import BERT_WWM
from plume.text.tokenizers import WordPiece

# The authors train with LAMB in very large batches; plume with AdamW, so the batch is BERT's. The rate rests on the paper alone (§3.1);
# vocabulary and length are those of their config and README. The clip of distances at 64 and the sinusoid of the table's row, j - i + 64,
# are in the code only.
NEZHA = replace(
    BERT_WWM,
    name="nezha",
    title="BERT with functional relative positions inside attention, and whole words hidden (Chinese: by jieba)",
    paper="arXiv:1909.00204",
    tokenizer=WordPiece(vocabulary=21128),
    positions=Functional(clip=64),
    training=Training(length=128, batch=256, peak=1.8e-4, schedule=Linear(warmup=0.01)),
)

SIZES = with_small(
    {
        "base": NEZHA,
        "large": replace(
            NEZHA,
            size="large",
            embedding=replace(NEZHA.embedding, width=1024),
            network=replace(NEZHA.transformer, width=1024, depth=24, heads=16, feed_forward=4096),
        ),
    }
)
