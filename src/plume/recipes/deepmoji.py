"""DeepMoji: learns the tone of texts by guessing which emoji stood in them.

Each text comes once for each kind of emoji that it had, without them, and the rarer kinds are repeated until all are equally frequent. Two
bidirectional LSTMs read it; the guess is made from the words' vectors and both layers' outputs, each word with a weight that is learned.
Use it for sentiment, sarcasm and mood where there are many short texts with emoji and few labels. It predicts no tokens: it embeds, and
cannot fill or write. Held-out texts are measured as they come: rare emoji are rare there, so the loss is held against guessing all alike.

Differs from the paper:

- The gates are sigmoids; the published Keras weights were trained with hard sigmoids.
- Mentions, links, numbers and lengthened words are not replaced by signs or shortened, and retweets and tweets with links are not left out.
- Held-out texts are every hundredth one, as frequent as their emoji are, not 10,000 of each emoji.
- Rate (AdamW without decay, which is Adam) and clipping are those of the authors' code for tuning, batch and length are ours: their code for
  pre-training is not published. Word vectors start normally distributed, not uniformly.
- The small sizes see few texts many times: they drop channels of the word vectors and of the classifier's input, as the authors do in tuning, more
  of them, and leave out words seen once.
- Tuning pools the last, largest and mean state as for all recurrent families, not by attention, and thaws no layers in a chain; `embed` gives the
  paper's features, weighted by attention.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.labelled import LabelledDocuments
from plume.model.assembly import BothWays
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Constant, Linear
from plume.nn.bounded_embedding import BoundedEmbedding
from plume.nn.positions.scheme import NoPositions
from plume.nn.recurrent.layer import Start
from plume.nn.recurrent.recurrent import Recurrent
from plume.objectives.emoji_prediction import emoji_prediction
from plume.recipes._sizes import with_small_recurrent
from plume.text.format import Format
from plume.text.word_level import WordLevel

# A text stands alone, without marks around it.
WORDS = Format(pad="<pad>", unknown="<unk>", begin=None, separator="<eos>", mask=None, single=("A",), pair=("A", "<eos>", "B"))

# §3.2 and model_def.py. First weights as torchMoji's, which are Keras' but for wider word vectors (uniform within ±0.5: a spread of 0.29).
DEEPMOJI = Recipe(
    name="deepmoji",
    size="base",
    title="guesses the emoji of a text, and so learns its tone",
    paper="arXiv:1708.00524",
    tokenizer=WordLevel(vocabulary=50_000, lowercase=True),
    format=WORDS,
    embedding=BoundedEmbedding(width=256, norm=False, dropout=0.0, initial_range=0.29),
    positions=NoPositions(),
    network=Recurrent(width=512, depth=2, start=Start.ORTHOGONAL, initial_range=0.05, forget_bias=1.0),
    assembly=BothWays(penalty=1e-6),
    layout=LabelledDocuments(balanced=True),
    objectives=(replace(emoji_prediction(), layout=None),),
    training=Training(length=80, batch=256, peak=1e-3, schedule=Constant(warmup=0.0), epsilon=1e-8, decay=0.0, clip=1.0),
)


_PEAK = {"tiny": 5e-3, "mini": 3e-3, "small": 2e-3}


def _small(recipe: Recipe) -> Recipe:
    return replace(
        recipe,
        tokenizer=replace(recipe.tokenizer, least=2),
        embedding=replace(recipe.embedding, dropout=0.7),
        objectives=(replace(emoji_prediction(dropout=0.5), layout=None),),
        training=replace(recipe.training, batch=32, peak=_PEAK[recipe.size], schedule=Linear(warmup=0.1)),
    )


SIZES = with_small_recurrent(DEEPMOJI, {"tiny": (64, 64, 10_000), "mini": (128, 128, 20_000), "small": (256, 256, 30_000)}, small=_small)
