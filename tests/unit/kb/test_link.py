"""Linking: the longest name, at word bounds, with offsets into the text as it was given."""

import json
from pathlib import Path

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.data.layouts.carried import SpanField
from plume.kb.building import build
from plume.kb.link import Linker, LinkOptions, all_named
from plume.kb.linked import link_corpus, linked_with
from plume.kb.names import normalised
from plume.kb.store import KnowledgeBase

NAMES = (
    "New York",
    "New York City",
    "York",
    "红楼梦",
    "红楼",
    "曹雪芹",
    "the end",
    "Dr. No",
    "Café Müller",
    "IT",
    "M*A*S*H",
    "Mercury (planet)",
)


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    (tmp_path / "t.tsv").write_text("".join(f"{name}\tis\tvalue of it {place}\n" for place, name in enumerate(NAMES)), encoding="utf-8")
    return build([tmp_path / "t.tsv"], tmp_path / "kb")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("in New York City, new  york\nand Newer York", ["New York City", "new  york", "York"]),
        ("《红楼梦》的作者是曹雪芹", ["红楼梦", "曹雪芹"]),
        ("ＮＥＷ ＹＯＲＫ; the endless; THE END", ["ＮＥＷ ＹＯＲＫ", "THE END"]),
        ("Dr. No and M*A*S*H in Cafe\u0301 Mu\u0308ller.", ["Dr. No", "M*A*S*H", "Cafe\u0301 Mu\u0308ller"]),
        ("mercury is hot", ["mercury"]),
        ("", []),
    ],
)
def test_the_longest_name_at_each_place(kb: KnowledgeBase, text: str, found: list[str]) -> None:
    assert [text[one.start : one.end] for one in Linker(kb).mentions(text)] == found


def test_every_name_is_found_where_it_stands_alone_against_a_slow_search(kb: KnowledgeBase) -> None:
    generator = np.random.default_rng(3)
    pieces = [*NAMES, "of", "红", "york", "a", ",", "city"]
    linker, names = Linker(kb), {normalised(one) for one in NAMES} | {"mercury"}
    for _ in range(200):
        text = " ".join(generator.choice(pieces, 8))
        slow, place = [], 0
        while place < len(text):
            ends = range(place + 1, len(text) + 1)
            longest = max((end for end in ends if text[place:end].lower() in names and _bounds(text, place, end)), default=0)
            slow += [(place, longest)] if longest else []
            place = longest or place + 1
        assert [(one.start, one.end) for one in linker.mentions(text)] == slow


def _bounds(text: str, start: int, end: int) -> bool:
    word = [("a" <= one.lower() <= "z") for one in f" {text} "]
    return not (word[start] and word[start + 1]) and not (word[end] and word[end + 1])


def test_options(kb: KnowledgeBase) -> None:
    text = "it is IT in new york, New York"
    spoken = lambda **options: [text[one.start : one.end] for one in Linker(kb, LinkOptions(**options)).mentions(text)]  # type: ignore[arg-type]
    assert spoken() == ["it", "IT", "new york", "New York"]
    assert spoken(capitalised=True) == ["IT", "New York"]
    assert spoken(stop=["New York", "it"]) == ["york", "York"] and spoken(least=3) == ["new york", "New York"]
    with pytest.raises(PlumeError, match="no name of 99 characters"):
        Linker(kb, LinkOptions(least=99))


def test_all_names_of_a_question(kb: KnowledgeBase) -> None:
    text = "where is  New  York City"
    assert [text[one.start : one.end] for one in all_named(kb, text)] == ["New  York", "New  York City", "York"]


def test_a_question_may_be_a_whole_article(kb: KnowledgeBase) -> None:
    """Of which more stretches are looked up than sqlite takes at once."""
    text = " ".join(f"word{number}" for number in range(6000)) + " York"
    assert [text[one.start : one.end] for one in all_named(kb, text)] == ["York"]


def test_a_linked_corpus_is_carried(kb: KnowledgeBase, tmp_path: Path) -> None:
    corpus, out = tmp_path / "c.jsonl", tmp_path / "linked.jsonl"
    corpus.write_text('{"text": "红楼梦 in New York", "n": 1}\n\n{"text": "nothing"}\n', encoding="utf-8")
    assert link_corpus(corpus, out, Linker(kb)).mentions == 2
    first, second = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    assert first["n"] == 1 and second["mentions"] == []
    spans = SpanField(name="mentions").spans(first["mentions"], first["text"])
    assert [kb.name_of(number) for number in spans[:, 2].tolist()] == ["红楼梦", "New York"]
    used = linked_with(out)
    assert used is not None and used.numbers_alike(kb) and used.fingerprint == kb.fingerprint
    plain = tmp_path / "c.txt"
    plain.write_text("New York.\nThe end.\n\n红楼\n", encoding="utf-8")
    assert link_corpus(plain, out, Linker(kb)).documents == 2
    corpus.write_text('{"text": "a"}\n{"texts": "b"}\n', encoding="utf-8")
    with pytest.raises(PlumeError, match="line 2 has no text"):
        link_corpus(corpus, out, Linker(kb))


def test_the_corpus_is_not_written_over(kb: KnowledgeBase, tmp_path: Path) -> None:
    corpus = tmp_path / "c.txt"
    corpus.write_text("New York\n", encoding="utf-8")
    with pytest.raises(PlumeError, match=r"c\.txt is the corpus itself"):
        link_corpus(corpus, corpus, Linker(kb))
    assert corpus.read_text(encoding="utf-8") == "New York\n"
    with pytest.raises(PlumeError, match="Cannot read"):
        link_corpus(tmp_path / "none.txt", corpus, Linker(kb))
