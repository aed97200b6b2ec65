"""RoBERTa-wwm: RoBERTa's training with whole words of Chinese, on BERT's tokeniser and network (arXiv:1906.08101).

No sentence objective, whole sentences across documents, masks drawn anew. The usual first choice for a Chinese encoder; costs what BERT
costs.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layout import FullSentences
from plume.noise.select import WholeWords
from plume.objectives.masked_lm import masked_lm
from plume.recipes._sizes import with_small
from plume.recipes.bert_wwm import BERT_WWM
from plume.recipes.bert_wwm import HF as HF

ROBERTA_WWM = replace(
    BERT_WWM,
    name="roberta-wwm",
    title="whole words hidden in full sentences, no sentence objective, BERT's tokeniser",
    pooler=False,
    layout=FullSentences(),
    objectives=(masked_lm(select=WholeWords(), duplicates=5),),
)

SIZES = with_small({"base": ROBERTA_WWM})
