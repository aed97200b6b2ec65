"""ULMFiT's regularisers in all sizes: those of arXiv:1801.06146 §4.1, and weaker ones of the same kinds."""

from __future__ import annotations

import pytest

from plume.recipes import _catalog as catalog

PAPER = {"word": 0.05, "input": 0.4, "layer": 0.3, "output": 0.4, "weight": 0.5}


@pytest.mark.parametrize(("size", "strength"), [("tiny", 0.3), ("mini", 0.3), ("small", 0.3), ("base", 1.0)])
def test_every_size_has_every_regulariser(size: str, strength: float) -> None:
    recipe = catalog.recipe(f"ulmfit/{size}")
    network = recipe.network
    rates = {
        "word": recipe.embedding.word_dropout,
        "input": network.input_dropout,
        "layer": network.dropout,
        "output": network.output_dropout,
        "weight": network.weight_drop,
    }
    assert rates == pytest.approx({kind: rate * strength for kind, rate in PAPER.items()})
    assert (network.activity, network.slowness, network.depth, network.locked) == (2.0, 1.0, 3, True)
