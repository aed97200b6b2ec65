"""ELMo: word vectors that depend on their sentence, from two recurrent language models, one in each direction.

Words are read by their characters, so no word is unknown at the input; each direction predicts the next word, and the two share what they read
and predict with. Use it as frozen features: every layer of both directions, mixed with weights that a task learns (`plume.nn.scalar_mix`). Reading is
sequential, so it is slower a token than a Transformer of its size, but its memory does not grow with the length of the text.

Differs from the paper:

- AdamW, with a rate and a warm-up of our own, where the authors have Adagrad at 0.2.
- The gradient is clipped at 10 for the loss of a token; theirs is that of 20 steps.
- Whole documents in their order, with one sign between two of them. Theirs are single sentences, shuffled, with a sign on either side.
- The two directions read the same streams from opposite ends. Theirs go through the same files, each in an order of its own.
- A word outside the vocabulary is spelled at use, but in training it is <unk> at the input too.
- One sample of words a step serves both directions, where theirs draw one each.
- The small sizes have fewer and narrower filters, 1024 samples and no dropout.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.streams import Streams
from plume.heads.sampled_softmax import SampledSoftmax
from plume.model.assembly import TwoDirections
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Constant
from plume.nn.character_embedding import CharacterEmbedding
from plume.nn.characters import SMALL, CharacterCNN
from plume.nn.positions.scheme import NoPositions
from plume.nn.recurrent.layer import Start
from plume.nn.recurrent.recurrent import Recurrent
from plume.objectives.bidirectional_lm import bidirectional_lm
from plume.recipes._sizes import sized_recurrent, with_small_recurrent
from plume.text.format import Format
from plume.text.word_level import WordLevel

# bilm-tf: bin/train_elmo.py and bilm/training.py. Their batch is 128 rows on each of three processors, for each direction.
ELMO = Recipe(
    name="elmo",
    size="base",
    title="two recurrent language models over characters, one a direction; frozen features",
    paper="arXiv:1802.05365",
    tokenizer=WordLevel(vocabulary=793_471),
    format=Format(
        pad="<pad>",
        unknown="<unk>",
        begin=None,
        separator="<S>",
        mask=None,
        single=("<S>", "A", "<S>"),
        pair=("<S>", "A", "<S>", "B", "<S>"),
    ),
    embedding=CharacterEmbedding(width=512, norm=False, dropout=0.1),
    positions=NoPositions(),
    network=Recurrent(
        width=4096,
        depth=2,
        projection=512,
        cell_clip=3.0,
        projection_clip=3.0,
        residual=True,
        dropout=0.1,
        output_dropout=0.1,
        forget_bias=1.0,
        start=Start.GLOROT,
    ),
    layout=Streams(backward=True),
    objectives=(bidirectional_lm(),),
    training=Training(length=20, batch=768, peak=1e-3, schedule=Constant(warmup=0.01), epsilon=1e-8, decay=0.0, clip=10.0),
    assembly=TwoDirections(),
)


def _small(recipe: Recipe) -> Recipe:
    return replace(
        recipe,
        embedding=replace(recipe.embedding, characters=CharacterCNN(filters=SMALL, longest=24), dropout=0.0),
        network=replace(recipe.network, dropout=0.0, output_dropout=0.0),
        objectives=(bidirectional_lm(head=SampledSoftmax(samples=1024)),),
        training=replace(recipe.training, batch=64, peak=3e-3),
    )


# Two that the authors published beside the original.
_ONE_HIGHWAY = replace(ELMO, embedding=replace(ELMO.embedding, characters=CharacterCNN(highways=1)))
SIZES = with_small_recurrent(
    ELMO,
    {"tiny": (256, 128, 10_000), "mini": (512, 256, 20_000), "small": (1024, 256, 30_000)},
    sized_recurrent(_ONE_HIGHWAY, "small-paper", width=1024, embedding=128, vocabulary=793_471),
    sized_recurrent(_ONE_HIGHWAY, "medium", width=2048, embedding=256, vocabulary=793_471),
    small=_small,
)
