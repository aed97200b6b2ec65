"""STS: what files are, Spearman against scipy, and the three averages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from plume.core.errors import PlumeError
from plume.vectors.sts import read_pairs, sts

FILES = {
    "2012.a.tsv": [(4.2, "a cat sat", "a cat sat down"), (0.0, "a dog", "the sea is wide"), (2.5, "one bird", "one small bird sings")],
    "2012.b.tsv": [
        (1.5, "rain falls", "no rain today"),
        (5.0, "he runs", "he runs"),
        (3.3, "we eat bread", "they eat bread"),
        (0.4, "x y", "p q"),
    ],
    "2013.c.tsv": [(2.0, "red box", "a red box"), (1.0, "blue", "old green tree"), (4.0, "the same words", "the same words here")],
}


class Letters:
    """Counts letters: something to embed with."""

    width = 26

    def embed(self, texts: Any, **_: Any) -> Any:
        return np.array([[text.count(chr(97 + letter)) + 0.01 for letter in range(26)] for text in texts], np.float32)


def write(folder: Path) -> None:
    for name, rows in FILES.items():
        (folder / name).write_text("".join(f"{score}\t{one}\t{other}\n" for score, one, other in rows), encoding="utf-8")
    (folder / "README.md").write_text("about them")


def test_every_subset_and_the_three_averages(tmp_path: Path) -> None:
    write(tmp_path)
    found = sts(Letters(), [tmp_path])
    gold, cosine, sizes = {}, {}, {}
    for name, rows in FILES.items():
        left, right = (Letters().embed([row[side] for row in rows]).astype(float) for side in (1, 2))
        cosine[name] = (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
        gold[name], sizes[name] = [row[0] for row in rows], len(rows)
    expected = {name: spearmanr(gold[name], cosine[name]).statistic for name in FILES}
    assert [one.spearman for one in found.subsets] == pytest.approx(list(expected.values()))
    assert [one.year for one in found.subsets] == ["2012", "2012", "2013"]
    year, everything = found.together
    two = ["2012.a.tsv", "2012.b.tsv"]
    assert (year.name, year.pairs, everything.name, everything.pairs) == ("2012", 7, "all", 10)
    joined = spearmanr(np.concatenate([gold[name] for name in two]), np.concatenate([cosine[name] for name in two])).statistic
    assert year.joined == pytest.approx(joined)
    assert year.mean == pytest.approx(np.mean([expected[name] for name in two]))
    assert year.weighted == pytest.approx(np.average([expected[name] for name in two], weights=[3, 4]))


STSB = "main\tMSR\t2012\t0001\t5.0\tA plane takes off.\tA plane leaves.\nmain\tMSR\t2012\t0004\t3.8\tA man plays.\tA man is out.\n" * 3
SICK = (
    "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    "1\tA kid plays\tKids play here\t4.5\tNEUTRAL\n4\tTwo dogs run\tA dog sits\t3.2\tNEUTRAL\n"
)
LCQMC = "喜欢打篮球的男生\t爱打篮球的男生\t1\n我手机丢了\t我想买手机\t0\n大家觉得呢\t你们怎么看\t1\n" * 3
JSONL = '{"sentence1": "a cat", "sentence2": "the cat", "score": 2.5}\n{"sentence1": "b", "sentence2": "c d", "score": 1}\n'


@pytest.mark.parametrize(
    ("name", "text", "first"), [("stsb.csv", STSB, 5.0), ("sick.txt", SICK, 4.5), ("lcqmc.txt", LCQMC, 1.0), ("pairs.jsonl", JSONL, 2.5)]
)
def test_columns_are_found(name: str, text: str, first: float, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    pairs = read_pairs(tmp_path / name)
    assert len(pairs[0].texts) == 2 and pairs[0].answer == first


def test_what_cannot_be_measured_is_said(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="holds no file of pairs"):
        sts(Letters(), [tmp_path])
    (tmp_path / "one.tsv").write_text("only one text\t1\nanother\t0\n")
    with pytest.raises(PlumeError, match="two texts"):
        sts(Letters(), [tmp_path])
