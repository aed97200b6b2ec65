"""Entrants: the lines of a study. Each recipe at the study's size, and the controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.comparing.results import Control
from plume.comparing.study import Study, Tokenizing, is_recipe_file
from plume.core.errors import PlumeError, suggest
from plume.core.part import has_path
from plume.data.corpus import CorpusKind
from plume.model.recipe import Recipe
from plume.recipes import _catalog as catalog
from plume.static.recipe import StaticRecipe
from plume.text.tokenizers import BPE, ByteLevelBPE, TokenizerSpec, Unigram, WordPiece
from plume.train.settings import declared, with_changes

SCRATCH = "scratch"
_PIECES: tuple[type[TokenizerSpec], ...] = (WordPiece, BPE, ByteLevelBPE, Unigram)
_CASED_TASKS = ("ner", "pos", "segmentation")  # names are told by their capitals
_NO_TRAINING = "1steps"  # makes the directory, with shape and tokenizer, that is tuned from scratch


@dataclass(frozen=True, kw_only=True)
class Entrant:
    name: str  # as the user wrote it; of a recipe file its stem
    recipe: str  # what `plume pretrain` is told: bert/tiny, or a file
    overrides: tuple[str, ...]  # its --set
    declared: Recipe | StaticRecipe  # with them
    budget: str | None  # None: word vectors' own epochs, where the budget's unit means nothing to them
    control: Control | None = None

    @property
    def static(self) -> bool:
        return isinstance(self.declared, StaticRecipe)

    @property
    def from_scratch(self) -> bool:
        return self.control is Control.SCRATCH

    @property
    def folder(self) -> str:
        return self.name.replace("/", "-")


def entrants(study: Study) -> list[Entrant]:
    """In the user's order, the controls last. Word vectors among the recipes are a control themselves."""
    made = [_entrant(name, study) for name in study.recipes]
    for assignment in study.overrides:
        if not any(assignment in one.overrides for one in made):
            any_network = next((one.declared for one in made if not one.static), catalog.recipe("bert"))
            any_network.override(assignment)  # says what is wrong with it
    network = _to_start_anew(made) or _entrant("bert", study)
    made.append(
        Entrant(
            name=SCRATCH,
            recipe=network.recipe,
            overrides=network.overrides,
            declared=network.declared,
            budget=_NO_TRAINING,
            control=Control.SCRATCH,
        )
    )
    if not any(one.static for one in made):
        made.append(_entrant(study.static, study))
        if not made[-1].static:
            raise PlumeError(f"{study.static} is a network; the control beside the networks is word vectors: word2vec, glove or fasttext.")
    if len({one.folder for one in made}) < len(made):
        raise PlumeError(f"Two of {', '.join(one.name for one in made)} would share a directory: rename one.")
    return made


def _to_start_anew(made: Sequence[Entrant]) -> Entrant | None:
    """The first network; of those that read plain text, if there are any, for what cannot be pre-trained here can be no control either."""
    networks = [one for one in made if isinstance(one.declared, Recipe)]
    plain = [one for one in networks if isinstance(one.declared, Recipe) and one.declared.corpus is CorpusKind.TEXT]
    return next(iter(plain or networks), None)


def _entrant(name: str, study: Study) -> Entrant:
    recipe = _sized(name, study.size)
    found = declared(recipe)
    name = Path(name).stem if is_recipe_file(name) else name
    if isinstance(found, StaticRecipe):
        seconds_or_tokens = study.budget.unit in ("seconds", "tokens")
        budget = study.budget.text if seconds_or_tokens else None
        return Entrant(name=name, recipe=recipe, overrides=(), declared=found, budget=budget, control=Control.STATIC)
    overrides = overrides_for(found, study)
    changed = with_changes(found, overrides=overrides)
    return Entrant(name=name, recipe=recipe, overrides=overrides, declared=changed, budget=study.budget.text)


def overrides_for(recipe: Recipe, study: Study) -> tuple[str, ...]:
    """What the study sets of it. A recurrent network has no heads to set: each takes what it has."""
    return (*_tokenizer(recipe, study), *(one for one in study.overrides if has_path(recipe, one.partition("=")[0].strip())))


def _sized(name: str, size: str) -> str:
    """With the study's size, where the user gave none. Word vectors have one small size."""
    if is_recipe_file(name) or "/" in name:
        return name
    known = catalog.declarations(name)
    if size in known:
        return f"{name}/{size}"
    if isinstance(next(iter(known.values())), StaticRecipe):
        return f"{name}/tiny" if "tiny" in known else name
    raise PlumeError(f"{name} has no size '{size}': {suggest(size, known)}.")


def _tokenizer(recipe: Recipe, study: Study) -> tuple[str, ...]:
    """One for all that read pieces of words: what then differs is not how the text is cut. Cased where names are to be found."""
    if study.tokenizer is Tokenizing.OWN or not isinstance(recipe.tokenizer, _PIECES):
        return ()
    cased = any(task.kind in _CASED_TASKS for task in study.tasks)
    return (f"tokenizer=WordPiece(vocabulary={recipe.tokenizer.vocabulary}, lowercase={not cased})",)
