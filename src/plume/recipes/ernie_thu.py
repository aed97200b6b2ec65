"""ERNIE (Tsinghua): BERT whose upper blocks read the vectors of the entities that a text mentions.

The lower half of the blocks is BERT's. In the upper half entities have a stream of their own: vectors that were learned from a knowledge base's
triples (TransE, `plume kb vectors`) and stay as they are. They attend to each other, and meet their mention's first token in one hidden layer,
from which both are written. Beside BERT's two objectives it learns to tell which entity a mention is of: of the links that it is shown, 5% name
another entity of the batch, and 15% are dropped. Use it where labels follow from what is known of entities: their types, relations between them.
Its corpus must be linked (`plume kb link`), and so should be the texts that it is tuned on; without mentions it reads as a BERT does. It is not
Baidu's ERNIE, which is called `ernie` here.

`entity_denoising` counts the links that were replaced or dropped, `entity_copying` those that are shown as they are, which can be copied.

Differs from the paper:

- the two parts of the denoising loss are means of their own, weighted by their shares, 0.2 and 0.8; in the paper they are one mean.
- candidates are the entities of the batch, as in the authors' code; the paper says those of the row. Accumulated parts and processes have each
  their own.
- the other entity is always another one; the authors' code may draw the right one.
- a token without an entity has none in any block (eq. 4); in the authors' code the entity states of such tokens flow in, which are not zero
  behind the first of these blocks.
- all upper blocks let entities attend to each other; in the authors' code the lowest of them does not.
- the hidden layer has one bias, the tokens' own.
- it starts at random, and its rate and schedule are BERT's; the authors start from BERT's weights and train one epoch at 5e-5, at length 256.
- rows with fewer than five entities stay in.
- of two blocks (tiny) one has entities, of four (mini, small) two.
- what differs for BERT (chunks that aim short, masks drawn ten times).
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.carried import MENTIONS
from plume.data.layouts.layout import PairLabel, SentencePairs
from plume.nn.knowledge.fused import EntityTransformer
from plume.noise.links import InPlaceWithLinks
from plume.objectives.entity_copying import entity_copying
from plume.objectives.entity_denoising import entity_denoising
from plume.objectives.masked_lm import masked_lm
from plume.objectives.next_sentence import next_sentence
from plume.recipes._sizes import with_small
from plume.recipes.bert import BERT

ERNIE_THU = replace(
    BERT,
    name="ernie-thu",
    title="BERT whose upper blocks read what a knowledge base says of the entities mentioned",
    paper="arXiv:1905.07129",
    network=EntityTransformer(width=768, depth=12, heads=12, feed_forward=3072, fused=6),
    layout=SentencePairs(label=PairLabel.RANDOM_NEXT, carries=(MENTIONS,)),
    objectives=(masked_lm(target=InPlaceWithLinks(), duplicates=10), next_sentence(), entity_denoising(), entity_copying()),
)

SIZES = with_small(ERNIE_THU)
PARENT = "bert"
