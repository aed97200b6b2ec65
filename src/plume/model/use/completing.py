"""Completer: goes on with many prompts at once, each by rules of its own; prompts come and leave between two steps. What a server calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from plume.core.batch import Batch, Order
from plume.core.batching import by_length
from plume.core.errors import PlumeError
from plume.heads.head import precise
from plume.model.use.abilities import Abilities
from plume.model.use.choosing import TokenChoice, chosen_of
from plume.model.use.completions import CompletionEvent, CompletionOptions, TokenLogprob, Voice, token_logprob
from plume.model.use.generate import choice_for
from plume.model.use.joint_writer import JointWriter
from plume.model.use.searching import ChosenToken, Finish, Going, Wanted
from plume.model.use.streaming import Telling
from plume.model.use.writing import Begun

_PADDING = 1.0  # prompts up to twice as long as the shortest are read with it
_LOGITS = 1 << 24  # held at once


@dataclass(frozen=True, kw_only=True)
class _Row:
    """One choice of a prompt, before it is begun."""

    begun: Begun
    wanted: Wanted
    voice: Voice

    @property
    def length(self) -> int:
        return len(self.begun.prompt if self.begun.source is None else self.begun.source)

    @property
    def alike(self) -> tuple[Any, ...]:
        """Equal for rows that one writer can go on with."""
        sampling = self.wanted.sampling
        return self.begun.joint or self.begun.writer, sampling is not None and sampling.repetition_penalty != 1


class Completer:
    """Owned by one thread. `rows` are written at once at most, and of those that wait `tokens` are read at a step.

    A family that reads left to right without a memory writes all its texts as one batch, which others join (`JointWriter`); the texts of
    other families go on in groups as they came, which take turns.
    """

    def __init__(self, can: Abilities, *, rows: int = 64, tokens: int = 4096) -> None:
        self.can, self.rows, self.tokens = can, rows, tokens
        self._numbers = 0
        self._waiting: deque[_Row] = deque()
        self._going: list[tuple[tuple[Any, ...], Going]] = []
        self._voices: list[Voice] = []

    def add(self, begun: Begun, options: CompletionOptions = CompletionOptions()) -> int:
        """A prompt that waits for the next step; the number by which events name it. Texts are begun by `plume.model.use.writing.begin`."""
        if wrong := [token for token in options.logit_bias if not 0 <= token < self.can.model.vocabulary]:
            raise PlumeError(f"logit_bias: there is no token {wrong[0]}; this model's are 0 to {self.can.model.vocabulary - 1}.")
        if options.echo and options.logprobs is not None and (begun.source is not None or self.can.causal() is None):
            raise PlumeError(f"{self.can.name} does not predict its prompt token by token: leave out echo, or logprobs.")
        number, self._numbers = self._numbers, self._numbers + 1
        sampling = options.sampling()
        for choice in range(options.n):
            voice = Voice(number, choice, options, Telling(self.can.tokenizer, begun.text, stops=options.stop))
            wanted = Wanted(
                room=min(begun.room, options.max_tokens),
                before=begun.said,
                ends=begun.ends,
                seed=(options.seed + choice) % 2**63,
                sampling=sampling,
                likeliest=options.logprobs,
                listener=voice,
            )
            self._waiting.append(_Row(begun=begun, wanted=wanted, voice=voice))
        return number

    def cancel(self, number: int) -> None:
        """Nobody waits for this prompt any more."""
        self._waiting = deque(row for row in self._waiting if row.voice.prompt != number)
        for voice in self._voices:
            if voice.prompt == number:
                voice.cancelled = voice.over = True

    @property
    def idle(self) -> bool:
        """Is nothing left to write?"""
        return not (self._waiting or self._going)

    @property
    def going(self) -> int:
        """Texts that are being written."""
        return len(self._voices)

    def run(self) -> Iterator[CompletionEvent]:
        """Step after step, until all is written."""
        while not self.idle:
            yield from self.step()

    @torch.inference_mode()
    def step(self) -> list[CompletionEvent]:
        """One token more for every text that is being written; prompts that wait begin, as far as there is room."""
        for _, going in self._going:
            going.step()
        for key, rows in self._begun():
            self._start(key, rows)
        self._going = [(key, going) for key, going in self._going if not going.done]
        found = [event for voice in self._voices if (event := voice.event()) is not None]
        self._voices = [voice for voice in self._voices if voice.finish is None]
        return found

    def _begun(self) -> Iterator[tuple[tuple[Any, ...], list[_Row]]]:
        """Rows to begin with, those that share a writer together."""
        taken: dict[tuple[Any, ...], list[_Row]] = {}
        tokens = 0
        while self._waiting and len(self._voices) < self.rows and (not tokens or tokens + self._waiting[0].length <= self.tokens):
            row = self._waiting.popleft()
            self._voices.append(row.voice)
            if row.voice.options.echo:
                row.voice.open(*self._prompt(row))
            if row.wanted.room == 0:
                row.voice.ended(Finish.LENGTH)
                continue
            tokens += row.length
            taken.setdefault(row.alike, []).append(row)
        for key, rows in taken.items():
            joint = rows[0].begun.joint is not None
            slack = 0 if joint or not rows[0].begun.spread else max(row.wanted.room for row in rows)
            spread = _PADDING if joint else rows[0].begun.spread
            for index in by_length([row.length for row in rows], rows=self.rows, spread=spread, slack=slack):
                yield key, [rows[number] for number in index]

    def _start(self, key: tuple[Any, ...], rows: Sequence[_Row]) -> None:
        first = rows[0].begun
        make: Callable[..., Any] = first.joint or first.writer
        writer = make(self.can, [row.begun for row in rows])
        going = Going(writer, choice_for(writer, [row.wanted for row in rows], stop=self.can.end))
        going.step()
        same = next((other for known, other in self._going if known == key and not other.done), None)
        if going.done:
            return
        if first.joint is None or same is None:
            self._going.append((key, going))
            return
        assert isinstance(same.writer, JointWriter) and isinstance(writer, JointWriter)
        assert isinstance(same.search, TokenChoice) and isinstance(going.search, TokenChoice)
        assert same.tokens is not None and going.tokens is not None
        same.writer.join(writer)
        same.search.join(going.search)
        same.tokens = torch.cat([same.tokens, going.tokens])

    def _prompt(self, row: _Row) -> tuple[str, list[TokenLogprob]]:
        """The prompt as it is echoed, with the probabilities of its tokens if they were asked for."""
        begun, tokenizer, asked = row.begun, self.can.tokenizer, row.voice.options.logprobs
        text = tokenizer.decode(begun.text)
        if asked is None or not begun.text:
            return text, []
        kind = self.can.causal()
        assert kind is not None, "add has asked"
        tokens = self.can.tensor([list(begun.prompt)])
        language = None if begun.language is None else torch.full_like(tokens, begun.language)
        states = self.can.model.encode(Batch(tokens=tokens, order=Order.CAUSAL, segment=language)).last[0]
        known = len(begun.prompt) - len(begun.text)  # a control code
        asked_at = states[max(known - 1, 0) : -1]
        ids = list(begun.text[0 if known else 1 :])
        step = max(1, _LOGITS // self.can.model.vocabulary)
        scored: list[ChosenToken] = [] if known else [ChosenToken(token=begun.text[0])]
        for first in range(0, len(ids), step):
            scores = precise(self.can.head(kind).logits(asked_at[first : first + step])).log_softmax(-1)
            some = ids[first : first + step]
            scored += chosen_of(scores, some, [asked] * len(some))
        return text, [
            replace(token_logprob(tokenizer, one, offset=0), offset=min(len(tokenizer.decode(begun.text[:place])), len(text)))
            for place, one in enumerate(scored)
        ]
