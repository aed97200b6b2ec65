"""ULMFiT: a recurrent language model with weight-dropped layers (AWD-LSTM), to be tuned on the task's own text and then for the task.

Three LSTM layers, dropout of every kind: on words, inputs, layers, outputs and the recurrent matrices themselves. Use it where labelled examples
are few and the task's text is at hand: go on training it there (`--init`) with slanted triangular rates, other rates for other layers
(`training.layer_decay`) and layers thawed one after the other (`training.thaw`), which all families may use.

Differs from the paper:

- Rows of one length, where theirs vary about 70 at random, and the rate with them.
- The paper does not say how the Wikipedia model's rate moved: it moves as in tuning, a slanted triangle.
- One model that reads forwards; the paper's best results join it with one that reads backwards.
- Words are plain: none of the marks that its code adds for capitals and repetitions.
- Biases begin at zero and token vectors normally distributed, where theirs are uniform.
- On top of a task there is one layer where the paper has two with batch normalisation; both read the last state, the mean and the largest.
- The small sizes have all of the regularisers, every kind of dropout at three tenths of its rate: a run of minutes reads its text a few times
  only. A small text that is read thirty times wants the whole rates.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.streams import Streams
from plume.heads.token_prediction import TokenPrediction
from plume.model.recipe import Recipe, Training
from plume.model.schedule import SlantedTriangular
from plume.nn.embedding import Embedding
from plume.nn.positions.scheme import NoPositions
from plume.nn.recurrent.recurrent import Recurrent
from plume.objectives.causal_lm import causal_lm
from plume.recipes._sizes import with_small_recurrent
from plume.text.format import Format
from plume.text.word_level import WordLevel

# The network and its dropout are those of §4.1; the penalties on states are AWD-LSTM's (arXiv:1708.02182 §5).
ULMFIT = Recipe(
    name="ulmfit",
    size="base",
    title="recurrent language model with weight-dropped layers, to be tuned in stages",
    paper="arXiv:1801.06146",
    tokenizer=WordLevel(vocabulary=60_000),
    format=Format(
        pad="<pad>", unknown="<unk>", begin=None, separator="<eos>", mask=None, single=("<eos>", "A"), pair=("<eos>", "A", "<eos>", "B")
    ),
    embedding=Embedding(width=400, norm=False, dropout=0.0, word_dropout=0.05),
    positions=NoPositions(),
    network=Recurrent(
        width=1150,
        depth=3,
        output=400,
        input_dropout=0.4,
        dropout=0.3,
        output_dropout=0.4,
        weight_drop=0.5,
        locked=True,
        activity=2.0,
        slowness=1.0,
    ),
    layout=Streams(),
    objectives=(causal_lm(head=TokenPrediction(transform=False)),),
    training=Training(
        length=70, batch=64, peak=4e-3, schedule=SlantedTriangular(), beta1=0.7, beta2=0.99, epsilon=1e-8, decay=0.0, clip=0.4
    ),
)


def _weaker(recipe: Recipe) -> Recipe:
    """All of the regularisers, dropout of every kind at three tenths: a run of minutes sees its text a few times only."""
    network = {name: getattr(recipe.network, name) * 0.3 for name in ("input_dropout", "dropout", "output_dropout", "weight_drop")}
    return replace(
        recipe,
        embedding=replace(recipe.embedding, word_dropout=recipe.embedding.word_dropout * 0.3),
        network=replace(recipe.network, **network),
        training=replace(recipe.training, batch=32, clip=1.0),
    )


SIZES = with_small_recurrent(ULMFIT, {"tiny": (256, 128, 10_000), "mini": (512, 256, 20_000), "small": (800, 300, 30_000)}, small=_weaker)
