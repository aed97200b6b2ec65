"""Recipe: a language-model family as one declaration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.data.corpus import CorpusKind
from plume.data.layouts.carried import Carried
from plume.data.layouts.layout import Layout
from plume.heads.sentence_classification import SentenceClassification
from plume.model.assembly import Assembly, OneNetwork
from plume.model.kinds import BatchKind, batch_kinds, together
from plume.model.memory import Memory
from plume.model.optimizers.adamw import AdamW
from plume.model.optimizers.optimizer import Optimizer
from plume.model.schedule import Linear, Schedule
from plume.model.warm_start import WarmStart
from plume.nn.embedding import Embedding
from plume.nn.network import Network
from plume.nn.positions.scheme import PositionScheme
from plume.nn.recurrent.recurrent import Recurrent
from plume.nn.stack import Sharing, Transformer
from plume.noise.noise import Noise
from plume.objectives._objective import Objective
from plume.text.format import Format
from plume.text.tokenizers import TokenizerSpec
from plume.text.words import Words


@dataclass(frozen=True, kw_only=True)
class Training(Part):
    """How a family is trained: the paper's rows, batch, learning rate, schedule and optimizer. The budget is the user's.

    >>> Training(batch=32, peak=5e-4).override("schedule=Constant()").schedule
    Constant(warmup=0.0)
    """

    length: int = 512  # longest row, special tokens included
    batch: int = 256  # rows a step, over all processes
    peak: float = 1e-4  # learning rate
    schedule: Schedule = Linear(warmup=0.01)
    optimizer: Optimizer = AdamW()
    beta1: float = 0.9  # of the moments of AdamW and LAMB, as epsilon
    beta2: float = 0.999
    epsilon: float = 1e-6
    decay: float = 0.01
    clip: float = 1.0  # 0: never
    layer_decay: float = 1.0  # each layer learns at this share of the rate of the one above it (ULMFiT §3.2: 1/2.6)
    thaw: float = 0.0  # over this first share of the run, layers join one after the other, the last one first (ULMFiT §3.3)

    def __post_init__(self) -> None:
        if self.length < 1 or self.batch < 1:
            raise PlumeError(f"Training needs rows of tokens and a batch of rows, not {self.length} and {self.batch}.")
        if not 0 < self.layer_decay <= 1 or not 0 <= self.thaw <= 1:
            raise PlumeError(f"layer_decay={self.layer_decay} lies above 0 and up to 1, thaw={self.thaw} is a share of the run.")

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        yield from self.schedule.problems(recipe, name)
        yield from self.optimizer.problems(recipe, name)


_checked: ContextVar[bool] = ContextVar("checked", default=True)


@contextmanager
def unchecked() -> Iterator[None]:
    """While several parts are exchanged one after the other, what lies between need not work; call check() at the end."""
    token = _checked.set(False)
    try:
        yield
    finally:
        _checked.reset(token)


@dataclass(frozen=True, kw_only=True)
class Recipe(Part):
    """A language-model family of one size, declared: what cuts its text, what it is built of, what it learns from, and how.

    A recipe that cannot work is refused when it is declared, with a sentence that says why. Another family is most often a known one with
    parts replaced (`plume.parts` has them all):

    >>> import plume
    >>> from plume.parts import FullSentences, NGrams, masked_lm, replace
    >>> bert = plume.recipe("bert/tiny")
    >>> mine = replace(bert, name="mine", pooler=False, layout=FullSentences(), objectives=(masked_lm(select=NGrams(longest=2)),))
    >>> mine.kinds[0].noise.select
    NGrams(rate=0.15, rounding=<Rounding.NEAREST: 'nearest'>, longest=2, unit=<Unit.WORD: 'word'>)
    """

    name: str
    size: str
    title: str
    paper: str
    tokenizer: TokenizerSpec
    format: Format
    embedding: Embedding
    positions: PositionScheme
    network: Network
    layout: Layout
    objectives: tuple[Objective, ...]
    training: Training
    words: Words = Words.SPACES
    sharing: Sharing = Sharing.NONE
    pooler: bool = False
    assembly: Assembly = OneNetwork()
    warm_start: WarmStart | None = None  # of token vectors, by word2vec on the same tokens; None: at random
    memory: Memory | None = None  # hidden states of the text before, kept from batch to batch
    classifier: SentenceClassification = SentenceClassification()  # what a task puts on top to label a text

    def __post_init__(self) -> None:
        if _checked.get():
            self.check()

    def check(self) -> None:
        """Raise what is wrong with it, the first thing first."""
        for problem in self._problems():
            raise PlumeError(f"The recipe {self.name}/{self.size} cannot work: {problem}")

    @property
    def kinds(self) -> tuple[BatchKind, ...]:
        """The kinds of batch that take turns, one for each way to hide text."""
        return batch_kinds(self.objectives, self.layout)

    @property
    def corpus(self) -> CorpusKind:
        """What it is trained on: text, pairs, or texts with emoji."""
        return self.kinds[0].layout.corpus if self.kinds else CorpusKind.TEXT

    @property
    def carries(self) -> tuple[Carried, ...]:
        """The fields of the corpus that its rows carry beside the tokens."""
        return tuple(dict.fromkeys(one for kind in self.kinds for one in kind.layout.carries))

    @property
    def readings(self) -> int:
        """How many rows of a batch read the same text, which no part of a batch may tear apart: two where streams are read both ways."""
        return math.lcm(*(kind.layout.readings for kind in self.kinds))

    @property
    def languages(self) -> bool:
        """Are its segments languages, which every text that it reads must be told with?"""
        return self.embedding.segments > 1 and any(one.languages for one in (self.layout, *(kind.layout for kind in self.kinds)))

    @property
    def noise(self) -> Noise:
        """The noise of the first kind of batch."""
        if not self.objectives:
            raise PlumeError(f"{self.name}/{self.size} has no pre-training objective: it was imported without its heads.")
        return self.kinds[0].noise

    @property
    def needs_units(self) -> bool:
        """Does it hide phrases or entities, which must be found in the text first?"""
        return any(kind.noise.needs_units for kind in self.kinds)

    @property
    def transformer(self) -> Transformer:
        """The network, of a recipe whose network is one."""
        if not isinstance(self.network, Transformer):
            raise PlumeError(f"{self.name}/{self.size} is no Transformer: its network is a {type(self.network).__name__}.")
        return self.network

    @property
    def recurrent(self) -> bool:
        """Is its network made of recurrent layers?"""
        return isinstance(self.network, Recurrent)

    @property
    def needs_salient(self) -> bool:
        """Does it hide names and dates, which must be found in the text first?"""
        return any(kind.noise.needs_salient for kind in self.kinds)

    def _problems(self) -> Iterator[str]:
        """What each part says that it lacks, in the order in which it matters; what concerns all objectives together is asked here."""
        names = [objective.name for objective in self.objectives]
        if len(set(names)) < len(names):
            yield f"the objectives {', '.join(names)} repeat a name."
        for objective in self.objectives:
            yield from objective.problems(self, objective.name)
        yield from self.positions.problems(self, "positions")
        for kind in self.kinds:
            yield from kind.problems(self)
        for name in ("assembly", "network", "memory", "embedding", "format", "tokenizer", "training", "warm_start", "classifier"):
            part = getattr(self, name)
            yield from () if part is None else part.problems(self, name)
        if len({one.name for one in self.carries}) < len(self.carries):
            yield "its rows carry two different fields of the same name."
        yield from together(self.kinds)
        used = {objective.name for kind in self.kinds for objective in kind.objectives}
        for objective in self.objectives:
            if objective.name not in used:
                yield f"{objective.name} finds no batch that carries its answers; {objective.needs()}."
