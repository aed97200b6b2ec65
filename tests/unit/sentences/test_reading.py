"""Files of texts, pairs and triples, as data sets come; and what a method says of a file that lacks what it needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plume.core.errors import PlumeError
from plume.sentences.grouping import PositivePairs, SameText, ScoredPairs
from plume.sentences.method import method, method_names
from plume.sentences.reading import read_sentences
from plume.tuning.task import Columns

A = [f"a man is playing the {what} in the street" for what in ("flute", "guitar", "drums", "violin", "piano", "horn")]
B = [f"someone plays a {what} outside" for what in ("flute", "guitar", "drum", "fiddle", "piano", "horn")]
N = [f"nobody is near any {what} at all" for what in ("flute", "guitar", "drum", "violin", "piano", "horn")]


def table(path: Path, rows: list[list[object]], header: str = "", mark: str = "\t") -> Path:
    lines = ([header.replace("\t", mark)] if header else []) + [mark.join(map(str, row)) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def stsb(path: Path) -> Path:
    return table(
        path / "sts-train.csv",
        [["main", "MSRvid", "2012test", f"{i:04d}", f"{i:.3f}", a, b] for i, (a, b) in enumerate(zip(A, B, strict=True))],
    )


def sick(path: Path) -> Path:
    words = ["ENTAILMENT", "NEUTRAL", "CONTRADICTION", "NEUTRAL", "ENTAILMENT", "NEUTRAL"]
    rows: list[list[object]] = [[i + 1, a, b, 1 + 0.8 * i, words[i]] for i, (a, b) in enumerate(zip(A, B, strict=True))]
    return table(path / "SICK.txt", rows, "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment")


def lcqmc(path: Path) -> Path:
    chinese = [
        "开初婚未育证明怎么弄？",
        "谁有狂三这张高清的",
        "英雄联盟什么英雄最好",
        "这是什么意思，被蹭网吗",
        "我想听你唱歌给我听",
        "大家觉得她好看吗",
    ]
    return table(path / "lcqmc.txt", [[a, a[::-1], i % 2] for i, a in enumerate(chinese)])


def afqmc(path: Path) -> Path:
    made = path / "afqmc.jsonl"
    rows = [{"sentence1": a, "sentence2": b, "label": str(i % 2)} for i, (a, b) in enumerate(zip(A, B, strict=True))]
    made.write_text("\n".join(json.dumps(row) for row in rows))
    return made


@pytest.mark.parametrize(("make", "first", "last"), [(stsb, 0.0, 1.0), (sick, 0.0, 1.0), (lcqmc, 0.0, 1.0), (afqmc, 0.0, 1.0)])
def test_scored_pairs_are_found_as_data_sets_come(make: object, first: float, last: float, tmp_path: Path) -> None:
    found = read_sentences([make(tmp_path)])  # type: ignore[operator]
    assert (found.texts, found.scored, found.inference, len(found.rows)) == (2, True, False, 6)
    grouped = ScoredPairs()(found, "cosent")
    assert (grouped.score[0], grouped.score[-1]) == (first, last) and len(grouped.texts[0]) == 2
    if make is not lcqmc:
        assert grouped.texts[0] == (A[0], B[0])


def test_plain_text_is_a_text_a_line_whatever_its_commas(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(f"{a}, {b}" for a, b in zip(A, B, strict=True)) + "\n\n", encoding="utf-8")
    found = read_sentences([path])
    assert (found.texts, found.scored) == (1, False) and found.rows[0].texts == (f"{A[0]}, {B[0]}",)
    assert len(SameText()(found, "simcse").texts) == 6


def test_a_text_twice_is_one_and_pairs_give_their_texts(tmp_path: Path) -> None:
    grouped = SameText()(
        read_sentences([table(tmp_path / "p.tsv", [[a, b] for a, b in zip(A, B, strict=True)] + [[A[0], N[0]]])]), "simcse"
    )
    assert len(grouped.texts) == 13 and all(one == other for one, other in grouped.texts)
    assert grouped.notes == ["1 repeated texts are left out"]


@pytest.mark.parametrize("header", ["anchor\tpositive\tnegative", "sent0\tsent1\thard_neg", ""])
@pytest.mark.parametrize("mark", ["\t", ","])
def test_triples_are_found_by_name_or_by_their_three_texts(header: str, mark: str, tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", [[a, b, n] for a, b, n in zip(A, B, N, strict=True)], header, mark)
    grouped = PositivePairs()(read_sentences([path]), "ranking")
    assert grouped.texts[1] == (A[1], B[1], N[1]) and len(grouped.texts) == 6


def test_inference_becomes_triples_of_one_premise(tmp_path: Path) -> None:
    labels = ["entailment", "contradiction", "neutral", "entailment", "-"]
    rows = [{"gold_label": label, "sentence1": A[i // 3], "sentence2": B[i]} for i, label in enumerate(labels)]
    path = tmp_path / "nli.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    found = read_sentences([path])
    assert found.inference and [row.answer for row in found.rows] == [1.0, 0.0, 0.5, 1.0]
    assert found.readings[0].lines()[1].startswith("1 left out: undecided label '-'")
    assert PositivePairs()(found, "ranking").texts == [(A[0], B[0], B[1])]  # the second premise has no contradiction
    assert ScoredPairs()(found, "cosent").score == [1.0, 0.0, 0.5, 1.0]
    assert PositivePairs(negatives=False)(found, "simbert").texts == [(A[0], B[0]), (A[1], B[3])]


def test_of_scored_pairs_ranking_takes_those_that_belong_together(tmp_path: Path) -> None:
    grouped = PositivePairs()(read_sentences([stsb(tmp_path)]), "ranking")
    assert grouped.texts == [(A[4], B[4]), (A[5], B[5])]
    assert grouped.notes == ["2 pairs that belong together are used, of 6 pairs"]


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = table(
        tmp_path / "p.tsv", [[a, "x y z w", b, i] for i, (a, b) in enumerate(zip(A, B, strict=True))], "left\tother\tright\tpoints"
    )
    found = read_sentences([path], Columns(texts=("left", "right"), answer="points"))
    assert found.rows[2].texts == (A[2], B[2]) and found.rows[2].answer == 2.0
    triple = read_sentences([path], Columns(texts=("1", "3", "2")))
    assert triple.rows[0].texts == ("left", "right", "other")  # by number there is no header
    assert read_sentences([path], Columns(texts=("left", "right", "other"))).rows[0].texts == (A[0], B[0], "x y z w")


@pytest.mark.parametrize(
    ("rows", "name", "said"),
    [
        ([[a, b] for a, b in zip(A, B, strict=True)], "cosent", r"cosent needs a score for each pair: p\.tsv has none"),
        ([[a, b] for a, b in zip(A, B, strict=True)], "cosine", r"cosine needs a score for each pair: p\.tsv has none"),
        ([[a, b, 1] for a, b in zip(A, B, strict=True)], "cosent", "all pairs of p.tsv have the same: use ranking"),
        ([[a, b, n] for a, b, n in zip(A, B, N, strict=True)], "cosent", r"cosent needs a score for each pair: p\.tsv has triples"),
        ([[a] for a in A], "ranking", r"ranking needs pairs that belong together: p\.tsv has one text a row"),
        ([[a] for a in A], "simcse-supervised", "simcse-supervised needs pairs"),
        ([[a] for a in A], "simbert", "simbert needs pairs"),
        ([[a] for a in A], "cosent", r"p\.tsv has single texts"),
    ],
)
def test_a_file_that_lacks_what_a_method_needs_is_refused(rows: list[list[object]], name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=said):
        method(name).views(read_sentences([table(tmp_path / "p.tsv", rows)]), name)


def test_bad_files_are_named_with_their_line(tmp_path: Path) -> None:
    bad = table(
        tmp_path / "bad.tsv",
        [[a, b, i if i != 3 else "many"] for i, (a, b) in enumerate(zip(A, B, strict=True))],
        "sentence1\tsentence2\tscore",
    )
    with pytest.raises(PlumeError, match=r"bad\.tsv, line 2: the score is '0'|bad\.tsv, line 5: the score is 'many'"):
        read_sentences([bad])
    short = table(tmp_path / "short.tsv", [[a, b, i] for i, (a, b) in enumerate(zip(A, B, strict=True))] + [["alone"]])
    with pytest.raises(PlumeError, match=r"short\.tsv, line 7: 1 columns where 3"):
        read_sentences([short])
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"sentence1": "a b c", "sentence2": "d e f", "score": 1}\n{"sentence1": \n')
    with pytest.raises(PlumeError, match=r"broken\.jsonl, line 2"):
        read_sentences([broken])
    empty = tmp_path / "empty.txt"
    empty.write_text("\n\n")
    with pytest.raises(PlumeError, match="empty"):
        read_sentences([empty])
    with pytest.raises(PlumeError, match="nowhere"):
        read_sentences([tmp_path / "nowhere.txt"])
    with pytest.raises(PlumeError, match="give files of one kind"):
        read_sentences([stsb(tmp_path), table(tmp_path / "p.tsv", [[a, b] for a, b in zip(A, B, strict=True)])])


def test_a_method_is_called_as_its_file() -> None:
    assert [method(name).name for name in method_names()] == method_names()
    with pytest.raises(PlumeError, match="simcse"):
        method("simces")
