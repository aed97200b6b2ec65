"""Words in PostgreSQL: for each word, and each flush, an array of the passages that have it; scored by BM25 as in the embedded backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plume.search.backends._shared import counted
from plume.search.embedded.postings import K1, B
from plume.search.settings import Analysis

_FLUSHED = 20_000  # passages, so that memory stays bounded
_SCHEMA = """
CREATE TABLE postings(term text COLLATE "C" NOT NULL, keys bigint[] NOT NULL, counts int[] NOT NULL);
CREATE INDEX ON postings USING hash(term);
"""
# Removed passages count until the words are counted anew, in how often a word occurs and in how many passages there are alike.
_BEST = f"""
WITH asked AS (SELECT * FROM unnest(%s::text[], %s::float8[]) AS asked(term, times)),
found AS MATERIALIZED (SELECT term, keys, counts FROM postings WHERE term = ANY(%s::text[])),
weights AS (
    SELECT term, times * ln(1 + (state.rows - often + 0.5) / (often + 0.5)) AS weight
    FROM (SELECT term, sum(cardinality(keys))::float8 AS often FROM found GROUP BY term) AS counted JOIN asked USING (term) CROSS JOIN state),
scored AS (SELECT one.key, one.count, weight FROM found JOIN weights USING (term) CROSS JOIN unnest(keys, counts) AS one(key, count))
SELECT key, sum(weight * count / (count + {K1} * ({1 - B} + {B} * length / (state.words::float8 / state.rows)))) AS score
FROM scored JOIN passages USING (key) CROSS JOIN state {{where}} GROUP BY key ORDER BY score DESC, key LIMIT %s
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
        self._pending: dict[str, tuple[list[int], list[int]]] = {}
        self._passages = self._total = 0

    def add(self, first: int, texts: Sequence[str]) -> list[int]:
        """Passages whose keys are `first` and on; how many words each has."""
        lengths = []
        for key, text in enumerate(texts, first):
            words = counted(text, self._analysis)
            lengths.append(words.total())
            for word, count in words.items():
                keys, counts = self._pending.setdefault(word, ([], []))
                keys.append(key)
                counts.append(min(count, 255))  # as the embedded backend counts
        self._total += sum(lengths)
        self._passages += len(texts)
        if self._passages >= _FLUSHED:
            self.flush()
        return lengths

    def flush(self) -> None:
        """What has come since, in the transaction that is open."""
        if self._passages:
            with self._connection.cursor().copy("COPY postings FROM STDIN") as copy:
                for word, (keys, counts) in self._pending.items():
                    copy.write_row([word, keys, counts])
            self._connection.execute("UPDATE state SET words = words + %s", [self._total])
        self.forget()

    def clear(self) -> None:
        """To count anew."""
        self.forget()
        self._connection.execute("DELETE FROM postings")

    def best(self, query: str, where: str, values: Sequence[Any], *, top: int) -> list[tuple[int, float]]:
        """Keys and scores."""
        words = counted(query, self._analysis)
        asked = [list(words), [float(one) for one in words.values()], list(words)]
        return self._connection.execute(_BEST.format(where=where), [*asked, *values, top]).fetchall()

    def problems(self) -> list[str]:
        """Passages with words that no word knows of, or too few of them."""
        missing = self._connection.execute(
            "SELECT count(*) FROM passages LEFT JOIN "
            "(SELECT key, sum(count) AS there FROM postings, unnest(keys, counts) AS one(key, count) GROUP BY key) AS known USING (key) "
            "WHERE coalesce(there, 0) <> length AND (there IS NULL OR there < least(length, 255))"
        ).fetchone()[0]
        return [f"{missing:,} passages are not found by their words: plume index compact counts them anew."] if missing else []
