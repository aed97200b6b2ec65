"""UniLM: BERT, but one network learns to read both ways, from left to right, from right to left, and a text after another.

Only who sees whom changes from batch to batch; the weights, the masks and the head are the same. Use it when one model should both
understand and write: it fills and embeds like BERT, and writes token by token, each at a mask that stands in its place. As a writer it
learns from one token in seven, where GPT learns from every one.

Differs from the paper:

- All begins from nothing; the paper begins with BERT large's weights, for which its learning rate is meant. Its one model is the large one.
- Whole batches take turns between the four ways of reading, by the paper's shares.
- How the paper cuts a text in source and target is not said, and the code for pre-training was never published: here whole sentences of
  one document fill the row, cut in two at a random sentence's end, so that the second follows the first. One-way rows hold one text.
- Segment numbers 2 and 4, 5 are those of the code for fine-tuning; 3 for right to left is ours.
- Where the runs of hidden tokens exceed 15%, the last one is cut; that code drops random tokens of all of them.
- What may be hidden beside text is [SEP] behind what is written (that code's too): not in the bidirectional and right-to-left rows.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.model.schedule import Linear
from plume.noise.skip_grams import SkipGrams
from plume.objectives.left_to_right_lm import left_to_right_lm
from plume.objectives.masked_lm import masked_lm
from plume.objectives.next_sentence import next_sentence
from plume.objectives.right_to_left_lm import right_to_left_lm
from plume.objectives.sequence_to_sequence_lm import sequence_to_sequence_lm
from plume.recipes._sizes import sized, with_small
from plume.recipes.bert import BERT
from plume.recipes.bert import HF as HF
from plume.text.tokenizers import WordPiece

# §2.3, §2.5: one third of the batches each way, one sixth each for the two one-way kinds; the next sentence only beside the first. Each kind
# has segment numbers of its own (§2.1).
UNILM = replace(
    BERT,
    name="unilm",
    title="BERT that reads both ways, left to right, right to left, and one text after another",
    paper="arXiv:1905.03197",
    tokenizer=WordPiece(vocabulary=28996, lowercase=False),
    embedding=replace(BERT.embedding, segments=6),
    objectives=(
        masked_lm(select=SkipGrams(), weight=2.0),
        next_sentence(weight=2.0, beside="masked_lm"),
        sequence_to_sequence_lm(segments=(4, 5), head_of="masked_lm", weight=2.0),
        left_to_right_lm(segments=(2,), head_of="masked_lm"),
        right_to_left_lm(segments=(3,), head_of="masked_lm"),
    ),
    # §2.5: 770 000 steps, 40 000 of them warming up.
    training=replace(BERT.training, batch=330, peak=3e-5, schedule=Linear(warmup=0.052)),
)

SIZES = with_small(UNILM, sized(UNILM, "large", width=1024, depth=24, heads=16))
PARENT = "bert"
