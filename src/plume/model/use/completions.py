"""What is asked of a completion, and what comes back of it piece by piece: OpenAI's words for both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from plume.core.errors import PlumeError
from plume.model.use.sampling import Sampling
from plume.model.use.searching import ChosenToken, Finish, Listener
from plume.model.use.streaming import Telling
from plume.text.tokenizer import Tokenizer

_HOTTEST, _STRONGEST = 2.0, 2.0  # OpenAI's bounds of temperature and of both penalties


@dataclass(frozen=True, kw_only=True)
class CompletionOptions:
    """How one prompt is gone on with. A `temperature` of 0 takes the likeliest token each time; choice i of `n` is drawn with `seed` + i."""

    max_tokens: int = 16
    stop: Sequence[str] = ()  # the text ends before the first of these
    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: Mapping[int, float] = field(default_factory=dict)  # token: what is added to its score
    logprobs: int | None = None  # so many of the likeliest tokens are told beside each; None: no probabilities
    echo: bool = False  # the prompt comes first

    def __post_init__(self) -> None:
        if isinstance(self.stop, str):
            object.__setattr__(self, "stop", (self.stop,))
        if self.max_tokens < 0 or self.n < 1 or (self.logprobs is not None and self.logprobs < 0):
            raise PlumeError("max_tokens and logprobs are 0 or more, n is 1 or more.")
        if not 0 <= self.temperature <= _HOTTEST:
            raise PlumeError(f"temperature lies between 0 and {_HOTTEST:g}, and {self.temperature} does not.")
        for name in ("presence_penalty", "frequency_penalty"):
            if not -_STRONGEST <= getattr(self, name) <= _STRONGEST:
                raise PlumeError(f"{name} lies between -{_STRONGEST:g} and {_STRONGEST:g}, and {getattr(self, name)} does not.")
        self.sampling()

    def sampling(self) -> Sampling:
        """The same rules for the choice of a token."""
        return Sampling(
            greedy=self.temperature == 0,
            temperature=self.temperature or 1.0,
            top_k=self.top_k,
            top_p=self.top_p,
            repetition_penalty=self.repetition_penalty,
            presence_penalty=self.presence_penalty,
            frequency_penalty=self.frequency_penalty,
            logit_bias=tuple(sorted(self.logit_bias.items())),
        )


@dataclass(frozen=True, kw_only=True)
class TokenLogprob:
    """A token, what it writes, and its log-probability by the model's own distribution; None: nothing stands before it."""

    token: int
    text: str
    bytes: bytes  # of which `text` shows halves of a character as U+FFFD
    log_probability: float | None
    likeliest: tuple[TokenLogprob, ...] = ()
    offset: int = 0  # where it begins in the text, in characters


@dataclass(frozen=True, kw_only=True)
class CompletionEvent:
    """What was added to one choice of one prompt. The last one of each says why it ended; stop strings are in none of them."""

    prompt: int  # what `Completer.add` returned
    choice: int
    text: str
    tokens: tuple[TokenLogprob, ...]  # none unless probabilities were asked for
    written: int  # tokens that were generated so far
    finish: Finish | None


class Voice(Listener):
    """One choice of a prompt: hears its tokens, and tells them as events."""

    def __init__(self, prompt: int, choice: int, options: CompletionOptions, telling: Telling) -> None:
        self.prompt, self.choice, self.options, self.telling = prompt, choice, options, telling
        self.finish: Finish | None = None
        self.written = 0
        self.cancelled = self.over = False
        self._opening = ""
        self._shift = 0  # characters of the prompt before the text
        self._tokens: list[TokenLogprob] = []

    def open(self, text: str, tokens: Sequence[TokenLogprob]) -> None:
        """The prompt comes first."""
        self._opening, self._shift = text, len(text)
        self._tokens += tokens

    def heard(self, chosen: ChosenToken) -> bool:
        offset = len(self.telling.text)
        self.written += 1
        goes_on = self.telling.add(chosen.token) and not self.cancelled
        if chosen.log_probability is not None:
            self._tokens.append(token_logprob(self.telling.tokenizer, chosen, offset=self._shift + offset))
        if not goes_on:
            self.ended(Finish.STOP)
        return goes_on

    def ended(self, finish: Finish) -> None:
        self.telling.close()
        self.finish = Finish.STOP if self.telling.stopped else finish

    def event(self) -> CompletionEvent | None:
        """What is new; None: nothing."""
        text = self._opening + self.telling.take()
        self._opening = ""
        end, done = self._shift + self.telling.told, self.finish is not None
        keeps_all = done and not self.telling.stopped
        told = [one for one in self._tokens if one.offset < end or keeps_all]
        self._tokens = [] if done else self._tokens[len(told) :]
        if self.over or not (text or told or done):
            return None
        self.over = done
        return CompletionEvent(
            prompt=self.prompt, choice=self.choice, text=text, tokens=tuple(told), written=self.written, finish=self.finish
        )  # fmt: skip


def token_logprob(tokenizer: Tokenizer, chosen: ChosenToken, *, offset: int) -> TokenLogprob:
    """As it is told."""
    spelled = [(token, tokenizer.bytes_of(token), value) for token, value in chosen.likeliest]
    likeliest = [
        TokenLogprob(token=token, text=raw.decode("utf-8", "replace"), bytes=raw, log_probability=value, offset=offset)
        for token, raw, value in spelled
    ]
    raw = tokenizer.bytes_of(chosen.token)
    return TokenLogprob(
        token=chosen.token,
        text=raw.decode("utf-8", "replace"),
        bytes=raw,
        log_probability=chosen.log_probability,
        likeliest=tuple(likeliest),
        offset=offset,
    )
