"""What a study measured: plain records, which become results.json, the tables and the report."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from plume.core.files import write_json
from plume.core.timing import PredictionSpeed as PredictionSpeed

RESULTS = "results.json"
MARGIN = 1.0  # points of quality that a cheaper model may lose


class Control(enum.StrEnum):
    """What a model is held against."""

    SCRATCH = "no pre-training"
    STATIC = "static vectors"
    TFIDF = "TF-IDF + linear"
    DIRECT = "trained directly"  # a student without its teacher


class Origin(enum.StrEnum):
    """Where a model comes from."""

    RECIPE = "pre-trained here"
    DIRECTORY = "model directory"
    HUGGING_FACE = "Hugging Face directory"
    CONTINUED = "pre-training continued"
    DERIVED = "derived"
    COMPRESSED = "made small"


class ModelGroup(enum.StrEnum):
    """What a model stands for beside the others."""

    NOTHING = "your corpus, from nothing"
    PUBLIC = "existing model, as it is"
    CONTINUED = "existing model, continued"
    DERIVED = "derived"
    SMALL = "made small"
    CONTROL = "baseline"


_GROUPS = {
    Origin.RECIPE: ModelGroup.NOTHING,
    Origin.DIRECTORY: ModelGroup.PUBLIC,
    Origin.HUGGING_FACE: ModelGroup.PUBLIC,
    Origin.CONTINUED: ModelGroup.CONTINUED,
    Origin.DERIVED: ModelGroup.DERIVED,
    Origin.COMPRESSED: ModelGroup.SMALL,
}


class Status(enum.StrEnum):
    """How a cell stands."""

    DONE = "done"
    FAILED = "failed"  # it was tried; `reason` says what happened
    CANNOT = "cannot"  # it was not tried; `reason` says why it never could
    WAITING = "waiting"


@dataclass(frozen=True, kw_only=True)
class TaskRecord:
    """A task of the study. All models are scored on the same rows, which no choice was made on."""

    name: str
    kind: str  # classification, ner …
    title: str
    metric: str  # the one that decides
    train_file: str
    scored_file: str
    train_examples: int  # of the training file, with those that are held out of it where there is no dev file
    scored_examples: int
    labels: tuple[str, ...] = ()
    dev_file: str = ""
    graded: bool = False  # answers are better or worse, none is just right: a number, a text
    best: float = 1.0  # the highest score there is: 1, or 100 for BLEU and chrF
    note: str = ""  # how the data came about, where plume made it
    held_out: bool = True  # where there is no dev file: are some of the training examples held out to choose by?
    left_out: tuple[str, ...] = ()  # what of the files was left out or mended, in words


@dataclass(frozen=True, kw_only=True)
class RecipeDifference:
    """A part in which a recipe differs from its parent."""

    path: str
    parent: str
    here: str


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """A measurement while a model is pre-trained."""

    tokens: int
    seconds: float
    loss: float  # held out, of the objective that predicts tokens


@dataclass(frozen=True, kw_only=True)
class PretrainRecord:
    """One pre-training run: a model, a seed."""

    model: str
    seed: int
    status: Status
    reason: str = ""
    steps: int = 0
    tokens: int = 0
    flops: float = 0.0
    seconds: float = 0.0  # in steps, which is what a budget of time counts
    peak_memory: int = 0  # bytes, the whole process
    objective: str = ""  # whose loss the curve shows
    trivial: float | None = None  # the loss that needs no context
    curve: tuple[CurvePoint, ...] = ()
    stuck: bool = False  # in the end its loss is no better than what needs no context
    slowed: bool = False  # at a budget of time: it saw clearly fewer tokens than the same model with another seed


@dataclass(frozen=True, kw_only=True)
class ModelRecord:
    """A line of the study: a recipe at a size, a model that was there, what was made of another, or a control."""

    name: str  # as the user wrote it: bert, or bert/mini
    family: str
    size: str
    title: str
    paper: str
    control: Control | None = None
    parent: str = ""  # the recipe it is described against
    differences: tuple[RecipeDifference, ...] = ()
    parameters: int = 0
    flops_per_token: float = 0.0  # of training, forward and backward; 0: not counted (word vectors)
    disk: int = 0  # bytes of a model directory that predicts, without train/
    tokenizer: str = ""  # in words
    origin: Origin = Origin.RECIPE
    source: str = ""  # the directory, or the models, that it was made of
    continues: str = ""  # the model whose pre-training it goes on with
    mode: str = ""  # how it is put to tasks, where that is not the usual way: features
    made_from: str = ""  # the model whose tuned models were made small
    direct: str = ""  # the same student without the teacher, which is beside it

    @property
    def group(self) -> ModelGroup:
        """The one that it is shown in. A student that was trained directly stands beside those that had a teacher."""
        return ModelGroup.CONTROL if self.control not in (None, Control.DIRECT) else _GROUPS[self.origin]


@dataclass(frozen=True, kw_only=True)
class ScoreRecord:
    """A cell of the grid: a model, a task, a seed."""

    model: str
    task: str
    seed: int
    status: Status
    reason: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    main: float | None = None  # scores[task.metric]
    steps: int = 0
    seconds: float = 0.0  # tuning
    peak_memory: int = 0
    curve: tuple[tuple[int, float], ...] = ()  # step, dev score by the metric that decides
    speed: PredictionSpeed | None = None


class Verdict(enum.StrEnum):
    """Of a pair of models."""

    FIRST = "first is better"
    SECOND = "second is better"
    SAME = "cannot be told apart"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two models on one task: the paired bootstrap over the same rows, and the noise between seeds."""

    task: str
    first: str
    second: str
    difference: float  # of the means, first − second
    low: float  # 95% interval of the difference
    high: float
    p: float  # two-sided, adjusted for the number of pairs of this task (Holm)
    verdict: Verdict
    seeds: int
    more_seeds: int | None = None  # about how many more would tell them apart; None: told apart, or the rows are too few for any number


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A model on a task over seeds."""

    model: str
    task: str
    mean: float
    low: float | None  # 95% interval of the mean (Student's t); None: one seed
    high: float | None
    seeds: int
    best_group: bool  # not told apart from the best
    curve: tuple[tuple[int, float], ...] = ()  # step, dev score: the mean over seeds, at the steps that all reached


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """A scored example on which the models are divided."""

    task: str
    row: int
    texts: tuple[str, ...]
    gold: str
    answers: dict[str, str]  # by model, with its first seed
    right: dict[str, bool]  # of a graded task: better than the median of all answers


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A linear layer on each layer of a frozen model, scored on the same rows."""

    model: str
    task: str
    score: tuple[float, ...]  # accuracy by layer, 0 is the embedding
    majority: float  # accuracy of always naming the most frequent answer
    examples: int


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A model over all tasks, for the choice."""

    model: str
    quality: float  # mean over tasks of the mean score as a share of the best there is
    low: float | None
    high: float | None
    per_second: float  # geometric mean over tasks
    disk: int
    seconds: float  # to make it: pre-training and tuning, mean over seeds
    pareto: bool  # no other is both better and faster
    complete: bool  # it has a score on every task
    making_pareto: bool = False  # no other is both better and quicker to make


@dataclass(frozen=True, kw_only=True)
class ModelUsage:
    """What a model took: means over the seeds of its pre-training, and of its tunings and predictions over the tasks too."""

    model: str
    runs: int = 0  # pre-trainings that are done; the next six are theirs
    steps: float = 0.0
    tokens: float = 0.0
    flops: float = 0.0
    seconds: float = 0.0
    tokens_per_second: float = 0.0
    loss: float | None = None  # held out, at the end
    stuck: bool = False  # all of them
    tuning_seconds: float = 0.0  # for all tasks
    peak_memory: int = 0  # bytes, of any run
    per_second: float | None = None  # predictions; geometric mean over tasks, as are the next two
    p50: float | None = None  # milliseconds for one example alone
    p99: float | None = None


@dataclass(frozen=True, kw_only=True)
class CatchUp:
    """When a network would draw level with a model that stays as it is: times the budget, extrapolated."""

    model: str
    target: str
    low: float  # 10% of what may be
    middle: float
    high: float | None  # 90%; None: too far to say


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The model to ship, what it is known to beat, and how sure that is."""

    model: str  # "": all are equal
    alike: tuple[str, ...]  # others that cannot be told apart from the best by quality
    best: str  # the highest mean quality
    timed: bool  # all of them: else speed decided nothing
    beats_scratch: bool | None  # told apart from the control without pre-training; None: there is no such score
    beats_static: bool | None
    unproven: tuple[str, ...] = ()  # cannot be told apart from the best either, and are cheaper, but may lose more than the margin
    margin: float = MARGIN  # points
    chances: dict[str, float] = field(default_factory=dict)  # by candidate, the probability of being the best
    risk: float | None = None  # the probability that another model is better by more than the margin
    shortfall: float | None = None  # the probability that the model is more than the margin below the best one
    contenders: tuple[str, ...] = ()  # where the data cannot decide: the model, and the likeliest others
    more_seeds: int | None = None  # that would settle it, of each model; None: no number of them would
    more_rows: float | None = None  # times as many test examples that would
    catch_up: CatchUp | None = None  # where what is recommended was not pre-trained here
    all_equal: bool = False  # the study tells nothing apart


class GainOf(enum.StrEnum):
    """What made the difference."""

    CORPUS = "corpus"  # an existing model, continued, against the same as it is
    SMALL = "made small"  # a model that was made small, against the one that it was made of
    TEACHER = "teacher"  # a distilled student, against the same student trained directly
    CHECKPOINT = "checkpoint"  # the best existing model, as it is or continued, against the best that started from nothing


@dataclass(frozen=True, kw_only=True)
class TaskGain:
    """On one task, as the comparison of the two says it."""

    task: str
    difference: float
    low: float
    high: float
    verdict: Verdict  # first: it is better than what it is held against


@dataclass(frozen=True, kw_only=True)
class Gain:
    """One model against another, and what each costs to run."""

    of: GainOf
    model: str
    against: str
    tasks: tuple[TaskGain, ...]
    quality: float | None  # difference of the means over tasks; None: they do not have the same tasks
    per_second: float  # predictions; 0: not timed
    against_per_second: float
    disk: int  # bytes
    against_disk: int


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Seconds: of wall time, and of all runs that there was room for at a time, which is what the others are parts of."""

    total: float
    offered: float
    pretraining: float
    tuning: float
    evaluating: float  # scoring, timing and probing

    @property
    def overhead(self) -> float:
        """What no run used: reading, starting, waiting for each other."""
        return max(self.offered - self.pretraining - self.tuning - self.evaluating, 0.0)


@dataclass(frozen=True, kw_only=True)
class Results:
    """All of a study, as results.json holds it and the report shows it."""

    title: str
    plume: str
    made: str  # date and time
    machine: dict[str, str]  # that the study was begun on
    versions: dict[str, str]
    corpus: tuple[str, ...]
    corpus_note: str  # size in words, and how it came about where plume made it
    budget: str
    budget_unit: str
    size_class: str  # in words
    seeds: tuple[int, ...]
    command: str  # that runs all of it again
    study: str  # study.toml
    commands: dict[str, str]  # by cell: the plume command that the cell is
    tasks: tuple[TaskRecord, ...]
    models: tuple[ModelRecord, ...]
    pretraining: tuple[PretrainRecord, ...]
    scores: tuple[ScoreRecord, ...]
    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...]
    disagreements: tuple[Disagreement, ...]
    probes: tuple[Probe, ...]
    unmeasured: tuple[tuple[str, str, Status, str], ...]  # model, probe or speed, failed or waiting, and why
    standings: tuple[Standing, ...]
    recommendation: Recommendation | None
    costs: Costs
    usage: tuple[ModelUsage, ...] = ()
    gains: tuple[Gain, ...] = ()  # what the corpus and what public checkpoints added

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        models = [asdict(one) | {"group": one.group} for one in self.models]
        return asdict(self) | {"models": models, "costs": asdict(self.costs) | {"overhead": self.costs.overhead}}

    def save(self, folder: Path) -> None:
        """As results.json."""
        write_json(folder / RESULTS, self.to_json())
