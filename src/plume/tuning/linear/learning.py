"""From labelled files to a linear model of their terms, whose penalty held-out examples choose."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from plume._version import __version__
from plume.core.errors import PlumeError
from plume.core.files import write_folder, write_text
from plume.core.part import describe
from plume.heads.head import Head
from plume.metrics.scores import ERRORS
from plume.readers.example import Example
from plume.static.reading import WORDS
from plume.text.tokenizer import Tokenizer
from plume.text.word_level import WordLevel
from plume.text.words import Words
from plume.train.budget import Spent
from plume.train.card import CARD, table, versions
from plume.train.checkpoint import Position
from plume.train.loop import Outcome
from plume.tuning.adapting.ways.probe import LinearProbe
from plume.tuning.declared import Declared
from plume.tuning.linear.model import LENGTH, LinearHead, LinearModel, LinearReader, head_of, linear_coder
from plume.tuning.linear.recipe import TITLE, TermRecipe
from plume.tuning.linear.solving import solve
from plume.tuning.preparing import PreparedTask, prepare
from plume.tuning.rows.questions import Questions
from plume.tuning.rows.rows import Array
from plume.tuning.settings import TaskData
from plume.tuning.task import Columns, Task
from plume.tuning.tune import Tuned

_VOCABULARY = 20_000  # words with an id; others are kept as they are written
_ENOUGH = 100  # dev examples that can tell penalties apart; with fewer the training examples are held out in turn
_FOLDS = 5


@dataclass(frozen=True, kw_only=True)
class LaidOut:
    """Examples with their features, and what is asked of them."""

    examples: Sequence[Example]
    questions: Questions
    features: csr_matrix


@dataclass(frozen=True, kw_only=True)
class LearnedTask:
    """One task's weights, with what chose their penalty."""

    head: LinearHead
    strength: float
    scores: dict[str, float]  # on dev


def start_linear(
    data: Sequence[TaskData],
    folder: Path,
    *,
    columns: Columns = Columns(),
    metric: str | None = None,
    seed: int = 0,
    recipe: TermRecipe = TermRecipe(),
) -> Tuned:
    """A linear model of the terms of the training files into a directory that does not exist yet or is empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlumeError(f"{folder} exists already. Choose another --out.")
    began = time.perf_counter()
    prepared = [prepare(one, columns, seed=seed) for one in data]
    heads = [head_of(one.task) for one in prepared]  # what cannot be done says so before anything is computed
    tokenizer = _tokenizer([text for one in prepared for example in one.train for text in example.texts])
    found = [_learn(one, head, tokenizer, recipe, metric=metric, seed=seed) for one, head in zip(prepared, heads, strict=True)]
    declared = Declared(tasks=tuple(one.task for one in prepared), adaptation=LinearProbe(), length=LENGTH)
    model = LinearModel({one.task.called: chosen.head for one, chosen in zip(prepared, found, strict=True)}, tokenizer, declared, recipe)

    def fill(target: Path) -> None:
        model.save(target)
        write_text(target / CARD, _card(prepared, found, recipe))

    if folder.exists():
        folder.rmdir()
    write_folder(folder, fill)
    scores = {
        _prefix(one.task, prepared) + name: value for one, made in zip(prepared, found, strict=True) for name, value in made.scores.items()
    }
    spent = Spent(seconds=time.perf_counter() - began)
    outcome = Outcome(position=Position(spent=spent), stopped_by=None, held_out=scores)
    return Tuned(folder=folder, outcome=outcome, scores=scores, ended="as planned", held_out=any(one.held_out for one in prepared))


def _tokenizer(texts: Sequence[str]) -> Tokenizer:
    """Words as they stand between spaces and marks; Han characters are words by themselves."""
    return Tokenizer(WordLevel(vocabulary=_VOCABULARY, chinese=Words.SPACES).train(iter(texts), format=WORDS), format=WORDS)


def _learn(one: PreparedTask, head: Head, tokenizer: Tokenizer, recipe: TermRecipe, *, metric: str | None, seed: int) -> LearnedTask:
    task, by = one.task, metric or one.task.metric

    def lay_out(examples: Sequence[Example], read: LinearReader) -> LaidOut:
        questions, _ = task.questions(examples, linear_coder(tokenizer))
        return LaidOut(examples=examples, questions=questions, features=read(questions))

    def learn(seen: LaidOut, read: LinearReader, strength: float) -> LinearHead:
        value = getattr(seen.questions, "value", None)
        assert value is not None, "training examples have answers"
        layer = solve(head, seen.features, value, seen.questions.groups, classes=len(task.labels), strength=strength)
        return LinearHead(read=read, layer=layer)

    def score(made: LinearHead, asked: LaidOut) -> dict[str, float]:
        answers = task.answers(made.table(asked.features), asked.questions, asked.examples)
        return task.measure(asked.examples, answers)

    read = LinearReader.of(recipe, tokenizer, head, task.questions(one.train, linear_coder(tokenizer))[0])
    sides = [(one.train, one.dev)] if one.held_out and len(one.dev) >= _ENOUGH else _folds(one.train, seed)
    trials = [(lay_out(seen, read), lay_out(asked, read)) for seen, asked in sides]

    def held_out(strength: float) -> float:
        found = [score(learn(seen, read, strength), asked) for seen, asked in trials]
        if by not in found[0]:
            raise PlumeError(f"'{by}' is not measured here: choose --metric from {', '.join(found[0])}.")
        return float(np.nanmean([one[by] for one in found])) * (-1 if by in ERRORS else 1)

    by_strength = {strength: held_out(strength) for strength in recipe.strengths}
    best = max(by_strength, key=lambda strength: (round(by_strength[strength], 6), -strength))  # of equals the one that is held back more
    made = learn(lay_out(one.train, read), read, best)
    return LearnedTask(head=made, strength=best, scores=score(made, lay_out(one.dev, read)))


def _folds(examples: Sequence[Example], seed: int) -> list[tuple[list[Example], list[Example]]]:
    """Each example is held out once."""
    count = min(_FOLDS, len(examples))
    if count < 2:
        return [(list(examples), list(examples))]
    fold: Array = np.random.default_rng(seed).permutation(len(examples)) % count
    return [
        (
            [one for one, number in zip(examples, fold.tolist(), strict=True) if number != held],
            [one for one, number in zip(examples, fold.tolist(), strict=True) if number == held],
        )
        for held in range(count)
    ]


def _prefix(task: Task, prepared: Sequence[PreparedTask]) -> str:
    return f"{task.called}." if len(prepared) > 1 else ""


def _card(prepared: Sequence[PreparedTask], found: Sequence[LearnedTask], recipe: TermRecipe) -> str:
    sections = [
        f"# {', '.join(one.task.called for one in prepared)}",
        f"{TITLE}, made by plume {__version__}: nothing was pre-trained.",
    ]
    for one, made in zip(prepared, found, strict=True):
        lines = [line for reading in one.readings for line in reading.lines()] + one.notes
        sections += [
            f"## {one.task.called}: {one.task.title}",
            table(
                ("metric on dev" if one.held_out else "metric on the training examples", "value"),
                [(name, f"{value:.4f}") for name, value in made.scores.items()],
            ),
            "\n".join(f"- {line}" for line in [*lines, f"trained on {len(one.train):,}, evaluated on {len(one.dev):,}"]),
            f"{len(made.head.read.terms.names):,} terms; C = {made.strength:g}, of {', '.join(f'{one:g}' for one in recipe.strengths)}.",
        ]
    return "\n\n".join([*sections, f"`{describe(recipe)}`", "## Versions", versions()]) + "\n"
