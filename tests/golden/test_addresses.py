"""Parts are named in files by where they are defined: a name that was ever written opens for good (`core/moved.py`)."""

from pathlib import Path

import pytest

from plume.core.moved import address_now
from plume.core.part import Part, part_from_json
from plume.core.part_json import class_at
from plume.model.recipe import Training

_WRITTEN = Path(__file__).with_name("addresses.txt").read_text(encoding="utf-8").split()


@pytest.mark.parametrize("address", _WRITTEN)
def test_a_part_is_found_where_an_earlier_version_wrote_it(address: str) -> None:
    assert issubclass(class_at(address_now(address)), Part)
    assert class_at(address_now(address)).__name__ == address.partition(":")[2]


def test_a_field_is_found_under_its_earlier_name() -> None:
    written = Training().to_json()
    written["optimiser"] = written.pop("optimizer") | {"part": "model.optimisers.adamw:AdamW"}
    assert part_from_json(written) == Training()
