"""What is measured about an index, against scikit-learn; and a cross-encoder that plume has fine-tuned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plume
from plume.core.errors import PlumeError
from plume.search.evaluating import evaluate, ndcg, read_queries, reciprocal_rank
from plume.search.index import Index
from plume.search.rerank import CrossEncoder


@given(st.permutations(range(12)), st.dictionaries(st.integers(0, 11), st.sampled_from([1.0, 2.0, 3.0]), min_size=1))
def test_ndcg_is_that_of_scikit_learn(order: list[int], grades: dict[int, float]) -> None:
    from sklearn.metrics import ndcg_score

    gains = [[grades.get(number, 0.0) for number in range(12)]]
    scores = [[-order.index(number) for number in range(12)]]
    assert ndcg([str(one) for one in order], {str(key): value for key, value in grades.items()}) == pytest.approx(
        ndcg_score(gains, scores, k=10)
    )


def test_ranks() -> None:
    assert reciprocal_rank(["x", "y", "a"], {"a": 1.0}) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x"] * 10 + ["a"], {"a": 1.0}) == 0


def test_every_way_of_searching_is_measured(tmp_path: Path, hashed: Any) -> None:
    (tmp_path / "q.tsv").write_text("red fox\ta\nred fox\tb\t2\nblue whale\tc\ngreen\tz\t0\n", encoding="utf-8")
    queries = read_queries(tmp_path / "q.tsv")
    assert queries == {"red fox": {"a": 1.0, "b": 2.0}, "blue whale": {"c": 1.0}}
    with Index.create(tmp_path / "idx", model=hashed) as index:
        index.add([{"id": "a", "text": "a red fox"}, {"id": "b", "text": "red fox red"}, {"id": "c", "text": "the whale is blue"}])
        found = {one.by: one for one in evaluate(index, queries)}
        assert set(found) == {"vectors", "words", "hybrid"}
        assert found["hybrid"].recall == {1: 1.0, 5: 1.0, 10: 1.0}
        assert found["vectors"].exact == 1.0 and found["words"].exact is None
        assert found["words"].mrr == 1.0
        with pytest.raises(PlumeError, match="None of the documents"):
            evaluate(index, {"x": {"nowhere": 1.0}})


def test_a_cross_encoder_of_plume_reranks(tmp_path: Path, language_model: Any) -> None:
    """What it says of each pair is what the hits are ordered by."""
    source = np.random.default_rng(0)
    words = ["red", "blue", "fox", "whale", "day", "night"]
    rows = [(" ".join(source.choice(words, 3)), " ".join(source.choice(words, 3)), source.integers(0, 5)) for _ in range(40)]
    (tmp_path / "train.tsv").write_text("first\tsecond\tscore\n" + "".join(f"{a}\t{b}\t{c}\n" for a, b, c in rows))
    language_model("bert").save(tmp_path / "model")
    tuned = plume.tune(tmp_path / "model", task="similarity", train=tmp_path / "train.tsv", out=tmp_path / "cross", epochs=1, quiet=True)
    texts = ["red fox", "blue fox", "fox day", "fox night whale"]
    with Index.create(tmp_path / "idx") as index:
        index.add(texts)
        hits = index.search("fox", rerank=tmp_path / "cross", top=4)
    right = [one["score"] for one in tuned.predict([("fox", hit.text) for hit in hits])]
    assert [hit.score for hit in hits] == pytest.approx(right, abs=1e-5)
    assert right == sorted(right, reverse=True)
    with pytest.raises(PlumeError, match="fine-tuned on pairs"):
        CrossEncoder(language_model("bert"))
