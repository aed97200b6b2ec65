"""PALM: first the encoder learns to fill masks, then encoder and decoder to go on with a text, copying from it where that is best.

Stage one (half of the run) is masked LM on the encoder; stage two reads the first four fifths of a text and writes the rest, mixing the
vocabulary's distribution with the source's tokens. Use it to answer or go on from a context that must be quoted. The code was never
released: shares and ratios rest on the paper alone.

Differs from the paper:

- The authors published code for fine-tuning only: the two stages, the 80:20 split and the equations of the copying rest on the paper.
- Both stages begin from nothing; the paper's encoder begins from RoBERTa's weights. To start so, leave the first stage out:
  objectives=(continuation(),) and --init.
- Each stage takes half of the run: the paper does not say how long they are. The second has no masked LM. The learning rate is ours too.
- Rows are whole sentences of one document until they are full, and are cut by tokens, also inside a sentence.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.layout import FullSentences
from plume.heads.token_prediction import TokenPrediction
from plume.model.assembly import EncoderDecoder
from plume.model.recipe import Training
from plume.model.schedule import Linear
from plume.nn.positions.learned import Learned
from plume.objectives.continuation import continuation
from plume.objectives.masked_lm import masked_lm
from plume.recipes._sizes import sized, with_small
from plume.recipes.bart import BART

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

# The authors' README: 24 layers read and 6 write.
SIZES = with_small(PALM, sized(PALM, "large", width=1024, depth=24, heads=16, assembly=EncoderDecoder(depth=6)))
PARENT = "bart"
