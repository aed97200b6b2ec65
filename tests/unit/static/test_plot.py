"""The map of words: PCA and t-SNE by what they promise, the page by what is in it, the picture by its bytes."""

from __future__ import annotations

import builtins
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.static import plot
from plume.static.vectors import WordVectors


def clusters(each: int = 20, groups: int = 3) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    centres = 4 * generator.normal(size=(groups, 10))
    label = np.repeat(np.arange(groups), each)
    return centres[label] + 0.5 * generator.normal(size=(len(label), 10)), label


def small() -> WordVectors:
    rows, _ = clusters(each=4)
    words = ("</script><b>", "北京", 'a"b', "$x_1$", *(f"w{number}" for number in range(8)))
    return WordVectors(words=words, matrix=rows.astype(np.float32))


def test_pca_is_the_two_largest_directions() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 6)) * [1, 9, 2, 5, 1, 1] + 100
    values, directions = np.linalg.eigh(np.cov(rows.T))
    expected = (rows - rows.mean(0)) @ directions[:, [-1, -2]]
    found = plot.pca(rows)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-9)
    np.testing.assert_allclose(found.var(0, ddof=1), values[[-1, -2]])
    assert (found.max(0) >= -found.min(0)).all()  # the sign is settled


def test_pca_of_one_dimension_has_a_flat_second() -> None:
    assert plot.pca(np.array([[1.0], [2.0], [4.0]]))[:, 1].tolist() == [0, 0, 0]


def test_tsne_keeps_groups_together() -> None:
    rows, label = clusters()
    places = plot.tsne(rows, perplexity=10, steps=300)
    away = np.linalg.norm(places[:, None] - places[None], axis=-1) + np.diag(np.full(len(rows), np.inf))
    nearest = np.argsort(away, 1)[:, :10]
    assert (label[nearest] == label[:, None]).mean() > 0.99
    assert np.array_equal(places, plot.tsne(rows, perplexity=10, steps=300))
    assert not np.array_equal(places, plot.tsne(rows, perplexity=10, steps=300, seed=1))


def test_tsne_finds_the_perplexity_asked_for() -> None:
    rows, _ = clusters()
    joint = plot._joint(rows, perplexity=12)
    assert joint.sum() == pytest.approx(1, abs=1e-6) and np.allclose(joint, joint.T)
    single = plot._joint(np.random.default_rng(0).normal(size=(400, 3)), perplexity=12) * 400
    conditional = single / single.sum(1, keepdims=True)
    entropy = -(conditional * np.log(conditional)).sum(1)  # of the symmetrised rows: near the one asked for, not equal
    assert np.exp(np.median(entropy)) == pytest.approx(12, rel=0.35)


def test_tsnes_gradient_is_that_of_its_loss() -> None:
    rows, _ = clusters(each=5)
    wanted, place = plot._joint(rows, perplexity=4), np.random.default_rng(3).normal(size=(15, 2))

    def loss(at: np.ndarray) -> float:
        near = 1 / (1 + ((at[:, None] - at[None]) ** 2).sum(-1))
        np.fill_diagonal(near, 0)
        others = ~np.eye(len(at), dtype=bool)
        return float((wanted[others] * np.log(wanted[others] / (near / near.sum())[others])).sum())

    numeric = np.zeros_like(place)
    for index in np.ndindex(*place.shape):
        step = np.zeros_like(place)
        step[index] = 1e-5
        numeric[index] = (loss(place + step) - loss(place - step)) / 2e-5
    np.testing.assert_allclose(plot._gradient(place, wanted.astype(np.float32), 1.0), numeric, atol=2e-5)


def test_equal_rows_do_not_break_tsne() -> None:
    assert np.isfinite(plot.tsne(np.ones((6, 4)), steps=50)).all()


def page_data(page: str) -> dict[str, Any]:
    found = re.search(r"^const data = (.*);$", page, re.MULTILINE)
    assert found
    return json.loads(found.group(1))


def test_the_page_is_whole_and_safe(tmp_path: Path) -> None:
    vectors = small()
    plot.map_page(vectors, plot.points(vectors, vectors.words), vectors.words, tmp_path / "map.html", title="A & <B>")
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "http" not in page and "src=" not in page  # nothing from elsewhere
    assert page.count("</script>") == 1 and "A &amp; &lt;B&gt;" in page and "__" not in page.replace("__label__", "")
    data = page_data(page)
    assert data["words"] == list(vectors.words)
    assert len(data["x"]) == len(data["y"]) == 12 and max(map(abs, data["x"] + data["y"])) <= 1.0001


def test_the_pages_neighbours_are_the_nearest_of_those_shown() -> None:
    vectors = small()
    shown = [word for word in vectors.words if word != "w3"]
    data = page_data(plot.page(vectors, plot.points(vectors, shown), shown, title=""))
    for place, word in enumerate(shown):
        expected = [(near.word, near.similarity) for near in vectors.most_similar(word, top=11) if near.word != "w3"][:8]
        assert [shown[other] for other in data["near"][place]] == [name for name, _ in expected]
        assert data["cosine"][place] == pytest.approx([score for _, score in expected], abs=6e-4)


def test_the_picture_is_written_and_says_when_chinese_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: Any) -> None:
    pytest.importorskip("matplotlib")
    vectors = small()
    places = plot.points(vectors, vectors.words)
    monkeypatch.setattr(plot, "_chinese_font", lambda: None)
    notes = plot.map_png(places, vectors.words, tmp_path / "map.png", title="$ & 北京")
    assert (tmp_path / "map.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(notes) == 1 and "No font with Chinese" in notes[0] and not [w for w in recwarn if "Glyph" in str(w.message)]
    assert plot.map_png(places[4:], vectors.words[4:], tmp_path / "latin.png") == []


def test_without_matplotlib_the_install_line_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return whole(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(PlumeError, match=r"pip install 'plume-lm\[plot\]'"):
        plot.map_png(np.zeros((3, 2)), ("a", "b", "c"), tmp_path / "map.png")


def test_which_words_are_shown(tmp_path: Path) -> None:
    vectors = WordVectors(words=("<pad>", ",", "the", "北京", "2024", "cat"), matrix=np.eye(6, dtype=np.float32))
    assert plot.chosen_words(vectors, (), None, 2) == ["the", "北京"]
    (tmp_path / "words").write_text("cat\n\n北京 \ncat\n", encoding="utf-8")
    assert plot.chosen_words(vectors, ("the", "cat"), tmp_path / "words", 2) == ["the", "cat", "北京"]
    with pytest.raises(PlumeError, match="Cannot read words"):
        plot.chosen_words(vectors, (), tmp_path / "nowhere", 2)


def test_what_cannot_be_mapped_is_said() -> None:
    vectors = small()
    with pytest.raises(PlumeError, match="at least three"):
        plot.points(vectors, vectors.words[:2])
    with pytest.raises(PlumeError, match="no map by 'umap'"):
        plot.points(vectors, vectors.words, method="umap")
    with pytest.raises(PlumeError, match="'nowhere' is not among"):
        plot.points(vectors, ("w1", "w2", "nowhere"))
    with pytest.raises(PlumeError, match="at most 2,000"):
        plot.tsne(np.zeros((2001, 2)))
