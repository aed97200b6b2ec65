"""A trained model as frozen features for a task's own network (ELMo, arXiv:1802.05365 §3.2–3.3)."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.model.language_model import LanguageModel
from plume.nn.scalar_mix import ScalarMix


class Place(enum.StrEnum):
    """Where a task's network gets them: beside its word vectors, beside its own output, or both, each with weights of its own."""

    INPUT = "input"
    OUTPUT = "output"
    BOTH = "both"


@dataclass(frozen=True, kw_only=True)
class Features:
    """[N, T, D] of texts padded on the right; where a place was not asked for, there is nothing."""

    tokens: list[list[str]]
    length: Tensor  # [N]
    input: Tensor | None
    output: Tensor | None


class FrozenFeatures(nn.Module):
    """All layers of a model that learns no more, mixed with weights that the task learns: γ Σ softmax(w)_j h_j.

    The model is no part of the module: its weights are neither trained nor saved with the task's.
    """

    def __init__(self, model: LanguageModel, *, at: Place = Place.INPUT, norm: bool = False) -> None:
        super().__init__()
        self._model = (model,)  # in a tuple, so that it is not registered
        layers = model.hidden("a")[0].layers
        if len({layer.shape[1] for layer in layers}) > 1:
            widths = ", ".join(str(layer.shape[1]) for layer in layers)
            raise PlumeError(f"The layers of {model.recipe.name} have the widths {widths}, and only layers of one width can be mixed.")
        self.width = layers[0].shape[1]
        places = [Place.INPUT, Place.OUTPUT] if at is Place.BOTH else [at]
        self.mixes = nn.ModuleDict({str(place): ScalarMix(len(layers), norm=norm) for place in places})

    def forward(self, texts: Sequence[str]) -> Features:
        hidden = self._model[0].hidden(list(texts))
        length = torch.tensor([len(one.tokens) for one in hidden])
        layers = [
            nn.utils.rnn.pad_sequence([torch.from_numpy(one.layers[number]) for one in hidden], batch_first=True)
            for number in range(len(hidden[0].layers))
        ]
        mixed = {name: mix(layers, length=length) for name, mix in self.mixes.items()}
        return Features(tokens=[one.tokens for one in hidden], length=length, input=mixed.get("input"), output=mixed.get("output"))

    def penalty(self, strength: float) -> Tensor:
        """The L2 term on the mixing weights, to be added to the task's loss."""
        return torch.stack([mix.penalty(strength) for mix in self.mixes.values()]).sum()  # type: ignore[operator]
