"""NEZHA: BERT-wwm for Chinese, but attention knows how far apart two tokens are, by fixed sinusoids, and nothing of absolute positions.

Relative positions carry over to texts longer than those seen in training. They also enter the values, so the attention probabilities must
be written out and no fused kernel applies; at length 128 that costs about a tenth. Use it for Chinese encoders where text length
varies. The published sizes are trained by LAMB; masks are static, in five versions (dupe_factor in the authors' README).

Differs from the paper:

- the small sizes are trained by AdamW, in small batches.
- the authors' LAMB corrects the moments, holds the ratio of norms below 10 and applies it to biases and norms too; this one is ALBERT's.
- their 1,800 steps of warm-up are of a run whose length is not said; here they are 1% of it.
- the variant that also predicts spans from their ends is left out.
- what differs for BERT (chunks that aim short).
"""

from __future__ import annotations

from plume.core.part import replace
from plume.model.optimizers.lamb import LAMB
from plume.model.recipe import Training
from plume.model.schedule import Linear
from plume.nn.positions.functional import Functional
from plume.recipes._sizes import sized, with_small
from plume.recipes.bert_wwm import BERT_WWM
from plume.text.tokenizers import WordPiece

# Batch and rate are the paper's (§3.1), vocabulary and length those of the authors' config and README. The clip of distances at 64 and the
# sinusoid of the table's row, j - i + 64, are in the code only.
NEZHA = replace(
    BERT_WWM,
    name="nezha",
    title="BERT with functional relative positions inside attention, and whole words hidden (Chinese: by jieba)",
    paper="arXiv:1909.00204",
    tokenizer=WordPiece(vocabulary=21128),
    positions=Functional(clip=64),
    training=Training(length=128, batch=14400, peak=1.8e-4, schedule=Linear(warmup=0.01), optimizer=LAMB()),
)

_LARGE = replace(NEZHA.training, batch=5120, peak=1e-4)
SIZES = with_small(NEZHA, sized(NEZHA, "large", width=1024, depth=24, heads=16, training=_LARGE))
PARENT = "bert-wwm"
