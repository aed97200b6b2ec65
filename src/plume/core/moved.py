"""Where parts were when files that name them were written: model directories of earlier versions open for good."""

from __future__ import annotations

MODULES = {
    "data.adjacent": "data.layouts.adjacent",
    "data.labelled": "data.layouts.labelled",
    "data.layout": "data.layouts.layout",
    "data.neighbours": "data.layouts.neighbours",
    "data.pairs": "data.layouts.pairs",
    "data.sentences": "data.layouts.sentences",
    "data.single_sentences": "data.layouts.single_sentences",
    "data.streams": "data.layouts.streams",
    "model.memory": "model.networks.memory",
    "model.optimisers.adafactor": "model.optimizers.adafactor",
    "model.optimisers.adamw": "model.optimizers.adamw",
    "model.optimisers.lamb": "model.optimizers.lamb",
    "model.optimisers.optimiser": "model.optimizers.optimizer",
    "tuning.adaptation": "tuning.adapting.adaptation",
    "tuning.answering": "tuning.kinds.answering",
    "tuning.labelling": "tuning.kinds.labelling",
    "tuning.regression": "tuning.kinds.regression",
    "tuning.tagging": "tuning.kinds.tagging",
    "tuning.text_to_text": "tuning.kinds.text_to_text",
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


def field_now(address: str, field: str) -> str:
    """The name of a part's field today.

    >>> field_now("model.recipe:Training", "optimiser")
    'optimizer'
    """
    return FIELDS.get((address, field), field)
