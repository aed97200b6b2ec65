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
from plume.nn.recurrent import Recurrent
from plume.nn.recurrent_layer import Start
from plume.objectives.bidirectional_lm import bidirectional_lm
from plume.text.format import Format
from plume.text.word_level import WordLevel

WORDS = Format(
    pad="<pad>", unknown="<unk>", begin=None, separator="<S>", mask=None, single=("<S>", "A", "<S>"), pair=("<S>", "A", "<S>", "B", "<S>")
)

# bilm-tf: bin/train_elmo.py and bilm/training.py. Their batch is 128 rows on each of three processors, for each direction.
ELMO = Recipe(
    name="elmo",
    size="base",
    title="two recurrent language models over characters, one a direction; frozen features",
    paper="arXiv:1802.05365",
    tokenizer=WordLevel(vocabulary=793_471),
    format=WORDS,
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


def _sized(size: str, *, width: int, projection: int, vocabulary: int, characters: CharacterCNN, dropout: float = 0.1) -> Recipe:
    small = dropout == 0.0
    return replace(
        ELMO,
        size=size,
        tokenizer=replace(ELMO.tokenizer, vocabulary=vocabulary),
        embedding=replace(ELMO.embedding, width=projection, characters=characters, dropout=dropout),
        network=replace(ELMO.network, width=width, projection=projection, dropout=dropout, output_dropout=dropout),
        objectives=(bidirectional_lm(head=SampledSoftmax(samples=1024)),) if small else ELMO.objectives,
        training=replace(ELMO.training, batch=64, peak=3e-3) if small else ELMO.training,
    )


_CHARACTERS = CharacterCNN(highways=1)
_SPELLED = CharacterCNN(filters=SMALL, longest=24)
# small-paper and medium are those that the authors published beside the original.
SIZES = {
    "tiny": _sized("tiny", width=256, projection=128, vocabulary=10_000, characters=_SPELLED, dropout=0.0),
    "mini": _sized("mini", width=512, projection=256, vocabulary=20_000, characters=_SPELLED, dropout=0.0),
    "small": _sized("small", width=1024, projection=256, vocabulary=30_000, characters=_SPELLED, dropout=0.0),
    "base": ELMO,
    "small-paper": _sized("small-paper", width=1024, projection=128, vocabulary=793_471, characters=_CHARACTERS),
    "medium": _sized("medium", width=2048, projection=256, vocabulary=793_471, characters=_CHARACTERS),
}
