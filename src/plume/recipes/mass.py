"""MASS: the encoder reads a sentence with one half masked, the decoder writes that half, each token at its own position.

The decoder sees only what the encoder does not, so it must take the rest from the encoder: both learn. Use it to start translation or
summarising models where pairs are few. Half of each text is predicted, by a decoder of half the length.

Differs from the paper:

- Rows are whole sentences of one document until they are full; the authors' translation models read single sentences, so that there the
  token that closes a text, which the span reaches over in the same share of rows, is a larger part of what is predicted.
- The decoder looks at all of the source, as §3.2 draws it; in the authors' code (MASS-unsupNMT) not at the places that show a mask. So a
  text that was filled in needs no second kind of mask.
- One language, and no vector for it; the authors train two at a time, each with a vector of its own.
- Batches are rows (96 of 256 tokens), there 3,000 tokens a GPU; the warm-up is a share of the run, there 4,000 steps.
- All weights start from a normal distribution of 0.02; there token vectors from width^-0.5, products by torch's defaults.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layout import FullSentences
from plume.model.recipe import Training
from plume.model.schedule import InverseSquareRoot
from plume.nn.activation import Activation
from plume.nn.embedding import Embedding
from plume.nn.positions.learned import Learned
from plume.objectives.masked_seq2seq import masked_seq2seq
from plume.recipes._sizes import with_small
from plume.recipes.transformer import TRANSFORMER
from plume.text.format import Format
from plume.text.tokenizers import BPE

# After MASS-unsupNMT, which is built on XLM: learned positions, a norm behind the embeddings, GELU, an output bias.
MASS = replace(
    TRANSFORMER,
    name="mass",
    title="encoder–decoder that writes one masked half of the text from the other",
    paper="arXiv:1905.02450",
    tokenizer=BPE(vocabulary=60000, lowercase=False),
    format=Format(
        pad="<pad>",
        unknown="<unk>",
        begin=None,
        separator="</s>",
        mask="<mask>",
        single=("</s>", "A", "</s>"),
        pair=("</s>", "A", "</s>", "B", "</s>"),
    ),
    embedding=Embedding(width=1024),
    positions=Learned(longest=512),
    network=replace(
        TRANSFORMER.transformer,
        width=1024,
        feed_forward=4096,
        activation=Activation.GELU,
        attention_dropout=0.1,
        epsilon=1e-12,
    ),
    layout=FullSentences(across=False),
    objectives=(masked_seq2seq(),),
    training=Training(length=256, batch=96, peak=1e-4, schedule=InverseSquareRoot(warmup=0.04), beta2=0.98, decay=0.0, clip=5.0),
)

SIZES = with_small({"base": MASS})
