"""What users give an index, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plume.core.errors import PlumeError
from plume.search.settings import IndexSettings
from plume.search.sources import SourceColumns
from plume.search.where.tree import MetadataType


def columns(text: str | Sequence[str], id: str | None, types: Mapping[str, str] | None = None) -> SourceColumns:
    """Which fields are what; several texts are joined."""
    names = tuple(text.split(",")) if isinstance(text, str) else tuple(text)
    given = {name: one_of(MetadataType, kind, f"--types {name}=") for name, kind in (types or {}).items()}
    return SourceColumns(text=tuple(name for name in names if name), id=id, types=given)


def table_of_vectors(vectors: Any) -> Any:
    """Ready vectors: an array, or the name of a .npy file, which is mapped and not read."""
    if vectors is None:
        return None
    if isinstance(vectors, str | Path):
        try:
            vectors = np.load(vectors, mmap_mode="r", allow_pickle=False)
        except FileNotFoundError:
            raise PlumeError(f"There is no file {vectors}.") from None
        except (ValueError, OSError, EOFError) as error:
            raise PlumeError(f"{vectors} is not an .npy file of vectors ({error}): numpy.save writes one.") from None
    rows = vectors if isinstance(vectors, np.ndarray) else np.asarray(vectors)
    if rows.ndim != 2 or not rows.shape[1] or rows.dtype.kind not in "fiu":
        raise PlumeError(f"Vectors are a table of numbers, a row a document; this has the shape {list(rows.shape)} and holds {rows.dtype}.")
    return rows


def free(folder: Path) -> None:
    """A place for a new index."""
    if any(folder.iterdir()) if folder.is_dir() else folder.exists():
        raise PlumeError(f"{folder} is there already: add to it with 'plume index add', give --overwrite, or choose another --out.")


def check_vectors(folder: Path, settings: IndexSettings, *, ready: bool, given: bool) -> None:
    """Do new documents come with vectors where the index needs them? `given`: a model was, at use."""
    if ready and settings.dimension is None:
        raise PlumeError(f"{folder} has words only: it takes no vectors.")
    if not ready and settings.dimension is not None and settings.model is None and not given:
        raise PlumeError(f"The vectors of {folder} came ready, without a model: give new ones with --vectors too.")


def side(folder: Path, settings: IndexSettings, by: str) -> str:
    """A way to search that the index has."""
    if by not in ("vectors", "words", "hybrid"):
        raise PlumeError(f"'{by}' is no way to search: give vectors, words or hybrid.")
    if by != "words" and settings.dimension is None:
        raise PlumeError(f"{folder} has words only: search it --by words.")
    if by != "vectors" and settings.words is None:
        raise PlumeError(f"{folder} has vectors only: search it --by vectors.")
    return by


def one_of(kind: Any, value: str, option: str) -> Any:
    """The member of an enumeration."""
    try:
        return kind(value)
    except ValueError:
        raise PlumeError(f"{option} {value}: give {', '.join(one.value for one in kind)}.") from None


def positive(value: int, option: str) -> int:
    """A number of at least 1."""
    if value < 1:
        raise PlumeError(f"{option} {value}: give a number of at least 1.")
    return value


def not_negative(value: int, option: str) -> int:
    """A number of at least 0."""
    if value < 0:
        raise PlumeError(f"{option} {value}: give a number of at least 0.")
    return value


def share(value: float, option: str) -> float:
    """More than 0, at most 1."""
    if not 0 < value <= 1:
        raise PlumeError(f"{option} {value}: give a share, as 0.95.")
    return value
