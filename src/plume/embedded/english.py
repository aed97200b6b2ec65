"""The English study. Its labels are the authors' own: what they set as code, which part of a library a text is from, what belongs together."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from plume.embedded.libraries import LIBRARIES, LibraryEntry, documents, entries, test_modules
from plume.embedded.markup import plain, tagged_words
from plume.embedded.material import Material, TaskMaterial, by_chance, chance, conll, corpus_text, table, text_key
from plume.embedded.python_manual import english_documents

_TRAIN, _FEWER, _TEST = 1200, 800, 800  # rows: of the tagging task, of the others, to test on
_MARKED = 0.8  # of the sentences hold code
_LONGEST = 40  # words
_SUBJECTS = (
    "numpy.ma",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse",
    "scipy.stats",
    "sklearn.metrics",
    "torch.distributed",
    "torch.nn",
)
_CODE_SHAPE = re.compile(r"_|[a-z][A-Z]")  # n_jobs, forLoop
_LIBRARY = re.compile(r"numpy|scipy|sklearn|scikit|torch|\bnp\b", re.IGNORECASE)

Tagged = list[tuple[str, str]]
Pair = tuple[str, str]


def english_material() -> Material:
    """The documentation of installed libraries as a corpus and its tasks, cut in training and test by module."""
    found = list(entries())
    modules = test_modules(found)
    before = [entry for entry in found if entry.module not in modules]
    after = [entry for entry in found if entry.module in modules]
    lines = [*documents(before), *(document.split("\n") for document in english_documents())]
    known = {text_key(line) for document in lines for line in document}
    return Material(
        corpus=corpus_text("\n".join(document) for document in lines),
        corpus_note=f"The manuals of {LIBRARIES}, read from the docstrings of the installed packages, without the source files that the "
        "test rows come from, and Python's own manual: running English prose without mark-up.",
        tasks=(_code_in_prose(before, after, known), _subjects(before, after, known), _order(before, after, known)),
    )


def _code_in_prose(before: Sequence[LibraryEntry], after: Sequence[LibraryEntry], known: set[str]) -> TaskMaterial:
    return TaskMaterial(
        name="code",
        kind="ner",
        suffix=".conll",
        train=conll(_tagged(before, _TRAIN, without=set())),
        test=conll(_tagged(after, _TEST, without=known)),
        note=f"Find what the authors of {LIBRARIES} set as code in their prose, once the mark-up is taken away: parameters of the function "
        "that is described (PARAM), names of other things (NAME), values and expressions (CODE). The test sentences are from other source "
        "files, which are not in the corpus.",
    )


def _tagged(found: Sequence[LibraryEntry], count: int, *, without: set[str]) -> list[Tagged]:
    """Sentences by chance, each once; four of five hold code."""
    sentences: dict[str, tuple[str, frozenset[str]]] = {}
    for entry in found:
        for sentence in itertools.chain.from_iterable(passage.sentences for passage in entry.passages):
            sentences.setdefault(text_key(plain(sentence)), (sentence, entry.parameters))
    wanted = {True: round(count * _MARKED), False: count - round(count * _MARKED)}
    rows: list[Tagged] = []
    for key in by_chance(sentences.keys() - without, str):
        row = tagged_words(*sentences[key])
        marked = any(tag != "O" for _, tag in row)
        if wanted[marked] and _is_usable(row):
            wanted[marked] -= 1
            rows.append(row)
        if not any(wanted.values()):
            break
    return rows


def _is_usable(row: Tagged) -> bool:
    """Not long, and what is code is a name or a short expression: long ones have a grammar of their own."""
    if any(tag == "O" and _CODE_SHAPE.search(word) for word, tag in row):
        return False  # the authors did not mark this one up
    runs = [len(list(group)) for outside, group in itertools.groupby(row, lambda pair: pair[1] == "O") if not outside]
    return 6 <= len(row) <= _LONGEST and max(runs, default=0) <= 6


def _subjects(before: Sequence[LibraryEntry], after: Sequence[LibraryEntry], known: set[str]) -> TaskMaterial:
    return TaskMaterial(
        name="subjects",
        kind="classification",
        suffix=".tsv",
        train=table(("text", "label"), _summaries(before, _FEWER, without=set())),
        test=table(("text", "label"), _summaries(after, _TEST, without=known)),
        note=f"Which part of a library a function belongs to ({', '.join(_SUBJECTS)}), by the first paragraph of its docstring; paragraphs that name "
        "a library are left out. The test rows are from other source files, which are not in the corpus.",
    )


def _summaries(found: Sequence[LibraryEntry], count: int, *, without: set[str]) -> list[Pair]:
    rows: dict[str, list[str]] = {subject: [] for subject in _SUBJECTS}
    seen = set(without)
    for entry in by_chance(found, lambda entry: f"{entry.module} {entry.name} {entry.passages[0].sentences[0]}"):
        sentences = [plain(sentence) for sentence in entry.passages[0].sentences]
        text = " ".join(sentences)
        fits = entry.passages[0].section == "" and 5 <= len(text.split()) <= _LONGEST and not _LIBRARY.search(text)
        if entry.subject in rows and fits and seen.isdisjoint(map(text_key, sentences)):
            seen.update(map(text_key, sentences))
            rows[entry.subject].append(text)
    return by_chance(_level(rows, count), lambda row: row[0])[:count]


def _level(rows: dict[str, list[str]], count: int) -> Iterator[Pair]:
    """As many of each label as there are, up to a number that makes `count` in all."""
    most = next((most for most in range(count) if sum(min(len(texts), most) for texts in rows.values()) >= count), count)
    for label, texts in rows.items():
        yield from ((text, label) for text in texts[:most])


def _order(before: Sequence[LibraryEntry], after: Sequence[LibraryEntry], known: set[str]) -> TaskMaterial:
    header = ("text_a", "text_b", "label")
    return TaskMaterial(
        name="order",
        kind="classification",
        suffix=".tsv",
        train=table(header, _pairs(before, _FEWER, without=set())),
        test=table(header, _pairs(after, _TEST, without=known)),
        note="Which of two sentences of a docstring comes first? One is what the docstring begins with, the other a later one of it. The test rows "
        "are from other source files, which are not in the corpus.",
    )


def _pairs(found: Sequence[LibraryEntry], count: int, *, without: set[str]) -> list[tuple[str, str, str]]:
    """Every docstring gives one pair, turned round by chance."""
    rows: list[tuple[str, str, str]] = []
    seen = set(without)
    for entry in by_chance(found, lambda entry: f"{entry.name} {entry.module} {entry.passages[0].sentences[0]}"):
        sentences = [plain(sentence) for passage in entry.passages for sentence in passage.sentences]
        first, *later = [text for text in sentences if text_key(text) not in seen and len(text.split()) <= 30] or [""]
        if first == sentences[0] and later:
            chosen = max(later[:6], key=lambda text: len(text.split()))
            seen.update((text_key(first), text_key(chosen)))
            rows.append((first, chosen, "first") if chance(first) < 0.5 else (chosen, first, "second"))
        if len(rows) == count:
            break
    return rows
