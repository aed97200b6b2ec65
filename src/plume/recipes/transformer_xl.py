"""Transformer-XL: a left-to-right decoder that looks back, by relative positions, at the hidden states of the text before its row.

Rows are read in the order of the text, and each looks back at the memory of the one before, so context is longer than a row; scoring a long
text reads every token once instead of once for each token after it. Use it for long documents and exact scores. The memory's keys cost
about a half more at equal lengths.

Differs from the paper:

- Byte-level BPE and one full softmax tied to the token vectors; the paper has 267,735 words with adaptive vectors and softmax.
- No dropout inside the feed-forward network nor on the last block's output.
- Every token sees all of the memory, at evaluation too; there the authors cut it to the same length for each, and clamp distances.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.streams import Streams
from plume.heads.token_prediction import TokenPrediction
from plume.model.memory import Memory
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Cosine
from plume.nn.activation import Activation
from plume.nn.embedding import Embedding
from plume.nn.positions.relative import Relative
from plume.nn.stack import Transformer
from plume.objectives.causal_lm import causal_lm
from plume.recipes._sizes import with_small
from plume.recipes.gpt2 import GPT2

# The authors' WikiText-103 settings (run_wt103_base.sh, run_wt103_large.sh); their gradients are clipped at 0.25.
TRANSFORMER_XL = replace(
    GPT2,
    name="transformer-xl",
    title="left-to-right decoder with a memory of the text before and relative positions",
    paper="arXiv:1901.02860",
    embedding=Embedding(width=410, norm=False, scaled=True, epsilon=1e-5),
    positions=Relative(),
    network=Transformer(
        width=410,
        depth=16,
        heads=10,
        feed_forward=2100,
        activation=Activation.RELU,
        attention_dropout=0.0,
        epsilon=1e-5,
        attention_bias=False,
    ),
    layout=Streams(),
    memory=Memory(length=150),
    objectives=(causal_lm(head=TokenPrediction(transform=False)),),
    training=Training(length=150, batch=60, peak=2.5e-4, schedule=Cosine(), epsilon=1e-8, decay=0.0, clip=0.25),
)

_LARGE = replace(
    TRANSFORMER_XL,
    size="large",
    embedding=replace(TRANSFORMER_XL.embedding, width=1024, dropout=0.2),
    positions=Relative(dropout=0.2),
    network=replace(TRANSFORMER_XL.transformer, width=1024, depth=18, heads=16, feed_forward=4096, dropout=0.2, attention_dropout=0.2),
    memory=Memory(length=384),
    training=replace(TRANSFORMER_XL.training, length=384, batch=128, schedule=Cosine(warmup=0.004)),
)


def _with_memory(recipe: Recipe) -> Recipe:
    """A small size remembers as much as it reads, as the published ones do, and drops nothing."""
    return replace(recipe, memory=Memory(length=recipe.training.length), positions=Relative(dropout=0.0))


SIZES = with_small(TRANSFORMER_XL, _LARGE, small=_with_memory)
PARENT = "gpt2"
