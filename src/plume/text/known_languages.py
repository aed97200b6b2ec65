"""The languages that a model has vectors for, and which of them a text is written in: told by its script, else by its words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.files import read_json, write_text
from plume.text.languages import count_scripts, scripts_of

# By how many nats the words of a text must speak for one language against the next. Words are counted as if they were independent.
MARGIN = 3.0
_UNSEEN = 0.5  # added to every count, so that a word that a language never showed speaks against it and forbids nothing

_WRITTEN = {
    "latin": "af az bs ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it la lt lv ms mt nb nl nn no pl pt ro sk sl sq sv sw tl tr uz vi",
    "cyrillic": "be bg kk ky mk mn ru sr tg uk",
    "arabic": "ar fa ps ug ur",
    "devanagari": "hi mr ne sa",
    **{"han": "zh", "kana han": "ja", "hangul": "ko", "greek": "el", "hebrew": "he yi", "armenian": "hy", "georgian": "ka", "thai": "th"},
    **{"bengali": "bn", "gurmukhi": "pa", "gujarati": "gu", "tamil": "ta", "telugu": "te", "kannada": "kn", "malayalam": "ml"},
    **{"sinhala": "si", "lao": "lo", "burmese": "my", "khmer": "km", "ethiopic": "am ti"},
}
_SCRIPTS = {code: frozenset(scripts.split()) for scripts, codes in _WRITTEN.items() for code in codes.split()}


def scripts_for(name: str) -> frozenset[str]:
    """Those that a language with this code is usually written in; none if nobody knows.

    >>> sorted(scripts_for("zh-TW")), sorted(scripts_for("source"))
    (['han'], [])
    """
    return _SCRIPTS.get(name.lower().replace("_", "-").partition("-")[0], frozenset())


@dataclass(frozen=True, kw_only=True, eq=False)
class Languages:
    """In the order of their vectors.

    >>> languages = Languages.named(["de", "en", "zh"])
    >>> languages.number("en"), languages.find("这是中文。", []), languages.find("Hello.", [])
    (1, 2, None)
    """

    names: tuple[str, ...]
    scripts: tuple[frozenset[str], ...]  # that each is written in; empty: not known
    counts: NDArray[np.int64] | None = None  # [L, V] how often the training text of each had each token, special ones apart

    @classmethod
    def named(cls, names: Sequence[str]) -> Languages:
        """Known by their codes alone."""
        return cls(names=tuple(names), scripts=tuple(map(scripts_for, names)))

    @classmethod
    def unnamed(cls, count: int) -> Languages:
        """Known by their numbers alone."""
        return cls.named([str(number) for number in range(count)])

    @property
    def have_names(self) -> bool:
        """Are they known by more than their numbers?"""
        return not all(name.isdecimal() for name in self.names)

    def number(self, said: str | int) -> int:
        """Of a language that is named, or numbered."""
        wanted = str(said).strip()
        folded = [name.lower() for name in self.names]
        if wanted.lower() in folded:
            return folded.index(wanted.lower())
        if wanted.isdecimal() and int(wanted) < len(self.names):
            return int(wanted)
        raise PlumeError(f"This model has no language '{wanted}': {self._choice()}.")

    def find(self, text: str, ids: Sequence[int] | NDArray[np.int64]) -> int | None:
        """The language of a text, cut into `ids`; None where neither script nor words tell it."""
        if len(self.names) == 1:
            return 0
        candidates = self._by_script(text)
        if len(candidates) == 1:
            return candidates[0]
        if self.counts is None or not len(ids) or not self.counts[candidates].any(1).all():
            return None
        scores = self._evidence[candidates][:, np.asarray(ids)].sum(1)
        second, best = np.argsort(scores, kind="stable")[-2:]
        return candidates[best] if scores[best] - scores[second] >= MARGIN else None

    def _by_script(self, text: str) -> list[int]:
        """Those that use all scripts of the text; else, as any text may hold a foreign name, the one of most of it. All, if nobody does."""
        used = scripts_of(count_scripts(text))
        for wanted in (used, used[:1]):
            found = [number for number, own in enumerate(self.scripts) if not own or own.issuperset(wanted)]
            if wanted and found:
                return found
        return list(range(len(self.names)))

    @cached_property
    def _evidence(self) -> NDArray[np.float64]:
        """[L, V] log-probabilities; 0 for tokens that no language ever showed."""
        assert self.counts is not None, "only asked for where words were counted"
        smooth = self.counts + _UNSEEN
        return np.where(self.counts.any(0), np.log(smooth / smooth.sum(1, keepdims=True)), 0.0)

    def unclear(self, text: str, place: str = "") -> PlumeError:
        """What to say where the language cannot be told."""
        shown = text if len(text) <= 60 else text[:59] + "…"
        where = f"{place}: c" if place else "C"
        return PlumeError(f"{where}annot tell which language '{shown}' is in: {self._choice()}.")

    def _choice(self) -> str:
        if self.have_names:
            return f"say one of {', '.join(self.names)} (--language, or language=…)"
        return (
            f"it has vectors for {len(self.names)} languages and does not know their names, so say a number from 0 to {len(self.names) - 1} "
            "(--language, or language=…). Models of plume number them in the alphabetical order of the names in their corpus"
        )

    def save(self, path: Path) -> None:
        """As JSON, a language a line."""
        counts = [None] * len(self.names) if self.counts is None else self.counts.tolist()
        told = zip(self.names, self.scripts, counts, strict=True)
        records = [{"name": name, "scripts": sorted(scripts), "counts": seen} for name, scripts, seen in told]
        write_text(path, "[\n" + ",\n".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in records) + "\n]\n")

    @classmethod
    def load(cls, path: Path) -> Languages:
        """As `save` wrote them."""
        records = read_json(path, "it should name the model's languages")
        try:
            counts = [record["counts"] for record in records]
            return cls(
                names=tuple(str(record["name"]) for record in records),
                scripts=tuple(frozenset(record["scripts"]) for record in records),
                counts=None if None in counts else np.array(counts, np.int64),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise PlumeError(f"{path} does not name languages ({error}): restore it, or remove it and give --language by number.") from None
