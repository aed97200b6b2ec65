"""ELECTRA: BERT, but a small generator writes tokens into the text, and the model says of every token whether it is original.

Every token teaches, not one in seven, and the paper finds that it gets further than BERT for the same compute; but a two-class loss over
tokens starts slowly, and at tiny sizes it needs longer than the others to leave guessing. Use it for encoders that will be fine-tuned. The
generator runs beside it in training, and is not kept for use.

Differs from the paper:

- Rows hold whole sentences of one document, as one segment; the authors split nine rows in ten in two segments, for which no objective
  asks, and aim at a shorter row one time in twenty (build_pretraining_dataset.py).
"""

from __future__ import annotations

from dataclasses import replace as with_fields

from plume.core.part import replace
from plume.data.layouts.layout import FullSentences
from plume.heads.sentence_classification import SentenceClassification
from plume.model.assembly import GeneratorDiscriminator
from plume.model.keymap import Rename
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.model.task_head import choice_head, own_layer, span_head, summary, text_head, token_head
from plume.nn.activation import Activation
from plume.noise.corrupt import Mask
from plume.noise.select import Tokens
from plume.objectives.masked_lm import masked_lm
from plume.objectives.replaced_token_detection import replaced_token_detection
from plume.recipes._bert_like import BODY, TokenHead, bert_bridge, body_config
from plume.recipes._sizes import sized, with_small
from plume.recipes.bert import BERT

# The generator's masked positions are drawn with replacement; 85% show [MASK], 15% stay, none is random (pretrain_helpers.py).
ELECTRA = replace(
    BERT,
    name="electra",
    title="a small generator replaces tokens, the model finds them; learns from every token",
    paper="arXiv:2003.10555",
    pooler=False,
    assembly=GeneratorDiscriminator(fraction=1 / 3),
    layout=FullSentences(across=False),
    objectives=(masked_lm(select=Tokens(replacement=True), corrupt=Mask(mask=0.85, random=0.0)), replaced_token_detection()),
    classifier=SentenceClassification(hidden=Activation.GELU),
    training=Training(length=512, batch=256, peak=2e-4, schedule=Linear(warmup=0.013)),
)

# The paper's own small model; narrow embeddings, as in ALBERT. plume's miniature of that name is smaller, so this one is small-paper.
_SMALL = sized(
    ELECTRA,
    "small-paper",
    width=256,
    depth=12,
    heads=4,
    assembly=GeneratorDiscriminator(fraction=1 / 4),
    embedding=replace(ELECTRA.embedding, width=128),
    training=replace(ELECTRA.training, length=128, batch=128, peak=5e-4, schedule=Linear(warmup=0.01)),
)
_LARGE = sized(
    ELECTRA,
    "large",
    width=1024,
    depth=24,
    heads=16,
    assembly=GeneratorDiscriminator(fraction=1 / 4),
    objectives=(masked_lm(select=Tokens(rate=0.25, replacement=True), corrupt=Mask(mask=0.85, random=0.0)), replaced_token_detection()),
    training=replace(ELECTRA.training, batch=2048),
)
# Small models get the generator of the paper's small one.
SIZES = with_small(ELECTRA, _SMALL, _LARGE, small=lambda recipe: replace(recipe, assembly=_SMALL.assembly))
PARENT = "bert"


def _generator(recipe: Recipe) -> Recipe:
    assert isinstance(recipe.assembly, GeneratorDiscriminator)
    return replace(recipe, network=recipe.assembly.generator(recipe.transformer))


_CONFIG = body_config(ELECTRA, embedding_size=128, hidden_size=256, num_attention_heads=4, intermediate_size=1024)
# The generator's folder: the same names, filled from `generator.*` and the shared embedding.
_SECOND = bert_bridge(
    "Electra",
    TokenHead("generator_lm_head", transform="generator_predictions", decoder=None),
    body={ours.replace("stack.", "generator.", 1): theirs for ours, theirs in BODY.items()},
    classes={"ForMaskedLM": ("masked_lm",)},
    config=with_fields(_CONFIG, describes=_generator),
)
HF = bert_bridge(
    "Electra",
    None,
    Rename("heads.replaced_token_detection.dense", "discriminator_predictions.dense"),
    Rename("heads.replaced_token_detection.output", "discriminator_predictions.dense_prediction"),
    classes={"ForPreTraining": ("replaced_token_detection",)},
    config=_CONFIG,
    second=_SECOND,
    tasks=(
        text_head("ElectraForSequenceClassification", **own_layer("classifier", hidden=Activation.GELU)),
        token_head("ElectraForTokenClassification"),
        span_head("ElectraForQuestionAnswering"),
        choice_head("ElectraForMultipleChoice", **summary("first", hidden=Activation.GELU)),
    ),
)
