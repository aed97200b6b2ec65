"""SpanBERT: BERT, but runs of words are hidden, each token also guessed from the span's two ends, on single texts without next sentence.

Spans of one to ten words, 3.8 in the mean, fill 15% of the row; each is masked, replaced or left as a whole. A second head sees only the
two tokens beside a span and the place inside it, so that the ends learn to stand for what lies between. Use it for what picks spans:
question answering, coreference, named entities. It never sees two texts side by side in training. Cased, as published; masks are drawn anew
each epoch (§4.2).

Differs from the paper:

- a sentence longer than a row is cut into rows; the authors' code leaves it out.
- the decay of 0.1 is the paper's; the command in the authors' README has 0.01. Biases and norms are exempt from it, in fairseq nothing is.
- a batch is 256 rows; the authors count 4,096 tokens for each of 32 processes, which is as many where rows are full.
"""

from __future__ import annotations

from dataclasses import replace as with_fields

from plume.core.part import replace
from plume.data.layouts.layout import FullSentences
from plume.model.schedule import Linear
from plume.noise.corrupt import Draw, Mask, Per
from plume.noise.geometric import GeometricSpans
from plume.noise.span_boundary import InPlaceWithBoundaries
from plume.objectives.masked_lm import masked_lm
from plume.objectives.span_boundary import span_boundary
from plume.recipes._sizes import sized, with_small
from plume.recipes.bert import BERT
from plume.recipes.bert import HF as BERT_HF
from plume.text.tokenizers import WordPiece

SPANBERT = replace(
    BERT,
    name="spanbert",
    title="BERT that hides spans, and guesses them from their ends too",
    paper="arXiv:1907.10529",
    tokenizer=WordPiece(vocabulary=28996, lowercase=False),
    pooler=False,
    layout=FullSentences(across=False),
    objectives=(
        masked_lm(select=GeometricSpans(), corrupt=Mask(per=Per.UNIT, draw=Draw.CORPUS), target=InPlaceWithBoundaries()),
        span_boundary(),
    ),
    # §4.2: 2.4 million steps, 10 000 of them warming up.
    training=replace(BERT.training, schedule=Linear(warmup=0.0042), epsilon=1e-8, decay=0.1),
)

SIZES = with_small(SPANBERT, sized(SPANBERT, "large", width=1024, depth=24, heads=16))
PARENT = "bert"

# The body and the masked-LM head are BERT's; the head that reads the ends has no place there, nor in the published files.
HF = with_fields(BERT_HF, unmatched=("heads.span_boundary",))
