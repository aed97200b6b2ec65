"""Speed by a clock that the test winds: what is counted, in what order, for how long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

import plume
from plume.core import timing
from plume.core.errors import PlumeError
from plume.model.checkpoint import save_model
from plume.nn.stack import Stack
from plume.readers.example import Example
from plume.tuning import speed
from plume.tuning.options import named, start_from_options

TASK: Any = SimpleNamespace(called="topic")


class Slow:
    """A model that takes `together` seconds an example in a batch, and `alone` for one; the first call takes long."""

    def __init__(self, *, together: float, alone: Sequence[float], first: float = 5.0) -> None:
        self.together, self.alone, self.first = together, alone, first
        self.now, self.calls = 0.0, []  # type: tuple[float, list[list[Example]]]

    def answers(self, task: Any, examples: list[Example]) -> None:
        single = sum(len(call) == 1 for call in self.calls)
        self.now += self.together * len(examples) if len(examples) > 1 else self.alone[single % len(self.alone)]
        self.now += 0 if self.calls else self.first
        self.calls.append(list(examples))


def measured(model: Slow, monkeypatch: pytest.MonkeyPatch, count: int = 1000, **options: Any) -> Any:
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: model.now))
    examples = [Example(texts=(f"text {number}",), answer="warm") for number in range(count)]
    return speed.measure_speed(model, TASK, examples, **options)  # type: ignore[arg-type]


def test_rates_and_latencies(monkeypatch: pytest.MonkeyPatch) -> None:
    """One single prediction of fifty takes ten times as long: the median does not see it, the 99th percentile does."""
    model = Slow(together=0.001, alone=[0.002] * 49 + [0.02])
    found = measured(model, monkeypatch)
    assert found.per_second == pytest.approx(1000) and found.p50 == pytest.approx(2) and found.p99 == pytest.approx(20)
    passes, single = [call for call in model.calls if len(call) > 8], [call[0] for call in model.calls if len(call) == 1]
    assert len(passes) == 4 and {len(call) for call in passes} == {256}
    assert all(example.answer is None for call in model.calls for example in call), "nobody who predicts knows the answers"
    assert [example.texts[0] for example in passes[0]] == [f"text {number}" for number in range(256)]
    assert [example.texts[0] for example in single[:300]] == [f"text {number % 256}" for number in range(300)]
    assert model.now == pytest.approx(5.0 + 0.016 + 4 * 0.256 + 1.0, abs=0.03)


def test_the_median_pass_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Slow(together=0.001, alone=[0.002])
    answers = model.answers

    def disturbed(task: Any, examples: list[Example]) -> None:
        answers(task, examples)
        model.now += 0.9 if sum(len(call) == 256 for call in model.calls) == 2 and len(examples) == 256 else 0

    model.answers = disturbed  # type: ignore[method-assign]
    assert measured(model, monkeypatch, seconds=4.0).per_second == pytest.approx(1000)


def test_what_is_slow_gets_fewer_examples_and_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Slow(together=0.05, alone=[0.05], first=0.0)
    found = measured(model, monkeypatch)
    assert found.per_second == pytest.approx(20) and found.p50 == pytest.approx(50)
    assert [len(call) for call in model.calls if len(call) > 8] == [20], "as many as one second holds"
    assert sum(len(call) == 1 for call in model.calls) in (40, 41), "a hundred would take five seconds, and two are allowed"
    very = Slow(together=3.0, alone=[3.0], first=0.0)
    found = measured(very, monkeypatch)
    assert found.p50 == found.p99 == pytest.approx(3000) and [len(call) for call in very.calls] == [8, 8, 8, 1]


def test_a_hundred_single_ones_where_time_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Slow(together=0.001, alone=[0.015])
    measured(model, monkeypatch)
    assert sum(len(call) == 1 for call in model.calls) == 100, "1.5 seconds, of which one was meant and two are allowed"


def test_few_examples_and_none(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Slow(together=0.001, alone=[0.001])
    assert measured(model, monkeypatch, count=1).per_second == pytest.approx(1000)
    with pytest.raises(PlumeError, match="no example"):
        measured(model, monkeypatch, count=0)


@pytest.fixture
def passes() -> Iterator[list[float]]:
    """A clock that moves with the work: every pass through a stack takes five milliseconds, however many rows it has."""
    now = [0.0]

    def wind(module: nn.Module, *_: Any) -> None:
        now[0] += 0.005 * isinstance(module, Stack)

    handle = register_module_forward_hook(wind)
    yield now
    handle.remove()


@pytest.mark.parametrize("family", ["bert", "t5"])
def test_a_real_model(
    family: str, miniature: Any, tokenizer_for: Any, tmp_path: Path, passes: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that labels, and one that writes its answers."""
    recipe = miniature(family)
    tokenizer = tokenizer_for(recipe)
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    model.initialise(0)
    save_model(tmp_path / "model", model, tokenizer)
    file = tmp_path / "train.tsv"
    file.write_text("".join(f"the cat {word}\t{word}\n" for word in ("warm", "cold") * 20))
    start_from_options(
        tmp_path / "model", task="classification", train=str(file), dev=str(file), out=tmp_path / "out", budget="2steps", quiet=True
    )
    tuned = plume.load(tmp_path / "out")
    examples = [named("classification").example("the cat warm")] * 300
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: passes[0]))
    found = speed.measure_speed(tuned, tuned.task(), examples, seconds=0.2)
    assert 0 < found.p50 <= found.p99 and found.per_second > 1000 / found.p50, "together they are faster than one by one"
