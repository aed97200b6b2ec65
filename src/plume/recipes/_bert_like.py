"""What the bridges of BERT's kin share: names of parameters, keys of config.json, classes for tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plume.model.bridge import Bridge
from plume.model.config_map import ConfigMap, ConfigRule, Entry, activation, entries
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


@dataclass(frozen=True)
class TokenHead:
    """Their names for a head that transforms a state and scores it against the token vectors."""

    theirs: str
    objective: str = "masked_lm"
    transform: str | None = None  # where dense layer and norm stand; None: in the head
    norm: str = "LayerNorm"
    decoder: str | None = "decoder"  # in older files it repeats the token vectors and the bias, below the head; None: the head itself

    def rules(self) -> tuple[Rename, ...]:
        """Dense layer, norm, and the bias."""
        ours, inner = f"heads.{self.objective}", self.transform or self.theirs
        return (Rename(f"{ours}.dense", f"{inner}.dense"), Rename(f"{ours}.norm", f"{inner}.{self.norm}"), Rename(ours, self.theirs))

    def copies(self, token: str) -> tuple[tuple[str, str], ...]:
        """What only repeats other tensors."""
        if self.decoder is None:
            return ((f"{self.theirs}.weight", token),)
        return ((f"{self.theirs}.{self.decoder}.weight", token), (f"{self.theirs}.{self.decoder}.bias", f"{self.theirs}.bias"))


def bert_bridge(
    stem: str,
    predicts: TokenHead | None,
    *heads: Rename,
    classes: Mapping[str, tuple[str, ...]],
    config: ConfigMap,
    body: Mapping[str, str] = BODY,
    tasks: tuple[TaskHead, ...] = (),
    second: Bridge | None = None,
) -> Bridge:
    """The bridge to classes that are BERT's under another stem ("Roberta"); `classes` names those with heads, and the objectives of these."""
    prefix = f"{stem.lower()}."
    rules = prefixed(body.items(), prefix) + (() if predicts is None else predicts.rules()) + heads
    copies = () if predicts is None else predicts.copies(f"{prefix}embeddings.word_embeddings.weight")
    return Bridge(
        model_type=stem.lower(),
        architectures={**{f"{stem}{name}": held for name, held in classes.items()}, f"{stem}Model": ()},
        prefix=prefix,
        keys=KeyMap(rules=rules, copies=copies, ignored=(f"{prefix}embeddings.position_ids",)),
        config=config,
        tasks=tasks,
        second=second,
    )


# Of BERT and ERNIE: for masked tokens and for the next sentence.
PRETRAINING_HEADS = (
    TokenHead("cls.predictions", transform="cls.predictions.transform"),
    Rename("heads.next_sentence.output", "cls.seq_relationship"),
)


def body_config(base: Recipe, *more: ConfigRule, segments: bool = True, **defaults: Any) -> ConfigMap:
    """config.json of an encoder of BERT's shape, with further entries; `defaults`: what transformers takes for keys that a file leaves out.

    A class that knows token vectors narrower than its states has a default for their `embedding_size`.
    """
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
    narrow = entries(embedding_size="embedding.width") if "embedding_size" in defaults else ()
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


def pretraining(second: str) -> dict[str, tuple[str, ...]]:
    """The classes of a family with a masked LM and a second head, for pairs of sentences."""
    return {"ForPreTraining": ("masked_lm", second), "ForMaskedLM": ("masked_lm",)}


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
