"""FaE: EaE with a memory of facts, which can be edited without training. A hidden mention may ask the triples of a knowledge base, and says which
fact it used.

A key for each subject and relation, made of their vectors, and as its value the mean of the objects' vectors, from the same table of entities; a
further key is of no fact, and its probability λ is what the context alone decides. Use it where facts change, or must be seen: `plume fill DIR
"… ___" --entities` prints the fact and λ, and with `--kb kb/` after `plume kb add` or `plume kb remove` it answers by the facts of today. Entities
must have been there when it was trained; of facts between them any may be new.

Differs from the paper:

- the objectives of EaE are kept beside, with the same weights; the paper names its own mixture, which was not checked: no code was published.
- a fact may be asked from its object too (`--set objectives.fact_prediction.head.inverse=false` turns it off): a relation more for each.
- several keys may be right for one mention: the sum of their probabilities is learned. Mentions without a fact in their row learn the key of
  none, and are not left out.
- all keys take part in an answer, by their probabilities; the paper takes the best hundred.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.objectives.fact_prediction import fact_prediction
from plume.recipes._sizes import with_small
from plume.recipes.eae import EAE

FAE = replace(
    EAE,
    name="fae",
    title="EaE with a memory of facts, edited without training",
    paper="arXiv:2007.00849",
    objectives=(*EAE.objectives, fact_prediction()),
)

SIZES = with_small(FAE)
PARENT = "eae"
