"""Questions that need several documents: HotpotQA's JSON (arXiv:1809.09600), and a plain JSONL with the same fields.

A line of JSONL: {"question": "…", "answer": "…" or ["…", …], "context": [["title", ["sentence", …]], …], "supporting_facts": [["title", 0], …]}.
A document may also be {"title": "…", "text": "…"}; without `context` documents come from elsewhere. `supporting_facts` may be titles alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.data.documents import clean
from plume.readers.example import TOGETHER, Example, Reading
from plume.readers.json_rows import read_objects
from plume.text.languages import has_han
from plume.text.sentences import sentence_starts

PAGES, SUPPORT = "pages", "support"  # what an example carries beside its question, by name
WHOLE = -1  # in place of a sentence's number: the document as such supports the answer
_ROW = '{"question": "…", "answer": "…", "context": [["title", ["sentence", "…"]]], "supporting_facts": [["title", 0]]}'
_ADVICE = f"write one question a line, as {_ROW}"


@dataclass(frozen=True)
class PageText:
    """A document under its title, in sentences that follow each other without a gap."""

    title: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.sentences)

    @property
    def starts(self) -> list[int]:
        """Where each sentence begins."""
        return list(accumulate(map(len, self.sentences), initial=0))[:-1]

    @classmethod
    def of(cls, title: str, text: str) -> PageText:
        """Cut into sentences."""
        starts = [*sentence_starts(text), len(text)] if text else [0]
        return cls(title, tuple(text[a:b] for a, b in pairwise(starts)))


def read_multihop(path: Path, reading: Reading, *, labelled: bool) -> Iterator[Example]:
    """The text is the question, the answer a tuple of right ones; `named` has the documents and the supporting facts."""
    reading.format = "multi-hop questions"
    for line, record in read_objects(path, advice=_ADVICE):
        place = f"{path}, line {line}" if line else str(path)
        key = record.get("_id", record.get("id"))
        place = place if key is None else f"{place}, id {key}"
        question = record.get("question")
        if not isinstance(question, str):
            raise PlumeError(f"{place}: no 'question' with text in it; {_ADVICE}.")
        if not question.strip():
            reading.skip("empty question", place)
            continue
        pages = pages_of(record.get("context"), place, reading)
        answers = _answers(record, place) if labelled else None
        if answers == ():
            reading.skip("empty answer", place)
            continue
        support = tuple(_fact(one, place) for one in record.get("supporting_facts") or ())
        reading.read += 1
        yield Example(
            texts=(clean(question),),
            answer=answers,
            key=None if key is None else str(key),
            line=line,
            named={PAGES: pages, SUPPORT: support, TOGETHER: clean(question)},
        )


def pages_of(found: Any, place: str, reading: Reading | None = None) -> tuple[PageText, ...]:
    """Documents as a row has them; of two of one title the first counts, and one without text is left out."""
    if found is None:
        return ()
    if isinstance(found, Mapping):
        found = [{"title": title, "text": text} for title, text in found.items()]
    if not isinstance(found, list):
        raise PlumeError(f"{place}: 'context' is a list of documents, not {found!r:.60}.")
    pages: dict[str, PageText] = {}
    for number, one in enumerate(found):
        page = _page(one, f"{place}, document {number}")
        if not page.text.strip():
            if reading is not None:
                reading.mend("documents without text", f"{place}, document {number}")
            continue
        pages.setdefault(page.title, page)
    return tuple(pages.values())


def _page(found: Any, place: str) -> PageText:
    title, text = (found.get("title"), found.get("text", found.get("sentences"))) if isinstance(found, Mapping) else (None, None)
    if isinstance(found, list | tuple) and len(found) == 2:
        title, text = found
    if isinstance(title, str) and isinstance(text, str):
        return PageText.of(clean(title), clean(text))
    if not isinstance(title, str) or not isinstance(text, list) or not all(isinstance(one, str) for one in text):
        raise PlumeError(f'{place}: a document is ["title", ["sentence", "…"]] or {{"title": "…", "text": "…"}}, not {found!r:.60}.')
    sentences = [clean(one) for one in text]
    said = accumulate(
        sentences, lambda before, one: one or before, initial=""
    )  # what stands before a sentence; empty ones keep their numbers
    return PageText(clean(title), tuple(_spaced(before, one) for before, one in zip(said, sentences, strict=False)))


def _spaced(before: str, sentence: str) -> str:
    """With a space in front, where the file has none between two sentences of a script with spaces."""
    needs = before and sentence and not before[-1:].isspace() and not sentence[:1].isspace() and not has_han(before[-2:])
    return f" {sentence}" if needs else sentence


def _answers(record: Mapping[str, Any], place: str) -> tuple[str, ...]:
    found = record.get("answers") if record.get("answers") is not None else record.get("answer")
    listed = [found] if isinstance(found, str) else found
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise PlumeError(f"{place}: no 'answer'. To learn from a question or to score it one is needed: a text, or a list of texts.")
    return tuple(dict.fromkeys(clean(one).strip() for one in listed if one.strip()))


def _fact(found: Any, place: str) -> tuple[str, int]:
    if isinstance(found, str):
        return clean(found), WHOLE
    if isinstance(found, list) and len(found) == 2 and isinstance(found[0], str) and isinstance(found[1], int):
        return clean(found[0]), found[1]
    raise PlumeError(f'{place}: a supporting fact is ["title", number of the sentence] or "title", not {found!r:.60}.')
