"""What is looked into: a language model, a tuned one, or a Hugging Face directory, opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from plume.core.batch import Order
from plume.core.errors import PlumeError
from plume.hf.importing import read_folder
from plume.hf.sentence_folders import transformer_folder
from plume.model.checkpoint import RECIPE
from plume.model.networks.model import Model
from plume.model.use.abilities import Abilities
from plume.model.use.language_model import LanguageModel
from plume.nn.stack import Stack
from plume.tuning.exchange import tuned_of
from plume.tuning.loaded import load
from plume.tuning.tuned import TunedModel

Viewed = LanguageModel | TunedModel


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A model that has attention."""

    name: str
    model: Viewed

    @property
    def tuned(self) -> TunedModel | None:
        """The model with its tasks, if it was tuned."""
        return self.model if isinstance(self.model, TunedModel) else None

    @property
    def body(self) -> LanguageModel:
        """The language model, or the one below the task."""
        return self.model.body if isinstance(self.model, TunedModel) else self.model

    @property
    def network(self) -> Model:
        """Its network."""
        return self.body.model

    @property
    def can(self) -> Abilities:
        """What it was trained to do."""
        return self.body.abilities

    @property
    def order(self) -> Order:
        """In which it reads."""
        return self.model.declared.order if isinstance(self.model, TunedModel) else self.can.reading_order

    def frame(self, texts: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """How one text or two are wrapped, and the segment of each piece; a tuned model wraps texts as its task does."""
        form = self.body.tokenizer.format
        if isinstance(self.model, TunedModel):
            coder = self.model.coder()
            pieces, segments = (coder.single, form.single_segments) if texts == 1 else (coder.pair, coder.segments)
        else:
            pieces, segments = (form.single, form.single_segments) if texts == 1 else (form.pair, form.segments)
        return pieces, segments if len(segments) == len(pieces) else (0,) * len(pieces)


def open_subject(folder: str | Path, name: str | None = None) -> Subject:
    """A model directory, plume's or Hugging Face's."""
    folder = Path(folder)
    if not folder.exists():
        raise PlumeError(f"{folder} does not exist: give a model directory.")
    return subject_of(opened(folder), name or folder.resolve().name)


def opened(folder: Path) -> object:
    """What the directory holds: whatever `load` opens, or a Hugging Face directory."""
    if (folder / RECIPE).exists() or not any(folder.glob("**/config.json")):
        return load(folder)
    imported = read_folder(transformer_folder(folder))
    return LanguageModel(imported.model, imported.tokenizer) if imported.head is None else tuned_of(imported)


def subject_of(model: object, name: str = "") -> Subject:
    """A model that was loaded; raises for those without attention."""
    network = model.model.body if isinstance(model, TunedModel) and hasattr(model.model, "body") else getattr(model, "model", None)
    if not isinstance(model, LanguageModel | TunedModel) or not isinstance(network, Model):
        raise PlumeError(f"{name or 'This model'} has no attention to look at: word vectors and linear models have none.")
    if not isinstance(getattr(network, "stack", None), Stack):
        raise PlumeError(f"{name or 'This model'} ({network.recipe.name}) is a recurrent network: it has no attention heads to look at.")
    return Subject(name=name or network.recipe.name, model=model)
