"""DeepMoji: learns the tone of texts by guessing which emoji stood in them.

Each text comes once for each kind of emoji that it had, without them; the guess is made from all of its words, each with a weight that is
learned. The paper reads with two bidirectional LSTMs; here a small Transformer encoder reads instead, and the attention over its states,
the objective, the corpus and the 64 kinds of emoji are the paper's. Use it for sentiment, sarcasm and mood where there are many short texts
with emoji and few labels. It predicts no tokens: it embeds, and cannot fill or write.
"""

from __future__ import annotations

from dataclasses import replace as with_fields

from plume.core.part import replace
from plume.data.labelled import LabelledDocuments
from plume.model.recipe import Training
from plume.model.schedule import Linear
from plume.nn.positions.learned import Learned
from plume.objectives.emoji_prediction import emoji_prediction
from plume.recipes._sizes import with_small
from plume.recipes.bert import BERT
from plume.recipes.bert import HF as BERT_HF
from plume.text.tokenizers import WordPiece

# The paper's vocabulary is 50 000 words. Depth, batch and rate are ours, as the body is; the paper's attention also reads the word vectors
# themselves beside the two layers' states, which is left out.
DEEPMOJI = replace(
    BERT,
    name="deepmoji",
    title="guesses the emoji of a text, and so learns its tone (with a Transformer body)",
    paper="arXiv:1708.00524",
    tokenizer=WordPiece(vocabulary=50000),
    embedding=replace(BERT.embedding, width=512, segments=1),
    positions=Learned(longest=128),
    network=replace(BERT.transformer, width=512, depth=6, heads=8, feed_forward=2048),
    pooler=False,
    layout=LabelledDocuments(),
    objectives=(emoji_prediction(),),
    training=Training(length=128, batch=256, peak=3e-4, schedule=Linear(warmup=0.05)),
)

# Texts with emoji are few where the small sizes are used, and seen many times over: they keep dropout, and learn more slowly.
SIZES = {
    size: recipe
    if size == "base"
    else replace(
        recipe,
        embedding=replace(recipe.embedding, dropout=0.3),
        network=replace(recipe.transformer, dropout=0.3),
        training=replace(recipe.training, peak=recipe.training.peak / 2),
    )
    for size, recipe in with_small({"base": DEEPMOJI}).items()
}

# The body alone: the head that weighs all tokens has no place there.
HF = with_fields(BERT_HF, architectures={"BertModel": ()}, unmatched=("heads.emoji_prediction",))
