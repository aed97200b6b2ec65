"""Paraphrases of a text, by a model that was trained to write them (SimBERT), nearest first."""

from __future__ import annotations

from typing import Any

import numpy as np

from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel

_TRIES = 4  # texts that are written for each that is wanted: some come twice, some are the text itself
TOP_P = 0.95  # as SimBERT's gen_synonyms samples


def paraphrase(
    model: LanguageModel, text: str, *, count: int = 5, seed: int = 0, top_p: float = TOP_P, **options: Any
) -> list[tuple[str, float]]:
    """At most `count` different texts that are not the text itself, each with its cosine to the text; `options` are those of `generate`."""
    if model.abilities.after_text() is None:
        raise PlumeError(
            f"This {model.recipe.name} was not trained to write paraphrases: plume sentences train MODEL --method simbert --text PAIRS --out DIR"
        )
    tries = _TRIES * count
    written = model.generate([""] * tries, source=text, seed=list(range(seed, seed + tries)), top_p=top_p, echo=False, **options)
    different = [one for one in dict.fromkeys(one.strip() for one in written) if one and one != text.strip()]
    if not different:
        return []
    vectors = model.embed([text, *different])
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cosine = vectors[1:] @ vectors[0]
    return [(different[place], float(cosine[place])) for place in np.argsort(-cosine, kind="stable")[:count]]
