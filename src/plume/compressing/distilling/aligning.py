"""A teacher's answers as those to the questions of a student who cuts texts in another way."""

from __future__ import annotations

import numpy as np

from plume.core.errors import PlumeError
from plume.tuning.rows.questions import Floats, Questions, SpanQuestions
from plume.tuning.rows.rows import Array
from plume.tuning.rows.word_rows import WordQuestions


def aligned(table: Floats, teacher: Questions, student: Questions) -> Floats:
    """The teacher's lines as the student's; NaN where the teacher was not asked."""
    if isinstance(teacher, WordQuestions) and isinstance(student, WordQuestions):
        return _by_words(table, teacher, student)
    if isinstance(teacher, SpanQuestions) and not (
        np.array_equal(teacher.rows.tokens, student.rows.tokens) and np.array_equal(teacher.rows.bounds, student.rows.bounds)
    ):
        raise PlumeError(
            "Answers are places in a row of tokens, and teacher and student cut texts differently: give the student the teacher's tokenizer "
            "(name a recipe with --student) and the same --length."
        )
    return table


def _by_words(table: Floats, teacher: WordQuestions, student: WordQuestions) -> Floats:
    """Words that begin and end in the same places: a file's own always do, those of two tokenizers mostly. Of a word that the teacher's tokenizer
    drops, or cuts otherwise, nothing is said."""
    place = {word: line for word, line in zip(_words(teacher), teacher.line.tolist(), strict=True) if line >= 0}
    asked = [word for word, line in zip(_words(student), student.line.tolist(), strict=True) if line >= 0]
    line: Array = np.array([place.get(word, -1) for word in asked], np.int64)
    if len(asked) and (line < 0).mean() > 0.5:
        raise PlumeError(
            "Teacher and student see other words in the same texts, so labels of words cannot be compared: give files that have words of their own "
            "(CoNLL), or the student the teacher's tokenizer (name a recipe with --student)."
        )
    return np.where((line >= 0)[:, None], table[np.maximum(line, 0)], np.float32(np.nan)).astype(np.float32)


def _words(questions: WordQuestions) -> list[tuple[int, int, int]]:
    """Of each word its example, and where it begins and ends."""
    example = np.repeat(np.arange(len(questions.word_bounds) - 1), np.diff(questions.word_bounds))
    return list(zip(example.tolist(), questions.word_start.tolist(), questions.word_end.tolist(), strict=True))
