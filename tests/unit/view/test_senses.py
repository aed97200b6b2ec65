"""A word's occurrences, their vectors at every layer, and the geometry of them, held against scikit-learn's and transformers'."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.recipes import _catalog as catalog
from plume.view.inside import senses_page
from plume.view.recording.geometry import clusters, nearest, neighbour_map, principal, shared_information, unit
from plume.view.recording.occurrences import occurrences, pattern_of, sampled
from plume.view.recording.senses import senses
from plume.view.recording.states import stretches

SENTENCES = [
    "The old captain carries the letter near the river.",
    "My sister forgets the letter at home.",
    "A tired sailor paints a letter without a word.",
    "北京大学的学生带来一封信今天早上。",
    "The captains follow; the captain remembers, the Captain sleeps.",
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(SENTENCES * 4) + "\n", encoding="utf-8")
    return path


def test_whole_words_in_any_case(file: Path) -> None:
    found = occurrences(file, "captain")
    assert found.total == 4 * 3 and {one.text[one.start : one.end] for one in found.occurrences} == {"captain", "Captain"}
    assert occurrences(file, "Captain").total == 4  # a capital is meant
    assert occurrences(file, "old captain").total == 4
    assert occurrences(file, "学生").total == 4
    with pytest.raises(PlumeError, match=r"'lighthouse' occurs no times in .*: three at least"):
        occurrences(file, "lighthouse")
    assert pattern_of("c++").findall("C++ and c++.") == ["C++", "c++"]


def test_a_sample_is_even() -> None:
    """Over many seeds each occurrence is kept as often as any other."""
    sentences = [(f"the word {number}", str(number)) for number in range(40)]
    counts = Counter(one.label for seed in range(400) for one in sampled(sentences, "word", most=10, seed=seed).occurrences)
    assert len(counts) == 40 and max(abs(count - 100) for count in counts.values()) < 45
    kept = [int(one.label or 0) for one in sampled(sentences, "word", most=10).occurrences]
    assert kept == sorted(kept)


def test_long_sentences_are_cropped() -> None:
    text = "a " * 500 + "needle" + " b" * 500
    (one, *_) = sampled([(text, None)] * 3, "needle", most=3).occurrences
    assert len(one.text) < 650 and one.text[one.start : one.end] == "needle"


def test_tables_with_labels(tmp_path: Path) -> None:
    rows = [("The bank of the river.", "shore"), ("A bank lends money.", "money"), ("My bank is closed.", "money"), ("West bank.", "shore")]
    (tmp_path / "a.tsv").write_text("sentence\tsense\n" + "".join(f"{text}\t{label}\n" for text, label in rows), encoding="utf-8")
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"sentence": text, "sense": label}) + "\n" for text, label in rows), encoding="utf-8"
    )
    for name in ("a.tsv", "a.jsonl"):
        found = occurrences(tmp_path / name, "bank", label="sense", text="sentence")
        assert [one.label for one in found.occurrences] == [label for _, label in rows]


def test_states_are_those_of_hidden(language_model: Callable[[str], LanguageModel]) -> None:
    """Of a word of several pieces the mean, the first and the last."""
    model = language_model("bert")
    text = "The lighthouse near the river."
    found = stretches(model, [text], [(0, 4, 14), (0, 24, 29)])
    (hidden,) = model.hidden(text)
    pieces = model.tokenizer.encode_pieces([text])[0]
    own = [place + 1 for place in range(len(pieces.ids)) if pieces.start[place] < 14 and pieces.end[place] > 4]
    assert len(own) > 1
    for layer, states in enumerate(hidden.layers):
        assert np.allclose(found.mean[layer][0], states[own].mean(0), atol=1e-6)
        assert np.allclose(found.first[layer][0], states[own[0]], atol=1e-6) and np.allclose(
            found.last[layer][0], states[own[-1]], atol=1e-6
        )


def test_what_the_model_does_not_reach_is_left_out(language_model: Callable[[str], LanguageModel]) -> None:
    model = language_model("bert")  # 64 tokens
    long = "the cat finds two apples " * 30 + "umbrella"
    found = stretches(model, ["an umbrella", long], [(0, 3, 11), (1, len(long) - 8, len(long))])
    assert found.kept.tolist() == [0]


@pytest.mark.parametrize("family", catalog.networks())
def test_every_network(family: str, language_model: Callable[[str], LanguageModel], file: Path) -> None:
    model = language_model(family)
    language = "en" if model.model.languages is not None else None
    found = senses(model, "letter", file, language=language)
    assert len(found.occurrences) == 12 and len(found.layers) >= 2
    for layer in found.layers:
        assert layer.principal.shape == layer.neighbours.shape == (12, 2) and layer.nearest.shape == (12, 6)
        assert np.isfinite(layer.principal).all() and np.isfinite(layer.neighbours).all()
    # The same sentence four times is four times the same point.
    last = found.layers[-1]
    assert np.allclose(last.principal[0], last.principal[3], atol=1e-5)


def test_word_vectors_have_no_senses(file: Path) -> None:
    with pytest.raises(PlumeError, match="one vector a word"):
        senses_page(object(), "letter", file)  # type: ignore[arg-type]


def test_two_senses_come_apart() -> None:
    generator = np.random.default_rng(0)
    side = np.repeat([0, 1], 20)
    vectors = unit((np.eye(8)[side] * 4 + generator.normal(size=(40, 8)) * 0.3).astype(np.float32))
    found = clusters(vectors)
    assert found is not None and found.count == 2 and shared_information(found.member, [str(one) for one in side]) == pytest.approx(1)
    swapped = clusters(vectors, type(found)(member=1 - found.member, silhouette=0.5))
    assert swapped is not None and (swapped.member == 1 - found.member).all()  # as they were numbered before
    assert clusters(np.ones((9, 4), np.float32)) is None
    flat = neighbour_map(vectors)
    assert np.ptp(flat[side == 0], axis=0).max() < np.linalg.norm(flat[side == 0].mean(0) - flat[side == 1].mean(0))


@given(arrays(np.float32, st.tuples(st.integers(4, 12), st.integers(2, 5)), elements=st.floats(-3, 3, width=32)))
def test_geometry_as_scikit_learn(vectors: np.ndarray) -> None:
    from sklearn.decomposition import PCA

    flat, shown = principal(vectors)
    if vectors.var(0).sum() < 1e-3:
        return
    theirs = PCA(2).fit(vectors.astype(np.float64))
    assert np.allclose(flat.var(0) * len(vectors) / (len(vectors) - 1), theirs.explained_variance_, atol=1e-3)
    assert shown == pytest.approx(theirs.explained_variance_ratio_.sum(), abs=1e-3)
    units = unit(vectors)
    alike = units @ units.T
    found = nearest(units, 2)
    for row in range(len(vectors)):
        best = sorted((alike[row, other] for other in range(len(vectors)) if other != row), reverse=True)[:2]
        assert row not in found[row] and np.allclose(alike[row, found[row]], best, atol=1e-5)


def test_a_map_goes_on_from_the_one_before() -> None:
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(30, 6)).astype(np.float32)
    before, _ = principal(vectors)
    turned = before @ np.array([[0.0, 1.0], [-1.0, 0.0]], np.float32)
    after, _ = principal(vectors + 0.01 * generator.normal(size=vectors.shape).astype(np.float32), turned)
    assert np.abs(after - turned).max() < 0.2
