"""BERT with whole-word masking: all pieces of a chosen word are hidden together, in Chinese by jieba's words (arXiv:1906.08101).

The same network and cost as BERT; the task is harder, because a word can no longer be completed from its own other pieces. Use it instead
of BERT for Chinese, where a single character of a word is often given away by the next one. Splitting Chinese into words costs time once,
when the store is built. Masks are static, as BERT's, in five versions (the authors' dupe_factor, by their word on GitHub).

Differs from the paper:

- Chinese words are jieba's; the authors cut them with LTP.
- it starts afresh and is trained as BERT is, by AdamW. The authors went on from BERT's Chinese weights by LAMB: a peak of 1e-4 after a tenth
  of the run, 100,000 steps of 2,560 rows of 128 tokens, then as many of 384 rows of 512.
- what differs for BERT (Adam's correction, chunks that aim short).
"""

from __future__ import annotations

from plume.core.part import replace
from plume.noise.select import WholeWords
from plume.objectives.masked_lm import masked_lm
from plume.objectives.next_sentence import next_sentence
from plume.recipes._sizes import with_small
from plume.recipes.bert import BERT
from plume.recipes.bert import HF as HF
from plume.text.words import Words

BERT_WWM = replace(
    BERT,
    name="bert-wwm",
    title="BERT that hides whole words (Chinese: by jieba)",
    paper="arXiv:1906.08101",
    words=Words.JIEBA,
    objectives=(masked_lm(select=WholeWords(), duplicates=5), next_sentence()),
)

SIZES = with_small(BERT_WWM)
PARENT = "bert"
