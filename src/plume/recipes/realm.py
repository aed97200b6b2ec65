"""REALM: BERT with documents to look things up in, which learns what to look up from what helps it fill a mask.

A name or a date is hidden in a sentence. A retriever finds the blocks of documents that are nearest to the sentence, a reader fills the mask
from the sentence and each of them, and what helped is found sooner next time. Use it where answers stand in documents that change: they may be
exchanged at use (`plume fill --documents`). A step reads every candidate, so it costs as much as eight of BERT's, or five at the small sizes.

The documents are `--documents FILE` (JSONL with a title and a text a line, or plain text), without it the corpus itself. A text's own document is
never offered to it. For the first third of the run the retriever learns which block a sentence was taken out of (inverse cloze), and in every
fourth step after that: without it, it finds nothing of use, and what is of no use is not learned from. Names come from `--lexicon FILE`, or from
the text's capitals and jieba's tagger; dates are found by their form.

Beside the loss a run shows `utility`, what the documents add to the logarithm of a masked token's probability, and on held-out text `found`, how
often a block that was found holds the hidden span.

Differs from the paper:

- Retriever and reader share token vectors and positions.
- The index is made anew by the run itself, between two steps, from the weights as they are; the authors' is made beside it from the checkpoint
  of best utility. So a run that was stopped goes on with the same bits: the index lies in its checkpoint.
- Inverse cloze goes on in a quarter of the steps: in a run of hundreds of steps the retriever would forget it before the reader has learned to
  read what is found. The authors' retriever has it behind it (`--set objectives.inverse_cloze.during=(0,0.34)`).
- It reads the corpus without titles, in batches of the run's size; the authors pre-trained it by itself, in batches of 4096 with titles, and began
  the reader with BERT's weights (`--init` does that here).
- One sentence is the query in both stages, up to a third of a block's length: 96 tokens of 288 (64 in the authors' inverse cloze).
- The empty block is the text alone for the reader, without a separator behind it.
- Names are found as said above; the authors' tagger was trained on CoNLL-2003.
- At the small sizes five candidates, batches of 32, texts of up to 43 tokens and blocks of 128; products of vectors are scaled by 0.1, so that at
  first all candidates are read with some weight. Unscaled, inverse cloze ended at 0.96 on held-out text where it ends at 0.53 (120 steps, one seed).
- There the retriever learns from the masks in the last third of the run only (`assembly.learns_from`): while the reader cannot read what is found,
  noise reaches it, and the optimizer's steps have one size whatever the gradient's (held-out inverse cloze rose from 0.12 to 1.06 in 50 steps).
- Where attention starts at the neighbours (`positions.local`), the reader's does not: it must find a name in the block behind the text.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.single_sentences import SingleSentences
from plume.model.recipe import Recipe
from plume.model.retriever_reader import RetrieverReader
from plume.model.schedule import Linear
from plume.noise.corrupt import Mask
from plume.noise.salient import SALIENT, SalientSpan
from plume.objectives.inverse_cloze import inverse_cloze
from plume.objectives.masked_lm import masked_lm
from plume.recipes._sizes import with_small
from plume.recipes.bert import BERT

REALM = replace(
    BERT,
    name="realm",
    title="looks names and dates up in documents, and learns what to look up",
    paper="arXiv:2002.08909",
    pooler=False,
    assembly=RetrieverReader(),
    layout=SingleSentences(share=1 / 3, having=SALIENT),
    objectives=(
        replace(masked_lm(select=SalientSpan(), corrupt=Mask(mask=1.0, random=0.0), weight=0.75), during=(1 / 3, 1.0)),
        inverse_cloze(weight=0.25),
    ),
    training=replace(BERT.training, length=288, batch=512, peak=3e-5, schedule=Linear(warmup=0.01)),
)


def _small(recipe: Recipe) -> Recipe:
    return replace(
        recipe, assembly=RetrieverReader(candidates=5, scale=0.1, learns_from=2 / 3), training=replace(recipe.training, batch=32)
    )


SIZES = with_small(REALM, small=_small)
PARENT = "bert"
