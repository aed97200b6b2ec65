"""A linear-chain conditional random field over the tags of a sentence (Lafferty et al. 2001; over a network: arXiv:1508.01991, 1603.01360).

B rows, W words, L labels. The gradient of the log-partition is the marginals, so both recursions run in the forward pass, side by side,
as small matrix products, and autograd has no loop to go back through.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.nn.recurrent.rows import arranged, from_the_end

_FORBIDDEN = -1e4  # finite, so that even a gold path that breaks the rules has a loss
_SPREAD = 100.0  # scores further apart than this stay logarithms: products of their exponentials could underflow, even in float64


class CRF(nn.Module):
    """`forbidden` [L + 1, L] says which tag never follows which; its last row is the beginning of a sentence.

    >>> crf = CRF(3, forbidden=bio_forbidden(["O", "B-PER", "I-PER"]))
    >>> wish = torch.tensor([[[0.0, 1.0, 3.0], [0.0, 0.0, 3.0]]])  # I-PER for both, but a name does not begin with it
    >>> crf.best(wish, torch.tensor([2])).tolist()
    [[1, 2]]
    """

    forbidden: Tensor

    def __init__(self, labels: int, *, forbidden: Tensor | None = None) -> None:
        super().__init__()
        if labels < 1:
            raise PlumeError(f"A CRF needs at least one label, not {labels}.")
        forbidden = torch.zeros(labels + 1, labels, dtype=torch.bool) if forbidden is None else forbidden.bool()
        if forbidden.shape != (labels + 1, labels):
            raise PlumeError(f"What is forbidden must be [{labels + 1}, {labels}] for {labels} labels, not {list(forbidden.shape)}.")
        if forbidden.all(1).any():
            stuck = [str(row) for row in forbidden.all(1).nonzero().flatten().tolist()]
            raise PlumeError(f"Every label, and the beginning (row {labels}), must allow some label after it; none may follow {stuck}.")
        self.transition = nn.Parameter(torch.zeros(labels, labels))  # from, to
        self.begin = nn.Parameter(torch.zeros(labels))
        self.end = nn.Parameter(torch.zeros(labels))
        self.register_buffer("forbidden", forbidden, persistent=False)  # follows from the labels' names

    def loss(self, emission: Tensor, tag: Tensor, length: Tensor) -> Tensor:
        """[B] of each row -log p(tag | emission): emission [B, W, L], tag [B, W], length [B]. What stands behind the end is not looked at."""
        if not emission.numel():
            return emission.sum((1, 2))
        emission, inside = _clean(emission, length)
        transition, begin, end = self._scores(emission)
        total = _log_partition(emission, transition, begin, end, length)
        tag = torch.where(inside, tag, 0)
        gold = emission.gather(2, tag[:, :, None])[:, :, 0].sum(1)  # zero behind the end
        gold = gold + (transition[tag[:, :-1], tag[:, 1:]] * inside[:, 1:]).sum(1)
        final = tag.gather(1, (length - 1).clamp(min=0)[:, None])[:, 0]
        return torch.where(length > 0, total - gold - begin[tag[:, 0]] - end[final], 0.0)

    @torch.no_grad()
    def best(self, emission: Tensor, length: Tensor) -> Tensor:
        """[B, W] the most probable tags (Viterbi); -1 behind the end."""
        if not emission.numel():
            return torch.empty(emission.shape[:2], dtype=torch.long, device=emission.device)
        emission, inside = _clean(emission, length)
        transition, begin, end = self._scores(emission)
        steps = emission.transpose(0, 1)  # [W, B, L]
        score, came = begin + steps[0], []
        scores = [score]
        for step in steps[1:].unbind():
            score, origin = (score[:, :, None] + transition).max(1)
            score = score + step
            scores.append(score)
            came.append(origin)
        final = (length - 1).clamp(min=0)
        last = (torch.stack(scores)[final, torch.arange(len(emission), device=emission.device)] + end).argmax(1)
        tag, tags = last, [last]
        for time in range(len(came) - 1, -1, -1):
            # Rows that end here or before have not begun to walk back.
            tag = torch.where(time < final, came[time].gather(1, tag[:, None])[:, 0], last)
            tags.append(tag)
        return torch.stack(tags[::-1], 1).masked_fill(~inside, -1)

    def marginals(self, emission: Tensor, length: Tensor) -> Tensor:
        """[B, W, L] the probability of each tag at each word, without gradients; zero behind the end."""
        if not emission.numel():
            return emission
        with torch.inference_mode(False), torch.enable_grad():
            length = length.clone()  # made in inference mode it could not be kept for the way back
            emission, _ = _clean(emission.detach(), length)
            transition, begin, end = (score.detach() for score in self._scores(emission))
            total = _log_partition(emission.requires_grad_(), transition, begin, end, length)
            return torch.autograd.grad(total.sum(), emission)[0]

    def path_scores(self) -> tuple[Tensor, Tensor, Tensor]:
        """What a transition [L, L], a beginning [L] and an end [L] add to a path."""
        scores = torch.cat([self.transition, self.begin[None]]).masked_fill(self.forbidden, _FORBIDDEN)
        return scores[:-1], scores[-1], self.end

    def _scores(self, emission: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The same, as precise as the emissions."""
        transition, begin, end = (score.to(emission.dtype) for score in self.path_scores())
        return transition, begin, end


def bio_forbidden(labels: Sequence[str]) -> Tensor:
    """[L + 1, L] for tags such as O, B-PER, I-PER: an I-X stands only after B-X or I-X.

    >>> bio_forbidden(["O", "B-PER", "I-PER"]).int().tolist()
    [[0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 1]]
    """
    parts = [label.partition("-") for label in labels]
    for (prefix, _, kind), label in zip(parts, labels, strict=True):
        if prefix == "I" and not any(other == "B" and kind == its for other, _, its in parts):
            raise PlumeError(f"No label begins what {label} goes on with: the tags must be BIO, with B- at the first word of every span.")
    rows = [
        [after == "I" and not (before in ("B", "I") and kind == its) for after, _, kind in parts]
        for before, _, its in [*parts, ("", "", "")]
    ]
    return torch.tensor(rows, dtype=torch.bool).view(len(labels) + 1, len(labels))


def _clean(emission: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
    """In single precision at least, nought behind the end; and [B, W] what is before it."""
    if emission.dtype.itemsize < 4:
        emission = emission.float()
    inside = _inside(emission, length)
    return emission.masked_fill(~inside[:, :, None], 0.0), inside


def _inside(emission: Tensor, length: Tensor) -> Tensor:
    return torch.arange(emission.shape[1], device=emission.device) < length[:, None]


def _log_partition(emission: Tensor, transition: Tensor, begin: Tensor, end: Tensor, length: Tensor) -> Tensor:
    """[B] the log of the summed weight of all paths; of a row without words it says nothing."""
    with torch.no_grad():
        allowed = transition[transition > _FORBIDDEN]
        spread = (emission.amax(2) - emission.amin(2)).amax() + (allowed.amax() - allowed.amin() if len(allowed) else 0.0)
    if spread < _SPREAD:
        total: Tensor = _LogPartition.apply(emission, transition, begin, end, length)  # type: ignore[no-untyped-call]
        return total
    steps, transition = emission.transpose(0, 1).double(), transition.double()
    reached = begin + steps[0]
    for time, step in enumerate(steps[1:].unbind(), 1):
        reached = torch.where((time < length)[:, None], torch.logsumexp(reached[:, :, None] + transition, 1) + step, reached)
    return torch.where(length > 0, (reached + end).logsumexp(1), 0.0).to(emission.dtype)  # no gradient to words that are none


class _LogPartition(torch.autograd.Function):
    """By sums and products of exponentials in float64, the largest of a step brought to 1; what is forbidden weighs nothing."""

    @staticmethod
    def forward(context, emission, transition, begin, end, length):  # type: ignore[no-untyped-def]
        onward, back = _sums(emission, transition, begin, end, length)
        rows, final = torch.arange(len(length), device=length.device), (length - 1).clamp(min=0)
        total = (onward[final, rows] + end).logsumexp(1)
        context.save_for_backward(emission, transition, length, onward, back, total)
        return total.to(emission.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context, outer):  # type: ignore[no-untyped-def]
        emission, transition, length, onward, back, total = context.saved_tensors
        outside = ~_inside(emission, length).t()[:, :, None]
        unary = (onward + back - emission.transpose(0, 1) - total[:, None]).exp_().masked_fill_(outside, 0.0).mul_(outer[:, None])
        rows, final = torch.arange(len(length), device=length.device), (length - 1).clamp(min=0)
        # How often one tag follows another: exp(before + transition + after - total), summed over rows and steps by one product.
        before, after = onward.amax(2, keepdim=True), back.amax(2, keepdim=True)
        weight = (before[:-1] + after[1:] - total[:, None]).exp_().masked_fill_(outside[1:], 0.0).mul_(outer[:, None])
        left, right = (onward[:-1] - before[:-1]).exp_(), (back[1:] - after[1:]).exp_().mul_(weight)
        pairs = (left.flatten(0, 1).t() @ right.flatten(0, 1)).mul_(transition.double().exp())
        made = (unary.transpose(0, 1), pairs, unary[0].sum(0), unary[final, rows].sum(0))
        return *(gradient.to(emission.dtype) for gradient in made), None


def _sums(emission: Tensor, transition: Tensor, begin: Tensor, end: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
    """[W, B, L] logs of the weight of all paths that reach a tag from the beginning, and from the end, both with the tag's own emission.

    What stands behind a row's end is never read, so no step needs a mask.
    """
    steps, transition, begin, end = (value.double() for value in (emission.transpose(0, 1), transition, begin, end))
    order = from_the_end(emission, length)
    both = torch.stack([steps, arranged(steps, order)], 1)  # [W, 2, B, L]: read onward, and from each row's own end
    table = torch.stack([transition, transition.t()]).exp_()
    reached = both[0] + torch.stack([begin, end])[:, None]
    sums = [reached]
    for step in both[1:].unbind():
        top = reached.amax(2, keepdim=True)
        reached = torch.bmm((reached - top).exp_(), table).log_().add_(top).add_(step)
        sums.append(reached)
    onward, back = torch.stack(sums, 1).unbind()
    return onward, arranged(back, order)
