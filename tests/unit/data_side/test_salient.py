"""Names and dates: found in a corpus, marked in a store, and one of them hidden in each row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.seeds import Draws
from plume.data.corpus import Corpus
from plume.data.lexicon import LexiconEntry
from plume.data.salient import mark_salient, salient_entries
from plume.noise.rows import Rows
from plume.noise.salient import IN_SALIENT, SALIENT, SalientSpan


def entries(tmp_path: Path, text: str, **given: Any) -> set[str]:
    path = tmp_path / "corpus.jsonl"
    path.write_text(json.dumps({"text": text}, ensure_ascii=False) + "\n", encoding="utf-8")
    return {entry.text for entry in salient_entries(Corpus(path), **given)}


def test_names_are_what_is_capitalised_inside_sentences(tmp_path: Path) -> None:
    text = "Yesterday the mayor of Lisbon met Ada Lovelace. Later they saw the Tagus. The Bank of Portugal was closed. We saw The usual."
    found = entries(tmp_path, text)
    assert {"Lisbon", "Ada Lovelace", "Tagus", "Bank of Portugal"} <= found
    assert not {"Yesterday", "Later", "The", "We", "they"} & found


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("it was signed on March 4, 1998 in town.", "March 4, 1998"),
        ("it was signed on 4 March 1998 in town.", "4 March 1998"),
        ("it rained in May 2001 and later.", "May 2001"),
        ("it rained in 2001 and later.", "2001"),
        ("会议于2010年8月16日召开。", "2010年8月16日"),
        ("他生于1893年。", "1893年"),
    ],
)
def test_dates_are_found_by_their_form(text: str, date: str, tmp_path: Path) -> None:
    assert date in entries(tmp_path, text)


def test_a_list_of_ones_own_takes_the_place_of_names_and_not_of_dates(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("quiet river\n", encoding="utf-8")
    found = entries(tmp_path, "In 1950 they went to Lisbon by the quiet river.", path=tmp_path / "names.txt")
    assert found == {"quiet river", "1950"}
    (tmp_path / "names.txt").write_text("quiet river\tphrase\nLisbon\tentity\n", encoding="utf-8")
    assert entries(tmp_path, "In 1950 they went.", path=tmp_path / "names.txt") == {"Lisbon", "1950"}


def test_marks_whole_names_and_single_words(stores_for: Any, miniature: Any, tokenizer_for: Any) -> None:
    recipe = miniature("realm")
    store, tokenizer = stores_for(recipe).train, tokenizer_for(recipe)
    names = ["old captain", "letter", "北京大学"]
    marked = mark_salient(store, [LexiconEntry(text=name) for name in names], tokenizer)
    begins, inside = marked[SALIENT], marked[IN_SALIENT]
    assert begins[~inside].tolist() == np.asarray(store.word_start)[~inside].tolist()
    spans: set[str] = set()
    for start in np.flatnonzero(begins & inside).tolist():
        end = start + 1
        while inside[end] and not begins[end]:
            end += 1
        spans.add(tokenizer.decode(store.tokens[start:end].astype(int).tolist()).replace(" ", ""))
    assert spans == {"oldcaptain", "letter", "北京大学"}


def _rows(begins: list[list[int]], inside: list[list[int]]) -> Rows:
    first = np.array(begins, bool)
    special = np.zeros_like(first)
    special[:, [0, -1]] = True
    return Rows(
        tokens=np.ones(first.shape, np.int64), length=np.full(len(first), first.shape[1]), special=special, word_start=first | special,
        units={SALIENT: first | special, IN_SALIENT: np.array(inside, bool)},
    )  # fmt: skip


def test_one_span_a_row_and_each_as_often() -> None:
    begins = [[1, 1, 0, 1, 1, 0, 0, 1, 1]] * 3000
    inside = [[0, 1, 1, 0, 1, 1, 1, 0, 0]] * 3000
    rows = _rows(begins, inside)
    chosen = SalientSpan()(rows, Draws(seed=1, epoch=0, index=np.arange(3000)))
    assert (chosen.start.sum(1) == 1).all()
    shapes, count = np.unique(chosen.tokens, axis=0, return_counts=True)
    assert [np.flatnonzero(shape).tolist() for shape in shapes] == [[4, 5, 6], [1, 2]]
    assert 0.45 < count[0] / 3000 < 0.55


def test_without_a_name_a_word_is_hidden_and_a_span_has_an_end() -> None:
    rows = _rows([[1, 1, 1, 0, 1, 1]], [[0] * 6])
    chosen = SalientSpan()(rows, Draws(seed=1, epoch=0, index=np.arange(1)))
    assert chosen.start.sum() == 1 and chosen.tokens.sum() in (1, 2)
    long = _rows([[1, 1, *[0] * 15, 1]], [[0, *[1] * 16, 0]])
    assert SalientSpan(longest=10)(long, Draws(seed=1, epoch=0, index=np.arange(1))).tokens.sum() == 10
