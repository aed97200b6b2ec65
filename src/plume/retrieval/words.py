"""BM25 over a collection in memory, by the words and the scores of `plume search`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from plume.search.embedded.postings import SCHEMA, Floats, Keys, WordsReader, WordsWriter
from plume.search.settings import Analysis


class WordIndex:
    """Finds texts by their words; keys are their numbers.

    >>> keys, _ = WordIndex(["A cat sat.", "Two dogs.", "The cat and the dog."]).best("cats and dogs", top=2)
    >>> keys.tolist()
    [2, 1]
    """

    def __init__(self, texts: Sequence[str], analysis: Analysis = Analysis.JIEBA) -> None:
        database = sqlite3.connect(":memory:", check_same_thread=False)
        database.executescript(SCHEMA)
        writer = WordsWriter(database, analysis)
        writer.add(0, texts)
        writer.flush()
        self._reader = WordsReader(database, analysis, len(texts))

    def best(self, query: str, *, top: int) -> tuple[Keys, Floats]:
        """Numbers and scores, the best first; fewer than `top` where fewer share a word with the query."""
        return self._reader.best(query, top=top, allowed=None)
