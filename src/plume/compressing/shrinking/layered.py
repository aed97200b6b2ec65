"""A model directory with fewer layers: what stands above the network, and what knows its layers by number, goes along."""

from __future__ import annotations

from collections.abc import Sequence

from plume.compressing.shrinking.layers import with_layers
from plume.compressing.shrinking.tuned import network_of, with_body
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.use.language_model import LanguageModel
from plume.nn.pooling import Pooling
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.declared import Declared
from plume.tuning.tuned import TunedModel
from plume.vectors.sentence import SentenceVectors


def fewer_layers(
    model: TunedModel | LanguageModel, kept: Sequence[int], *, name: str, decoder: Sequence[int] | None = None, quiet: bool = False
) -> TunedModel | LanguageModel:
    """With these blocks, and these of a decoder."""
    _refuse_readers_of_layers(model, name)
    body = with_layers(network_of(model), kept, decoder=decoder)
    body.spell(model.tokenizer.tokens())
    sentence = _still_true(model.sentence)
    if model.sentence is not None and sentence is None and not quiet:
        print("The sentence vectors were fitted to the whole network, and are left out: fit them again (plume sentences fit).")
    if isinstance(model, LanguageModel):
        return LanguageModel(body, model.tokenizer, sentence)
    made = with_body(model, body, declared=_declared(model.declared, kept))
    made.sentence = sentence
    return made


def _refuse_readers_of_layers(model: TunedModel | LanguageModel, name: str) -> None:
    if not isinstance(model, TunedModel):
        return
    pooling = model.model.pooling
    if model.model.top.needs_layers or (pooling is not None and not pooling.part.last_only):
        raise PlumeError(
            f"What was tuned here reads layers by their number, and {name} takes some away: make the model below small, and tune that."
        )


def _declared(declared: Declared, kept: Sequence[int]) -> Declared:
    """Of the layers that did not learn, those that stay do not; none is dropped in training any more."""
    adaptation = declared.adaptation
    if isinstance(adaptation, FullTuning):
        adaptation = replace(adaptation, frozen_layers=sum(number < adaptation.frozen_layers for number in kept), layer_drop=None)
    return replace(declared, adaptation=adaptation)


def _still_true(sentence: SentenceVectors | None) -> SentenceVectors | None:
    """What does not depend on how deep the network is."""
    if sentence is None or any(one.learns for one in sentence.transforms):
        return None
    pooling = sentence.pooling
    return None if isinstance(pooling, Pooling) and not pooling.last_only else sentence
