"""The official client of OpenAI against a running server, writing: the same texts as Python's, alone or together, whole or in pieces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

import plume
from plume.model.use.completing import Completer
from plume.model.use.completions import CompletionOptions, TokenLogprob
from plume.model.use.language_model import LanguageModel
from plume.model.use.writing import begin

PROMPTS = ["The cat finds", "my sister paints", "一封信", "a", ""]
RULES: list[dict[str, Any]] = [
    {"max_tokens": 12, "temperature": 0},
    {"max_tokens": 9, "temperature": 1.5, "seed": 3, "n": 2},
    {"max_tokens": 12, "top_p": 0.8, "seed": 11, "presence_penalty": 1.0, "frequency_penalty": 0.5, "logit_bias": {"9": 2.0, "11": -100}},
    {"max_tokens": 20, "temperature": 1.2, "seed": 5, "stop": ["a", "的", "the"]},
]


@pytest.fixture(scope="module")
def served(server: Callable[..., Any], directory: Callable[[str], Path]) -> Iterator[Any]:
    with server(*map(directory, ("gpt2", "t5", "glm", "bert", "transformer-xl")), new_tokens=64) as running:
        yield running


@pytest.fixture(scope="module")
def client(served: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0)


@pytest.fixture(scope="module")
def loaded(directory: Callable[[str], Path]) -> Callable[[str], LanguageModel]:
    return lambda name: plume.load(directory(name))  # type: ignore[return-value]


def completed(model: LanguageModel, prompt: str, suffix: str = "", **rules: Any) -> list[tuple[str, str, list[TokenLogprob]]]:
    """What Python's completer writes: of each choice its text, why it ended, and its tokens."""
    bias = {int(token): value for token, value in rules.get("logit_bias", {}).items()}
    options = CompletionOptions(**(rules | {"logit_bias": bias}))
    completer = Completer(model.abilities)
    completer.add(begin(model.abilities, prompt, room=options.max_tokens, suffix=suffix), options)
    found: list[tuple[str, str, list[TokenLogprob]]] = [("", "", []) for _ in range(options.n)]
    for event in completer.run():
        text, _, tokens = found[event.choice]
        found[event.choice] = (text + event.text, str(event.finish), [*tokens, *event.tokens])
    return found


def told(choices: Any) -> list[tuple[str, str]]:
    return [(one.text, one.finish_reason) for one in sorted(choices, key=lambda one: one.index)]


def joined(chunks: Any) -> list[tuple[str, str]]:
    """The choices of a stream."""
    found: dict[int, tuple[str, str]] = {}
    for chunk in chunks:
        for one in chunk.choices:
            text, finish = found.get(one.index, ("", ""))
            assert not finish, "nothing follows the end"
            found[one.index] = (text + one.text, one.finish_reason or "")
    return [found[index] for index in sorted(found)]


# The texts


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", ["gpt2", "t5", "glm", "transformer-xl"])
def test_texts_are_those_of_python(client: openai.OpenAI, loaded: Any, name: str, rules: dict[str, Any]) -> None:
    for prompt in PROMPTS[:3]:
        expected = [one[:2] for one in completed(loaded(name), prompt, **rules)]
        answer = client.completions.create(model=name, prompt=prompt, **rules)
        assert told(answer.choices) == expected
        assert joined(client.completions.create(model=name, prompt=prompt, stream=True, **rules)) == expected
        assert not any(stop in text for text, _ in expected for stop in rules.get("stop", ()))


def test_prompts_in_all_shapes(client: openai.OpenAI, loaded: Any) -> None:
    model = loaded("gpt2")
    expected = model.generate(PROMPTS, max_tokens=8, greedy=True, echo=False)
    how: dict[str, Any] = {"model": "gpt2", "max_tokens": 8, "temperature": 0}
    assert [text for text, _ in told(client.completions.create(prompt=PROMPTS, **how).choices)] == expected
    ids = model.tokenizer.encode(PROMPTS)
    assert [text for text, _ in told(client.completions.create(prompt=ids, **how).choices)] == expected
    assert [text for text, _ in told(client.completions.create(prompt=ids[1], **how).choices)] == expected[1:2]
    echoed = client.completions.create(prompt=PROMPTS[0], echo=True, **how)
    assert echoed.choices[0].text == model.generate(PROMPTS[0], max_tokens=8, greedy=True)


def test_choices_of_several_prompts_are_drawn_apart(client: openai.OpenAI, loaded: Any) -> None:
    answer = client.completions.create(model="gpt2", prompt=["a", "a"], n=2, max_tokens=10, seed=7)
    assert [text for text, _ in told(answer.choices)] == loaded("gpt2").generate(["a"] * 4, max_tokens=10, seed=[7, 8, 9, 10], echo=False)
    unsaid = [client.completions.create(model="gpt2", prompt="a", max_tokens=16).choices[0].text for _ in range(3)]
    assert len(set(unsaid)) > 1


def test_the_smallest_temperature_and_share_take_the_likeliest_token(client: openai.OpenAI) -> None:
    how: dict[str, Any] = {"model": "gpt2", "prompt": "The cat", "max_tokens": 6}
    expected = told(client.completions.create(temperature=0, **how).choices)
    for rules in ({"temperature": 5e-324}, {"top_p": 5e-324}, {"temperature": 1e-30, "top_p": 1e-30}):
        assert told(client.completions.create(**how, **rules).choices) == expected


def test_usage(client: openai.OpenAI, loaded: Any) -> None:
    ids = loaded("gpt2").tokenizer.encode(PROMPTS[:2])
    how: dict[str, Any] = {"model": "gpt2", "prompt": PROMPTS[:2], "max_tokens": 6, "temperature": 0, "n": 2, "logprobs": 0}
    answer = client.completions.create(**how)
    assert answer.usage is not None and answer.usage.prompt_tokens == sum(map(len, ids))
    assert answer.usage.completion_tokens == sum(len(one.logprobs.tokens) for one in answer.choices if one.logprobs)
    *chunks, last = client.completions.create(**how, stream=True, stream_options={"include_usage": True})
    assert last.usage == answer.usage and last.choices == [] and all(one.usage is None for one in chunks)


def test_probabilities(client: openai.OpenAI, loaded: Any) -> None:
    for echo, most in ((False, 9), (True, 9), (True, 0)):
        ((text, _, tokens),) = completed(loaded("gpt2"), "my sister 一封", max_tokens=most, seed=4, logprobs=3, echo=echo)
        how: dict[str, Any] = {"model": "gpt2", "prompt": "my sister 一封", "max_tokens": most, "seed": 4, "logprobs": 3, "echo": echo}
        whole = client.completions.create(**how).choices[0]
        pieces = [one.choices[0].logprobs for one in client.completions.create(**how, stream=True)]
        assert whole.text == text and whole.logprobs is not None
        for name, expected in (
            ("token_logprobs", [one.log_probability for one in tokens]), ("text_offset", [one.offset for one in tokens]),
        ):  # fmt: skip
            assert getattr(whole.logprobs, name) == pytest.approx(expected, abs=1e-5)
            assert [value for piece in pieces for value in getattr(piece, name)] == pytest.approx(expected, abs=1e-5)
        for one, likely in zip(tokens, whole.logprobs.top_logprobs or (), strict=True):
            if one.log_probability is not None:
                assert max(likely.values()) == pytest.approx(one.likeliest[0].log_probability, abs=1e-5) and 1 <= len(likely) <= 4


def test_the_best_of_several(client: openai.OpenAI, loaded: Any) -> None:
    found = completed(loaded("gpt2"), "The cat", max_tokens=6, seed=1, n=5, logprobs=0)
    means = [(sum(one.log_probability or 0 for one in tokens) / len(tokens), text) for text, _, tokens in found]
    answer = client.completions.create(model="gpt2", prompt="The cat", max_tokens=6, seed=1, n=2, best_of=5)
    assert [text for text, _ in told(answer.choices)] == [text for _, text in sorted(means, reverse=True)[:2]]
    assert answer.usage is not None and answer.usage.completion_tokens == sum(len(tokens) for _, _, tokens in found)
    assert answer.choices[0].logprobs is None
    with pytest.raises(openai.BadRequestError, match="leave out stream"):
        client.completions.create(model="gpt2", prompt="a", best_of=2, stream=True)
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        client.completions.create(model="gpt2", prompt="a", n=3, best_of=2)
    assert refused.value.param == "best_of"


@pytest.mark.parametrize("name", ["t5", "glm"])
def test_a_text_between_two_others(client: openai.OpenAI, loaded: Any, name: str) -> None:
    ((text, finish, _),) = completed(loaded(name), "The cat", suffix="a wooden box.", max_tokens=8, temperature=0)
    answer = client.completions.create(model=name, prompt="The cat", suffix="a wooden box.", max_tokens=8, temperature=0)
    assert told(answer.choices) == [(text, finish)]
    can = loaded(name).abilities
    read = begin(can, "The cat", suffix="a wooden box.", room=8).source
    blank = "<extra_id_0>" if name == "t5" else can.tokenizer.format.mask
    assert read == can.frame(can.tokenizer.encode([f"The cat{blank}a wooden box."], allow_special=True)[0])


# Many at once


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_many_streams_each_get_their_own_text(served: Any, loaded: Any, name: str) -> None:
    """They join while others are written, and some hang up."""
    asked = [(f"{prompt} {number}", RULES[number % len(RULES)]) for number in range(6) for prompt in PROMPTS[:3]]
    expected = [[one[:2] for one in completed(loaded(name), prompt, **rules)] for prompt, rules in asked]

    async def one(client: openai.AsyncOpenAI, number: int) -> list[tuple[str, str]]:
        prompt, rules = asked[number]
        await asyncio.sleep(0.004 * number)
        if number % 2:
            return told((await client.completions.create(model=name, prompt=prompt, **rules)).choices)
        return joined([chunk async for chunk in await client.completions.create(model=name, prompt=prompt, stream=True, **rules)])

    async def leave(client: openai.AsyncOpenAI, number: int) -> None:
        await asyncio.sleep(0.006 * number)
        async with await client.completions.create(model=name, prompt="the river", max_tokens=64, stream=True) as stream:
            await anext(aiter(stream))

    async def ask() -> list[Any]:
        async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
            leaving = [asyncio.create_task(leave(client, number)) for number in range(8)]
            found = await asyncio.gather(*(one(client, number) for number in range(len(asked))))
            await asyncio.gather(*leaving)
            return found

    assert asyncio.run(ask()) == expected


# What is refused


def test_what_a_model_cannot_do_is_refused(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="cannot generate") as cannot:
        client.completions.create(model="bert", prompt="a", stream=True)
    assert cannot.value.param == "model"
    with pytest.raises(openai.BadRequestError, match="between two texts") as suffix:
        client.completions.create(model="gpt2", prompt="a", suffix="b")
    assert suffix.value.param == "suffix"
    with pytest.raises(openai.BadRequestError, match="token by token"):
        client.completions.create(model="t5", prompt="a", echo=True, logprobs=1, stream=True)
    with pytest.raises(openai.BadRequestError, match="logit_bias"):
        client.completions.create(model="gpt2", prompt="a", logit_bias={"99999": 1})
    with pytest.raises(openai.BadRequestError, match="no token 99999"):
        client.completions.create(model="gpt2", prompt=[1, 99999])
    with pytest.raises(openai.BadRequestError, match="tokens; this model reads at most"):
        client.completions.create(model="gpt2", prompt="cat " * 200)


@pytest.mark.parametrize(
    ("field", "value"),
    [("max_tokens", 65), ("max_tokens", -1), ("temperature", 2.5), ("top_p", 0), ("n", 0), ("stop", ["a"] * 17), ("stop", ["a" * 300]),
     ("presence_penalty", 3), ("logprobs", 30), ("logit_bias", {"a": 1}), ("seed", 0.5), ("stream", "yes"), ("prompt", {})],
)  # fmt: skip
def test_fields_out_of_bounds_are_named(client: openai.OpenAI, field: str, value: Any) -> None:
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        client.completions.create(**({"model": "gpt2", "prompt": "a"} | {field: value}))
    assert (refused.value.param or "").split(".")[0] == field


def test_what_was_not_said_may_be_null(served: Any) -> None:
    names = ("max_tokens", "temperature", "stop", "logprobs", "suffix", "seed", "logit_bias", "stream_options", "best_of", "n")
    answer = served.client.post("/v1/completions", json={"model": "gpt2", "prompt": "a"} | dict.fromkeys(names))
    assert answer.status_code == 200 and len(answer.json()["choices"]) == 1


# plume's own


def events(answer: httpx.Response) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert answer.headers["content-type"].startswith("text/event-stream") and lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def test_generate_writes_what_python_does(served: Any, loaded: Any) -> None:
    body = {"prompt": PROMPTS[:3], "max_tokens": 9, "top_k": 20, "temperature": 1.4, "repetition_penalty": 1.3, "seed": 6, "samples": 2}
    expected = loaded("gpt2").generate(
        [prompt for prompt in PROMPTS[:3] for _ in range(2)], max_tokens=9, top_k=20, temperature=1.4, repetition_penalty=1.3,
        seed=list(range(6, 12)), echo=False,
    )  # fmt: skip
    answer = served.client.post("/generate", json=body | {"model": "gpt2"}).json()
    assert [one["text"] for own in answer["results"] for one in own] == expected and answer["seed"] == 6
    *pieces, last = events(served.client.post("/generate", json=body | {"model": "gpt2", "stream": True}))
    texts = [[""] * 2 for _ in range(3)]
    for piece in pieces:
        texts[piece["prompt"]][piece["sample"]] += piece["text"]
    assert [text for own in texts for text in own] == expected and last["usage"] == answer["usage"]


def test_generate_reads_a_source_and_searches_beams(served: Any, loaded: Any) -> None:
    model = loaded("t5")
    body: dict[str, Any] = {"model": "t5", "source": "The cat finds a wooden box.", "prompt": ["", "my"], "max_tokens": 9}
    for way, python in (({"temperature": 0}, {"greedy": True}), ({"beams": 3}, {"beams": 3})):
        answer = served.client.post("/generate", json=body | way | {"echo": True}).json()
        expected = model.generate(["", "my"], source="The cat finds a wooden box.", max_tokens=9, **python)
        assert [own[0]["text"] for own in answer["results"]] == expected
    stopped = served.client.post("/generate", json=body | {"beams": 3, "stop": "e", "prompt": ""}).json()["results"][0][0]["text"]
    assert "e" not in stopped and model.generate(source="The cat finds a wooden box.", max_tokens=9, beams=3).startswith(stopped)


@pytest.mark.parametrize(
    ("body", "field"),
    [({"beams": 2, "samples": 2}, "samples"), ({"beams": 2, "stream": True}, "stream"), ({"source": ["a", "b"]}, "source"),
     ({"paraphrase": "a"}, "paraphrase"), ({"max_tokens": 999}, "max_tokens"), ({"language": "en"}, "language")],
)  # fmt: skip
def test_generate_names_what_it_cannot_do(served: Any, body: dict[str, Any], field: str) -> None:
    answer = served.client.post("/generate", json={"model": "gpt2", "prompt": "a"} | body)
    assert answer.status_code in (400, 422) and answer.json()["error"]["param"] == field


def test_paraphrases(server: Callable[..., Any], directory: Callable[[str], Path], tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("the cat finds a box\ta box is found by the cat\nmy sister paints\tshe paints, my sister\n" * 4, encoding="utf-8")
    plume.sentences.train(
        directory("bert"), method="simbert", text=pairs, batch=4, length=16, out=tmp_path / "simbert", budget="3steps", quiet=True
    )
    expected = plume.sentences.paraphrase(plume.load(tmp_path / "simbert"), "the cat paints", count=3, max_tokens=8, seed=2)  # type: ignore[arg-type]
    with server(tmp_path / "simbert", directory("gpt2")) as running:
        asked = {"paraphrase": "the cat paints", "samples": 3, "max_tokens": 8, "seed": 2}  # only one of the two can
        found = running.client.post("/generate", json=asked).json()
        assert [one["text"] for one in found["results"][0]] == [text for text, _ in expected] and found["model"] == "simbert"
        assert [one["similarity"] for one in found["results"][0]] == pytest.approx([cosine for _, cosine in expected], abs=1e-5)
        assert running.client.post("/generate", json=asked | {"stream": True}).json()["error"]["param"] == "stream"
