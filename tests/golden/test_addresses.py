"""Parts are named in files by where they are defined: a name that was ever written opens for good (`core/moved.py`)."""

import json
from pathlib import Path

import pytest

from plume.core.moved import CLASSES, address_now
from plume.core.part import Part, part_from_json
from plume.core.part_json import class_at
from plume.model.recipe import Training
from plume.recipes import _catalog as catalog

_WRITTEN = Path(__file__).with_name("addresses.txt").read_text(encoding="utf-8").split()


@pytest.mark.parametrize("address", _WRITTEN)
def test_a_part_is_found_where_an_earlier_version_wrote_it(address: str) -> None:
    assert issubclass(class_at(address_now(address)), Part)
    assert class_at(address_now(address)).__name__ == CLASSES.get(address, address).partition(":")[2]


def test_a_field_is_found_under_its_earlier_name() -> None:
    written = Training().to_json()
    written["optimiser"] = written.pop("optimizer") | {"part": "model.optimisers.adamw:AdamW"}
    assert part_from_json(written) == Training()


def test_a_span_boundary_model_of_an_earlier_version_opens() -> None:
    """Head and noise had names of their own."""
    recipe = catalog.recipe("spanbert/tiny")
    written = json.dumps(recipe.to_json())
    old = written.replace("heads.span_boundary:SpanBoundary", "heads.span_ends:SpanEnds")
    old = old.replace("noise.span_boundary:InPlaceWithBoundaries", "noise.ends:InPlaceWithEnds")
    assert old != written and part_from_json(json.loads(old)) == recipe
