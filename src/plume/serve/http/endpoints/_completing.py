"""What OpenAI's completions and chat have in common: fields of a request, limits, usage."""

from __future__ import annotations

import random
import time
from typing import Annotated, Any

from pydantic import BaseModel, Field, StrictBool, StrictInt, StrictStr, model_validator

from plume.model.use.completions import CompletionOptions, TokenLogprob
from plume.serve.errors import TooLarge, Unreadable
from plume.serve.operations._completing import Completed
from plume.serve.settings import ServeSettings

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
StopString = Annotated[StrictStr, Field(max_length=256)]
Seed = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]
_LEAST = -9999.0  # JSON has no infinity


class StreamOptions(BaseModel):
    """What a stream tells beside the text."""

    include_usage: StrictBool = Field(False, description="A last chunk with the tokens used.")


class SaidFields(BaseModel):
    """null is as good as nothing."""

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, given: Any) -> Any:
        return {name: value for name, value in given.items() if value is not None} if isinstance(given, dict) else given


class SamplingFields(SaidFields):
    """How tokens are chosen, as OpenAI has it."""

    temperature: Number = Field(1.0, ge=0, le=2, description="0: the likeliest token each time.")
    top_p: Number = Field(1.0, gt=0, le=1, description="Draw from the likeliest tokens with this total probability.")
    n: StrictInt = Field(1, ge=1, le=128, description="Texts for each prompt.")
    stop: StopString | Annotated[list[StopString], Field(max_length=16)] = Field([], description="The text ends before the first of these.")
    presence_penalty: Number = Field(0.0, ge=-2, le=2)
    frequency_penalty: Number = Field(0.0, ge=-2, le=2)
    logit_bias: dict[int, Annotated[Number, Field(ge=-100, le=100)]] = Field(
        {}, max_length=300, description="Token id: added to its score."
    )
    seed: Seed | None = Field(None, description="The same seed draws the same text; none: another each time.")
    stream: StrictBool = Field(False, description="Server-sent events, in pieces as they are written.")
    stream_options: StreamOptions | None = None
    user: str | None = Field(None, description="Not used.")

    def options(self, **more: Any) -> CompletionOptions:
        """The same for a `Completer`."""
        how: dict[str, Any] = {
            "temperature": self.temperature, "top_p": self.top_p, "n": self.n, "stop": stops(self.stop), "seed": drawn(self.seed),
            "presence_penalty": self.presence_penalty, "frequency_penalty": self.frequency_penalty, "logit_bias": self.logit_bias,
        }  # fmt: skip
        return CompletionOptions(**(how | more))

    @property
    def tells_usage(self) -> bool:
        """In a stream."""
        return self.stream_options is not None and self.stream_options.include_usage


class CompletionUsage(BaseModel):
    """Tokens that were read, special ones counted, and written."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


def usage(found: Completed) -> dict[str, int]:
    """As OpenAI writes it."""
    return {"prompt_tokens": found.read, "completion_tokens": found.written, "total_tokens": found.read + found.written}


def stops(said: str | list[str]) -> tuple[str, ...]:
    """Those that are not empty."""
    return tuple(one for one in ([said] if isinstance(said, str) else said) if one)


def drawn(seed: int | None) -> int:
    """Any, if none was said."""
    return random.randrange(2**31) if seed is None else seed


def check_new_tokens(settings: ServeSettings, asked: int | None, *, texts: int = 1, param: str = "max_tokens") -> None:
    """Refuse more than this server writes for one request."""
    if asked is not None and asked > settings.new_tokens:
        raise Unreadable(f"{param}: {asked:,} tokens; at most {settings.new_tokens:,} are written here.", param=param)
    if texts > settings.batch_texts:
        raise TooLarge(f"{texts:,} texts in one request; at most {settings.batch_texts:,} are written: send several.", param="n")


def log_probability(one: TokenLogprob) -> float | None:
    """As JSON can have it."""
    return None if one.log_probability is None else max(one.log_probability, _LEAST)


def spelled(one: TokenLogprob) -> str:
    """A token's text; of one that is no whole character, its bytes, as OpenAI has them.

    >>> spelled(TokenLogprob(token=1, text="�", bytes=b"\\xe4\\xbd", log_probability=-1.0))
    'bytes:\\\\xe4\\\\xbd'
    """
    try:
        return one.bytes.decode("utf-8")
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in one.bytes)


def now() -> int:
    """Seconds since 1970."""
    return int(time.time())
