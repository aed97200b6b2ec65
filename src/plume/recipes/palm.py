"""PALM: first the encoder learns to fill masks, then encoder and decoder to go on with a text, copying from it where that is best.

Stage one (half of the run) is masked LM on the encoder; stage two reads the first four fifths of a text and writes the rest, mixing the
vocabulary's distribution with the source's tokens. Use it to answer or go on from a context that must be quoted. The code was never
released: shares and ratios rest on the paper alone.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layout import FullSentences
from plume.heads.token_prediction import TokenPrediction
from plume.model.assembly import EncoderDecoder
from plume.model.recipe import Training
from plume.model.schedule import Linear
from plume.nn.positions.learned import Learned
from plume.objectives.continuation import continuation
from plume.objectives.masked_lm import masked_lm
from plume.recipes._sizes import with_small
from plume.recipes.bart import BART

# The authors published code for fine-tuning only: the two stages, the 80:20 split and the copying rest on the paper. It begins from RoBERTa's
# weights and says nothing of how long each stage takes: here both start from nothing and take half of the run each, so that the learning
# rate is ours too. To start from a RoBERTa-like encoder, leave the first stage out: objectives=(continuation(),) and --init.
PALM = replace(
    BART,
    name="palm",
    title="encoder that fills masks, then a decoder that goes on with the text and copies from it",
    paper="arXiv:2004.07159",
    positions=Learned(longest=512, offset=2),
    network=replace(BART.transformer, depth=12),
    layout=FullSentences(across=False),
    objectives=(
        replace(masked_lm(head=TokenPrediction(epsilon=1e-5)), during=(0.0, 0.5)),
        continuation(during=(0.5, 1.0)),
    ),
    training=Training(length=512, batch=64, peak=1e-4, schedule=Linear(warmup=0.0125)),
)

SIZES = with_small(
    {
        "base": PALM,
        # The authors' README: 24 layers read and 6 write.
        "large": replace(
            PALM,
            size="large",
            embedding=replace(PALM.embedding, width=1024),
            network=replace(PALM.transformer, width=1024, depth=24, heads=16, feed_forward=4096),
            assembly=EncoderDecoder(depth=6),
        ),
    }
)
