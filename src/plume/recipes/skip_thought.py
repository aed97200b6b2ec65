"""Skip-Thought: sentence vectors from writing the sentences before and after.

A GRU reads a sentence; from its last state alone, which is the sentence's vector, two decoders write its neighbours. Use it for sentence
vectors where there is running text and there are no pairs or labels. Predicting the words of both neighbours is most of what it costs.

Differs from the paper:

- A sentence's two neighbours are two kinds of row that take turns, where the paper adds their losses for each sentence.
- The reset gate acts on the product with the state, and gates have biases: so the authors' code. The paper has neither.
- A decoder's first input is the vector of the closing sign; in the authors' code it is zero.
- Only the uni-skip model: no bi-skip, no joined vectors of both.
- Words outside the vocabulary are <unk>: no expansion from word2vec (§2.2).
- AdamW at a constant rate of our own: the paper names Adam and no rate.
- Sentences are cut at 31 words, where the authors' code leaves out those of 30 and more; neighbours are of the same document.
- The small sizes have batches of 64.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.neighbours import Neighbours
from plume.model.assembly import NeighbourDecoders
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Constant
from plume.nn.embedding import Embedding
from plume.nn.positions.scheme import NoPositions
from plume.nn.recurrent.layer import RecurrentCell, Start
from plume.nn.recurrent.recurrent import Recurrent
from plume.nn.recurrent.vector_decoder import Conditioning
from plume.objectives.following_sentence import following_sentence
from plume.objectives.preceding_sentence import preceding_sentence
from plume.recipes._sizes import with_small_recurrent
from plume.recipes.transformer import TRANSFORMER
from plume.text.word_level import WordLevel

# §3: the uni-skip model.
SKIP_THOUGHT = Recipe(
    name="skip-thought",
    size="base",
    title="sentence vectors, from writing the sentences before and after",
    paper="arXiv:1506.06726",
    tokenizer=WordLevel(vocabulary=20_000),
    format=TRANSFORMER.format,
    embedding=Embedding(width=620, norm=False, dropout=0.0),
    positions=NoPositions(),
    network=Recurrent(cell=RecurrentCell.GRU, width=2400, depth=1, start=Start.ORTHOGONAL, initial_range=0.1),
    assembly=NeighbourDecoders(conditioning=Conditioning.GATES),
    layout=Neighbours(),
    objectives=(following_sentence(), preceding_sentence(head_of="following_sentence")),
    training=Training(length=64, batch=128, peak=1e-3, schedule=Constant(), epsilon=1e-8, decay=0.0, clip=10.0),
)


def _small(recipe: Recipe) -> Recipe:
    return replace(recipe, training=replace(recipe.training, batch=64, peak=3e-3))


SIZES = with_small_recurrent(
    SKIP_THOUGHT, {"tiny": (256, 128, 8_000), "mini": (512, 256, 8_000), "small": (1024, 300, 16_000)}, small=_small
)
