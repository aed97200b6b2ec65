"""Losses over the vectors of a whole batch, as parts.

All take `Views`: [K, N, D], K vectors for each of N groups. For texts seen twice, or pairs, K is 2; with a hard negative 3. Each gives one
number, the mean over the batch. Equal texts have equal numbers (`text`): they are no negatives of each other, whatever the data says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.heads.head import precise

_NEVER = float("-inf")


@dataclass(frozen=True, kw_only=True)
class Views:
    """What a batch looks like to a loss."""

    vectors: Tensor  # [K, N, D], of any length
    text: Tensor  # [K, N] which text each is of: equal numbers, equal texts
    score: Tensor  # [N] how alike the first two of each group are, from 0 to 1

    def normalised(self) -> Views:
        """With vectors of length 1, in single precision at least."""
        return replace(self, vectors=F.normalize(precise(self.vectors), dim=-1))


@dataclass(frozen=True, kw_only=True)
class ContrastLoss(Part):
    """Base of the losses."""

    def __call__(self, views: Views) -> Tensor:
        """The mean over the batch; vectors may have any length."""
        return self.mean(views.normalised())

    def mean(self, views: Views) -> Tensor:
        """The same for vectors of length 1."""
        raise NotImplementedError

    def fitting(self, width: int) -> ContrastLoss:
        """For vectors of that width."""
        return self


@dataclass(frozen=True, kw_only=True)
class InBatch(ContrastLoss):
    """Which of all second texts belongs to this first one? Cross-entropy over cosines × scale; hard negatives are further columns.

    Multiple negatives ranking (Henderson et al., arXiv:1705.00652 §4.4), and SimCSE's (arXiv:2104.08821, eq. 1 and 5): temperature 0.05 is scale 20.
    """

    scale: float = 20.0

    def mean(self, views: Views) -> Tensor:
        first, others = views.vectors[0], views.vectors[1:].flatten(0, 1)  # [N, D], [(K - 1) N, D]
        hidden = no_negatives(views.text[0], views.text[1], views.text[1:].flatten())
        own = torch.arange(len(first), device=first.device)
        hidden[own, own] = False
        return F.cross_entropy((self.scale * first @ others.T).masked_fill(hidden, _NEVER), own)


def no_negatives(first: Tensor, second: Tensor, columns: Tensor) -> Tensor:
    """[N, C] columns that are the first text itself, or a second text of it, be it in another group; [N] first and second texts, [C] columns."""
    belongs = (first[:, None] == first).float() @ (second[:, None] == columns).float()
    return (columns == first[:, None]) | (belongs > 0)


@dataclass(frozen=True, kw_only=True)
class CoSent(ContrastLoss):
    """log(1 + Σ exp(scale · (cos_i − cos_j))) over pairs of pairs of which j has the higher score (CoSENT, kexue.fm/archives/8847)."""

    scale: float = 20.0

    def mean(self, views: Views) -> Tensor:
        cosine = self.scale * (views.vectors[0] * views.vectors[1]).sum(-1)
        wrong = (cosine[:, None] - cosine).masked_fill(views.score[:, None] >= views.score, _NEVER)
        return torch.cat([cosine.new_zeros(1), wrong.flatten()]).logsumexp(0)


@dataclass(frozen=True, kw_only=True)
class CosineError(ContrastLoss):
    """The squared error of the cosine as a prediction of the score (Sentence-BERT, arXiv:1908.10084 §3)."""

    def mean(self, views: Views) -> Tensor:
        return F.mse_loss((views.vectors[0] * views.vectors[1]).sum(-1), views.score.to(views.vectors.dtype))


@dataclass(frozen=True, kw_only=True)
class SwappedRows(ContrastLoss):
    """Which of all other rows is this one with its texts swapped? SimBERT's: both texts of a pair are asked about."""

    scale: float = 30.0

    def mean(self, views: Views) -> Tensor:
        rows, text = views.vectors.flatten(0, 1), views.text.flatten()
        own = torch.arange(len(rows), device=rows.device)
        answer = own.roll(len(rows) // 2)
        hidden = no_negatives(text, text[answer], text)
        hidden[own, answer] = False
        hidden[own, own] = True
        return F.cross_entropy((self.scale * rows @ rows.T).masked_fill(hidden, _NEVER), answer)


@dataclass(frozen=True, kw_only=True)
class Matryoshka(ContrastLoss):
    """The sum of another loss over the vectors' first dimensions, normalised again at each cut; the whole width is one of them (arXiv:2205.13147)."""

    loss: ContrastLoss
    dimensions: tuple[int, ...] = ()  # cuts, beside the whole width; none: halves of it, down to 32

    def __post_init__(self) -> None:
        if isinstance(self.loss, Matryoshka):
            raise PlumeError("Matryoshka is put around a loss once.")
        if any(cut < 1 for cut in self.dimensions):
            raise PlumeError(f"--dimensions are numbers of dimensions to keep, 1 or more: not {', '.join(map(str, self.dimensions))}.")

    def fitting(self, width: int) -> ContrastLoss:
        cuts = self.dimensions or _halves(width)
        wider = [cut for cut in cuts if cut > width]
        if wider:
            raise PlumeError(f"--dimensions {wider[0]}: this model's vectors have {width}.")
        return replace(self, loss=self.loss.fitting(width), dimensions=tuple(sorted({*cuts, width}, reverse=True)))

    def __call__(self, views: Views) -> Tensor:
        cuts = {*self.dimensions, views.vectors.shape[-1]}
        return torch.stack([self.loss(replace(views, vectors=views.vectors[..., :cut])) for cut in sorted(cuts)]).sum()


@dataclass(frozen=True, kw_only=True)
class SquaredDistance(ContrastLoss):
    """|x − y|² of a text's own vector and its teacher's, which is the second view (Reimers and Gurevych, arXiv:2004.09813 §2). As a share of the
    teachers' mean |y|², so that it means the same for vectors of every width and length."""

    normalised: bool = False  # are both brought to length 1 first?

    def __call__(self, views: Views) -> Tensor:
        return self.mean(views.normalised() if self.normalised else replace(views, vectors=precise(views.vectors)))

    def mean(self, views: Views) -> Tensor:
        own, taught = views.vectors[0], views.vectors[1]
        return (own - taught).pow(2).sum() / taught.pow(2).sum().clamp(min=torch.finfo(taught.dtype).tiny)


@dataclass(frozen=True, kw_only=True)
class CosineGap(ContrastLoss):
    """1 − cosine of a text's own vector and its teacher's, which is the second view: directions alone are learned."""

    def mean(self, views: Views) -> Tensor:
        return 1 - (views.vectors[0] * views.vectors[1]).sum(-1).mean()


def _halves(width: int) -> Sequence[int]:
    return [width >> power for power in range(1, width.bit_length()) if width >> power >= 32]


def alignment(views: Views, near: Tensor) -> Tensor:
    """The sum over positive pairs of the squared distance of their vectors (Wang & Isola, arXiv:2005.10242 eq. 4); `near` [N] says which are."""
    made = views.normalised().vectors
    return ((made[0] - made[1]).pow(2).sum(-1) * near).sum()


def uniformity(views: Views) -> Tensor:
    """log of the mean of exp(−2 · squared distance) over pairs of different texts (the same, eq. 5); 0 where all are at one place."""
    made, text = views.normalised().vectors[0], views.text[0]
    other = text != text[:, None]
    kernel = (4 * (made @ made.T) - 4).exp() * other  # |x − y|² = 2 − 2 cos
    return (kernel.sum() / other.sum().clamp(min=1)).clamp(min=1e-30).log() * other.any()
