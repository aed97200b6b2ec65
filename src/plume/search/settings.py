"""What an index is declared with: index.json in its folder."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from plume.core.errors import PlumeError
from plume.core.files import locked, read_json, write_json
from plume.search.address import without_password
from plume.search.sources import distinct_names, given_names

if TYPE_CHECKING:
    from plume.search.backend import StoredPassage  # which is made for settings

FILE = "index.json"
VERSION = 2  # 1: a document without an id was called by its file's name, without the path
EMBEDDED = "embedded"
_LOCK = "lock"  # in the folder: held by whoever writes


class Metric(enum.StrEnum):
    """How near two vectors are."""

    COSINE = "cosine"  # vectors are normalised when they are added
    PRODUCT = "ip"
    DISTANCE = "l2"


class Analysis(enum.StrEnum):
    """How Chinese text is cut into words; other text is cut at spaces and signs."""

    JIEBA = "jieba"
    TRIGRAM = "trigram"  # every two and three characters in a row


def titled(title: str, text: str) -> str:
    """A passage as it is embedded: behind the title of its document, where it has one.

    >>> titled("Paris", "It lies on the Seine."), titled("", "It rains.")
    ('Paris\\nIt lies on the Seine.', 'It rains.')
    """
    return f"{title}\n{text}" if title else text


def writer_lock(folder: Path) -> AbstractContextManager[None]:
    """One process at a time changes an index, or puts another in its place."""
    return locked(folder / _LOCK, f"Another process is writing to {folder}: wait for it, then try again.")


def hidden(folder: Path, suffix: str) -> Path:
    """Beside an index, while it is replaced: `.NAME.new` is being made, `.NAME.old` is moved aside."""
    whole = folder.resolve()
    return whole.with_name(f".{whole.name}.{suffix}")


@dataclass(frozen=True, kw_only=True)
class IndexSettings:
    """Written once, when the index is created, and again when it is embedded with another model."""

    backend: str = EMBEDDED  # or the URL of another
    dimension: int | None  # None: words only
    metric: Metric = Metric.COSINE
    type: str = "auto"  # a name or factory string that --type takes; another backend's own
    recall: float = 0.95  # that type "auto" has to reach
    words: Analysis | None = Analysis.JIEBA  # None: vectors only
    passage: int = 200  # words a passage has at most
    overlap: int = 0  # words of whole sentences that a passage shares with the one before
    title: str | None = None  # the field that is put before every passage of a document when it is embedded
    model: dict[str, Any] | None = None  # its fingerprint; None: vectors came ready, or there are none
    version: int = VERSION
    extra: dict[str, Any] = field(default_factory=dict)  # a backend's own

    def embedded_text(self, passage: StoredPassage) -> str:
        """What a model is given of a passage."""
        title = None if self.title is None else passage.metadata.get(self.title)
        return titled("" if title is None else str(title), passage.text)

    @property
    def names(self) -> Callable[[Sequence[str | Path]], list[str]]:
        """What documents without an id are called by, of their files; an index keeps the rule that it was made with."""
        return given_names if self.version >= 2 else distinct_names

    def save(self, folder: Path) -> None:
        """As index.json."""
        data = {one.name: getattr(self, one.name) for one in fields(self)}
        write_json(folder / FILE, data | {"backend": without_password(self.backend)})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Refuses what a newer plume has written."""
        if not folder.exists() and hidden(folder, "old").exists():  # a replacement was interrupted between its two renames
            hidden(folder, "old").rename(folder)
        if not (folder / FILE).exists():
            raise PlumeError(f"{folder} is not an index: it has no {FILE}. Make one: plume index FILES --model MODEL --out {folder}.")
        data = read_json(folder / FILE, "what an index is made of")
        version = data.get("version") if isinstance(data, dict) else None
        if not isinstance(version, int):
            raise PlumeError(f"{folder / FILE} does not say its version: it is not the {FILE} of an index.")
        if version > VERSION:
            raise PlumeError(
                f"{folder} was written by a newer plume (index version {version}, this one reads up to {VERSION}): update plume, "
                "or build the index again."
            )
        try:
            return cls(**data | {"metric": Metric(data["metric"]), "words": data["words"] and Analysis(data["words"])})
        except (TypeError, ValueError, KeyError) as error:
            raise PlumeError(f"{folder / FILE} is damaged ({error}): restore it, or build the index again.") from None
