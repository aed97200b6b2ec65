"""What the report says, in English and in Chinese. Names of recipes and metrics stay as they are."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from plume.core.errors import PlumeError, suggest
from plume.report.words_charts import WORDS as CHARTS
from plume.report.words_findings import WORDS as FINDINGS
from plume.report.words_page import WORDS as PAGE
from plume.report.words_records import WORDS as RECORDS

LANGUAGES = ("en", "zh")
ALL: dict[str, tuple[str, str]] = {**PAGE, **FINDINGS, **CHARTS, **RECORDS}


class Wording:
    """The texts of a report in one language.

    >>> Wording("en")("seeds_count", number=3), Wording("zh")("seeds_count", number=3)
    ('3 seeds', '3 个随机种子')
    """

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise PlumeError(f"The report does not speak '{language}': {suggest(language, LANGUAGES)}.")
        self.language = language
        self._place = LANGUAGES.index(language)

    @property
    def code(self) -> str:
        """Language tag for HTML."""
        return {"en": "en-GB", "zh": "zh-Hans"}[self.language]

    def __call__(self, key: str, **values: object) -> str:
        """The text of that key, with its placeholders filled."""
        return ALL[key][self._place].format(**values)

    def count(self, key: str, number: int, **values: object) -> str:
        """The same for one thing, where English has another form."""
        return self(f"{key}_one" if number == 1 and f"{key}_one" in ALL else key, number=f"{number:,}", **values)

    def of(self, member: enum.StrEnum | None) -> str:
        """The word for a member of the records: a status, a baseline, a verdict."""
        return self(f"{type(member).__name__.lower()}_{member.name.lower()}") if member is not None else ""

    def or_as_is(self, kind: str, name: str, as_is: str) -> str:
        """The words for a name that the records bring along, or what they say themselves."""
        return self(f"{kind}_{name}") if f"{kind}_{name}" in ALL else as_is

    def list(self, items: Sequence[str]) -> str:
        """Items in a sentence.

        >>> Wording("en").list(["a", "b", "c"]), Wording("zh").list(["a", "b"])
        ('a, b and c', 'a 和 b')
        """
        if len(items) < 2:
            return "".join(items)
        comma, last = ((", ", " and "), ("、", " 和 "))[self._place]
        return (comma.join(items[:-1]) + last + items[-1]).replace("） 和", "）和")

    def few(self, items: Sequence[str], most: int = 5) -> str:
        """A list that stays short: the first ones, and how many more.

        >>> Wording("en").few(["a", "b", "c", "d"], most=3)
        'a, b and 2 others'
        """
        return self.list(items if len(items) <= most else [*items[: most - 1], self("others_count", number=len(items) - most + 1)])

    def sentences(self, *parts: str) -> str:
        """Sentences in a row; English puts spaces between them."""
        return (" ", "")[self._place].join(part for part in parts if part)
