"""The engine's promises: nothing lost or crossed, batches within the budget, a bounded queue, places freed by whoever leaves."""

from __future__ import annotations

import asyncio
import random
import shutil
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plume
from plume.core.errors import PlumeError
from plume.serve.engine.engine import ServingEngine
from plume.serve.errors import Overloaded, UnknownModel
from plume.serve.models.opened import Opened
from plume.serve.models.served import find_served
from plume.serve.operations._operation import BatchPlace, Operation, Prepared
from plume.serve.operations.embed import OPERATION as EMBED
from plume.serve.operations.embed import EmbedAsked
from plume.serve.operations.search import OPERATION as SEARCH
from plume.serve.operations.search import SearchAsked
from plume.serve.settings import ServeSettings


@dataclass(frozen=True, kw_only=True)
class EchoReady(Prepared):
    text: str


class Echo(Operation[Any, EchoReady, str]):
    """Says what it was asked, when it may. "bad" spoils its batch."""

    name = "echo"

    def __init__(self, *, held: bool = False, parallel: bool = False) -> None:
        self.go, self.running, self.parallel = threading.Event(), threading.Semaphore(0), parallel  # type: ignore[misc]
        self.batches: list[list[EchoReady]] = []
        if not held:
            self.go.set()

    def able(self, opened: Opened) -> bool:
        return True

    def prepare(self, opened: Opened, asked: Any) -> EchoReady:
        text, cost, group = asked
        return EchoReady(text=text, cost=cost, group=group)

    def run(self, opened: Opened, prepared: Sequence[EchoReady]) -> list[str]:
        self.batches.append(list(prepared))
        self.running.release()
        self.go.wait()
        if any(one.text == "bad" for one in prepared):
            raise PlumeError("that was bad")
        return [one.text for one in prepared]


class Counting(Echo):
    """Counts to a number, unless nobody listens."""

    def work(self, opened: Opened, places: Sequence[BatchPlace[EchoReady, str]], more: Any) -> None:
        for place in places:
            for number in range(place.prepared.cost):
                if place.gone:
                    break
                place.tell(number)
                self.running.release()
                self.go.wait()
            place.answer(place.prepared.text)


@pytest.fixture(scope="session")
def engine(directory: Callable[[str], Path]) -> Callable[..., Any]:
    """Runs a coroutine with an engine over bert and gpt2, or other directories."""

    def run(work: Callable[[ServingEngine], Coroutine[Any, Any, Any]], *folders: Path, **limits: Any) -> Any:
        async def main() -> Any:
            served = find_served([str(one) for one in folders or (directory("bert"), directory("gpt2"))])
            made = ServingEngine(served, ServeSettings(**({"threads": 1} | limits)))
            await made.start()
            try:
                return await work(made)
            finally:
                await made.close()

        return asyncio.run(main())

    return run


async def entered(echo: Echo) -> None:
    await asyncio.to_thread(echo.running.acquire)


def test_what_arrives_while_it_runs_is_the_next_batch(engine: Any) -> None:
    echo = Echo(held=True)

    async def work(made: ServingEngine) -> None:
        first = asyncio.create_task(made.ask(echo, "bert", ("0", 1, None)))
        await entered(echo)
        others = [asyncio.create_task(made.ask(echo, "bert", (str(number), 1, None))) for number in range(1, 8)]
        await asyncio.sleep(0)
        echo.go.set()
        assert await asyncio.gather(first, *others) == [str(number) for number in range(8)]

    engine(work)
    assert [len(batch) for batch in echo.batches] == [1, 7]


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_no_answer_is_lost_or_crossed(engine: Any, seed: int) -> None:
    """Whatever the costs and groups, on two threads; a batch is of one group and within the budget, unless one request is larger."""
    source = random.Random(seed)
    echo = Echo(parallel=True)
    asked = [(f"{number}" if source.random() < 0.95 else "bad", source.randint(1, 40), source.choice("ab")) for number in range(60)]

    async def one(made: ServingEngine, text: str, cost: int, group: str) -> bool:
        for _ in range(source.randint(0, 3)):
            await asyncio.sleep(0)
        try:
            return await made.ask(echo, "bert", (text, cost, group)) == text
        except PlumeError as error:
            return text == "bad" and str(error) == "that was bad"

    async def work(made: ServingEngine) -> list[bool]:
        return await asyncio.gather(*(one(made, *each) for each in asked))

    assert all(engine(work, batch_tokens=64, threads=2))
    for batch in echo.batches:
        assert len({one.group for one in batch}) == 1
        assert len(batch) == 1 or sum(one.cost for one in batch) <= 64


def test_a_full_queue_refuses_at_once(engine: Any) -> None:
    echo = Echo(held=True)

    async def work(made: ServingEngine) -> None:
        running = asyncio.create_task(made.ask(echo, "bert", ("running", 100, None)))
        await entered(echo)
        waiting = [asyncio.create_task(made.ask(echo, "bert", (str(number), 10, None))) for number in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded) as refused:
            await made.ask(echo, "bert", ("too much", 1, None))
        assert refused.value.retry_after is not None
        waiting[1].cancel()  # its client hung up
        await asyncio.sleep(0)
        last = asyncio.create_task(made.ask(echo, "bert", ("in its place", 10, None)))
        await asyncio.sleep(0)
        echo.go.set()
        assert await asyncio.gather(running, waiting[0], waiting[2], last) == ["running", "0", "2", "in its place"]

    engine(work, queue_tokens=30)
    assert "1" not in {one.text for batch in echo.batches for one in batch}


def test_streams_end_with_the_answer_and_stop_when_nobody_listens(engine: Any) -> None:
    echo = Counting()

    async def work(made: ServingEngine) -> None:
        assert [piece async for piece in made.stream(echo, "bert", ("done", 3, None))] == [0, 1, 2, "done"]
        echo.go.clear()
        endless = made.stream(echo, "bert", ("endless", 10**9, None))
        assert await anext(endless) == 0
        await endless.aclose()
        echo.go.set()
        assert await made.ask(echo, "bert", ("after it", 0, None)) == "after it"

    engine(work)


def test_a_memory_limit_unloads_what_was_used_longest_ago(engine: Any, directory: Callable[[str], Path]) -> None:
    """Every answer is right all the same, also of requests that come while their model is away."""
    folders = {name: directory(name) for name in ("bert", "gpt2")}
    sizes = [(folder / "model.safetensors").stat().st_size for folder in folders.values()]
    texts = ["The cat finds a wooden box.", "小猫喜欢苹果。"]
    expected = {name: plume.load(folder).embed(texts) for name, folder in folders.items()}

    async def work(made: ServingEngine) -> None:
        assert made.shelf.loaded == ["gpt2"]
        turns = ["bert", "gpt2", "bert", "bert", "gpt2"] * 2
        found = await asyncio.gather(*(made.ask(EMBED, name, EmbedAsked(texts=texts)) for name in turns))
        for name, one in zip(turns, found, strict=True):
            np.testing.assert_allclose(one.vectors, expected[name], atol=1e-5)
        assert len(made.shelf.loaded) == 1
        loads = made.shelf.loads
        await made.ask(EMBED, made.shelf.loaded[0], EmbedAsked(texts=texts))
        assert made.shelf.loads == loads

    engine(work, memory=max(sizes) + 1)
    with pytest.raises(PlumeError, match="--memory allows"):
        engine(work, memory=10)


def test_an_index_asks_the_model_that_made_it_if_that_is_served(engine: Any, directory: Callable[[str], Path], tmp_path: Path) -> None:
    """One copy in memory, counted once; both go when there is no room, and come again."""
    made_by, gpt2 = tmp_path / "maker", directory("gpt2")
    shutil.copytree(directory("bert"), made_by)
    with plume.Index.create(tmp_path / "idx", model=made_by) as made:
        made.add([{"id": "a", "text": "the cat finds a box"}, {"id": "b", "text": "my sister carries apples"}])
        expected = made.search("a box", by="vectors")
    size, other = ((folder / "model.safetensors").stat().st_size for folder in (made_by, gpt2))

    async def searched(made: ServingEngine) -> None:
        found = await made.ask(SEARCH, "idx", SearchAsked(query="a box", by="vectors"))
        assert [one.id for one in found] == [one.id for one in expected]
        np.testing.assert_allclose([one.score for one in found], [one.score for one in expected], atol=1e-6)

    async def alone(made: ServingEngine) -> None:
        await searched(made)
        opened = await made.shelf.open("idx")
        assert opened.shares is None and opened.bytes == size

    async def together(made: ServingEngine) -> None:
        assert made.shelf.loaded == ["gpt2"]
        await searched(made)
        assert made.shelf.loaded == ["maker", "idx"] and made.shelf.loads == 5
        index, maker = await made.shelf.open("idx"), await made.shelf.open("maker")
        assert index.shares is maker and index.index.embedder is maker.content and (index.bytes, maker.bytes) == (0, size)
        await made.ask(EMBED, "gpt2", EmbedAsked(texts=["a"]))
        assert made.shelf.loaded == ["gpt2"]
        await searched(made)

    async def moved(made: ServingEngine) -> None:
        assert (await made.shelf.open("idx")).shares is not None
        await searched(made)

    engine(alone, tmp_path / "idx")
    engine(together, tmp_path / "idx", made_by, gpt2, memory=max(size, other) + 1)
    made_by.rename(tmp_path / "elsewhere")
    engine(moved, tmp_path / "idx", tmp_path / "elsewhere")


def test_unknown_models_are_named(engine: Any) -> None:
    async def work(made: ServingEngine) -> None:
        await made.ask(EMBED, "bret", EmbedAsked(texts=["a"]))

    with pytest.raises(UnknownModel, match="did you mean bert"):
        engine(work)
