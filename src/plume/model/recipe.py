"""Recipe: a language-model family as one declaration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from plume.core.batch import Order
from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.data.corpus import CorpusKind
from plume.data.layouts.carried import Carried
from plume.data.layouts.layout import Layout
from plume.heads.sentence_classification import SentenceClassification
from plume.model.assembly import Assembly, OneNetwork
from plume.model.kinds import BatchKind, batch_kinds
from plume.model.memory import Memory
from plume.model.optimizers.adamw import AdamW
from plume.model.optimizers.optimizer import Optimizer
from plume.model.schedule import Linear, Schedule
from plume.nn.embedding import Embedding
from plume.nn.network import Network
from plume.nn.positions.scheme import NoPositions, PositionScheme
from plume.nn.recurrent import Recurrent
from plume.nn.stack import Sharing, Transformer
from plume.noise.noise import Noise
from plume.objectives._objective import Objective
from plume.text.format import Format
from plume.text.tokenizers import TokenizerSpec
from plume.text.words import Words


@dataclass(frozen=True, kw_only=True)
class Training(Part):
    """The paper's optimizer settings; the budget is the user's."""

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
    memory: Memory | None = None  # hidden states of the text before, kept from batch to batch
    classifier: SentenceClassification = SentenceClassification()  # what a task puts on top to label a text

    def __post_init__(self) -> None:
        if _checked.get():
            self.check()

    def check(self) -> None:
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
        return isinstance(self.network, Recurrent)

    def _problems(self) -> list[str]:
        found = []
        names = [objective.name for objective in self.objectives]
        if len(set(names)) < len(names):
            found.append(f"the objectives {', '.join(names)} repeat a name.")
        found += self._shared_head_problems()
        if len({one.name for one in self.carries}) < len(self.carries):
            found.append("its rows carry two different fields of the same name.")
        longest = self.positions.longest
        if longest is not None and self.training.length > longest:
            found.append(f"rows of {self.training.length} tokens, but positions only up to {longest}.")
        if self.positions.per_head and (self.assembly.generates or (isinstance(self.network, Transformer) and any(self.network.pruned))):
            what = "a generator with other heads" if self.assembly.generates else "pruned heads"
            found.append(f"{type(self.positions).__name__} positions belong to heads, and do not fit {what}.")
        unequal = self.embedding.width != self.network.output_width
        for objective in self.objectives:
            if unequal and objective.head.needs_equal_widths and not self.assembly.generates:
                found.append(
                    f"{objective.name} holds states of width {self.network.output_width} against token vectors of width {self.embedding.width}; "
                    "set its head.transform=True."
                )
        for kind in self.kinds:
            found += kind.problems(self.assembly)
            found += [f"{kind.name}: {problem}" for problem in kind.layout.problems(kind.noise, batch=self.training.batch)]
            if kind.noise.order is Order.PREFIX and not any(self.format.segments):
                found.append(f"{kind.name}: a prefix order tells its two texts by their segments, and this format's pair has none.")
            if kind.noise.target.texts > 1 and kind.layout.texts > 1 and not any(self.format.segments):
                found.append(f"{kind.name} tells what is read from what is written by their segments, and this format's pair has none.")
            if kind.noise.segments and len(kind.noise.segments) < kind.layout.texts:
                found.append(f"{kind.name} numbers {len(kind.noise.segments)} segments, and its rows hold {kind.layout.texts} texts.")
            if max(kind.noise.segments, default=-1) >= max(self.embedding.segments, 0):
                found.append(f"{kind.name} uses segment {max(kind.noise.segments)}, and the embedding has {self.embedding.segments}.")
            if kind.noise.corrupt.shows_mask and self.format.mask is None:
                found.append(f"{kind.name} shows a mask, and the format has no mask token; set format.mask.")
            if kind.noise.corrupt.shows_sentinels and not self.format.sentinels:
                found.append(f"{kind.name} shows sentinels, and the format has none; set format.sentinels=100.")
        found += self._recurrent_problems()
        found += self._memory_problems()
        if self.memory is not None and not all(kind.layout.sequential for kind in self.kinds):
            found.append("memory needs rows that go on from batch to batch; set layout=Streams().")
        bounds = sorted({bound for kind in self.kinds for bound in kind.during})
        for begin, end in itertools.pairwise(bounds):
            if not any(kind.during[0] <= begin and end <= kind.during[1] for kind in self.kinds):
                found.append(f"no objective is trained from {begin:.0%} to {end:.0%} of the run.")
        if self.kinds and (bounds[0] > 0 or bounds[-1] < 1):
            found.append(f"objectives are trained from {bounds[0]:.0%} to {bounds[-1]:.0%} of the run only.")
        if len({kind.layout.corpus for kind in self.kinds}) > 1:
            needed = ", ".join(f"{kind.name}: {kind.layout.corpus}" for kind in self.kinds)
            found.append(f"its objectives need different kinds of corpus ({needed}).")
        used = {objective.name for kind in self.kinds for objective in kind.objectives}
        for objective in self.objectives:
            if objective.name not in used:
                found.append(f"{objective.name} finds no batch that carries its answers; {objective.needs()}.")
        return found

    def _recurrent_problems(self) -> list[str]:
        found = []
        turned = [kind.name for kind in self.kinds if kind.layout.directions > 1]
        if turned and self.assembly.directions < 2 and not self.positions.mirrors:
            found.append(f"{turned[0]}: half of the rows run backwards, and no network reads them; set assembly=TwoDirections().")
        if not isinstance(self.network, Recurrent):
            if self.assembly.directions > 1:
                found.append("two directions are read by recurrent networks; a Transformer sees both sides by itself.")
            elif self.assembly.recurs:
                found.append(f"{type(self.assembly).__name__} is made of recurrent networks; set network=Recurrent().")
            return found
        found += self.assembly.misfits(self.network)
        if not isinstance(self.positions, NoPositions):
            found.append("a recurrent network knows the order of tokens by reading them; set positions=NoPositions().")
        if self.assembly.directions > 1 and len(turned) < len(self.kinds):
            found.append("one of the two directions would have nothing to read; set layout=Streams(backward=True).")
        if self.memory is not None:
            found.append("a recurrent network carries its state on by itself; leave memory out.")
        for kind in self.kinds:
            if self.assembly.both_ways:
                if kind.noise.order is not Order.FULL or kind.noise.target.decoder:
                    found.append(f"{kind.name} must not see what it predicts, and {type(self.assembly).__name__} reads from both ends.")
            elif not kind.noise.target.decoder and (kind.noise.order is not Order.CAUSAL or kind.noise.corrupt.shows_mask):
                found.append(f"{kind.name} sees both sides of what it predicts, and a recurrent network reads from one end to the other.")
        return found

    def _memory_problems(self) -> list[str]:
        if self.memory is None:
            return []
        found = []
        if any(kind.noise.order is Order.REVERSED for kind in self.kinds):
            found.append("a memory holds the text before, which a network that reads from right to left must not see.")
        if any(self.memory.reuse != getattr(kind.layout, "reuse", 1.0) for kind in self.kinds):
            found.append("the memory must keep the share of a row that the next row follows on; set memory.reuse as layout.reuse.")
        return found

    def _shared_head_problems(self) -> list[str]:
        found = []
        owners = {objective.name: objective for objective in self.objectives if objective.head_of is None}
        for objective in self.objectives:
            if objective.head_of is None:
                continue
            owner = owners.get(objective.head_of)
            if owner is None:
                found.append(f"{objective.name} uses the head of {objective.head_of}, and no objective of that name has one of its own.")
            elif owner.head != objective.head:
                found.append(f"{objective.name} and {owner.name} share a head but declare two different ones: give both the same part.")
        return found
