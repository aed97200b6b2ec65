"""RoBERTa-wwm: RoBERTa's training with whole words of Chinese, on BERT's tokenizer and network (arXiv:1906.08101).

No sentence objective, rows of 512 tokens from the start, whole sentences across documents. Masks are static all the same: the authors say
that they did without dynamic masking. The usual first choice for a Chinese encoder; costs what BERT costs.

Differs from the paper:

- Chinese words are jieba's; the authors cut them with LTP.
- it starts afresh; the authors' base model went on from BERT's Chinese weights for a million steps.
- the authors say only that they dropped the loss of next sentence: rows as RoBERTa's are our reading. So are five versions of the masks, the
  dupe_factor that they name for BERT-wwm.
- torch's AdamW corrects the moments for their start at 0, BERT's Adam does not.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.layout import FullSentences
from plume.noise.select import WholeWords
from plume.objectives.masked_lm import masked_lm
from plume.recipes._sizes import with_small
from plume.recipes.bert_wwm import BERT_WWM
from plume.recipes.bert_wwm import HF as HF

ROBERTA_WWM = replace(
    BERT_WWM,
    name="roberta-wwm",
    title="whole words hidden in full sentences, no sentence objective, BERT's tokenizer",
    pooler=False,
    layout=FullSentences(),
    training=replace(BERT_WWM.training, batch=384),
    objectives=(masked_lm(select=WholeWords(), duplicates=5),),
)

SIZES = with_small(ROBERTA_WWM)
PARENT = "bert-wwm"
