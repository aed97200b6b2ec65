"""ELECTRA: BERT, but a small generator writes tokens into the text, and the model says of every token whether it is original.

Every token teaches, not one in seven, and the paper finds that it gets further than BERT for the same compute; but a two-class loss over
tokens starts slowly, and at tiny sizes it needs longer than the others to leave guessing. Use it for encoders that will be fine-tuned. The
generator runs beside it in training, and is not kept for use.

Differs from the paper:

- Rows hold whole sentences of one document, as one segment; the authors split nine rows in ten in two segments, for which no objective
  asks, and aim at a shorter row one time in twenty (build_pretraining_dataset.py).
"""

from __future__ import annotations

from plume.core.part import replace
from plume.data.layouts.layout import FullSentences
from plume.heads.sentence_classification import SentenceClassification
from plume.model.assembly import GeneratorDiscriminator
from plume.model.bridge import Bridge, Config
from plume.model.keymap import KeyMap, Rename, prefixed
from plume.model.recipe import Recipe, Training
from plume.model.schedule import Linear
from plume.model.task_head import choice_head, own_layer, span_head, text_head, token_head
from plume.nn.activation import Activation
from plume.noise.corrupt import Mask
from plume.noise.select import Tokens
from plume.objectives.masked_lm import masked_lm
from plume.objectives.replaced_token_detection import replaced_token_detection
from plume.recipes._sizes import with_small
from plume.recipes.bert import BERT, BODY, body_config, body_from_config

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
_SMALL = replace(
    ELECTRA,
    size="small-paper",
    assembly=GeneratorDiscriminator(fraction=1 / 4),
    embedding=replace(ELECTRA.embedding, width=128),
    network=replace(ELECTRA.transformer, width=256, depth=12, heads=4, feed_forward=1024),
    training=replace(ELECTRA.training, length=128, batch=128, peak=5e-4, schedule=Linear(warmup=0.01)),
)

_LARGE = replace(
    ELECTRA,
    size="large",
    assembly=GeneratorDiscriminator(fraction=1 / 4),
    embedding=replace(ELECTRA.embedding, width=1024),
    network=replace(ELECTRA.transformer, width=1024, depth=24, heads=16, feed_forward=4096),
    objectives=(masked_lm(select=Tokens(rate=0.25, replacement=True), corrupt=Mask(mask=0.85, random=0.0)), replaced_token_detection()),
    training=replace(ELECTRA.training, batch=2048),
)

_PUBLISHED = {"base": ELECTRA, "small-paper": _SMALL, "large": _LARGE}
# Small models get the generator of the paper's small one.
SIZES = {
    size: recipe if size in _PUBLISHED else replace(recipe, assembly=_SMALL.assembly) for size, recipe in with_small(_PUBLISHED).items()
}


def _to_config(recipe: Recipe) -> Config:
    return body_config(recipe) | {"embedding_size": recipe.embedding.width, "max_position_embeddings": recipe.positions.longest}


def _generator_config(recipe: Recipe) -> Config:
    assert isinstance(recipe.assembly, GeneratorDiscriminator)
    return _to_config(replace(recipe, network=recipe.assembly.generator(recipe.transformer)))


def _from_config(config: Config) -> Recipe:
    return body_from_config(
        ELECTRA, {"embedding_size": 128, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024} | config
    )


_IGNORED = ("electra.embeddings.position_ids",)

# The generator's folder: the same body names, filled from `generator.*` and the shared embedding.
_GENERATOR = Bridge(
    model_type="electra",
    architectures={"ElectraForMaskedLM": ("masked_lm",), "ElectraModel": ()},
    prefix="electra.",
    keys=KeyMap(
        rules=(
            *prefixed([(ours.replace("stack.", "generator.", 1), theirs) for ours, theirs in BODY], "electra."),
            Rename("heads.masked_lm.dense", "generator_predictions.dense"),
            Rename("heads.masked_lm.norm", "generator_predictions.LayerNorm"),
            Rename("heads.masked_lm", "generator_lm_head"),
        ),
        copies=(("generator_lm_head.weight", "electra.embeddings.word_embeddings.weight"),),
        ignored=_IGNORED,
    ),
    to_config=_generator_config,
    from_config=_from_config,
)

HF = Bridge(
    model_type="electra",
    architectures={"ElectraForPreTraining": ("replaced_token_detection",), "ElectraModel": ()},
    prefix="electra.",
    keys=KeyMap(
        rules=(
            *prefixed(BODY, "electra."),
            Rename("heads.replaced_token_detection.dense", "discriminator_predictions.dense"),
            Rename("heads.replaced_token_detection.output", "discriminator_predictions.dense_prediction"),
        ),
        ignored=_IGNORED,
    ),
    to_config=_to_config,
    from_config=_from_config,
    second=_GENERATOR,
    tasks=(
        text_head("ElectraForSequenceClassification", **own_layer("classifier", hidden=Activation.GELU)),
        token_head("ElectraForTokenClassification"),
        span_head("ElectraForQuestionAnswering"),
        choice_head(
            "ElectraForMultipleChoice",
            dense="sequence_summary.summary",
            hidden=Activation.GELU,
            dropout=("summary_first_dropout", "summary_last_dropout"),
            config={"summary_type": "first", "summary_use_proj": True, "summary_activation": "gelu"},
        ),
    ),
)
