"""GLM: spans are cut out of the text and written behind it from left to right, so that one network reads both ways and writes.

The text keeps one mask for each span; the spans follow in a random order, each token with two positions: where its mask stands, and its
place in the span. So a blank may have any length. Short spans, whole sentences and long stretches take turns. Use it to fill blanks of
unknown length and to go on with a text, with one model; rows grow by what is cut out of them.

Differs from the paper:

- The paper trains each model on short spans and one further level, half and half (§3.3); here all three levels take turns, as in the
  released models: 50% spans, 30% sentences, 20% documents (config/ds_block_large.sh).
- A span of the document level has half of the text or more, as in the paper; the released models' has a quarter or more.
- All levels show [MASK], as in the paper; the released models have a mask for each level.
- A text ends with [SEP], the authors' with the padding token.
- Rows are filled with whole sentences, across documents. A span that would cross a document's end becomes two; in the authors' code it is
  moved into one document.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.layout import FullSentences
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Cosine
from plume.nn.embedding import Embedding
from plume.nn.positions.two_dimensional import TwoDimensional
from plume.objectives.blank_infilling import blank_infilling
from plume.objectives.document_infilling import document_infilling
from plume.objectives.sentence_infilling import sentence_infilling
from plume.recipes._sizes import sized, with_small
from plume.recipes.gpt2 import GPT2
from plume.text.format import BERT as BERT_FORMAT
from plume.text.tokenizers import ByteLevelBPE, WordPiece

# The body is Megatron's, which is GPT-2's (THUDM/GLM, model/modeling_glm.py): norms first, tanh GELU, tied output without bias.
GLM = Recipe(
    name="glm",
    size="base",
    title="writes cut-out spans behind the text: one network that reads both ways, fills blanks of any length, and writes",
    paper="arXiv:2103.10360",
    tokenizer=WordPiece(vocabulary=30522),
    format=replace(BERT_FORMAT, start="<|startofpiece|>", end="<|endofpiece|>", segments=()),
    embedding=Embedding(width=768, norm=False),
    positions=TwoDimensional(longest=512),
    network=GPT2.transformer,
    layout=FullSentences(),
    objectives=(
        blank_infilling(weight=0.5),
        sentence_infilling(head_of="blank_infilling", weight=0.3),
        document_infilling(head_of="blank_infilling", weight=0.2),
    ),
    # Appendix A: 200 000 steps, 8 000 of them warming up.
    training=Training(length=512, batch=1024, peak=4e-4, schedule=Cosine(warmup=0.04), beta2=0.98, decay=0.1),
)

SIZES = with_small(
    GLM,
    sized(GLM, "large", width=1024, depth=24, heads=16, training=replace(GLM.training, peak=2e-4)),
    sized(
        GLM,
        "10b",
        width=4096,
        depth=48,
        heads=64,
        tokenizer=ByteLevelBPE(vocabulary=50257),
        positions=TwoDimensional(longest=1024),
        training=replace(GLM.training, peak=1e-4, length=1024),
    ),
)
