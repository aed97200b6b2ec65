"""The entrants of a study: each line that the user wrote, and the controls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from plume.comparing.entrants.compressed import compressed
from plume.comparing.entrants.continued import continued
from plume.comparing.entrants.directories import directory_entrant
from plume.comparing.entrants.entrant import Entrant
from plume.comparing.entrants.pretrained import PretrainedEntrant, ScratchEntrant
from plume.comparing.entrants.terms import TermsEntrant
from plume.comparing.naming import called, is_recipe_file, labelled, path_in, split
from plume.comparing.study import Study, Tokenizing
from plume.core.errors import PlumeError, suggest
from plume.core.part import has_path
from plume.data.corpus import CorpusKind
from plume.model.recipe import Recipe
from plume.recipes import _catalog as catalog
from plume.static.recipe import StaticRecipe
from plume.text.tokenizers import BPE, ByteLevelBPE, TokenizerSpec, Unigram, WordPiece
from plume.train.settings import declared, with_changes
from plume.tuning.linear.recipe import TFIDF

# What a user writes before a colon, and what is then made of the entrant behind it: its name, the study, and that entrant.
KINDS: dict[str, Callable[[str, Study, Entrant], Entrant]] = {"continue": continued}
_PIECES: tuple[type[TokenizerSpec], ...] = (WordPiece, BPE, ByteLevelBPE, Unigram)
_CASED_TASKS = ("ner", "pos", "segmentation")  # names are told by their capitals


def entrants(study: Study) -> list[Entrant]:
    """In the user's order, then what is made small of them, the controls last. Word vectors among the recipes are a control themselves."""
    going_on = [f"continue:{name}" for name in study.continued]
    made = [make_entrant(text, study) for text in (*study.recipes, *study.models, *going_on)]
    _check_overrides(study, made)
    controls = _controls(study, made)
    made += [*compressed(study, [*made, *controls]), *controls]
    if len({one.folder for one in made}) < len(made):
        raise PlumeError(f"Two of {', '.join(one.name for one in made)} would share a directory: rename one.")
    return made


def _controls(study: Study, made: Sequence[Entrant]) -> list[Entrant]:
    found: list[Entrant] = [_from_scratch(study, made)]
    if not any(one.static for one in made):
        found.append(make_entrant(study.static, study))
        if not found[-1].static:
            raise PlumeError(f"{study.static} is a network; the control beside the networks is word vectors: word2vec, glove or fasttext.")
    return [*found, *([TermsEntrant()] if study.tfidf and TFIDF not in study.recipes else [])]


def make_entrant(text: str, study: Study) -> Entrant:
    """One line, as the study has it; a name that the study gives to a directory stands for it."""
    name, (kind, rest) = called(text), split(labelled(text)[1])
    if kind:
        if kind not in KINDS:
            raise PlumeError(f"'{text}': there is no kind of model '{kind}'; {suggest(kind, KINDS)}.")
        return KINDS[kind](name, study, make_entrant(rest, study))
    if text == TFIDF:
        return TermsEntrant()
    path = path_in(next((one for one in study.models if called(one) == rest), text))
    if path is not None and not is_recipe_file(rest):
        return directory_entrant(name, path)
    return replace(_pretrained(rest, study), name=name)


def _check_overrides(study: Study, made: Sequence[Entrant]) -> None:
    """What the study sets and no entrant takes is said to be wrong."""
    for assignment in study.overrides:
        if not any(assignment in one.overrides for one in made):
            any_network = next((one.declared for one in made if isinstance(one.declared, Recipe)), catalog.recipe("bert"))
            any_network.override(assignment)


def _from_scratch(study: Study, made: Sequence[Entrant]) -> ScratchEntrant:
    """The first network that is pre-trained here; of those that read plain text, if there are any, for what cannot be pre-trained can be no
    control either."""
    networks = [one for one in made if isinstance(one, PretrainedEntrant) and isinstance(one.declared, Recipe)]
    plain = [one for one in networks if isinstance(one.declared, Recipe) and one.declared.corpus is CorpusKind.TEXT]
    network = next(iter(plain or networks), None) or _pretrained("bert", study)
    return ScratchEntrant(declared=network.declared, overrides=network.overrides, recipe=network.recipe)


def _pretrained(text: str, study: Study) -> PretrainedEntrant:
    recipe, name = _sized(text, study.size), called(text)
    found = declared(recipe)
    if isinstance(found, StaticRecipe):
        # They read a token a hundred times faster than a network does: of any budget but time they would be given next to nothing.
        budget = study.budget.text if study.budget.unit == "seconds" else None
        return PretrainedEntrant(name=name, recipe=recipe, declared=found, budget=budget)
    overrides = overrides_for(found, study)
    changed = with_changes(found, overrides=overrides)
    return PretrainedEntrant(name=name, recipe=recipe, overrides=overrides, declared=changed, budget=study.budget.text)


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
