"""Texts gone on with, as OpenAI's clients ask for them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictBool, StrictInt, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from plume.model.use.completions import CompletionEvent, TokenLogprob
from plume.serve.errors import BadRequest, Unreadable
from plume.serve.http.answers import as_json, described
from plume.serve.http.asked import check_texts, engine_of, note_of, read_body
from plume.serve.http.endpoints._completing import (
    CompletionUsage,
    SamplingFields,
    check_new_tokens,
    log_probability,
    now,
    spelled,
    usage,
)
from plume.serve.http.event_stream import DESCRIBED, streamed
from plume.serve.operations._completing import Completed
from plume.serve.operations.generate import OPERATION, GenerateAsked

ROUTER = APIRouter(tags=["generate"])


class CompletionsRequest(SamplingFields):
    """What OpenAI's `completions.create` sends."""

    model: StrictStr
    prompt: StrictStr | list[StrictStr] | list[StrictInt] | list[list[StrictInt]] = Field(
        "", description="A text, several, the token ids of a text, or of several."
    )
    max_tokens: StrictInt = Field(16, ge=0, description="0 with echo and logprobs: how likely the prompt is.")
    logprobs: StrictInt | None = Field(None, ge=0, le=20, description="Tell so many of the likeliest tokens beside each.")
    echo: StrictBool = Field(False, description="The prompt comes first.")
    best_of: StrictInt | None = Field(None, ge=1, le=128, description="Write so many, and answer with the n likeliest by token; no stream.")
    suffix: StrictStr = Field("", description="What follows the text that is written: models that fill spans (glm, t5).")
    language: StrictStr | None = Field(None, description="Multilingual models (xlm): that of all prompts; found if it is not said.")


class TokenLists(BaseModel):
    """One of each for every token; the first of a prompt has no probability."""

    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None]
    text_offset: list[int]


class CompletionChoice(BaseModel):
    """One text."""

    index: int
    text: str
    logprobs: TokenLists | None
    finish_reason: str | None = Field(description="stop: it ended by itself or at a stop string; length: there was no more room.")


class CompletionsAnswer(BaseModel):
    """n texts for each prompt, in their order."""

    id: str
    object: str = "text_completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage


@ROUTER.post("/v1/completions", response_model=CompletionsAnswer, openapi_extra=described(CompletionsRequest), responses=DESCRIBED)
async def completions(request: Request) -> Response:
    """What the model writes after each prompt."""
    asked = await read_body(request, CompletionsRequest)
    engine, note = engine_of(request), note_of(request)
    prompts = prompt_list(asked.prompt)
    note.model, note.texts = asked.model, prompts
    check_texts(engine.settings, [*prompts, asked.suffix], "prompt")
    check_new_tokens(engine.settings, asked.max_tokens, texts=len(prompts) * max(asked.n, asked.best_of or 1))
    wanted = _wanted(asked, prompts)
    about = {"id": f"cmpl-{uuid.uuid4().hex}", "object": "text_completion", "created": now(), "model": asked.model}
    if asked.stream:
        return await streamed(engine, OPERATION, asked.model, wanted, lambda piece: _chunks(asked, about, piece))
    found = await engine.ask(OPERATION, asked.model, wanted)
    note.tokens = found.read + found.written
    choices = [
        _choice(asked, number * asked.n + place, one.text, one.tokens, one.finish)
        for number, own in enumerate(found.prompts)
        for place, one in enumerate(own)
    ]
    return as_json(about | {"choices": choices, "usage": usage(found)})


def _wanted(asked: CompletionsRequest, prompts: list[str | list[int]]) -> GenerateAsked:
    options = asked.options(max_tokens=asked.max_tokens, logprobs=asked.logprobs, echo=asked.echo)
    keep = None
    if asked.best_of is not None:
        if asked.best_of < asked.n:
            raise Unreadable(f"best_of: {asked.best_of} is less than n, which is {asked.n}.", param="best_of")
        if asked.stream:
            raise BadRequest("best_of: which is best is known at the end only; leave out stream.", param="best_of")
        keep = asked.n
        options = asked.options(
            max_tokens=asked.max_tokens, logprobs=asked.logprobs or 0, echo=asked.echo and asked.logprobs is not None, n=asked.best_of
        )  # fmt: skip
    return GenerateAsked(prompts=prompts, options=options, keep=keep, suffix=asked.suffix, language=asked.language)


def prompt_list(given: str | list[str] | list[int] | list[list[int]]) -> list[str | list[int]]:
    """A text each, or its token ids; an empty list is an empty prompt.

    >>> prompt_list("a"), prompt_list(["a", ""]), prompt_list([3, 5]), prompt_list([[3], []])
    (['a'], ['a', ''], [[3, 5]], [[3], []])
    """
    if isinstance(given, str):
        return [given]
    numbers = [one for one in given if isinstance(one, int)]
    return [numbers] if numbers or not given else [one for one in given if not isinstance(one, int)]


def _chunks(asked: CompletionsRequest, about: dict[str, Any], piece: CompletionEvent | Completed) -> Iterator[dict[str, Any]]:
    if isinstance(piece, CompletionEvent):
        choice = _choice(asked, piece.prompt * asked.n + piece.choice, piece.text, piece.tokens, piece.finish)
        yield about | {"choices": [choice]} | ({"usage": None} if asked.tells_usage else {})
    elif asked.tells_usage:
        yield about | {"choices": [], "usage": usage(piece)}


def _choice(asked: CompletionsRequest, index: int, text: str, tokens: Sequence[TokenLogprob], finish: str | None) -> dict[str, Any]:
    lists = None if asked.logprobs is None else _lists(tokens)
    return {"index": index, "text": text, "logprobs": lists, "finish_reason": finish}


def _lists(tokens: Sequence[TokenLogprob]) -> dict[str, Any]:
    return {
        "tokens": [spelled(one) for one in tokens],
        "token_logprobs": [log_probability(one) for one in tokens],
        "top_logprobs": [_likeliest(one) for one in tokens],
        "text_offset": [one.offset for one in tokens],
    }


def _likeliest(one: TokenLogprob) -> dict[str, float] | None:
    """The token itself is always there."""
    found: dict[str, float] = {}
    for token in (*one.likeliest, one):
        value = log_probability(token)
        if value is not None:
            found.setdefault(spelled(token), value)
    return found or None
