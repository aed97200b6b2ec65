"""Conversations by the official client of OpenAI, and by plume's: replies are those of `TunedModel.reply`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import plume

TALKS: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": "The cat finds"}],
    [{"role": "system", "content": "my sister"}, {"role": "user", "content": "a box"}, {"role": "assistant", "content": "paints"},
     {"role": "user", "content": "near the river"}],
    [{"role": "user", "content": "一封信"}],
]  # fmt: skip
RULES: list[dict[str, Any]] = [
    {"temperature": 0, "top_p": 1.0},
    {"temperature": 1.3, "top_p": 0.9, "seed": 5, "max_tokens": 9},
    {"temperature": 1.0, "top_p": 1.0, "seed": 2, "max_tokens": 12, "stop": ["e", "的"], "presence_penalty": 1.0},
]


@pytest.fixture(scope="module")
def served(server: Callable[..., Any], directory: Callable[[str], Path], talker: Path, classifier: Path) -> Iterator[Any]:
    with server(talker, directory("gpt2"), classifier, new_tokens=100) as running:
        yield running


@pytest.fixture(scope="module")
def client(served: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0)


@pytest.mark.parametrize("rules", RULES)
def test_replies_are_those_of_python(client: openai.OpenAI, talker: Path, rules: dict[str, Any]) -> None:
    model: Any = plume.load(talker)
    for talk in TALKS:
        expected = model.reply(talk, **rules)
        how: dict[str, Any] = {"model": "chat", "messages": talk, **rules}
        whole = client.chat.completions.create(**how).choices[0]
        assert whole.message.content == expected and whole.message.role == "assistant" and whole.finish_reason in ("stop", "length")
        chunks = [chunk.choices[0] for chunk in client.chat.completions.create(**how, stream=True)]
        assert chunks[0].delta.role == "assistant" and all(one.delta.role is None for one in chunks[1:])
        assert "".join(one.delta.content or "" for one in chunks) == expected
        assert [one.finish_reason for one in chunks] == [None] * (len(chunks) - 1) + [whole.finish_reason]
        assert not any(stop in expected for stop in rules.get("stop", ()))


def test_choices_usage_and_probabilities(client: openai.OpenAI) -> None:
    how: dict[str, Any] = {
        "model": "chat", "messages": TALKS[1], "n": 2, "seed": 3, "max_completion_tokens": 8, "logprobs": True, "top_logprobs": 2,
    }  # fmt: skip
    answer = client.chat.completions.create(**how)
    assert answer.usage is not None and [one.index for one in answer.choices] == [0, 1]
    told = [one.logprobs.content or [] for one in answer.choices if one.logprobs]
    assert answer.usage.completion_tokens == sum(map(len, told)) and answer.usage.prompt_tokens > 8
    for one in (token for tokens in told for token in tokens):
        assert one.logprob <= one.top_logprobs[0].logprob + 1e-6 and len(one.top_logprobs) == 2
        assert one.token.startswith("bytes:") or bytes(one.bytes or ()).decode() == one.token
    *chunks, last = client.chat.completions.create(**how, stream=True, stream_options={"include_usage": True})
    assert last.usage == answer.usage
    for choice in answer.choices:
        own = [one.choices[0] for one in chunks if one.choices[0].index == choice.index]
        assert "".join(one.delta.content or "" for one in own) == choice.message.content
        streamed = [token for one in own if one.logprobs for token in one.logprobs.content or []]
        assert choice.logprobs is not None and [one.token for one in streamed] == [one.token for one in choice.logprobs.content or []]


def test_content_in_parts_and_developers(client: openai.OpenAI) -> None:
    parts = [{"role": "developer", "content": [{"type": "text", "text": "my "}, {"type": "text", "text": "sister"}]}, *TALKS[1][1:]]
    ours, theirs = (client.chat.completions.create(model="chat", messages=talk, temperature=0) for talk in (parts, TALKS[1]))  # type: ignore[arg-type]
    assert ours.choices[0].message == theirs.choices[0].message


def test_many_conversations_at_once(served: Any, talker: Path) -> None:
    talks = [[*talk[:-1], {"role": "user", "content": f"{talk[-1]['content']} {number}"}] for number in range(5) for talk in TALKS]
    model: Any = plume.load(talker)
    expected = [model.reply(talk, **RULES[place % 3]) for place, talk in enumerate(talks)]

    async def one(client: openai.AsyncOpenAI, place: int) -> str:
        how: dict[str, Any] = {"model": "chat", "messages": talks[place], **RULES[place % 3]}
        await asyncio.sleep(0.005 * place)
        if place % 2:
            return (await client.chat.completions.create(**how)).choices[0].message.content or ""
        return "".join([chunk.choices[0].delta.content or "" async for chunk in await client.chat.completions.create(**how, stream=True)])

    async def ask() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
            return await asyncio.gather(*(one(client, place) for place in range(len(talks))))

    assert asyncio.run(ask()) == expected


def test_the_model_list_says_who_converses(client: openai.OpenAI) -> None:
    able = {one.id: one.operations for one in client.models.list()}  # type: ignore[attr-defined]
    assert "chat" in able["chat"] and "chat" not in able["gpt2"] and "generate" in able["gpt2"]


@pytest.mark.parametrize("model", ["gpt2", "classifier"])
def test_others_are_refused_with_what_to_do(client: openai.OpenAI, model: str) -> None:
    with pytest.raises(openai.BadRequestError, match="plume tune MODEL --task dialogue") as refused:
        client.chat.completions.create(model=model, messages=TALKS[0], stream=True)  # type: ignore[call-overload]
    assert refused.value.param == "model"


@pytest.mark.parametrize(
    ("more", "status", "field"),
    [({"messages": []}, 422, "messages"), ({"messages": [{"role": "tool", "content": "a"}]}, 422, "messages"),
     ({"messages": [{"role": "user", "content": " "}]}, 422, "messages"), ({"max_tokens": 101}, 422, "max_tokens"),
     ({"max_completion_tokens": 101}, 422, "max_completion_tokens"), ({"top_logprobs": 2}, 422, "top_logprobs"),
     ({"tools": [{"type": "function"}]}, 400, "tools"), ({"response_format": {"type": "json_object"}}, 400, "response_format"),
     ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, 422, "messages")],
)  # fmt: skip
def test_what_cannot_be_is_named(served: Any, more: dict[str, Any], status: int, field: str) -> None:
    answer = served.client.post("/v1/chat/completions", json={"model": "chat", "messages": TALKS[0]} | more)
    assert answer.status_code == status and answer.json()["error"]["param"].split(".")[0] == field


# plume.Client


def test_plumes_client_converses_and_generates(served: Any, talker: Path, directory: Callable[[str], Path]) -> None:
    model: Any = plume.load(talker)
    writer: Any = plume.load(directory("gpt2"))
    expected = model.reply(TALKS[0], **RULES[1])
    texts = writer.generate(["a", "my"], max_tokens=9, seed=[4, 5], top_k=9, echo=False)
    with plume.Client(served.url) as client:
        assert client.chat(TALKS[0], model="chat", **RULES[1]) == client.chat("The cat finds", model="chat", **RULES[1]) == expected
        assert "".join(client.stream_chat(TALKS[0], model="chat", **RULES[1])) == expected
        assert client.generate(["a", "my"], model="gpt2", max_tokens=9, seed=4, top_k=9) == texts
        assert "".join(client.stream("a", model="gpt2", max_tokens=9, seed=4, top_k=9)) == texts[0]
        assert client.generate("a", model="gpt2", max_tokens=9, seed=4, top_k=9, samples=1) == texts[:1]
        with pytest.raises(plume.PlumeError, match="one text"):
            client.stream("a", model="gpt2", samples=2)
        with pytest.raises(plume.PlumeError, match="simbert"):
            client.paraphrase("a", model="gpt2")

    async def ask() -> tuple[str, str]:
        async with plume.AsyncClient(served.url) as several:
            whole = await several.chat(TALKS[0], model="chat", **RULES[1])
            return whole, "".join([piece async for piece in several.stream_chat(TALKS[0], model="chat", **RULES[1])])

    assert asyncio.run(ask()) == (expected, expected)
