"""States of every token, for operations that answer more than one vector a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from plume.core.batching import ROWS
from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.model.use.text_batches import TextBatches
from plume.static.model import WordModel
from plume.static.sif import Mean

Floats = NDArray[np.float32]


def token_states(model: LanguageModel, read: TextBatches, layers: Sequence[int]) -> list[list[Floats]]:
    """Of each text, for each of the layers (0 the embeddings, -1 the last): [T, D] its tokens' states."""
    found: dict[int, list[Floats]] = {}
    for rows, states in _batches(model, read, layers):
        for place, row in enumerate(rows):
            length = len(read.framed[row].tokens)
            found[row] = [one[place, :length] for one in states]
    return [found[row] for row in range(len(read.framed))]


@torch.inference_mode()
def _batches(model: LanguageModel, read: TextBatches, layers: Sequence[int]) -> Iterator[tuple[list[int], list[Floats]]]:
    for rows, made in read.batches(rows=ROWS):
        states = model.runtime.layers(made, last_only=tuple(layers) == (-1,))
        yield rows.tolist(), [states[layer].float().cpu().numpy() for layer in layers]


def word_states(model: WordModel, text: str) -> tuple[list[str], Floats]:
    """A text's words that have a vector, and [T, D] those; one of zeros where no word has."""
    words = model.words(text)
    states = model.vectors.sentence_vectors([[word] for word in words], weighting=Mean())
    known = np.flatnonzero(states.any(1))
    return [words[place] for place in known], states[known] if len(known) else np.zeros((1, model.vectors.dimension), np.float32)


def check_layers(model: LanguageModel, layers: Sequence[int]) -> None:
    """Refuse layers that the model does not have."""
    depth = model.recipe.network.depth
    for layer in layers:
        if not -depth - 1 <= layer <= depth:
            raise PlumeError(f"There is no layer {layer}: this model has layers 0 (embeddings) to {depth}.")
