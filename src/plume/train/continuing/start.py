"""The model that a run starts from, its tokenizer, and what is to be said about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from plume.core.errors import PlumeError
from plume.core.files import read_json, write_json
from plume.core.part import replace as with_parts
from plume.data.corpus import Corpus
from plume.hf.importing import read_folder
from plume.model.checkpoint import RECIPE, load_model, read_recipe
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.static import model as word_models
from plume.text.tokenizer import Tokenizer
from plume.train.continuing.recipe import continuing_recipe
from plume.train.continuing.words import add_words
from plume.train.settings import Settings

START = Path("train") / "start.json"  # what a resumed run, and its card, has to know of it
_CONFIG, _TASK = "config.json", "task.json"


@dataclass(frozen=True, kw_only=True)
class StartingPoint:
    """A model to start from; of a run that goes on from a checkpoint, only the figures are known."""

    vocabulary: int = 0  # vectors that it has, which may be more than its tokenizer has tokens
    length: int = 0  # of the rows that it was trained on: it can still read them, whatever rows it goes on with
    notes: tuple[str, ...] = ()
    model: Model | None = None
    tokenizer: Tokenizer | None = None

    def kept(self, recipe: Recipe) -> Recipe:
        """The recipe as the model directory declares it: what is tuned later may read rows as long as the first model could."""
        longest = max(recipe.training.length, self.length)
        return with_parts(recipe, training=with_parts(recipe.training, length=longest))

    def save(self, folder: Path) -> None:
        """As train/start.json, for a run that started from a model."""
        if self.notes:
            write_json(folder / START, {"vocabulary": self.vocabulary, "length": self.length, "notes": list(self.notes)})


def read_start(path: Path) -> StartingPoint:
    """A plume directory or a Hugging Face directory, whole."""
    _refuse(path)
    if (path / RECIPE).exists() or not (path / _CONFIG).exists():
        model, tokenizer = load_model(path)
        found = StartingPoint(model=model, tokenizer=tokenizer)
    else:
        imported = read_folder(path)
        notes = () if imported.head is None else (f"The head of {imported.head.architecture} was left out.",)
        found = StartingPoint(model=imported.model, tokenizer=imported.tokenizer, notes=notes)
        model = imported.model
    return replace(found, vocabulary=model.vocabulary, length=model.recipe.training.length)


def recipe_to_continue(path: Path) -> Recipe:
    """The recipe that the model in a directory goes on with, where the user names none."""
    _refuse(path)
    if (path / RECIPE).exists() or not (path / _CONFIG).exists():
        return continuing_recipe(read_recipe(path))
    return continuing_recipe(read_folder(path).model.recipe)


def _refuse(path: Path) -> None:
    """What is no pre-trained network says so."""
    if (path / _TASK).exists():
        raise PlumeError(f"{path} is fine-tuned for a task; name the model that it was fine-tuned from.")
    if (path / RECIPE).exists() and word_models.is_word_model(path):
        raise PlumeError(f"{path}: the training of word vectors cannot be continued; only the pre-training of a network can.")


def start_of(settings: Settings, folder: Path, corpus: Corpus, *, there: bool) -> StartingPoint:
    """What the run starts from: nothing, a model, or, with `there`, a checkpoint of its own, which needs no other model any more."""
    if settings.initial is None:
        return StartingPoint()
    if there:
        told = read_json(folder / START, "what the run started from") if (folder / START).exists() else {}
        return StartingPoint(vocabulary=told.get("vocabulary", 0), length=told.get("length", 0), notes=tuple(told.get("notes", ())))
    start = read_start(Path(settings.initial))
    assert start.model is not None and start.tokenizer is not None
    notes = (*start.notes, *_new_heads(settings.recipe, start.model))
    if settings.add_words:
        added = add_words(start.model, start.tokenizer, corpus, settings.add_words)
        start = replace(start, model=added.model, tokenizer=added.tokenizer, vocabulary=added.model.vocabulary)
        notes = (*notes, added.note)
    vocabulary = start.vocabulary if settings.tokenizer is None else 0  # another tokenizer's must be just as many
    return replace(start, vocabulary=vocabulary, notes=(_origin(settings), *notes))


def _origin(settings: Settings) -> str:
    training = settings.recipe.training
    return (
        f"Goes on from {settings.initial} with {', '.join(one.name for one in settings.recipe.objectives)}: rows of {training.length} tokens, "
        f"{training.batch} a step, learning rate up to {training.peak:g} after {training.schedule.warmup:.0%} of the run, then down."
    )


def _new_heads(recipe: Recipe, model: Model) -> Sequence[str]:
    wanted = dict.fromkeys(one.head_of or one.name for one in recipe.objectives)
    made = [f"It has no head for {name}: a new one was made." for name in wanted if name not in model.heads]
    if made and recipe.assembly.generates:
        made.append("Its generator is new as well, and has learned nothing yet.")
    return made
