"""Requests that join a batch that runs: within its budget, in their order; whoever hangs up makes room, and an error is told in the stream."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest

import plume
from plume.core.errors import PlumeError
from plume.model.use.completing import Completer
from plume.serve.engine.engine import ServingEngine
from plume.serve.models.opened import Opened
from plume.serve.models.served import find_served
from plume.serve.operations._operation import BatchPlace, Operation, Prepared
from plume.serve.settings import ServeSettings


@dataclass(frozen=True, kw_only=True)
class Counted(Prepared):
    name: str


Place = BatchPlace[Counted, str]


class Stepping(Operation[Any, Counted, str]):
    """A request ends when it was stepped as often as its name has letters. The test says when a step is taken. "x" breaks at its first."""

    name = "stepping"

    def __init__(self) -> None:
        self.go, self.stepped = threading.Semaphore(0), threading.Semaphore(0)
        self.seen: list[str] = []  # who was there, step by step
        self.batches = 0

    def able(self, opened: Opened) -> bool:
        return True

    def prepare(self, opened: Opened, asked: Any) -> Counted:
        name, cost, group = asked
        return Counted(name=name, cost=cost, group=group)

    def work(self, opened: Opened, places: Sequence[Place], more: Callable[[], Sequence[Place]]) -> None:
        self.batches += 1
        going: list[tuple[Place, int]] = [(place, 0) for place in places]
        while going := [(place, steps) for place, steps in going if not place.gone]:
            self.go.acquire()
            self.seen.append(" ".join(place.prepared.name for place, _ in going))
            for place, steps in going:
                if place.prepared.name[steps] == "x":
                    raise PlumeError("x is not known")
                place.tell(place.prepared.name[steps])
                if steps + 1 == len(place.prepared.name):
                    place.answer(place.prepared.name)
            going = [(place, steps + 1) for place, steps in going if steps + 1 < len(place.prepared.name)]
            going += [(place, 0) for place in more()]
            self.stepped.release()


def stepping(directory: Callable[[str], Path], work: Callable[[ServingEngine, Stepping], Any], **limits: Any) -> Stepping:
    """What was seen while a coroutine runs with an engine."""
    operation = Stepping()

    async def main() -> None:
        engine = ServingEngine(find_served([str(directory("bert"))]), ServeSettings(**({"threads": 1} | limits)))
        await engine.start()
        try:
            await asyncio.wait_for(work(engine, operation), 30)
        finally:
            operation.go.release(1000)
            await engine.close()

    asyncio.run(main())
    return operation


async def asked(engine: ServingEngine, operation: Stepping, name: str, cost: int = 1, group: str = "") -> asyncio.Task[str]:
    """In the queue."""
    task = asyncio.create_task(engine.ask(operation, "bert", (name, cost, group)))
    for _ in range(3):
        await asyncio.sleep(0)
    return task


async def step(operation: Stepping, times: int = 1) -> None:
    for _ in range(times):
        operation.go.release()
        await asyncio.to_thread(operation.stepped.acquire)


def test_requests_join_while_there_is_room_and_nobody_is_overtaken(directory: Any) -> None:
    async def work(engine: ServingEngine, operation: Stepping) -> None:
        tasks = [await asked(engine, operation, "aaaa", cost=4)]
        await step(operation)
        tasks.append(await asked(engine, operation, "bbb", cost=4))
        await step(operation, 2)
        tasks.append(await asked(engine, operation, "cc", cost=4))  # no room until a is done
        tasks.append(await asked(engine, operation, "d", cost=1))
        await step(operation, 2)
        tasks.append(await asked(engine, operation, "ee", cost=1, group="other"))
        tasks.append(await asked(engine, operation, "f", cost=1))  # e was first
        operation.go.release(1000)
        assert await asyncio.gather(*tasks) == ["aaaa", "bbb", "cc", "d", "ee", "f"]

    found = stepping(directory, work, batch_tokens=8)
    assert found.seen == ["aaaa", "aaaa", "aaaa bbb", "aaaa bbb", "bbb cc", "cc d", "ee", "ee", "f"] and found.batches == 3


def test_whoever_leaves_makes_room(directory: Any) -> None:
    async def work(engine: ServingEngine, operation: Stepping) -> None:
        first = await asked(engine, operation, "a" * 500, cost=8)
        await step(operation, 2)
        second = await asked(engine, operation, "bb", cost=8)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        operation.go.release(1000)
        assert await second == "bb"

    assert stepping(directory, work, batch_tokens=8).seen == ["a" * 500] * 3 + ["bb"] * 2


def test_one_that_breaks_a_batch_spoils_only_what_was_told(directory: Any) -> None:
    """Who has read a piece is told the error; all others are begun again, each alone."""

    async def work(engine: ServingEngine, operation: Stepping) -> None:
        async def streamed() -> list[Any]:
            found: list[Any] = []
            try:
                async for piece in engine.stream(operation, "bert", ("aaaa", 1, "")):
                    found.append(piece)
            except PlumeError as error:
                found.append(str(error))
            return found

        stream = asyncio.create_task(streamed())
        for _ in range(3):
            await asyncio.sleep(0)
        await step(operation)
        broken = await asked(engine, operation, "x")
        whole = await asked(engine, operation, "bb")
        operation.go.release(1000)
        assert await whole == "bb"
        assert (await stream)[-1] == "x is not known" and set((await stream)[:-1]) == {"a"}
        with pytest.raises(PlumeError, match="x is not known"):
            await broken

    assert stepping(directory, work).batches == 3


# With a model


def test_hanging_up_stops_the_writing(server: Callable[..., Any], directory: Callable[[str], Path]) -> None:
    """What is written has no end; the next request has room only when the others are gone."""
    tokenizer = plume.load(directory("transformer-xl")).tokenizer
    never = {str(tokenizer.id(tokenizer.format.separator)): -100}
    long = {"model": "transformer-xl", "prompt": "a", "max_tokens": 1_000_000, "logit_bias": never}
    with server(directory("transformer-xl"), new_tokens=1_000_000, batch_tokens=1) as running:
        for _ in range(3):
            with running.client.stream("POST", "/v1/completions", json=long | {"stream": True}) as answer:
                assert next(answer.iter_lines()).startswith("data: ")
        client = openai.OpenAI(base_url=f"{running.url}/v1", api_key="none", max_retries=0, timeout=0.3)
        with pytest.raises(openai.APITimeoutError):  # not streamed
            client.completions.create(**long)
        assert running.client.post("/v1/completions", json=long | {"max_tokens": 3}).status_code == 200


@pytest.mark.parametrize("error", [PlumeError("No more today."), RuntimeError("secret")])
def test_an_error_in_a_stream_is_its_last_event(
    server: Callable[..., Any], directory: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    steps, step = [], Completer.step

    def breaks(self: Completer) -> Any:
        steps.append(1)
        if len(steps) % 4 == 0:
            raise error
        return step(self)

    with server(directory("gpt2")) as running:
        monkeypatch.setattr(Completer, "step", breaks)
        body = {"model": "gpt2", "prompt": "The cat", "max_tokens": 12, "temperature": 0, "stream": True}
        answer = running.client.post("/v1/completions", json=body)
        lines = [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n\n") if line]
        assert answer.status_code == 200 and all("choices" in line for line in lines[:-1])
        assert ("No more today." if isinstance(error, PlumeError) else "its log says how") in lines[-1]["error"]["message"]
        assert "secret" not in answer.text
        client = openai.OpenAI(base_url=f"{running.url}/v1", api_key="none", max_retries=0)
        with pytest.raises(openai.APIError, match=r"No more|log says"):
            list(client.completions.create(model="gpt2", prompt="The cat", max_tokens=12, temperature=0, stream=True))
