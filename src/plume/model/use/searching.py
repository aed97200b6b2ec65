"""What a search is: texts that are wanted, and step after step which of them go on with which token."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from plume.model.use.sampling import Sampling
from plume.model.use.writers import Writer


class Finish(enum.StrEnum):
    """Why a text ends: it said so itself, or it had no more room."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, kw_only=True)
class ChosenToken:
    """A token as it was chosen; by the model's own distribution, before any penalty or temperature, if that was asked for."""

    token: int
    log_probability: float | None = None
    likeliest: tuple[tuple[int, float], ...] = ()


class Listener:
    """Hears one text as it is written, and may end it."""

    def heard(self, chosen: ChosenToken) -> bool:
        """Told each token. Does the text go on?"""
        raise NotImplementedError

    def ended(self, finish: Finish) -> None:
        """Told once, unless it ended the text itself."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is wanted of one text: at most `room` tokens. `before` is the text that they follow, whose words count as said already."""

    room: int
    before: Sequence[int] = ()
    ends: frozenset[int] = frozenset()  # tokens that end it, besides the one that stops them all
    seed: int | None = None  # None: that of the sampling
    sampling: Sampling | None = None  # its own; None: that of all texts
    likeliest: int | None = None  # tell so many of the likeliest tokens with each that is chosen; None: no probabilities at all
    listener: Listener | None = None


@dataclass(frozen=True, order=True)
class Written:
    """One way to go on; `score` is the mean log-probability of its tokens, the stop included."""

    score: float
    tokens: tuple[int, ...]


Moves = tuple[list[int], list[int]]  # which rows go on, and each with which token


class Search:
    """What becomes of the scores of all rows at a step."""

    def step(self, scores: Tensor, given: list[int] | None) -> Moves:
        """From [N, V] scores; `given` [N] are tokens that rows have of their own, -1 where they have none. No rows: all is written."""
        raise NotImplementedError


class Going:
    """Texts between two steps: a writer, a search, and the tokens that were chosen last."""

    def __init__(self, writer: Writer, search: Search) -> None:
        self.writer, self.search = writer, search
        self.tokens: Tensor | None = None  # [N]; None: nothing is written yet
        self.done = False

    def step(self) -> None:
        """Every text gets its next token; those that end leave."""
        writer = self.writer
        scores = writer.first() if self.tokens is None else writer.go_on(self.tokens)
        given = writer.given()
        rows, tokens = self.search.step(scores, None if given is None else given.tolist())
        if rows and rows != list(range(len(scores))):
            writer.reorder(torch.tensor(rows, device=writer.device))
        self.tokens, self.done = torch.tensor(tokens, device=writer.device), not rows


def run(writer: Writer, search: Search) -> Iterator[None]:
    """Step after step, until no row goes on."""
    going = Going(writer, search)
    while not going.done:
        going.step()
        yield
