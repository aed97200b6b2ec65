"""Where parts were when files that name them were written: model directories of earlier versions open for good."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MODULES = {
    "data.adjacent": "data.layouts.adjacent",
    "data.labelled": "data.layouts.labelled",
    "data.layout": "data.layouts.layout",
    "data.neighbours": "data.layouts.neighbours",
    "data.pairs": "data.layouts.pairs",
    "data.sentences": "data.layouts.sentences",
    "data.single_sentences": "data.layouts.single_sentences",
    "data.streams": "data.layouts.streams",
    "model.optimisers.adafactor": "model.optimizers.adafactor",
    "model.optimisers.adamw": "model.optimizers.adamw",
    "model.optimisers.lamb": "model.optimizers.lamb",
    "model.optimisers.optimiser": "model.optimizers.optimizer",
    "nn.recurrent": "nn.recurrent.recurrent",
    "nn.recurrent_attention": "nn.recurrent.attention_decoder",
    "nn.bidirectional": "nn.recurrent.bidirectional",
    "nn.conditional_gru": "nn.recurrent.vector_decoder",
    "tuning.adaptation": "tuning.adapting.adaptation",
    "tuning.answering": "tuning.kinds.answering",
    "tuning.labelling": "tuning.kinds.labelling",
    "tuning.regression": "tuning.kinds.regression",
    "tuning.tagging": "tuning.kinds.tagging",
    "tuning.text_to_text": "tuning.writing.text_to_text",
    "tuning.ways": "tuning.writing.ways",
    "tuning.worded": "tuning.writing.worded",
    "tuning.worded_answers": "tuning.writing.worded_answers",
    "tuning.written": "tuning.writing.written",
}
CLASSES = {  # renamed, with the module
    "model.optimisers.optimiser:Optimiser": "model.optimizers.optimizer:Optimizer",
    "heads.span_ends:SpanEnds": "heads.span_boundary:SpanBoundary",
    "noise.ends:InPlaceWithEnds": "noise.span_boundary:InPlaceWithBoundaries",
}
FIELDS = {("model.recipe:Training", "optimiser"): "optimizer"}


def _adaptation(old: dict[str, Any]) -> dict[str, Any]:
    """Once one record with the fields of every mode; since then a part for each."""
    ways = {
        "full": ("FullTuning", {"frozen_layers"}),
        "features": ("FrozenFeatures", {"network", "place", "penalty", "norm"}),
        "probe": ("LinearProbe", {"layer"}),
        "adapters": ("LowRankAdapters", {"adapters"}),
    }
    mode = old.get("mode", "full")
    if mode not in ways:
        return old
    name, own = ways[mode]
    others = {field for _, fields in ways.values() for field in fields} - own
    return {"part": f"tuning.adapting.ways.{mode}:{name}"} | {
        field: value for field, value in old.items() if field not in others | {"part", "mode"}
    }


# A part that was split or reshaped: from its record, as it was written, to that of today.
RECORDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"tuning.adapting.adaptation:Adaptation": _adaptation}


def address_now(address: str) -> str:
    """The address of a part today, whenever it was written.

    >>> address_now("data.sentences:SentencePairs"), address_now("noise.select:Tokens")
    ('data.layouts.sentences:SentencePairs', 'noise.select:Tokens')
    >>> address_now("heads.span_ends:SpanEnds")
    'heads.span_boundary:SpanBoundary'
    """
    if address in CLASSES:
        return CLASSES[address]
    module, colon, name = address.partition(":")
    return MODULES.get(module, module) + colon + name


def record_now(record: dict[str, Any]) -> dict[str, Any]:
    """The record of a part as it is written today.

    >>> record_now({"part": "tuning.adaptation:Adaptation", "mode": "probe", "layer": 3, "frozen_layers": 0})
    {'part': 'tuning.adapting.ways.probe:LinearProbe', 'layer': 3}
    """
    rewrite = RECORDS.get(address_now(record["part"]))
    return record if rewrite is None else rewrite(record)


def field_now(address: str, field: str) -> str:
    """The name of a part's field today.

    >>> field_now("model.recipe:Training", "optimiser")
    'optimizer'
    """
    return FIELDS.get((address, field), field)
