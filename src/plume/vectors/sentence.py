"""SentenceVectors: how a model makes the vector of a text, saved beside it as sentence.json and sentence.safetensors."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from plume.core.errors import PlumeError
from plume.core.files import read_json, write_atomic, write_json
from plume.core.part import Part, part_from_json, replace
from plume.vectors.transform import Floats, Transform, VectorRows, applied, final_width

SENTENCE, ARRAYS = "sentence.json", "sentence.safetensors"


class Similarity(enum.Enum):
    """How two vectors are compared, as sentence-transformers calls it."""

    COSINE = "cosine"
    DOT = "dot"
    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"


@dataclass(frozen=True, kw_only=True)
class SentenceVectors(Part):
    """Which layers and tokens, which transforms, which prompt. `embed` obeys it unless a call says how to pool.

    >>> from plume.vectors.transforms.cut import Cut
    >>> SentenceVectors(transforms=(Cut(dimensions=2),)).finish(np.ones((1, 3), np.float32)).shape
    (1, 2)
    """

    pooling: Part | None = None  # of a network a `Pooling`, of word vectors a weighting; None: as the family does
    transforms: tuple[Transform, ...] = ()
    prompt: str = ""  # put before every text
    longest: int | None = None  # tokens that are read, special ones included; None: as many as the model can
    similarity: Similarity = Similarity.COSINE
    questions: str = ""  # the folder beside, whose model reads questions, where they are read by another than what answers them
    fitted_on: tuple[str, ...] = ()  # the files that the transforms have seen
    sentences: int = 0  # how many of them

    def texts(self, texts: Sequence[str]) -> list[str]:
        """As they are read: with the prompt."""
        return [self.prompt + text for text in texts] if self.prompt else list(texts)

    def finish(self, rows: Floats) -> Floats:
        """[N, D] pooled vectors through all transforms."""
        return applied(self.transforms, rows)

    def width(self, before: int) -> int:
        """Of what `finish` makes of pooled vectors `before` wide."""
        return final_width(self.transforms, before)

    def fit(self, rows: Floats, *, on: Iterable[str] = ()) -> SentenceVectors:
        """Every transform fitted to pooled vectors [N, D], as those before it leave them; `on` names the files. The rows may lie on disk."""
        done: list[Transform] = []
        for one in self.transforms:
            done.append(one.fit(VectorRows(rows, done)))
        return replace(self, transforms=tuple(done), fitted_on=tuple(on), sentences=len(rows))

    def advice(self, sentences: int, width: int) -> list[str]:
        """What a user should know who fits it to so many pooled vectors of this width."""
        found: list[str] = []
        for one in self.transforms:
            found += one.advice(sentences, width)
            width = one.width(width)
        return found

    def save(self, folder: Path) -> None:
        """Beside a model. The arrays first: a sentence.json is never without them."""
        if unfitted := [type(one).__name__ for one in self.transforms if not one.fitted]:
            raise PlumeError(f"{', '.join(unfitted)} must be fitted before it is saved.")
        arrays = {f"{place}.{name}": array for place, one in enumerate(self.transforms) for name, array in one.arrays.items()}
        if arrays:
            held = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
            write_atomic(folder / ARRAYS, lambda target: save_file(held, target))
        write_json(folder / SENTENCE, self.to_json())
        if not arrays:
            (folder / ARRAYS).unlink(missing_ok=True)

    @classmethod
    def read(cls, folder: Path) -> SentenceVectors | None:
        """That of a model directory; None if it has none."""
        path = folder / SENTENCE
        if not path.exists():
            return None
        found = part_from_json(read_json(path, "it should say how the model makes sentence vectors"))
        if not isinstance(found, SentenceVectors):
            raise PlumeError(f"{path} does not say how a model makes sentence vectors.")
        if not any(one.learns for one in found.transforms):
            return found
        arrays = _read_arrays(folder / ARRAYS)
        told = [one.with_arrays(_of(arrays, place)) if one.learns else one for place, one in enumerate(found.transforms)]
        return replace(found, transforms=tuple(told))


def _of(arrays: dict[str, NDArray[Any]], place: int) -> dict[str, NDArray[Any]]:
    return {name.partition(".")[2]: array for name, array in arrays.items() if re.match(rf"{place}\.", name)}


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        found: dict[str, NDArray[Any]] = load_file(path)
        return found
    except FileNotFoundError:
        raise PlumeError(f"{path} is missing: {SENTENCE} beside it needs what its transforms were fitted to.") from None
    except (SafetensorError, OSError) as error:
        raise PlumeError(f"{path} cannot be read as safetensors ({error}): it is cut short or of another kind.") from None
