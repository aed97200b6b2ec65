"""EaE: BERT with a memory of entities. Behind a third of its blocks each mention asks a table with a vector for every entity of a knowledge base,
and what it finds is added to its first token.

It learns from linked text (`plume kb link`): the memory must give each mention its entity, the last block must still know it when the mention
was hidden, and three tags a token learn where mentions are, so that plain texts can be read. Use it when names matter: who or what a text speaks
of, what belongs in a blank (`plume fill DIR "… ___" --entities`). It knows the entities of one knowledge base (`--kb`) and no others, and most
of its weights are their vectors, of which a text uses few.

Differs from the paper:

- entities and links come from a knowledge base and a linker of the user's; the authors have a million of Wikipedia's and its 17 million links.
- the tokens of a row that no mention covers are hidden at 15% singly, as in BERT; mentions are hidden whole with a probability of 20%, as published.
- what is found is added at a mention's first token, and nothing elsewhere; X² + X¹, as the paper writes it, leaves open what X² is there.
- mention detection is by three tags (outside, begins, inside) a token, read where the memory stands; this was not checked against the authors' code.
- the linking losses weigh as much as that of the tokens; the paper does not say.
- vectors of entities begin with a length of about one, not at 0.02 a number: shorter ones look alike to a mention, and are slow to part.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.carried import MENTIONS
from plume.data.layouts.layout import FullSentences
from plume.nn.knowledge.entity_memory import EntityMemory
from plume.noise.mentions import InPlaceWithMentions, MaskMentions, Mentions
from plume.objectives.entity_linking import entity_linking
from plume.objectives.entity_prediction import entity_prediction
from plume.objectives.masked_lm import masked_lm
from plume.objectives.mention_detection import mention_detection
from plume.recipes._sizes import with_small
from plume.recipes.bert import BERT

EAE = replace(
    BERT,
    name="eae",
    title="BERT with a memory of entities, for linked text",
    paper="arXiv:2004.07202",
    pooler=False,
    network=replace(BERT.transformer, between=(EntityMemory(after=4),)),
    layout=FullSentences(carries=(MENTIONS,)),
    objectives=(
        masked_lm(select=Mentions(), corrupt=MaskMentions(), target=InPlaceWithMentions()),
        entity_linking(),
        entity_prediction(),
        mention_detection(),
    ),
)

SIZES = with_small(EAE)
PARENT = "bert"
