"""Documents in blocks, whose text comes from which document, and the rows of inverse cloze."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.data.blocks import Ragged, TextBlocks, read_blocks, read_titled
from plume.data.layouts.carried import OWN_DOCUMENT
from plume.data.layouts.inverse_cloze import InverseCloze
from plume.data.own_documents import mark_own_documents
from plume.text.words import Words


def test_blocks_hold_all_tokens_in_whole_sentences(miniature: Any, tokenizer_for: Any, tmp_path: Path) -> None:
    tokenizer = tokenizer_for(miniature("bert"))
    texts = ["The cat finds a letter. " * 6, "Two apples.", "My sister paints the lighthouse after the storm."]
    path = tmp_path / "docs.jsonl"
    path.write_text("\n".join(json.dumps({"title": f"cat {number}", "text": text}) for number, text in enumerate(texts)), encoding="utf-8")
    blocks = read_blocks([path], tokenizer, words=Words.SPACES, longest=60, title=3)
    lengths = blocks.bodies.end - blocks.bodies.start
    assert len(blocks) > 3 and lengths.max() <= 60 and (np.diff(blocks.document) >= 0).all() and set(blocks.document) == {0, 1, 2}
    for number, text in enumerate(texts):
        (own,) = np.nonzero(blocks.document == number)
        joined = [token for one in own for token in blocks.bodies.tokens[blocks.bodies.start[one] : blocks.bodies.end[one]].tolist()]
        assert joined == tokenizer.encode([text])[0]
    starts = set(blocks.sentences.start.tolist())
    assert starts.issuperset(blocks.bodies.start.tolist())
    assert (blocks.titles.end - blocks.titles.start).max() <= 3
    rows, length = blocks.bodies.rows(np.array([-1, 0]), fill=7)
    assert length.tolist() == [0, lengths[0]] and (rows[0] == 7).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"title": "a", "text": "b c."}\n{"title": "d"}\n', "line 2: a document without text"),
        ('{"title": "a", "text": "  "}\n', "line 1: a document without text"),
        ('{"title": 3, "text": "b"}\n', "line 1: 'title' holds '3', which is no text"),
        ('{"text": "b"}\n{"text"\n', "line 2: not JSON"),
        ("[1]\n", "line 1: a JSON list, not an object"),
    ],
)
def test_a_broken_document_is_named(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PlumeError) as error:
        list(read_titled([path]))
    assert said in str(error.value)


def test_no_documents_at_all(miniature: Any, tokenizer_for: Any, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(PlumeError, match="there are no documents in it"):
        read_blocks([tmp_path / "docs.jsonl"], tokenizer_for(miniature("bert")), words=Words.SPACES, longest=20, title=3)
    with pytest.raises(PlumeError, match="There is no file"):
        list(read_titled([tmp_path / "nowhere.jsonl"]))


def _ragged(rows: list[list[int]]) -> Ragged:
    end = np.cumsum([len(row) for row in rows])
    return Ragged(tokens=np.array([token for row in rows for token in row], np.int32), start=end - [len(row) for row in rows], end=end)


def test_a_text_knows_its_own_document_among_others_in_another_order() -> None:
    """By sentences that both have; what is everywhere says nothing, and what is nowhere has none."""
    said = [[5, 6], [7, 8, 9], [6, 5], [7, 8], [1, 1, 1], [2, 2]]
    corpus = [[0, 1, 4], [2, 4], [3, 4], [5]]  # by sentence; 5 is in no document
    documents = [[3, 4], [0, 1, 4], [2, 4], *([4] for _ in range(30))]
    tokens: list[int] = []
    starts, ends, first = [], [], [0]
    for sentences in corpus:
        for number in sentences:
            starts.append(len(tokens))
            tokens += said[number]
            ends.append(len(tokens))
        tokens.append(3)  # the separator
        first.append(len(starts))
    store: Any = SimpleNamespace(
        tokens=np.array(tokens, np.uint16), sentence_start=np.array(starts), sentence_end=np.array(ends),
        document_start=np.array(first), named={},
    )  # fmt: skip
    flat = [said[number] for sentences in documents for number in sentences]
    blocks = TextBlocks(
        bodies=_ragged(flat), document=np.arange(len(flat)), titles=_ragged([[]]), sentences=_ragged(flat),
        sentence_document=np.repeat(np.arange(len(documents)), [len(one) for one in documents]), fingerprint="",
    )  # fmt: skip
    assert mark_own_documents(store, blocks) == 0.75
    marked = store.named[OWN_DOCUMENT]
    assert len(marked) == len(tokens)
    assert [sorted(set(marked[starts[a] : ends[b - 1]].tolist())) for a, b in itertools.pairwise(first)] == [
        [1],
        [2],
        [0],
        [-1],
    ]


def test_inverse_cloze_takes_a_sentence_out_of_its_block(store_of: Any) -> None:
    """Nine times in ten; a block of one sentence is left out then."""
    store = store_of([[4] * 30, [5], [3, 40, 3], [6] * 9] * 40)
    plan = InverseCloze(share=1 / 2).plan(store, room=20, generator=np.random.default_rng(0))
    asked, before, after = ((plan.start[:, n], plan.end[:, n]) for n in range(3))
    gone = after[0] < after[1]
    gone |= before[1] != after[1]
    kept_whole = ~gone
    assert (asked[1] - asked[0] <= 10).all() and (asked[1] > asked[0]).all()
    assert ((plan.end[:, 1:] - plan.start[:, 1:]).sum(1) <= 20).all()
    assert (after[0][gone] >= asked[1][gone]).all() and (before[1][gone] == asked[0][gone]).all()
    inside = (before[0] <= asked[0]) & (asked[1] <= np.maximum(before[1], after[1]))
    assert inside[kept_whole].all()
    several = plan.end[:, 2] - before[0] > 10  # blocks of more than one sentence of any length
    assert 0.85 < gone[several].mean() < 0.95
    with pytest.raises(PlumeError, match="both are shares"):
        InverseCloze(removed=1.5)
