"""A student over word vectors, which are made of what it will be fed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from plume.compressing.distilling.comparisons import DistilLoss, Logits
from plume.compressing.distilling.feeding import read_plain
from plume.compressing.distilling.method import Distillation
from plume.compressing.distilling.soft_labels import by_first
from plume.compressing.distilling.students import STUDENT
from plume.compressing.job import CompressionJob
from plume.core.errors import PlumeError
from plume.core.files import write_text
from plume.core.part import replace
from plume.model.checkpoint import WEIGHTS
from plume.model.recipe import Recipe
from plume.nn.task_network import TaskNetwork
from plume.static.recipe import FastText, StaticRecipe
from plume.train.runs import start as pretrain
from plume.train.settings import declared
from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.adapting.ways.features import FrozenFeatures
from plume.tuning.preparing import prepare

_TEXT = Path("train") / "words.txt"
_ENOUGH, _MOST = (
    2_000_000,
    200,
)  # words that are read in all, seconds of work, so that vectors of a small text know something; and how often at most


@dataclass(frozen=True, kw_only=True)
class OverWordVectors(Distillation):
    """`vectors` is the recipe of those that are made; words that occur once count too, and the table of n-grams, most of the model, is small."""

    variant: str = "bilstm"
    comparisons: tuple[DistilLoss, ...] = (Logits(squared=True),)
    adaptation: Adaptation | None = FrozenFeatures(network=TaskNetwork(width=150), norm=True)
    vectors: str = "fasttext/tiny"
    least: int = 1
    buckets: int = 20_000  # rows of n-grams, where the recipe has such

    def makes(self, recipe: Recipe | StaticRecipe) -> Recipe | StaticRecipe:
        return declared(self.vectors) if self.student is None else super().makes(recipe)

    def likeness(self, source: Path, folder: Path) -> Path:
        return source

    def student_of(self, job: CompressionJob) -> Path:
        if self.depth is not None or self.start is not None:
            raise PlumeError(f"{self.name} has a student of one layer over word vectors: leave out --depth and --start.")
        if self.student is not None:
            if not Path(self.student).is_dir():
                raise PlumeError(f"{self.name} reads word vectors: --student is a directory of some, or left out to have them made here.")
            return Path(self.student).absolute()
        by_first(lambda: self._train_vectors(job), unless=(job.folder / STUDENT / WEIGHTS).exists)
        return job.folder / STUDENT

    def _train_vectors(self, job: CompressionJob) -> None:
        """On the rows that are trained on and the unlabelled text; with one thread, so that the same comes out each time."""
        recipe = declared(self.vectors)
        if not isinstance(recipe, StaticRecipe):
            raise PlumeError(f"{self.vectors} is a network: vectors is a recipe of word vectors, such as fasttext/tiny.")
        lines: list[str] = []
        for one in job.need_data():
            rows = prepare(one, seed=job.settings.split, known=True).train
            rows += [example for path in job.settings.text for example in read_plain(one.task, path)]
            lines += [" ".join(text.split()) for example in rows for text in example.texts]
        write_text(job.folder / _TEXT, "\n".join(lines) + "\n")
        chosen = replace(recipe, least=self.least, epochs=_epochs(recipe, lines))
        if isinstance(chosen, FastText):
            chosen = replace(chosen, buckets=self.buckets)
        stopped_by = pretrain(
            chosen, corpus=job.folder / _TEXT, out=job.folder / STUDENT, budget=None, quiet=True, seed=job.settings.seed, threads=1
        )
        if stopped_by is not None:
            raise PlumeError(f"Stopped by {stopped_by} before the student had word vectors: run it again.")


def _epochs(recipe: StaticRecipe, lines: list[str]) -> int:
    words = sum(max(len(line.split()), len(line) // 8) for line in lines)  # Chinese has no spaces
    return min(max(recipe.epochs, _ENOUGH // max(words, 1)), _MOST)
