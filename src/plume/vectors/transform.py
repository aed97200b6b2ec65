"""Transform: what is done to vectors after pooling. Some are fitted to many vectors first; what they learned is saved as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part, replace

Floats = NDArray[np.float32]
ROWS = 8192  # vectors that are held at once


class Affine(NamedTuple):
    """rows @ weight + bias."""

    weight: NDArray[np.float64]  # [D, K]
    bias: NDArray[np.float64]  # [K]


@dataclass(frozen=True, kw_only=True)
class Transform(Part):
    """Base of all. Its fields are settings and go into JSON; what `fit` learns are arrays, which go into safetensors.

    >>> from plume.vectors.transforms.cut import Cut
    >>> Cut(dimensions=2).apply(np.ones((1, 3), np.float32)).tolist()
    [[1.0, 1.0]]
    """

    learns: ClassVar[tuple[str, ...]] = ()  # the names of its arrays once it is fitted; () needs no fit

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """What it learned, by name; empty before `fit`."""
        found: Mapping[str, NDArray[Any]] = self.__dict__.get("_arrays", {})
        return found

    @property
    def fitted(self) -> bool:
        """Can it be applied?"""
        return not self.learns or bool(self.arrays)

    def with_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The same, with what it learned: from `fit`, or from a file."""
        if missing := sorted(set(self.learns) - set(arrays)):
            raise PlumeError(f"{type(self).__name__} lacks what it was fitted to ({', '.join(missing)}): the files are not of one fit.")
        made = replace(self)
        object.__setattr__(made, "_arrays", dict(arrays))  # beside the fields: these are declared, those learned
        return made

    def fit(self, rows: VectorRows | Floats) -> Self:
        """Learned from vectors [N, D]; itself where there is nothing to learn. It reads them in pieces, so they may lie on disk."""
        if not self.learns:
            return self
        return self.with_arrays(self._learned(rows if isinstance(rows, VectorRows) else VectorRows(rows)))

    def apply(self, rows: Floats) -> Floats:
        """[N, D] to [N, K], float32."""
        if not self.fitted:
            raise PlumeError(f"{type(self).__name__} must be fitted before it is applied: plume sentences fit.")
        require_finite(rows)
        return np.ascontiguousarray(self._applied(rows), np.float32)

    def linear(self, width: int) -> Affine | None:
        """The same for vectors of this width as one matrix product, if it is one; that is what other libraries can take."""
        return None

    def width(self, before: int) -> int:
        """Of the vectors that it makes of vectors `before` wide."""
        return before

    def advice(self, sentences: int, width: int) -> Iterable[str]:
        """What a user should know who fits it to so many vectors of this width."""
        return ()

    def _learned(self, rows: VectorRows) -> dict[str, NDArray[Any]]:
        raise NotImplementedError

    def _applied(self, rows: Floats) -> NDArray[Any]:
        raise NotImplementedError


class VectorRows:
    """Vectors [N, D], in memory or mapped from a file, with the transforms that come before; read in pieces."""

    def __init__(self, array: Floats, before: Sequence[Transform] = ()) -> None:
        if array.ndim != 2 or not len(array):
            raise PlumeError("A transform is fitted to vectors, a row each, and there are none.")
        self.array, self.before = array, tuple(before)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def width(self) -> int:
        """Of a vector, after what comes before."""
        return final_width(self.before, self.array.shape[1])

    def pieces(self, size: int = ROWS) -> Iterator[Floats]:
        """Some thousands at a time."""
        for first in range(0, len(self.array), size):
            rows = np.asarray(self.array[first : first + size], np.float32)
            require_finite(rows)
            yield applied(self.before, rows)


def applied(transforms: Iterable[Transform], rows: Floats) -> Floats:
    """One after the other."""
    for one in transforms:
        rows = one.apply(rows)
    return rows


def final_width(transforms: Iterable[Transform], width: int) -> int:
    """Of vectors that were `width` wide."""
    for one in transforms:
        width = one.width(width)
    return width


def require_finite(rows: NDArray[Any]) -> None:
    """A vector with a NaN in it would spoil everything that is computed with it."""
    finite = np.isfinite(rows).all(1)
    if not finite.all():
        place = int(np.argmin(finite))
        raise PlumeError(f"Vector {place} of {len(rows)} is not finite: the model gives NaN or infinity for this text.")
