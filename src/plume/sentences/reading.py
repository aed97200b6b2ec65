"""Files to train sentence vectors on: plain text, pairs with or without a score, triples. What a file is, is found in the file."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.data.documents import suffix
from plume.data.lines import read_lines
from plume.readers.example import Example, Reading
from plume.readers.plain_lines import read_plain_lines
from plume.readers.table_choice import AnswerKind
from plume.readers.table_columns import Column, is_number, words_of
from plume.readers.table_layout import TableLayout, find_layout, header_names
from plume.readers.table_rows import TableFormat, first_line, is_json, json_sample, sniff, usual_width
from plume.readers.tables import read_table
from plume.tuning.task import Columns

_LOOK = 50  # lines that tell a table from text
_TRIPLES = (
    *(("anchor", "positive", "negative"), ("sent0", "sent1", "hard_neg"), ("query", "positive", "negative"), ("query", "pos", "neg")),
    *(
        ("premise", "entailment", "contradiction"),
        ("sentence1", "sentence2", "sentence3"),
        ("text1", "text2", "text3"),
        ("text", "pos", "neg"),
    ),
)
# Natural language inference as degrees of likeness, and yes and no as data sets write them.
WORDS = {"entailment": 1.0, "neutral": 0.5, "contradiction": 0.0, "not_entailment": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
_UNDECIDED = ("-", "hidden")  # SNLI's label where the annotators disagreed, XNLI's where it is kept back


@dataclass(frozen=True, kw_only=True)
class SentenceRows:
    """What was read: all rows have as many texts, and all a score or none."""

    rows: list[Example]  # the answer is the score as the file has it, as a number
    texts: int  # 1, 2, or 3: a text, what belongs to it, what does not
    scored: bool
    inference: bool  # are the scores made of entailment, neutral and contradiction?
    readings: list[Reading]

    @property
    def file(self) -> Path:
        """The first, for what is said of all."""
        return self.readings[0].file

    def score(self) -> list[float]:
        """From 0, the lowest of these files, to 1, the highest."""
        given = [float(row.answer) for row in self.rows]
        low, high = (0.0, 1.0) if self.inference else (min(given), max(given))
        return [1.0 if high == low else (one - low) / (high - low) for one in given]


def read_sentences(paths: Sequence[Path], columns: Columns = Columns()) -> SentenceRows:
    """One file, or several of one kind."""
    found = [_read(path, columns) for path in paths]
    for one in found[1:]:
        if (one.texts, one.scored, one.inference) != (found[0].texts, found[0].scored, found[0].inference):
            raise PlumeError(f"{found[0].file} has {_in_words(found[0])}, and {one.file} {_in_words(one)}: give files of one kind.")
    return SentenceRows(
        rows=[row for one in found for row in one.rows], texts=found[0].texts, scored=found[0].scored, inference=found[0].inference,
        readings=[one.readings[0] for one in found],
    )  # fmt: skip


def _in_words(found: SentenceRows) -> str:
    return ("texts", "pairs", "triples")[found.texts - 1] + (" with scores" if found.scored else "")


def _read(path: Path, columns: Columns) -> SentenceRows:
    reading = Reading(file=path)
    if _is_plain(path, columns):
        rows, layout = list(read_plain_lines(path, reading)), None
    else:
        layout = _layout(path, columns)
        rows = list(read_table([path], layout, reading, answer=AnswerKind.LABEL, labelled=layout.answer is not None))
    scored = layout is not None and layout.answer is not None
    inference = scored and not all(is_number(row.answer) for row in rows)
    if scored:
        reading.format = reading.format if inference else reading.format.replace("; label:", "; score:")
        rows = [row for row in (_with_number(row, path, reading, words=inference) for row in rows) if row is not None]
    if not rows:
        raise PlumeError(f"{path} has no usable row: {' '.join(reading.lines()[1:]) or 'it is empty'}.")
    return SentenceRows(rows=rows, texts=len(rows[0].texts), scored=scored, inference=inference, readings=[reading])


def _is_plain(path: Path, columns: Columns) -> bool:
    """Prose has commas and may have a tab: only most lines make a table of it."""
    if is_json(first_line(path)) or columns.texts or suffix(path) in (".csv", ".tsv"):
        return False
    lines = [line for _, line in itertools.islice(((n, line) for n, line in read_lines(path, longest=None) if line.strip()), _LOOK)]
    return 2 * sum("\t" in line for line in lines) <= len(lines)


def _with_number(row: Example, path: Path, reading: Reading, *, words: bool) -> Example | None:
    said = str(row.answer).lower()
    if words and said in _UNDECIDED:
        reading.read -= 1
        reading.skip(f"undecided label '{said}'", f"{path}, line {row.line}")
        return None
    value = WORDS.get(said) if words else float(said)
    if value is None:
        raise PlumeError(
            f"{path}, line {row.line}: the score is '{row.answer}', which is no number, nor one of {', '.join(WORDS)}. Mend it, or name another "
            "column: --score COLUMN."
        )
    return Example(texts=row.texts, answer=value, line=row.line, languages=row.languages)


def _layout(path: Path, columns: Columns) -> TableLayout:
    """Three texts a row where that is plain, else two with a score, two with a label, two, or one."""
    triple = None if columns.answer is not None else _triple(path, columns)
    if triple is not None:
        return triple
    count = len(columns.texts) or None
    if columns.texts and columns.answer is not None:
        return find_layout([path], texts=count, answer=AnswerKind.LABEL, text_columns=columns.texts, answer_column=columns.answer)
    for texts in (count,) if count else (2, 1):
        for answer in (AnswerKind.SCORE, AnswerKind.LABEL, None) if texts == 2 else (None,):
            try:
                return find_layout(
                    [path], texts=texts, answer=answer, text_columns=columns.texts, answer_column=columns.answer if answer else None
                )
            except PlumeError as error:
                refusal = error
    raise PlumeError(f"{refusal} Or give plain text, a sentence a line.".replace("--text", "--column").replace("--label", "--score"))


def _triple(path: Path, columns: Columns) -> TableLayout | None:
    kind, rows = sniff(path)
    if kind is TableFormat.JSONL:
        names = list(dict.fromkeys(name for record in json_sample(path) for name in record))
        chosen = columns.texts if len(columns.texts) == 3 else _named(names)
        return TableLayout(format=kind, texts=chosen) if chosen else None
    width, _ = usual_width(rows)
    header = header_names(rows[0][1])
    named = columns.texts if len(columns.texts) == 3 and set(columns.texts) <= set(header) else _named(header)
    if named:
        return TableLayout(format=kind, header=header, columns=len(header), texts=named)
    cells = [Column(str(i + 1), "", [row[i] for _, row in rows if i < len(row)]) for i in range(width)]
    if len(columns.texts) == 3:
        return TableLayout(format=kind, columns=width, texts=columns.texts)
    plain = width == 3 and not columns.texts and all(cell.is_text for cell in cells)
    return TableLayout(format=kind, columns=3, texts=("1", "2", "3")) if plain else None


def _named(names: Sequence[str]) -> tuple[str, ...] | None:
    spelled = {"_".join(words_of(name)).replace("_", ""): name for name in names}
    for triple in _TRIPLES:
        if all(name.replace("_", "") in spelled for name in triple):
            return tuple(spelled[name.replace("_", "")] for name in triple)
    return None
