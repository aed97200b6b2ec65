"""Words in PostgreSQL: for each word, and each flush, an array of the passages that have it; scored by BM25 as in the embedded backend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from plume.search.backends._shared import counted
from plume.search.embedded.postings import K1, B
from plume.search.settings import Analysis

_FLUSHED = 20_000  # passages, so that memory stays bounded
_SCHEMA = """
CREATE TABLE postings(term text COLLATE "C" NOT NULL, keys bigint[] NOT NULL, counts int[] NOT NULL, lengths int[] NOT NULL);
CREATE INDEX ON postings USING hash(term);
"""
_OFTEN = "SELECT term, sum(cardinality(keys))::float8 FROM postings WHERE term = ANY(%s::text[]) GROUP BY term"
# Passages are looked up in the order of their scores, until there are enough that are left and allowed.
_BEST = f"""
SELECT key, score FROM (
    SELECT one.key, sum(weight * count / (count + {K1} * ({1 - B} + {B} * length / %s))) AS score
    FROM unnest(%s::text[], %s::float8[]) AS asked(term, weight) JOIN postings USING (term)
    CROSS JOIN unnest(keys, counts, lengths) AS one(key, count, length)
    GROUP BY one.key ORDER BY score DESC, one.key) AS scored
JOIN passages USING (key) {{where}} ORDER BY score DESC, key LIMIT %s
"""


class PostgreSQLWords:
    """Collects the words of new passages, and finds by them."""

    def __init__(self, connection: Any, analysis: Analysis) -> None:
        self._connection, self._analysis = connection, analysis
        self.forget()

    def create(self) -> None:
        """The table."""
        self._connection.execute(_SCHEMA)

    def forget(self) -> None:
        """What was not written."""
        self._pending: dict[str, tuple[list[int], list[int], list[int]]] = {}
        self._passages = self._total = 0

    def add(self, first: int, texts: Sequence[str]) -> list[int]:
        """Passages whose keys are `first` and on; how many words each has."""
        lengths = []
        for key, text in enumerate(texts, first):
            words = counted(text, self._analysis)
            lengths.append(words.total())
            for word, count in words.items():
                keys, counts, those = self._pending.setdefault(word, ([], [], []))
                keys.append(key)
                counts.append(min(count, 255))  # as the embedded backend counts
                those.append(lengths[-1])
        self._total += sum(lengths)
        self._passages += len(texts)
        if self._passages >= _FLUSHED:
            self.flush()
        return lengths

    def flush(self) -> None:
        """What has come since, in the transaction that is open."""
        if self._passages:
            with self._connection.cursor().copy("COPY postings FROM STDIN") as copy:
                for word, arrays in self._pending.items():
                    copy.write_row([word, *arrays])
            self._connection.execute("UPDATE state SET words = words + %s", [self._total])
        self.forget()

    def clear(self) -> None:
        """To count anew."""
        self.forget()
        self._connection.execute("DELETE FROM postings")

    def best(self, query: str, where: str, values: Sequence[Any], *, top: int) -> list[tuple[int, float]]:
        """Keys and scores. What was removed counts until the words are counted anew: as passages, and in how many a word is."""
        words = counted(query, self._analysis)
        rows, total = self._connection.execute("SELECT rows, words FROM state").fetchone()
        often = dict(self._connection.execute(_OFTEN, [list(words)]).fetchall())
        weights = {
            word: times * math.log1p((rows - often[word] + 0.5) / (often[word] + 0.5)) for word, times in words.items() if word in often
        }
        asked = [total / max(rows, 1), list(weights), list(weights.values())]
        return self._connection.execute(_BEST.format(where=where), [*asked, *values, top]).fetchall() if weights else []

    def problems(self) -> list[str]:
        """Passages with words that no word knows of, or too few of them."""
        missing = self._connection.execute(
            "SELECT count(*) FROM passages LEFT JOIN "
            "(SELECT key, sum(count) AS there FROM postings, unnest(keys, counts) AS one(key, count) GROUP BY key) AS known USING (key) "
            "WHERE coalesce(there, 0) <> length AND (there IS NULL OR there < least(length, 255))"
        ).fetchone()[0]
        return [f"{missing:,} passages are not found by their words: plume index compact counts them anew."] if missing else []
