"""What the bridges of BERT's kin share: names of parameters, keys of config.json, classes for tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plume.model.config_map import ConfigMap, Constant, Entry, Told, activation, entries
from plume.model.keymap import KeyMap, Rename, block_names, prefixed
from plume.model.recipe import Recipe
from plume.model.task_head import TaskHead, choice_head, own_layer, span_head, text_head, token_head
from plume.nn.activation import Activation

# Ours: theirs, below the prefix.
BODY = {
    "embedding.token": "embeddings.word_embeddings",
    "embedding.position.table": "embeddings.position_embeddings",
    "embedding.segment": "embeddings.token_type_embeddings",
    "embedding.norm": "embeddings.LayerNorm",
    "stack.project": "embeddings_project",
    **block_names(
        "encoder.layer.*.",
        attention=("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"),
        feed_forward=("intermediate.dense", "output.dense"),
        norms=("attention.output.LayerNorm", "output.LayerNorm"),
    ),
    "pooler.dense": "pooler.dense",
}


def body_keys(prefix: str, *heads: Rename, body: Mapping[str, str] = BODY, tied: str | None = None) -> KeyMap:
    """The body's names and those of the heads; `tied` is the module that repeats the token vectors, and below a head the head's bias."""
    token = f"{prefix}embeddings.word_embeddings.weight"
    copies = () if tied is None else ((f"{tied}.weight", token),)
    if tied is not None and tied.endswith(".decoder"):
        copies += ((f"{tied}.bias", f"{tied.removesuffix('.decoder')}.bias"),)
    return KeyMap(rules=(*prefixed(body.items(), prefix), *heads), copies=copies, ignored=(f"{prefix}embeddings.position_ids",))


def token_prediction(
    theirs: str, *, objective: str = "masked_lm", transform: str | None = None, norm: str = "LayerNorm"
) -> tuple[Rename, ...]:
    """The names of a head that transforms a state and scores it against the token vectors."""
    ours, inner = f"heads.{objective}", transform or theirs
    return (Rename(f"{ours}.dense", f"{inner}.dense"), Rename(f"{ours}.norm", f"{inner}.{norm}"), Rename(ours, theirs))


def bert_keys(prefix: str) -> KeyMap:
    """The whole of BERT and ERNIE: the body, and the heads for masked tokens and for the next sentence."""
    masked = token_prediction("cls.predictions", transform="cls.predictions.transform")
    return body_keys(prefix, *masked, Rename("heads.next_sentence.output", "cls.seq_relationship"), tied="cls.predictions.decoder")


def body_config(
    base: Recipe, *more: Entry | Constant | Told, segments: bool = True, factorised: bool = False, **defaults: Any
) -> ConfigMap:
    """config.json of an encoder of BERT's shape, with further entries; `defaults`: what transformers takes for keys that a file leaves out."""
    body = entries(
        hidden_size=("network.width", "embedding.width"),
        num_hidden_layers="network.depth",
        num_attention_heads="network.heads",
        intermediate_size="network.feed_forward",
        hidden_dropout_prob=("network.dropout", "embedding.dropout"),
        attention_probs_dropout_prob="network.attention_dropout",
        layer_norm_eps=("network.epsilon", "embedding.epsilon"),
        initializer_range="network.initial_range",
    )
    types = entries(type_vocab_size="embedding.segments") if segments else ()
    narrow = entries(embedding_size="embedding.width") if factorised else ()
    return ConfigMap(
        base=base, entries=(*body, activation("hidden_act"), *types, _POSITIONS, *narrow, *more), defaults=_DEFAULTS | defaults
    )


# The table of positions counts the rows that no token uses (RoBERTa's two).
_POSITIONS = Entry(
    "max_position_embeddings",
    "positions.longest",
    read=lambda rows, look: rows - look("positions.offset"),
    write=lambda longest, look: longest + look("positions.offset"),
)


_DEFAULTS: dict[str, Any] = {
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 512,
}


def pretraining(stem: str, second: str) -> dict[str, tuple[str, ...]]:
    """The classes of a family with a masked LM and a second head, for pairs of sentences."""
    return {f"{stem}ForPreTraining": ("masked_lm", second), f"{stem}ForMaskedLM": ("masked_lm",), f"{stem}Model": ()}


def pooled_heads(stem: str, *, dropout: str = "classifier_dropout") -> tuple[TaskHead, ...]:
    """BERT's and ALBERT's: a text is labelled through the pooler."""
    return (
        text_head(f"{stem}ForSequenceClassification", pooler=True, dropout=(dropout,)),
        token_head(f"{stem}ForTokenClassification", dropout=(dropout,)),
        span_head(f"{stem}ForQuestionAnswering"),
        choice_head(f"{stem}ForMultipleChoice", pooler=True, dropout=(dropout,)),
    )


def unpooled_heads(stem: str, *, dropout: tuple[str, ...] = ("classifier_dropout",)) -> tuple[TaskHead, ...]:
    """RoBERTa's and MPNet's: a text is labelled by a layer of the head's own; which of several is right, through a new pooler."""
    return (
        text_head(f"{stem}ForSequenceClassification", dropout=dropout, **own_layer("classifier")),
        token_head(f"{stem}ForTokenClassification", dropout=dropout),
        span_head(f"{stem}ForQuestionAnswering"),
        choice_head(f"{stem}ForMultipleChoice", dense=f"{stem.lower()}.pooler.dense", hidden=Activation.TANH, dropout=()),
    )
