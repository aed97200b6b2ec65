"""The student before it learns: a model directory, which is then tuned with its teacher; and without one, as the control."""

from __future__ import annotations

from pathlib import Path

from safetensors import safe_open

from plume.compressing.distilling.soft_labels import by_first
from plume.compressing.distilling.starts import TeacherLayers, spread, start_of
from plume.compressing.job import CompressionJob
from plume.compressing.shrinking.layers import recipe_with
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.assembly import OneNetwork
from plume.model.checkpoint import WEIGHTS, read_recipe, save_model
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.nn.stack import Sharing
from plume.static import model as word_models
from plume.static.recipe import StaticRecipe
from plume.text.tokenizer import Tokenizer
from plume.train.settings import named
from plume.tuning.adapting.body import network
from plume.tuning.bodies import read_model

STUDENT = Path("train") / "student"  # where it is kept until the run has ended, and after


def student_for(job: CompressionJob, *, student: str | None, depth: int | None, start: str | None) -> Path:
    """The student's directory, before it learns; of several processes the first one makes it."""

    def make() -> Path:
        return student_directory(job.source, job.folder, student=student, depth=depth, start=start, seed=job.settings.seed)

    if student is not None and Path(student).is_dir():
        return make()
    by_first(make, unless=(job.folder / STUDENT / WEIGHTS).exists)
    return job.folder / STUDENT


def student_directory(teacher: Path, folder: Path, *, student: str | None, depth: int | None, start: str | None, seed: int) -> Path:
    """Where the student lies before it learns: a directory that the user has, or one made now within `folder`."""
    if student is not None and Path(student).is_dir():
        if start is not None or depth is not None:
            raise PlumeError(f"{student} is trained already, and starts as it is: leave out --start and --depth.")
        return Path(student).absolute()
    source, tokenizer = read_model(teacher)
    body = network(
        source, f"{teacher} has word vectors below: a student takes after a network; name one that is trained with --student DIRECTORY."
    )
    recipe = _recipe(body, student, depth, start)
    made = start_of(start, own=student is None).weights(recipe, body, seed)
    made.spell(tokenizer.tokens())
    save_model(folder / STUDENT, made, _fitting(tokenizer, recipe))
    return folder / STUDENT


def recipe_of_student(student: str, teacher: Recipe | StaticRecipe) -> Recipe | StaticRecipe:
    """Of one that is named or lies in a directory."""
    if Path(student).is_dir():
        return word_models.read_recipe(Path(student)) if word_models.is_word_model(Path(student)) else read_recipe(Path(student))
    chosen = named(student)
    return _over_tokenizer(chosen, teacher) if isinstance(teacher, Recipe) else chosen


def _recipe(teacher: Model, student: str | None, depth: int | None, start: str | None) -> Recipe:
    """Named, over the teacher's tokenizer; or the teacher's own with fewer layers."""
    own = teacher.recipe
    if student is not None:
        if depth is not None:
            raise PlumeError(f"{student} has a depth of its own: leave out --depth, or --student.")
        return _over_tokenizer(named(student), own)
    if own.recurrent:
        raise PlumeError(f"{own.name} has no layers of blocks to take some of: name a student (--student bert/tiny, or a model directory).")
    if own.sharing is not Sharing.NONE and start in (None, "layers"):
        raise PlumeError(
            f"{own.name} runs one block again and again, so that fewer layers of it are no smaller: name a student (--student bert/tiny, or a "
            "model directory)."
        )
    whole = own.transformer.depth
    given = start_of(start, own=True)
    named_layers = given.layers if isinstance(given, TeacherLayers) else ()
    listed = len(named_layers) or None
    kept = max(1, whole // 2) if depth is None and listed is None else depth if depth is not None else listed
    assert kept is not None
    if not 1 <= kept <= whole or (listed is not None and listed != kept):
        raise PlumeError(f"The teacher has {whole} layers: --depth is a number up to that, and as many as --start names.")
    if own.transformer.between:
        made = replace(own, network=own.transformer.of_depth(kept))
    else:  # blocks that were pruned are unlike each other: those that stay say of what shape
        made, _ = recipe_with(teacher, named_layers or spread(whole, kept))
    return replace(made, size=f"{own.size}-{kept}")


def _over_tokenizer(chosen: Recipe, teacher: Recipe) -> Recipe:
    """A family's recipe that reads what the teacher's tokenizer cuts, laid out as for the teacher."""
    if bool(chosen.languages) != bool(teacher.languages):
        raise PlumeError(
            f"{(chosen if chosen.languages else teacher).name} has a vector for each language, and the other of teacher and student has not: "
            "name a student of the teacher's family, or a model directory."
        )
    given = {"format": teacher.format, "tokenizer": teacher.tokenizer, "words": teacher.words}
    try:
        return replace(chosen, **given)
    except PlumeError as error:
        # What it cannot be pre-trained with, such as masks that the tokenizer lacks, a task does not ask for; but who writes does so by such a head.
        if isinstance(chosen.assembly, OneNetwork):
            return replace(chosen, objectives=(), **given)
        raise PlumeError(
            f"{chosen.name} cannot read by the tokenizer of {teacher.name} ({error}) Name a student of another family, or a model directory."
        ) from None


def _fitting(tokenizer: Tokenizer, recipe: Recipe) -> Tokenizer:
    return tokenizer if tokenizer.format == recipe.format else Tokenizer(tokenizer.backend, format=recipe.format)


def parameters_in(folder: Path) -> int:
    """How many numbers a model directory's weights are, read off the file's head."""
    with safe_open(folder / WEIGHTS, framework="np") as opened:
        shapes = [opened.get_slice(name).get_shape() for name in opened.keys()]  # noqa: SIM118 - not a dict
    total = 0
    for shape in shapes:
        size = 1
        for one in shape:
            size *= one
        total += size
    return total
