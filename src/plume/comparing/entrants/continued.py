"""A model directory whose pre-training goes on, on the study's corpus or its tasks' texts, at its budget (arXiv:2004.10964)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.comparing.cells import Cell, CellKind
from plume.comparing.entrants.derived import DerivedEntrant
from plume.comparing.entrants.directories import ModelDirectory
from plume.comparing.entrants.entrant import Entrant
from plume.comparing.entrants.few_steps import few_steps
from plume.comparing.entrants.pretrained import pretrain, pretrain_words
from plume.comparing.results import Origin
from plume.comparing.rows.scored import scored_examples
from plume.comparing.shown import shown
from plume.comparing.study import ContinueOn, Study
from plume.core.errors import PlumeError
from plume.core.files import write_text
from plume.core.part import has_path, replace
from plume.model.recipe import Recipe
from plume.recipes._own import changed
from plume.train.continuing.recipe import continuing_recipe
from plume.train.continuing.start import recipe_to_continue
from plume.tuning.declared import is_tuned

TEXTS = "texts.jsonl"  # of the tasks, beside the models that went on with them
_SETTABLE = "training."  # its shape and its tokenizer are what they are
_PAGE = 32  # texts that stand together as a document: layouts need more than one sentence


@dataclass(frozen=True, kw_only=True)
class ContinuedEntrant(DerivedEntrant):
    """`plume pretrain --init`: the parent's weights and tokenizer, its family's objective; with every seed other masks and another order."""

    origin = Origin.CONTINUED
    kind = CellKind.PRETRAIN

    budget: str
    on: ContinueOn = ContinueOn.CORPUS
    objectives: tuple[str, ...] = ()  # where not all of the recipe's can learn from the text

    @property
    def continues(self) -> str:
        return self.parents[0].name

    def derive(self, study: Study, models: Sequence[Path], out: Path, *, seed: int) -> str | None:
        (start,) = models
        if self.on is ContinueOn.TASKS:
            write_text(out.parent / TEXTS, task_texts(study))
        return pretrain(
            self._on(study, out.parent), out, recipe=None, budget=self.budget, overrides=self.overrides, seed=seed, init=start,
            objectives=self.objectives,
        )  # fmt: skip

    def _on(self, study: Study, beside: Path) -> Study:
        """The study with what the model is trained on as its corpus."""
        return study if self.on is ContinueOn.CORPUS else replace(study, corpus=(str(beside / TEXTS),))

    def command(self, study: Study, folder: Path, cell: Cell) -> list[str]:
        (start,) = self.models(folder, cell.seed)
        here = self._on(study, (folder / cell.folder).parent)
        words = pretrain_words(here, recipe=None, budget=self.budget, overrides=self.overrides)
        words += [word for one in self.objectives for word in ("--objective", one)]
        return [*words, "--init", shown(start), "--seed", str(cell.seed)]

    def rehearsed(self, study: Study, scratch: Path, out: Path) -> Path:
        (start,) = self.rehearsed_models(study, scratch, out)
        recipe = changed(recipe_to_continue(start), objectives=self.objectives, overrides=self.overrides)
        return few_steps(recipe, study, scratch, out / "made", init=start)


def continued(name: str, study: Study, parent: Entrant) -> ContinuedEntrant:
    """The parent, going on. Of what the study sets it takes what is of training."""
    if not isinstance(parent.declared, Recipe):
        raise PlumeError(f"{name}: the training of word vectors cannot be continued; only the pre-training of a network can.")
    if isinstance(parent, ModelDirectory) and is_tuned(Path(parent.path)):
        raise PlumeError(f"{name}: {parent.path} is fine-tuned for a task; name the model that it was fine-tuned from.")
    going_on = continuing_recipe(parent.declared)
    paths = {one: one.partition("=")[0].strip() for one in study.overrides}
    overrides = tuple(one for one, path in paths.items() if path.startswith(_SETTABLE) and has_path(going_on, path))
    # Rows of a task follow each other in no order that could be asked about.
    alone = tuple(one.name for one in going_on.objectives if one.pair_label is None)
    objectives = alone if study.continue_on is ContinueOn.TASKS and len(alone) < len(going_on.objectives) else ()
    return ContinuedEntrant(
        name=name, declared=changed(going_on, objectives=objectives, overrides=overrides), overrides=overrides, parents=(parent,),
        budget=study.budget.text, on=study.continue_on, objectives=objectives,
    )  # fmt: skip


def task_texts(study: Study) -> str:
    """The texts of all training examples, without their answers, as a corpus; nothing of what is chosen by or scored on."""
    texts = dict.fromkeys(
        " ".join(text.split())
        for task in study.tasks
        for example in scored_examples(task)[0].train
        for text in example.texts
        if text.strip()
    )
    listed = list(texts)
    pages = [listed[first : first + _PAGE] for first in range(0, len(listed), _PAGE)]
    return "".join(json.dumps({"text": "\n".join(page)}, ensure_ascii=False) + "\n" for page in pages)
