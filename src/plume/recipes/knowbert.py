"""KnowBERT: BERT with an entity linker between two of its blocks, which reads the entities it has found.

Every name in a text comes with what it may mean and how likely that is (`plume kb link --candidates`). A mention is pooled from its tokens and
held against the vectors of its candidates (`plume kb vectors`; they stay as they are), and the mean of those by their scores is handed to the
tokens. So nobody must say which entity is meant: the linker learns it from the names whose meaning is given, and from what helps to fill blanks.
Use it for word senses (WordNet as the knowledge base), and where names are ambiguous.

In the first tenth of the run the linker is trained alone, then both: four batches with blanks to one with links. It needs mentions whose meaning
is known; a corpus that was linked automatically has the likeliest meaning everywhere, which teaches no more than the priors.

Differs from the paper:

- it starts at random unless `--init` names a model; theirs from BERT's published weights, which stay as they are while the linker learns alone.
  Here the blocks below it move too.
- one rate for all; theirs are 1e-3 for the linker alone, then 2e-5 below it, 5e-5 above and 1e-4 in it.
- entity vectors are TransE's of the same knowledge base; theirs for WordNet are TuckER's joined with vectors of glosses, for Wikipedia skip-gram's.
- scores are a softmax over the candidates without a threshold, theirs for WordNet. `EntityDisambiguation(margin=0.2)` with
  `KnowledgeAttention(threshold=0.0)` is theirs for Wikipedia: candidates below it are dropped, and a learned vector stands where none is left.
- the way back begins as the pseudo-inverse of the way in, as the paper says; the released code inverts a singular matrix, and its bias has the
  wrong sign.
- a name of which a token is hidden has one learned vector in the place of its candidates, also where the token is shown as it is.
- next sentence is asked beside the blanks only.
- the feed-forward networks inside the linker are twice as wide as the states in the small sizes.
- what differs for BERT (chunks that aim short, masks drawn ten times).
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.carried import FORMS, MENTIONS
from plume.data.layouts.layout import PairLabel, SentencePairs
from plume.nn.knowledge.recontextualisation import KnowledgeAttention
from plume.noise.links import InPlaceWithForms
from plume.objectives.entity_disambiguation import entity_disambiguation
from plume.objectives.masked_lm import masked_lm
from plume.objectives.next_sentence import next_sentence
from plume.recipes._sizes import with_small
from plume.recipes.bert import BERT

_BLANKS = masked_lm(target=InPlaceWithForms(), duplicates=10, weight=0.8)

KNOWBERT = replace(
    BERT,
    name="knowbert",
    title="BERT with an entity linker between two blocks, which chooses among what a name may mean",
    paper="arXiv:1909.04164",
    network=replace(BERT.transformer, between=(KnowledgeAttention(after=10),)),
    layout=SentencePairs(label=PairLabel.RANDOM_NEXT, carries=(MENTIONS, FORMS)),
    objectives=(replace(_BLANKS, during=(0.1, 1.0)), next_sentence(beside="masked_lm"), entity_disambiguation()),
)

SIZES = with_small(KNOWBERT)
PARENT = "bert"
