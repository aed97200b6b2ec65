"""Recipe: a language-model family as one declaration."""

from __future__ import annotations

from dataclasses import dataclass

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.data.layout import Blocks, Layout
from plume.model.assembly import Assembly, OneNetwork
from plume.model.schedule import Linear, Schedule
from plume.nn.embedding import Embedding
from plume.nn.positions.scheme import PositionScheme
from plume.nn.stack import Sharing, Transformer
from plume.noise.noise import Noise
from plume.noise.target import InPlace
from plume.objectives._objective import Answers, Objective
from plume.text.format import Format
from plume.text.tokenizers import TokenizerSpec
from plume.text.words import Words


@dataclass(frozen=True, kw_only=True)
class Training(Part):
    """The paper's optimiser settings; the budget is the user's."""

    length: int = 512  # longest row, special tokens included
    batch: int = 256  # rows a step, over all processes
    peak: float = 1e-4  # learning rate
    schedule: Schedule = Linear(warmup=0.01)
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    decay: float = 0.01
    clip: float = 1.0  # 0: never

    def __post_init__(self) -> None:
        if self.length < 1 or self.batch < 1:
            raise PlumeError(f"Training needs rows of tokens and a batch of rows, not {self.length} and {self.batch}.")


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
    network: Transformer
    layout: Layout
    objectives: tuple[Objective, ...]
    training: Training
    words: Words = Words.SPACES
    sharing: Sharing = Sharing.NONE
    pooler: bool = False
    assembly: Assembly = OneNetwork()

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise PlumeError(f"The recipe {self.name}/{self.size} cannot work: {problem}")

    @property
    def noise(self) -> Noise:
        """The noise of the objective that has one."""
        for objective in self.objectives:
            if objective.noise is not None:
                return objective.noise
        raise PlumeError(f"{self.name}/{self.size} has no pre-training objective: it was imported without its heads.")

    def _problems(self) -> list[str]:
        found = []
        names = [objective.name for objective in self.objectives]
        if len(set(names)) < len(names):
            found.append(f"the objectives {', '.join(names)} repeat a name.")
        if sum(objective.noise is not None for objective in self.objectives) > 1:
            found.append("only one objective may say what is hidden from the input (its noise).")
        for objective in self.objectives:
            if objective.answers is Answers.LAYOUT and objective.pair_label is not self.layout.label:
                found.append(
                    f"{objective.name} needs rows labelled {objective.pair_label}, and the layout labels them {self.layout.label}; "
                    f"set layout=SentencePairs(label={objective.pair_label})."
                )
            if objective.answers is Answers.GENERATOR and not self.assembly.generates:
                found.append(f"{objective.name} needs a generator; set assembly to GeneratorDiscriminator.")
        in_place = any(objective.noise and isinstance(objective.noise.target, InPlace) for objective in self.objectives)
        if in_place and isinstance(self.layout, Blocks):
            found.append(
                "Blocks are one token longer, for next-token prediction; tokens predicted in place need FullSentences or SentencePairs."
            )
        longest = self.positions.longest
        if longest is not None and self.training.length > longest:
            found.append(f"rows of {self.training.length} tokens, but positions only up to {longest}.")
        return found
