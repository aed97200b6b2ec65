"""Served: a directory that was given, known by its name before anything is loaded."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.search.fingerprint import folder_fingerprint, same_model
from plume.search.settings import FILE as INDEX
from plume.search.settings import IndexSettings
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
    made_by: Path | None = None  # an index: the model directory whose vectors it holds

    @property
    def bytes(self) -> int:
        """Of its files of numbers, and those of the model that an index asks: what it takes in memory, known before it is loaded."""
        folders = [self.folder] if self.made_by is None else [self.folder, self.made_by]
        return sum(path.stat().st_size for folder in folders for path in folder.glob("*.safetensors"))

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
    kind = _kind(folder)
    known = IndexSettings.load(folder).model if kind is ServedKind.INDEX else None
    maker = (known or {}).get("path")
    return Served(name=name, folder=folder, kind=kind, made_by=None if maker is None else Path(maker).resolve())


def maker_of(index: Served, served: Iterable[Served]) -> Served | None:
    """Which of those that are served made the vectors of an index: the directory that it names, or, where that is gone, one that is equal."""
    if index.made_by is None:
        return None
    models = [one for one in served if one.kind is not ServedKind.INDEX]
    if index.made_by.is_dir():
        return next((one for one in models if one.folder == index.made_by), None)
    known = IndexSettings.load(index.folder).model or {}
    return next((one for one in models if same_model(known, folder_fingerprint(one.folder))), None)


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
