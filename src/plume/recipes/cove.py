"""CoVe: word vectors in context, from the encoder of a recurrent translation model.

Two layers of LSTMs read a sentence both ways, and a decoder that attends to them writes its translation; then the decoder is put away.
Use the encoder's layers as features. It needs pairs, and learns what translation asks for; ELMo needs none.

Differs from the paper:

- Token vectors are learned, and one table serves both languages. Theirs are fixed GloVe vectors for the source, zeros for words without one.
- AdamW with a falling rate of our own, where theirs is plain gradient descent at 1.0, halved whenever the dev loss rises.
- One vocabulary of 50,000 words for both languages.
- On its way to the next step h̃ goes through dropout twice; in their code three times.
- The small sizes have no dropout.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.pairs import Fit, Translations
from plume.heads.token_prediction import TokenPrediction
from plume.model.assembly import AttentionalDecoder
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.nn.embedding import Embedding
from plume.nn.positions.scheme import NoPositions
from plume.nn.recurrent.recurrent import Recurrent
from plume.objectives.translation import translation
from plume.recipes._sizes import with_small_recurrent
from plume.recipes.transformer import TRANSFORMER
from plume.text.word_level import WordLevel

# §3 and §5.1, and the authors' code.
COVE = Recipe(
    name="cove",
    size="base",
    title="encoder of an attentional LSTM translation model; needs a corpus of pairs",
    paper="arXiv:1708.00107",
    tokenizer=WordLevel(vocabulary=50_000),
    format=TRANSFORMER.format,
    embedding=Embedding(width=300, norm=False, dropout=0.2),
    positions=NoPositions(),
    network=Recurrent(width=300, depth=2, dropout=0.2, output_dropout=0.2, initial_range=0.1),
    assembly=AttentionalDecoder(),
    layout=Translations(fit=Fit.APART),
    objectives=(translation(head=TokenPrediction(transform=False, tied=False)),),
    training=Training(length=50, batch=64, peak=1e-3, schedule=Linear(warmup=0.02), epsilon=1e-8, decay=0.0, clip=5.0),
)


def _small(recipe: Recipe) -> Recipe:
    return replace(
        recipe,
        embedding=replace(recipe.embedding, dropout=0.0),
        network=replace(recipe.network, dropout=0.0, output_dropout=0.0),
        assembly=AttentionalDecoder(dropout=0.0),
        training=replace(recipe.training, peak=3e-3, schedule=Linear(warmup=0.1)),
    )


SIZES = with_small_recurrent(COVE, {"tiny": (64, 64, 8_000), "mini": (128, 128, 8_000), "small": (256, 256, 16_000)}, small=_small)
