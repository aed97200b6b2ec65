"""plume's own way to generate: what `plume generate` can, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictBool, StrictInt, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from plume.model.use.completions import CompletionEvent, CompletionOptions
from plume.sentences.paraphrasing import TOP_P
from plume.serve.engine.engine import ServingEngine
from plume.serve.errors import BadRequest, Unreadable
from plume.serve.http.answers import as_json, described
from plume.serve.http.asked import Note, check_texts, engine_of, model_for, note_of, read_body
from plume.serve.http.endpoints._completing import (
    CompletionUsage,
    Number,
    SaidFields,
    Seed,
    StopString,
    check_new_tokens,
    drawn,
    stops,
    usage,
)
from plume.serve.http.event_stream import DESCRIBED, streamed
from plume.serve.operations._completing import Completed
from plume.serve.operations.beam_search import OPERATION as BEAM_SEARCH
from plume.serve.operations.beam_search import BeamsAsked
from plume.serve.operations.generate import OPERATION, GenerateAsked
from plume.serve.operations.paraphrase import OPERATION as PARAPHRASE
from plume.serve.operations.paraphrase import ParaphraseAsked

ROUTER = APIRouter(tags=["generate"])
_PARAPHRASES = 5


class GenerateRequest(SaidFields):
    """The options of `plume generate`."""

    model: StrictStr | None = Field(None, description="May be left out where only one model writes.")
    prompt: StrictStr | list[StrictStr] = Field("", description="A text to go on with, or several; after a source, how the answer begins.")
    source: StrictStr | list[StrictStr] | None = Field(
        None, description="Models that write after reading (t5, bart, unilm …): what they read; one for all prompts, or one for each."
    )
    paraphrase: StrictStr | None = Field(None, description="Instead of a prompt: a text to say in other words (simbert).")
    max_tokens: StrictInt = Field(50, ge=0)
    temperature: Number = Field(1.0, ge=0, le=2, description="0: the likeliest token each time.")
    top_k: StrictInt = Field(0, ge=0, lt=2**31, description="Draw from the k likeliest tokens; 0: from all.")
    top_p: Number = Field(1.0, gt=0, le=1)
    beams: StrictInt = Field(1, ge=1, le=16, description="Beam search with so many; nothing is drawn then.")
    repetition_penalty: Number = Field(1.0, ge=0.01, le=100, description="For tokens that occur already; 1: none.")
    samples: StrictInt | None = Field(None, ge=1, le=128, description="Texts for each prompt: 1, or 5 paraphrases.")
    seed: Seed | None = Field(None, description="Text i of all is drawn with seed + i; none: another each time.")
    stop: StopString | list[StopString] = Field([], max_length=256, description="The text ends before the first of these, at most 16.")
    echo: StrictBool = Field(False, description="The prompt comes first.")
    code: StrictStr | None = Field(None, description="Control code (ctrl).")
    language: StrictStr | None = Field(None, description="Multilingual models (xlm): that of all prompts.")
    stream: StrictBool = Field(False, description="Server-sent events, in pieces as they are written.")


class GeneratedText(BaseModel):
    """One text."""

    text: str
    tokens: int | None = Field(None, description="How many were written.")
    finish_reason: str | None = None
    similarity: float | None = Field(None, description="Paraphrases: the cosine to the text.")


class GenerateAnswer(BaseModel):
    """For each prompt its texts; paraphrases: the nearest first."""

    model: str
    seed: int = Field(description="What was drawn with.")
    results: list[list[GeneratedText]]
    usage: CompletionUsage | None = None


@ROUTER.post("/generate", response_model=GenerateAnswer, openapi_extra=described(GenerateRequest), responses=DESCRIBED)
async def generate(request: Request) -> Response:
    """What `plume generate` writes: after prompts, after a source, or in other words."""
    asked = await read_body(request, GenerateRequest)
    engine, note = engine_of(request), note_of(request)
    if asked.paraphrase is not None:
        return await _paraphrases(engine, note, asked, asked.paraphrase)
    prompts = [asked.prompt] if isinstance(asked.prompt, str) else asked.prompt
    sources = _sources(asked, len(prompts))
    note.model, note.texts = model, texts = model_for(engine, asked.model, OPERATION), [*prompts, *(sources or ())]
    check_texts(engine.settings, texts, "prompt")
    check_new_tokens(engine.settings, asked.max_tokens, texts=len(prompts) * (asked.samples or 1))
    seed = drawn(asked.seed)
    wanted = GenerateAsked(prompts=prompts, options=_options(asked, seed), sources=sources, code=asked.code, language=asked.language)
    if asked.stream and asked.beams == 1:
        return await streamed(engine, OPERATION, model, wanted, _chunks(seed))
    if asked.beams > 1:
        _check_beams(asked)
        found = await engine.ask(BEAM_SEARCH, model, BeamsAsked(generate=wanted, beams=asked.beams))
    else:
        found = await engine.ask(OPERATION, model, wanted)
    note.tokens = found.read + found.written
    results = [[{"text": one.text, "tokens": one.written, "finish_reason": one.finish} for one in own] for own in found.prompts]
    return as_json({"model": model, "seed": seed, "results": results, "usage": usage(found)})


def _options(asked: GenerateRequest, seed: int) -> CompletionOptions:
    if len(said := stops(asked.stop)) > 16:
        raise Unreadable(f"stop: {len(said)} of them; at most 16 are taken.", param="stop")
    return CompletionOptions(
        max_tokens=asked.max_tokens, stop=said, n=asked.samples or 1, temperature=asked.temperature, top_p=asked.top_p, top_k=asked.top_k,
        seed=seed, repetition_penalty=asked.repetition_penalty, echo=asked.echo,
    )  # fmt: skip


def _sources(asked: GenerateRequest, prompts: int) -> list[str] | None:
    """One for each prompt."""
    if asked.source is None or isinstance(asked.source, str):
        return None if asked.source is None else [asked.source] * prompts
    if len(asked.source) != prompts:
        raise Unreadable(f"source: {len(asked.source)} of them, and {prompts} prompts: give one for each, or one for all.", param="source")
    return asked.source


def _check_beams(asked: GenerateRequest) -> None:
    if (asked.samples or 1) > 1:
        raise BadRequest("samples: beam search finds one text; leave out samples, or beams.", param="samples")
    if asked.stream:
        raise BadRequest("stream: which beam wins is known at the end only; leave out stream, or beams.", param="stream")


async def _paraphrases(engine: ServingEngine, note: Note, asked: GenerateRequest, text: str) -> Response:
    note.model, note.texts = model, _ = model_for(engine, asked.model, PARAPHRASE), [text]
    check_texts(engine.settings, [text], "paraphrase")
    check_new_tokens(engine.settings, asked.max_tokens)
    if asked.stream:
        raise BadRequest("stream: paraphrases are compared when all are written; leave out stream.", param="stream")
    seed = drawn(asked.seed)
    options = {
        "max_tokens": asked.max_tokens, "temperature": asked.temperature or 1.0, "top_k": asked.top_k, "greedy": asked.temperature == 0,
        "top_p": TOP_P if asked.top_p == 1 else asked.top_p, "beams": asked.beams, "repetition_penalty": asked.repetition_penalty,
    }  # fmt: skip
    wanted = ParaphraseAsked(text=text, count=asked.samples or _PARAPHRASES, seed=seed, options=options)
    found = await engine.ask(PARAPHRASE, model, wanted)
    results = [[{"text": other, "similarity": cosine} for other, cosine in found]]
    return as_json({"model": model, "seed": seed, "results": results})


def _chunks(seed: int) -> Callable[[CompletionEvent | Completed], Iterator[dict[str, Any]]]:
    """Pieces that say to which prompt and sample they belong, then the seed and the tokens used."""

    def written(piece: CompletionEvent | Completed) -> Iterator[dict[str, Any]]:
        if isinstance(piece, Completed):
            yield {"seed": seed, "usage": usage(piece)}
        else:
            yield {"prompt": piece.prompt, "sample": piece.choice, "text": piece.text, "finish_reason": piece.finish}

    return written
