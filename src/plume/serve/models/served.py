"""Served: a directory that was given, known by its name before anything is loaded."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.search.settings import FILE as INDEX
from plume.serve.models.importing import as_model_directory
from plume.static.model import RECIPE, is_word_model
from plume.tuning.declared import is_tuned

_NAME = re.compile(r"[\w.\-]+")


class ServedKind(enum.Enum):
    """What a directory holds."""

    LANGUAGE = "language model"
    TUNED = "fine-tuned model"
    WORDS = "word vectors"
    INDEX = "index"


@dataclass(frozen=True, kw_only=True)
class Served:
    """One directory under one name."""

    name: str
    folder: Path
    kind: ServedKind

    @property
    def bytes(self) -> int:
        """Of its files of numbers: what it takes in memory, known before it is loaded."""
        return sum(path.stat().st_size for path in self.folder.glob("*.safetensors"))

    @property
    def created(self) -> int:
        """When its directory was last written, in seconds since 1970."""
        return int(self.folder.stat().st_mtime)


def find_served(given: Sequence[str]) -> dict[str, Served]:
    """By name, from what stands on the command line: DIR, or name=DIR. A Hugging Face directory is imported, once."""
    found: dict[str, Served] = {}
    for one in given:
        served = _served(one)
        if served.name in found:
            raise PlumeError(
                f"{found[served.name].folder} and {served.folder} would both be called '{served.name}': give one a name, as in other={one}."
            )
        found[served.name] = served
    if not found:
        raise PlumeError("Nothing to serve: give at least one model directory or index.")
    return found


def _served(given: str) -> Served:
    said, separator, path = given.partition("=")
    if not separator or Path(given).exists():
        said, path = "", given
    folder = Path(path).expanduser().resolve()
    if not folder.is_dir():
        raise PlumeError(f"There is no directory {path}.")
    name = said or folder.name
    if not _NAME.fullmatch(name):
        raise PlumeError(f"'{name}' cannot be a name here: letters, digits, . _ and - can. Give it one: name={path}.")
    if not _is_ours(folder) and any((folder / file).exists() for file in ("config.json", "modules.json")):
        folder = as_model_directory(folder)
    return Served(name=name, folder=folder, kind=_kind(folder))


def _is_ours(folder: Path) -> bool:
    return (folder / INDEX).exists() or (folder / RECIPE).exists()


def _kind(folder: Path) -> ServedKind:
    if (folder / INDEX).exists():
        return ServedKind.INDEX
    if is_tuned(folder):
        return ServedKind.TUNED
    if is_word_model(folder):
        return ServedKind.WORDS
    if (folder / RECIPE).exists():
        return ServedKind.LANGUAGE
    raise PlumeError(f"{folder} holds neither a model of plume's, nor an index, nor a Hugging Face directory.")
