"""MASS: the encoder reads a sentence with one half masked, the decoder writes that half, each token at its own position.

The decoder sees only what the encoder does not, so it must take the rest from the encoder: both learn. Where the hidden half is the last,
the token that closes the sentence is part of it, and the model learns to stop. Use it to start translation or summarising models where pairs
are few. Half of each sentence is predicted, by a decoder of half the length. It reads single sentences, as in the paper: places that few
sentences reach are hardly trained, so long texts are better left to others, or need tuning.

Differs from the paper:

- Sentences longer than a row are cut; the authors leave those of more than 100 tokens out.
- The decoder looks at all of the source, as §3.2 draws it; in the authors' code (MASS-unsupNMT) not at the places that show a mask. So a
  text that was filled in needs no second kind of mask.
- One language, and no vector for it; the authors train two at a time, each with a vector of its own.
- A batch is 800 sentences, in small sizes 128; there 3,000 tokens a GPU. The warm-up is a share of the run, there 4,000 steps.
- All weights start from a normal distribution of 0.02; there token vectors from width^-0.5, products by torch's defaults.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.single_sentences import SingleSentences
from plume.model.recipe import Training
from plume.model.schedule import InverseSquareRoot
from plume.nn.activation import Activation
from plume.nn.embedding import Embedding
from plume.nn.positions.learned import Learned
from plume.objectives.masked_seq2seq import masked_seq2seq
from plume.recipes._sizes import with_small
from plume.recipes.transformer import TRANSFORMER
from plume.text.tokenizers import BPE

# After MASS-unsupNMT, which is built on XLM: learned positions, a norm behind the embeddings, GELU, an output bias.
MASS = replace(
    TRANSFORMER,
    name="mass",
    title="encoder–decoder that writes one masked half of the text from the other",
    paper="arXiv:1905.02450",
    tokenizer=BPE(vocabulary=60000, lowercase=False),
    format=replace(TRANSFORMER.format, mask="<mask>", single=("</s>", "A", "</s>"), pair=("</s>", "A", "</s>", "B", "</s>"), segments=()),
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
    layout=SingleSentences(),
    objectives=(masked_seq2seq(),),
    training=Training(length=128, batch=800, peak=1e-4, schedule=InverseSquareRoot(warmup=0.04), beta2=0.98, decay=0.0, clip=5.0),
)

# Sentences are short: so many make about the 3,000 tokens that the authors give a GPU.
SIZES = with_small(MASS, small=lambda recipe: replace(recipe, training=replace(recipe.training, batch=128)))
PARENT = "transformer"
