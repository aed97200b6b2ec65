"""Which way a model says what stands in a blank."""

from __future__ import annotations

from plume.core.errors import PlumeError
from plume.model.kinds import BatchKind
from plume.model.use.abilities import Abilities
from plume.noise.decoder_target import WholeText
from plume.noise.sentinels import SpansAfterSentinels
from plume.objectives._objective import Answers
from plume.tuning.prompts.blank import (
    AtTheMasks,
    BehindTheText,
    ByContent,
    ByDecoderSpan,
    ByDecoderText,
    ByQueries,
    NextTokens,
    PromptBlank,
)


def blank_of(can: Abilities, *, left_to_right: bool = False) -> PromptBlank:
    """The model's way; an error names the families that have one. `left_to_right`: masks are filled one after the other."""
    found = _masks(can, left_to_right) or _next_tokens(can) or _span(can) or _decoder(can)
    if found is None:
        raise PlumeError(
            f"This {can.name} model cannot label texts that it was not tuned for: that takes one with the head to fill blanks (of bert, electra, "
            f"xlnet, t5, bart, glm …) or to read left to right (gpt2 …), or one tuned for entailment (--task nli). {can.words()}"
        )
    return found


def _masks(can: Abilities, left_to_right: bool) -> PromptBlank | None:
    kind = can.masked() or can.permuted()
    if kind is None:
        return None
    begin, end = _frame(can)
    if can.masked() is None:
        way: type[AtTheMasks] = ByQueries
    else:
        way = ByContent if kind.noise.target.streams else AtTheMasks
    return way(objective=_objective(kind), begin=begin, end=end, mask=can.mask, left_to_right=left_to_right)


def _next_tokens(can: Abilities) -> PromptBlank | None:
    kind = can.causal()
    return None if kind is None else NextTokens(objective=_objective(kind), begin=(can.tokenizer.separator,))


def _span(can: Abilities) -> PromptBlank | None:
    kind = can.spans()
    if kind is None:
        return None
    begin, end = _frame(can)
    return BehindTheText(objective=_objective(kind), begin=begin, end=end, mask=can.mask, start=can.start)


def _decoder(can: Abilities) -> PromptBlank | None:
    kind = can.decoder()
    if kind is None:
        return None
    begin, end = _frame(can)
    if isinstance(kind.noise.target, WholeText) and can.tokenizer.mask is not None:
        return ByDecoderText(objective=_objective(kind), begin=begin, end=end, start=can.start, sentinel=can.tokenizer.mask)
    sentinels = can.tokenizer.format.sentinel_tokens()
    if isinstance(kind.noise.target, SpansAfterSentinels) and sentinels:
        sentinel = can.tokenizer.id(sentinels[0])
        assert sentinel is not None, "a format's tokens are in its tokenizer"
        return ByDecoderSpan(objective=_objective(kind), begin=begin, end=end, start=can.start, sentinel=sentinel)
    return None


def _objective(kind: BatchKind) -> str:
    return next(one.name for one in kind.objectives if one.answers is Answers.NOISE and one.asks is None)


def _frame(can: Abilities) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The special tokens around one text."""
    frame = can.frame([-1])
    split = frame.index(-1)
    return tuple(frame[:split]), tuple(frame[split + 1 :])
