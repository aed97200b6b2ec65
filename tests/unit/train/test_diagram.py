"""Pictures of visibility: drawn from real batches, so they must show what the papers say."""

from __future__ import annotations

import pytest

from plume.recipes import _catalog as catalog
from plume.train.diagram import BLIND, SEES, diagrams


def sights(picture: str) -> list[list[bool]]:
    """The marks of each line that has some."""
    rows = [[mark == SEES for mark in line if mark in (SEES, BLIND)] for line in picture.splitlines()]
    return [row for row in rows if row]


@pytest.mark.parametrize("family", catalog.networks())
def test_every_kind_of_batch_is_drawn_and_something_is_asked(family: str) -> None:
    recipe = catalog.recipe(f"{family}/tiny")
    found = diagrams(recipe)
    assert list(found) == [kind.name for kind in recipe.kinds]
    for picture in found.values():
        assert "→" in picture
        assert all(any(row) for row in sights(picture))


def test_bert_sees_all_and_gpt_what_is_before() -> None:
    assert all(all(row) for row in sights(diagrams(catalog.recipe("bert/tiny"))["masked_lm"]))
    causal = sights(diagrams(catalog.recipe("gpt2/tiny"))["causal_lm"])
    assert causal == [[column <= row for column in range(len(causal))] for row in range(len(causal))]


def test_a_query_stream_never_sees_its_own_place() -> None:
    picture = diagrams(catalog.recipe("xlnet/tiny"))["permuted_lm"]
    content, queries = picture.split("query stream")
    assert len(sights(content)) == len(sights(content)[0])
    for line in queries.strip().splitlines():
        place = int(line.split()[0].removeprefix("@"))
        assert not sights(line)[0][place]


def test_glm_reads_the_text_both_ways_and_writes_behind_it() -> None:
    picture = diagrams(catalog.recipe("glm/tiny"))["blank_infilling"].splitlines()
    text = next(number for number, line in enumerate(picture) if line.startswith("<|startofpiece|>"))
    for row, marks in enumerate(sights("\n".join(picture))):
        assert marks == [column <= max(row, text - 1) for column in range(len(marks))]


def test_an_encoder_decoder_shows_what_the_encoder_reads() -> None:
    picture = diagrams(catalog.recipe("t5/tiny"))["span_corruption"]
    assert "encoder, all see all:" in picture and "<extra_id_0>" in picture.splitlines()[0]
