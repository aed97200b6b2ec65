"""StructBERT: BERT, but some runs of words are shuffled and must be put right, and a pair may also come in the wrong order.

Beside the masks 5% of the tokens stand in shuffled runs of three, answered by the same head; the sentence head tells three cases apart:
next, before, from elsewhere. Use it where word order carries the meaning, as in inference and paraphrase. It costs what BERT costs.

Differs from the paper:

- the pre-training code was never published. That the head of masked LM answers for the shuffled tokens too, with equal weight, rests on the
  paper's words (§2.2: the final vectors of both go to a softmax over the vocabulary, and are learned jointly with equal weights).
- that runs do not overlap, may stay as they were by chance (one in six) and cover 5% of the tokens does so as well.
- masks, shuffles and pairs are drawn anew each epoch; whether the authors made them beforehand, as BERT's did, is not said.
- rows have one length all along, and torch's AdamW corrects the moments, as for BERT here.
"""

from __future__ import annotations

from dataclasses import replace as with_fields

from plume.core.part import replace
from plume.data.layouts.layout import PairLabel, SentencePairs
from plume.model.schedule import Linear
from plume.noise.shuffled import Shuffled
from plume.objectives.masked_lm import masked_lm
from plume.objectives.sentence_structure import sentence_structure
from plume.objectives.word_structure import word_structure
from plume.recipes._sizes import sized, with_small
from plume.recipes.bert import BERT
from plume.recipes.bert import HF as BERT_HF

STRUCTBERT = replace(
    BERT,
    name="structbert",
    title="BERT that also puts shuffled words and sentences in order",
    paper="arXiv:1908.04577",
    layout=SentencePairs(label=PairLabel.THREE_WAY),
    objectives=(masked_lm(corrupt=Shuffled()), word_structure(), sentence_structure()),
    training=replace(BERT.training, schedule=Linear(warmup=0.1)),
)

SIZES = with_small(STRUCTBERT, sized(STRUCTBERT, "large", width=1024, depth=24, heads=16))
PARENT = "bert"

# BERT's class for pairs has two classes, so only the masked-LM head goes along.
HF = with_fields(
    BERT_HF,
    architectures={"BertForMaskedLM": ("masked_lm",), "BertModel": ()},
    unmatched=("heads.sentence_structure",),
)
