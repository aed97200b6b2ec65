"""Transformer: attention in place of recurrence; an encoder reads a sentence, a decoder writes its translation.

Trained on pairs only, from scratch, with smoothed labels; the parent of every other encoder–decoder here. Use it for translation, or any
text-to-text task with many pairs. A step runs two stacks, and scores the vocabulary at every token of the target.

Differs from the paper:

- A batch is 800 pairs; the paper's is 25,000 tokens a side.
- The norms' epsilon is 1e-5, as in Marian and fairseq; the paper names none, tensor2tensor has 1e-6.
- Wavelengths follow the paper's formula; in tensor2tensor the last is 10,000 · 2π exactly. Sines stand before cosines, as there.
- The decoder starts with the end token; in tensor2tensor it reads zeros.
- Checkpoints are not averaged, and a beam search ranks by the mean log-probability, not by the paper's length penalty.
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.pairs import Fit, Translations
from plume.heads.sentence_classification import SentenceClassification
from plume.model.assembly import EncoderDecoder
from plume.model.bridge import Bridge
from plume.model.recipe import Recipe, Training
from plume.model.schedule import InverseSquareRoot
from plume.nn.activation import Activation
from plume.nn.embedding import Embedding
from plume.nn.positions.sinusoidal import SineColumns, Sinusoidal
from plume.nn.stack import Transformer
from plume.objectives.translation import translation
from plume.recipes._bart_like import FIXED_POSITIONS, body_config, body_keys
from plume.recipes._sizes import sized, with_small
from plume.text.format import Format
from plume.text.tokenizers import BPE

TRANSFORMER = Recipe(
    name="transformer",
    size="base",
    title="encoder–decoder that translates; needs a corpus of pairs",
    paper="arXiv:1706.03762",
    tokenizer=BPE(vocabulary=37000, lowercase=False),
    format=Format(
        pad="<pad>",
        unknown="<unk>",
        begin=None,
        separator="</s>",
        mask=None,
        single=("A", "</s>"),
        pair=("A", "</s>", "B", "</s>"),
        segments=(0, 0, 1, 1),
    ),
    embedding=Embedding(width=512, norm=False, scaled=True, epsilon=1e-5),
    positions=Sinusoidal(columns=SineColumns.HALVES),
    network=Transformer(width=512, depth=6, heads=8, feed_forward=2048, activation=Activation.RELU, attention_dropout=0.0, epsilon=1e-5),
    assembly=EncoderDecoder(),
    layout=Translations(fit=Fit.APART),
    objectives=(translation(),),
    classifier=SentenceClassification(hidden=Activation.TANH),
    # width^-0.5 · 4000^-0.5 is the peak of §5.3
    training=Training(
        length=256, batch=800, peak=7e-4, schedule=InverseSquareRoot(warmup=0.04), beta2=0.98, epsilon=1e-9, decay=0.0, clip=0.0
    ),
)

_BIG = replace(TRANSFORMER.training, peak=4.9e-4, schedule=InverseSquareRoot(warmup=0.0133))
SIZES = with_small(TRANSFORMER, sized(TRANSFORMER, "big", width=1024, depth=6, heads=16, dropout=0.3, training=_BIG))

HF = Bridge(
    model_type="marian",
    architectures={"MarianMTModel": ("translation",), "MarianModel": ()},
    prefix="model.",
    keys=body_keys(ignored=FIXED_POSITIONS),
    config=body_config(TRANSFORMER, names_sharing=True),
)
