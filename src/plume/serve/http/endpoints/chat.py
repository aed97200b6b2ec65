"""Conversations, as OpenAI's clients ask for the next turn."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
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
from plume.serve.operations.chat import OPERATION, ChatAsked

ROUTER = APIRouter(tags=["generate"])


class TextPart(BaseModel):
    """One of several."""

    type: StrictStr
    text: StrictStr


class ChatMessage(BaseModel):
    """A turn."""

    role: StrictStr = Field(description="system (or developer), user, assistant.")
    content: StrictStr | list[TextPart]


class ChatRequest(SamplingFields):
    """What OpenAI's `chat.completions.create` sends."""

    model: StrictStr
    messages: list[ChatMessage] = Field(min_length=1, description="All turns so far.")
    max_tokens: StrictInt | None = Field(None, ge=1, description="Of the reply; if it is not said, as many as training suggests.")
    max_completion_tokens: StrictInt | None = Field(None, ge=1, description="The new name of max_tokens.")
    logprobs: StrictBool = Field(False, description="Tell the probability of each token.")
    top_logprobs: StrictInt = Field(0, ge=0, le=20, description="Tell so many of the likeliest tokens beside each.")
    tools: list[Any] = Field([], description="Not supported: refused unless empty.")
    response_format: dict[str, Any] = Field({}, description="Only text.")


class LikelyToken(BaseModel):
    """A token with its probability."""

    token: str
    logprob: float
    bytes: list[int] | None


class ToldToken(LikelyToken):
    """And what else might have stood there."""

    top_logprobs: list[LikelyToken]


class ReplyLogprobs(BaseModel):
    """Of every token."""

    content: list[ToldToken]
    refusal: None = None


class ReplyMessage(BaseModel):
    """What the assistant says."""

    role: str = "assistant"
    content: str
    refusal: None = None


class ReplyChoice(BaseModel):
    """One reply."""

    index: int
    message: ReplyMessage
    logprobs: ReplyLogprobs | None
    finish_reason: str | None


class ChatAnswer(BaseModel):
    """n replies."""

    id: str
    object: str = "chat.completion"
    created: int
    model: str
    choices: list[ReplyChoice]
    usage: CompletionUsage


@ROUTER.post("/v1/chat/completions", response_model=ChatAnswer, openapi_extra=described(ChatRequest), responses=DESCRIBED)
async def chat(request: Request) -> Response:
    """What the assistant says next, by a model that was tuned on dialogue."""
    asked = await read_body(request, ChatRequest)
    engine, note = engine_of(request), note_of(request)
    messages = [one.model_dump() for one in asked.messages]
    note.model, note.texts = asked.model, messages
    check_texts(engine.settings, messages, "messages")
    _check(asked)
    name = "max_tokens" if asked.max_completion_tokens is None else "max_completion_tokens"
    room: int | None = getattr(asked, name)
    check_new_tokens(engine.settings, room, texts=asked.n, param=name)
    options = asked.options(logprobs=asked.top_logprobs if asked.logprobs else None)
    wanted = ChatAsked(messages=messages, options=options, max_tokens=room)
    about = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": now(), "model": asked.model}
    if asked.stream:
        return await streamed(engine, OPERATION, asked.model, wanted, _chunks(asked, about | {"object": "chat.completion.chunk"}))
    found = await engine.ask(OPERATION, asked.model, wanted)
    note.tokens = found.read + found.written
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": one.text, "refusal": None},
            "logprobs": _logprobs(asked, one.tokens),
            "finish_reason": one.finish,
        }
        for index, one in enumerate(found.prompts[0])
    ]
    return as_json(about | {"object": "chat.completion", "choices": choices, "usage": usage(found)})


def _check(asked: ChatRequest) -> None:
    """What is not done here must not be left out silently."""
    if asked.tools:
        raise BadRequest("tools: models tuned by plume call none; leave them out.", param="tools")
    if asked.response_format.get("type", "text") != "text":
        raise BadRequest("response_format: replies are text; leave it out.", param="response_format")
    if asked.top_logprobs and not asked.logprobs:
        raise Unreadable("top_logprobs: say logprobs too.", param="top_logprobs")


def _chunks(asked: ChatRequest, about: dict[str, Any]) -> Callable[[CompletionEvent | Completed], Iterator[dict[str, Any]]]:
    """The role of each choice, then its content in pieces, then why it ended."""
    begun: set[int] = set()

    def chunk(index: int, delta: dict[str, Any], logprobs: Any = None, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        return about | {"choices": [choice]} | ({"usage": None} if asked.tells_usage else {})

    def written(piece: CompletionEvent | Completed) -> Iterator[dict[str, Any]]:
        if isinstance(piece, Completed):
            if asked.tells_usage:
                yield about | {"choices": [], "usage": usage(piece)}
            return
        if piece.choice not in begun:
            begun.add(piece.choice)
            yield chunk(piece.choice, {"role": "assistant", "content": ""})
        if piece.text or piece.tokens:
            yield chunk(piece.choice, {"content": piece.text}, _logprobs(asked, piece.tokens))
        if piece.finish is not None:
            yield chunk(piece.choice, {}, finish=piece.finish)

    return written


def _logprobs(asked: ChatRequest, tokens: Sequence[TokenLogprob]) -> dict[str, Any] | None:
    if not asked.logprobs:
        return None
    return {"content": [_token(one) | {"top_logprobs": [_token(other) for other in one.likeliest]} for one in tokens], "refusal": None}


def _token(one: TokenLogprob) -> dict[str, Any]:
    return {"token": spelled(one), "logprob": log_probability(one), "bytes": list(one.bytes)}
