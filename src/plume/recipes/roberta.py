"""RoBERTa: BERT, but no sentence objective, rows filled with whole sentences, masks drawn anew each time, and bytes.

Byte-level tokens mean that no text is ever unknown, at the price of about three tokens a Chinese character in small vocabularies. Use it
for English and mixed text with odd characters, or when the sentence objective of BERT brings you nothing. Costs what BERT costs.

Differs from the paper:

- `<s>` and `</s>` are never hidden, and random tokens come from the whole vocabulary; the authors' code (fairseq) hides any token and draws
  random ones among the ordinary.
- a separator stands between documents; fairseq ends each line of its input with one.
- biases and norms are not decayed; fairseq decays everything.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.layout import FullSentences
from plume.heads.sentence_classification import SentenceClassification
from plume.heads.token_prediction import TokenPrediction
from plume.model.recipe import Training
from plume.model.schedule import Linear
from plume.nn.activation import Activation
from plume.nn.positions.learned import Learned
from plume.noise.select import Rounding, Tokens
from plume.objectives.masked_lm import masked_lm
from plume.recipes._bert_like import TokenHead, bert_bridge, body_config, unpooled_heads
from plume.recipes._sizes import sized, with_small
from plume.recipes.bert import BERT
from plume.text.format import ROBERTA as ROBERTA_FORMAT
from plume.text.tokenizers import ByteLevelBPE

ROBERTA = replace(
    BERT,
    name="roberta",
    title="BERT trained better: bytes, full sentences, masking drawn anew each time, no sentence objective",
    paper="arXiv:1907.11692",
    tokenizer=ByteLevelBPE(vocabulary=50265),
    format=ROBERTA_FORMAT,
    embedding=replace(BERT.embedding, segments=1, epsilon=1e-5),
    positions=Learned(longest=512, offset=2),
    network=replace(BERT.transformer, epsilon=1e-5),
    pooler=False,
    layout=FullSentences(),
    objectives=(masked_lm(select=Tokens(rounding=Rounding.PROBABILISTIC), head=TokenPrediction(epsilon=1e-5)),),
    classifier=SentenceClassification(hidden=Activation.TANH),
    training=Training(length=512, batch=8192, peak=6e-4, schedule=Linear(warmup=0.048), beta2=0.98, clip=0.0),
)

_LARGE = replace(ROBERTA.training, peak=4e-4, schedule=Linear(warmup=0.06))
SIZES = with_small(ROBERTA, sized(ROBERTA, "large", width=1024, depth=24, heads=16, training=_LARGE))
PARENT = "bert"

HF = bert_bridge(
    "Roberta",
    TokenHead("lm_head", norm="layer_norm"),
    classes={"ForMaskedLM": ("masked_lm",)},
    config=body_config(ROBERTA),
    tasks=unpooled_heads("Roberta"),
)
