"""Where a batch mentions entities: the first and the last token of each mention, as places in the flattened rows."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from plume.nn.visibility import AttentionMask

OUTSIDE, BEGINS, INSIDE = 0, 1, 2  # tags of tokens


class MentionEnds(NamedTuple):
    """[S] each, in order of place."""

    first: Tensor
    last: Tensor


def marked(ids: Tensor) -> MentionEnds:
    """[B, T] entity numbers, -1 for none: a mention is an unbroken run of one number.

    >>> [one.tolist() for one in marked(torch.tensor([[-1, 4, 4, 7], [7, -1, -1, 0]]))]
    [[1, 3, 4, 7], [2, 3, 4, 7]]
    """
    there = ids >= 0
    before, after = _beside(ids, -1)
    return _places(there & (ids != before), there & (ids != after))


def tagged(tags: Tensor, length: Tensor | None) -> MentionEnds:
    """[B, T] of 0 outside, 1 where one begins, 2 inside; a mention may begin without its tag, and none stands in the padding.

    >>> [one.tolist() for one in tagged(torch.tensor([[0, 1, 2, 1], [2, 0, 1, 2]]), torch.tensor([4, 3]))]
    [[1, 3, 4, 6], [2, 3, 4, 6]]
    """
    if length is not None:
        tags = tags.masked_fill(torch.arange(tags.shape[1], device=tags.device) >= length[:, None], OUTSIDE)
    before, after = _beside(tags, OUTSIDE)
    there = tags != OUTSIDE
    return _places((tags == BEGINS) | (there & (before == OUTSIDE)), there & (after != INSIDE))


def wholly_seen(ends: MentionEnds, mask: AttentionMask, time: int) -> Tensor | None:
    """[S] Does a mention's first token see all by which it was found: it, and what stands before and behind? None: every token sees all.

    In a network that reads one way a mention of several tokens would tell its first token of those to come.
    """
    if not mask.causal and (mask.allowed is None or mask.allowed.shape[2] == 1):
        return None
    allowed = mask.dense(time, time, ends.first.device)
    assert allowed is not None, "some token does not see all"
    row, place = ends.first // time, ends.first % time
    sights = allowed[place] if allowed.dim() == 2 else allowed.expand(-1, 1, -1, -1)[row if len(allowed) > 1 else row * 0, 0, place]
    count = F.pad(sights.long().cumsum(1), (1, 0))
    begin, end = (place - 1).clamp(min=0), (ends.last % time + 2).clamp(max=time)
    here = torch.arange(len(place), device=place.device)
    return count[here, end] - count[here, begin] == end - begin


def _beside(values: Tensor, edge: int) -> tuple[Tensor, Tensor]:
    """What stands before and behind each."""
    return F.pad(values[:, :-1], (1, 0), value=edge), F.pad(values[:, 1:], (0, 1), value=edge)


def _places(begins: Tensor, ends: Tensor) -> MentionEnds:
    return MentionEnds(first=begins.flatten().nonzero()[:, 0], last=ends.flatten().nonzero()[:, 0])
