"""Tags and spans: every scheme means the same entities, mistakes are counted, and seqeval agrees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from plume.core.errors import PlumeError
from plume.readers.schemes import Scheme, Span, bio_of, find_scheme, first_mistake, in_characters, mistake_in, spans_of, to_bio

BIO = ["B-PER", "I-PER", "O", "B-LOC", "B-LOC", "I-LOC", "B-PER"]
WRITTEN = {
    "BIO": (Scheme.BIO, "B-PER I-PER O B-LOC B-LOC I-LOC B-PER"),
    "IOB1": (Scheme.IOB1, "I-PER I-PER O I-LOC B-LOC I-LOC I-PER"),
    "BIOES": (Scheme.BIOES, "B-PER E-PER O S-LOC B-LOC E-LOC S-PER"),
    "BILOU": (Scheme.BIOES, "B-PER L-PER O U-LOC B-LOC L-LOC U-PER"),
    "BMEWO": (Scheme.BIOES, "B-PER E-PER O W-LOC B-LOC E-LOC W-PER"),
}
TAGS = st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-A-B", "I-A-B", "B-PER.NOM"]), max_size=12)


@pytest.mark.parametrize("name", WRITTEN)
def test_all_schemes_mean_the_same(name: str) -> None:
    scheme, text = WRITTEN[name]
    assert find_scheme([text.split()]) is scheme
    assert to_bio(text.split(), scheme) == (BIO, 0)


@pytest.mark.parametrize(
    ("sentences", "scheme"),
    [
        (["O O", "I-PER I-LOC O"], Scheme.IO),
        (["O O"], Scheme.BIO),
        (["B-PER O B-LOC"], Scheme.BIO),
        (["B-PER I-PER", "B-PER O", "O I-PER"], Scheme.BIO),  # one mistake does not make it IOB1
        (["B-PER M-PER M-PER"], Scheme.BIOES),
        (["B M E S S"], Scheme.BIOES),
        (["B I I B"], Scheme.BIO),
        (["NN VBZ -LRB- S"], Scheme.PLAIN),
    ],
)
def test_finding_the_scheme(sentences: list[str], scheme: Scheme) -> None:
    assert find_scheme([sentence.split() for sentence in sentences]) is scheme


@pytest.mark.parametrize(
    ("scheme", "tags", "bio", "broken"),
    [
        (Scheme.BIO, "O I-PER I-PER", "O B-PER I-PER", 1),
        (Scheme.BIO, "B-PER I-LOC I-LOC", "B-PER B-LOC I-LOC", 1),
        (Scheme.BIO, "S-PER E-PER", "B-PER B-PER", 2),
        (Scheme.IOB1, "I-PER I-LOC", "B-PER B-LOC", 0),
        (Scheme.IO, "I-PER I-PER O I-PER", "B-PER I-PER O B-PER", 0),
        (Scheme.IO, "I-PER B-PER", "B-PER B-PER", 1),
        (Scheme.BIOES, "B-PER O", "B-PER O", 1),  # never ended
        (Scheme.BIOES, "B-PER I-PER", "B-PER I-PER", 1),  # nor here
        (Scheme.BIOES, "B-PER S-PER", "B-PER B-PER", 1),
        (Scheme.BIOES, "B-PER E-PER I-PER E-PER", "B-PER I-PER B-PER I-PER", 1),  # nothing goes on behind an end
        (Scheme.BIOES, "S-PER E-PER O E-LOC", "B-PER B-PER O B-LOC", 2),
        (Scheme.BIOES, "B M E S", "B-W I-W I-W B-W", 0),
        (Scheme.PLAIN, "NN I-PER", "NN I-PER", 0),
    ],
)
def test_what_breaks_a_scheme_is_mended_and_counted(scheme: Scheme, tags: str, bio: str, broken: int) -> None:
    assert to_bio(tags.split(), scheme) == (bio.split(), broken)


@pytest.mark.parametrize(
    ("tag", "advice"),
    [("B_PER", "write B-PER"), ("0", "letter O"), ("o", "letter O"), ("PER-B", "write B-PER"), ("NN", "look like"), ("B-", "look like")],
)
def test_what_is_no_tag_is_named(tag: str, advice: str) -> None:
    found = mistake_in(tag)
    assert found is not None
    assert f"'{tag}'" in found
    assert advice in found
    with pytest.raises(PlumeError, match=advice):
        find_scheme([["B-PER", "O"], [tag]])


def test_good_tags_are_none_to_complain_of() -> None:
    assert [mistake_in(tag) for tag in ("O", "B", "S", "B-PER.NOM", "I-a-b", "B-人名", "U-X", "M-_")] == [None] * 8


def test_a_letter_alone_is_wrong_beside_types() -> None:
    assert first_mistake(["O", "B", "I"]) is None
    wrong = first_mistake(["O", "B-PER", "I"])
    assert wrong is not None
    assert wrong[0] == "I"


@given(TAGS)
def test_spans_are_those_of_seqeval(tags: list[str]) -> None:
    assert [(span.label, span.start, span.end - 1) for span in spans_of(tags)] == get_entities(tags)


@given(st.lists(st.sampled_from(["O", "B", "I", "B-PER", "I-PER"]), max_size=8))
def test_spans_without_types_are_those_of_seqeval(tags: list[str]) -> None:
    assert [(span.label, span.start, span.end - 1) for span in spans_of(tags)] == get_entities(tags)


@given(TAGS)
def test_there_and_back(tags: list[str]) -> None:
    bio, broken = to_bio(tags, Scheme.BIO)
    assert bio_of(spans_of(tags), len(tags)) == bio
    assert to_bio(bio, Scheme.BIO) == (bio, 0)
    assert broken == sum(ours != theirs for ours, theirs in zip(tags, bio, strict=True))


@given(TAGS)
def test_bioes_and_back(tags: list[str]) -> None:
    letters = ["O"] * len(tags)
    for span in spans_of(tags):
        inner = ["S"] if span.end - span.start == 1 else ["B", *"I" * (span.end - span.start - 2), "E"]
        letters[span.start : span.end] = [f"{letter}-{span.label}" for letter in inner]
    assert to_bio(letters, Scheme.BIOES) == (bio_of(spans_of(tags), len(tags)), 0)


@pytest.mark.parametrize("spans", [[(0, 2), (1, 3)], [(2, 5)], [(-1, 1)], [(1, 1)]])
def test_spans_that_no_tags_can_say(spans: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="overlaps another"):
        bio_of([Span(start=start, end=end, label="X") for start, end in spans], 4)


def test_words_to_characters() -> None:
    text, words = "New York 是", [(0, 3), (4, 8), (9, 10)]
    (span,) = in_characters(spans_of(["B-LOC", "I-LOC", "O"]), words)
    assert text[span.start : span.end] == "New York"
