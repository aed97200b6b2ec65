"""Models that are there already, taken as they are: plume's own directories, and Hugging Face's."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from plume.comparing.cells import Cell, CellKind
from plume.comparing.entrants.entrant import Entrant
from plume.comparing.results import Origin
from plume.comparing.shown import shown
from plume.comparing.study import Study
from plume.core.errors import PlumeError
from plume.hf.importing import import_folder
from plume.hf.reading import bridge_of, read_config
from plume.model.checkpoint import RECIPE, read_recipe
from plume.model.recipe import Recipe
from plume.static import model as word_models
from plume.static.recipe import StaticRecipe

_CONFIG = "config.json"


@dataclass(frozen=True, kw_only=True)
class DirectoryEntrant(Entrant):
    """A model that somebody trained before: with every seed the same, only its tuning differs."""

    path: str

    @property
    def source(self) -> str:
        return shown(self.path)


@dataclass(frozen=True, kw_only=True)
class ModelDirectory(DirectoryEntrant):
    """plume's own: a network, word vectors, or what is below the head of a tuned model. Nothing has to be made."""

    origin = Origin.DIRECTORY

    def cells(self, seed: int) -> tuple[Cell, ...]:
        return ()

    def directory(self, folder: Path, seed: int) -> Path:
        return Path(self.path)

    def rehearsed(self, study: Study, scratch: Path, out: Path) -> Path:
        return Path(self.path)


@dataclass(frozen=True, kw_only=True)
class HuggingFaceDirectory(DirectoryEntrant):
    """Imported once, for all seeds; without the head of a task, if it has one."""

    origin = Origin.HUGGING_FACE

    def cells(self, seed: int) -> tuple[Cell, ...]:
        return (self.cell(CellKind.DERIVE, 0),)

    def make(self, study: Study, folder: Path, cell: Cell) -> str | None:
        out = folder / cell.folder
        shutil.rmtree(out, ignore_errors=True)
        import_folder(Path(self.path), out)
        return None

    def command(self, study: Study, folder: Path, cell: Cell) -> list[str]:
        return ["plume", "import", shown(self.path)]

    def rehearsed(self, study: Study, scratch: Path, out: Path) -> Path:
        import_folder(Path(self.path), out)
        return out


def directory_entrant(name: str, path: Path) -> DirectoryEntrant:
    """Whichever the directory holds; what is neither is refused."""
    if (path / RECIPE).exists():
        return ModelDirectory(name=name, declared=_declared(path), path=str(path))
    if (path / _CONFIG).exists():
        config = read_config(path)
        return HuggingFaceDirectory(name=name, declared=bridge_of(config, path).config.read(config), path=str(path))
    if not path.is_dir():
        raise PlumeError(f"There is no model directory at {path}.")
    raise PlumeError(f"{path} holds no model: neither plume's {RECIPE} nor the {_CONFIG} of a Hugging Face directory is in it.")


def _declared(path: Path) -> Recipe | StaticRecipe:
    return word_models.read_recipe(path) if word_models.is_word_model(path) else read_recipe(path)
