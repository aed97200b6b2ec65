"""A task that asks twice: it labels passages one by one, then asks again about the one that it was surest of, with what it found."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.batch import Batch
from plume.core.own_parts import VARIABLE, use_parts
from plume.data.loader import Cursor
from plume.model.checkpoint import save_model
from plume.readers.example import Example, Reading
from plume.tasks.classification import Classification
from plume.tuning import asking, tune
from plume.tuning.rows.questions import QuestionReader, Questions
from plume.tuning.rows.rows import Coder
from plume.tuning.settings import TaskData, Wishes
from plume.tuning.task import Answering, Columns, Responses
from plume.tuning.tuned import TunedModel

ROUNDS: list[tuple[str, list[str]]] = []  # what was asked, in order
MODELS: list[TunedModel] = []  # and whom
STEPS = 10


@dataclass(frozen=True, kw_only=True)
class TwoHops(Classification):
    """Texts are passages of which one matters."""

    def fitted(self, paths: Sequence[Path], columns: Columns) -> TwoHops:
        return self

    def read(self, paths: Sequence[Path], reading: Reading, *, labelled: bool) -> Iterator[Example]:
        for number, line in enumerate(paths[0].read_text(encoding="utf-8").splitlines(), 1):
            one = json.loads(line)
            yield Example(texts=tuple(one["texts"]), answer=one["label"] if labelled else None, line=number)

    def questions(self, examples: Sequence[Example], coder: Coder) -> tuple[Questions, Any]:
        return super().questions([replace(one, texts=(text,)) for one in examples for text in one.texts], coder)

    def respond(self, model: Answering, examples: Sequence[Example]) -> Responses:
        first, notes = self._round("first", model, [Example(texts=(text,)) for one in examples for text in one.texts])
        places = self._places(examples, first)
        again = [Example(texts=(f"{one.texts[place]} {found['label']}",)) for one, (place, found) in zip(examples, places, strict=True)]
        second, more = self._round("second", model, again)
        return [one | {"passage": place} for one, (place, _) in zip(second, places, strict=True)], notes + more

    def renewed(self, model: Answering, examples: Sequence[Example], epoch: int) -> Questions:
        """From the second epoch on only the passages count that the model is surest of."""
        found, _ = self._round(f"epoch {epoch}", model, [Example(texts=(text,)) for one in examples for text in one.texts])
        chosen = [replace(one, texts=(one.texts[place],)) for one, (place, _) in zip(examples, self._places(examples, found), strict=True)]
        return self.questions(chosen, model.coder())[0]

    def _round(self, name: str, model: Answering, examples: list[Example]) -> Responses:
        assert isinstance(model, TunedModel) and not model.model.training  # nobody answers with dropout
        MODELS.append(model)
        ROUNDS.append((name, [one.texts[0] for one in examples]))
        return super().respond(model, examples)

    def _places(self, examples: Sequence[Example], found: Sequence[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
        """Of each example the passage that the model is surest of, and what it said about it."""
        answers = iter(found)
        each = [[next(answers) for _ in one.texts] for one in examples]
        return [max(enumerate(some), key=lambda one: one[1]["score"]) for some in each]


TASK = TwoHops(kind="classification", name="hops", title="", metric="accuracy")
PASSAGES = ("the cat finds a letter", "my sister sunny at home", "two apples after the storm", "我们喜欢苹果", "cold", "warm and sunny")


def rounds() -> list[tuple[str, list[str]]]:
    found = list(ROUNDS)
    ROUNDS.clear()
    return found


@dataclass(frozen=True, kw_only=True)
class Run:
    model: TunedModel
    file: Path
    rounds: list[str]


@pytest.fixture(scope="module", autouse=True)
def _named() -> Iterator[None]:
    """This file holds a part that a run names in its files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "")
        use_parts(__file__)
        yield


@pytest.fixture(scope="module")
def run(miniature: Any, tokenizer_for: Any, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An epoch of six steps, then two of two."""
    folder = tmp_path_factory.mktemp("hops")
    recipe = miniature("bert")
    model = recipe.assembly.build(recipe, vocabulary=tokenizer_for(recipe).size)
    model.initialise(3)
    save_model(folder / "base", model, tokenizer_for(recipe))
    chance = np.random.default_rng(0)
    rows = [
        {"texts": [PASSAGES[place] for place in chance.permutation(len(PASSAGES))[:3]], "label": ("cold", "warm")[number % 2]}
        for number in range(12)
    ]
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    data = TaskData(task=TASK, train=(str(file),), dev=(str(file),))
    tune.start(
        folder / "base", [data], folder / "out", wishes=Wishes(batch=6, rate=3e-3), budget=f"{STEPS}steps", measurements=1, quiet=True
    )
    model = MODELS[-1]
    model.model.eval()
    return Run(model=model, file=file, rounds=[name for name, _ in rounds()])


def test_the_second_round_depends_on_the_first(run: Run) -> None:
    model, file = run.model, run.file
    items = [tuple(json.loads(line)["texts"]) for line in file.read_text(encoding="utf-8").splitlines()]
    rounds()
    found = model.predict(items)
    (one, asked), (other, again) = rounds()
    assert (one, other) == ("first", "second")
    assert asked == [text for texts in items for text in texts]
    # The same by hand: one head, asked about single texts.
    plain = Classification(kind="classification", name="hops", title="", metric="accuracy", labels=model.task().labels)
    alone = [model.answers(plain, [Example(texts=(text,)) for text in texts])[0] for texts in items]
    best = [int(np.argmax([answer["score"] for answer in some])) for some in alone]
    assert len(set(best)) > 1  # what is asked next is not always in the same place
    assert again == [f"{texts[place]} {some[place]['label']}" for texts, place, some in zip(items, best, alone, strict=True)]
    assert [answer["passage"] for answer in found] == best
    expected = model.answers(plain, [Example(texts=(text,)) for text in again])[0]
    assert [answer["label"] for answer in found] == [answer["label"] for answer in expected]
    assert [answer["score"] for answer in found] == pytest.approx([answer["score"] for answer in expected], abs=1e-5)


def test_whatever_measures_and_writes_asks_twice_too(run: Run) -> None:
    model, file = run.model, run.file
    rounds()
    measured = model.evaluate(file)
    assert [name for name, _ in rounds()] == ["first", "second"]
    gold = [example.answer for example in measured.examples]
    assert measured.scores["accuracy"] == np.mean([one["label"] == right for one, right in zip(measured.predictions, gold, strict=True)])
    assert all("passage" in one for one in measured.predictions)
    written = [one for some in asking.answers(asking.ask(model, model.task(), [file])) for one in some]
    assert [name for name, _ in rounds()] == ["first", "second"]
    assert [one["passage"] for one in written] == [one["passage"] for one in measured.predictions]


def test_an_epoch_may_ask_something_new(run: Run) -> None:
    """Six steps are an epoch of 36 passages; the next ones have the twelve that were chosen."""
    assert [name for name in run.rounds if name not in ("first", "second")][:2] == ["epoch 1", "epoch 2"]
    task, examples = run.model.task(), list(TASK.read([run.file], Reading(file=run.file), labelled=True))
    first = task.questions(examples, run.model.coder())[0]
    later = run.model.renewed(task, examples, 1)
    assert later is not None and (len(first), len(later)) == (36, 12)
    finished: list[Questions] = []

    def finish(batch: Batch, questions: Questions) -> Batch:
        finished.append(questions)
        return run.model.finish(batch, questions)

    reader = QuestionReader(questions=first, rows=6, seed=0, finish=finish, renew={1: later}.get)
    cursors = [Cursor()]
    for _ in range(9):
        cursors.append(reader.following(cursors[-1]))
    assert [(one.epoch, one.step) for one in cursors] == [(0, step) for step in range(6)] + [(1, 0), (1, 1), (2, 0), (2, 1)]
    (batch,) = reader.step(cursors[7], [slice(None)])
    assert np.array_equal(batch.tokens, later.batch(reader.plan(1)[1][1]).tokens)
    reader.step(cursors[8], [slice(None)])  # an epoch that has none of its own
    assert finished[0] is later and finished[1] is first


def test_training_goes_by_what_it_asked_twice(run: Run) -> None:
    assert run.rounds[:2] == run.rounds[-2:] == ["first", "second"]  # before the run, and when it was measured
    best = json.loads((run.file.parent / "out" / "train" / "best.json").read_text(encoding="utf-8"))
    assert best["step"] == STEPS and best["scores"]["accuracy"] == run.model.evaluate(run.file).scores["accuracy"]
