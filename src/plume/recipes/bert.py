"""BERT: a deep bidirectional encoder that fills blanks and tells whether one sentence follows another.

The reference point of this page. 15% of the tokens are hidden (80% shown as a mask, 10% as a random token, 10% as they are) and predicted
from both sides; half of the sentence pairs are torn apart, and a second head says which. Use it when you want the best-known baseline, or a
checkpoint that every tool can read. Only one token in seven is predicted, so it learns less from a token read than GPT or ELECTRA do.

Masks are static: pairs and masks are drawn ten times over the text, then the same examples come again in another order (dupe_factor of
create_pretraining_data.py). `--set objectives.masked_lm.noise.duplicates=0` draws them anew each epoch, as RoBERTa does.

Differs from the paper:

- rows have one length all along; the authors train nine tenths of the run at 128 tokens and the rest at 512.
- torch's AdamW corrects the moments for their start at 0, the authors' Adam does not; their rate falls from the first step on, here from the
  end of the warm-up.
- one chunk in ten aims at a shorter row; in the authors' code it is one document in ten, with all its chunks.
"""

from __future__ import annotations

from plume.data.layouts.layout import PairLabel, SentencePairs
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.nn.embedding import Embedding
from plume.nn.positions.learned import Learned
from plume.nn.stack import Transformer
from plume.objectives.masked_lm import masked_lm
from plume.objectives.next_sentence import next_sentence
from plume.recipes._bert_like import PRETRAINING_HEADS, bert_bridge, body_config, pooled_heads, pretraining
from plume.recipes._sizes import sized, with_small
from plume.text.format import BERT as BERT_FORMAT
from plume.text.tokenizers import WordPiece

BERT = Recipe(
    name="bert",
    size="base",
    title="bidirectional encoder; fills blanks, judges whether B follows A",
    paper="arXiv:1810.04805",
    tokenizer=WordPiece(vocabulary=30522),
    format=BERT_FORMAT,
    embedding=Embedding(width=768, segments=2),
    positions=Learned(longest=512),
    network=Transformer(width=768, depth=12, heads=12, feed_forward=3072),
    pooler=True,
    layout=SentencePairs(label=PairLabel.RANDOM_NEXT),
    objectives=(masked_lm(duplicates=10), next_sentence()),
    training=Training(length=512, batch=256, peak=1e-4, schedule=Linear(warmup=0.01)),
)

SIZES = with_small(BERT, sized(BERT, "large", width=1024, depth=24, heads=16))

HF = bert_bridge(
    "Bert",
    *PRETRAINING_HEADS,
    classes=pretraining("next_sentence"),
    config=body_config(BERT),
    tasks=pooled_heads("Bert"),
)
