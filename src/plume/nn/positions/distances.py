"""Which distances one pass needs, and how products with all of them become scores: what the relative schemes have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from plume.nn.attention import Sight


@dataclass(frozen=True, kw_only=True)
class Distances:
    """Column c of a product stands for a key at `span[c]` from the query (negative: behind it)."""

    span: Tensor  # [L]
    keys: int
    in_order: int  # the first so many queries are consecutive keys: their scores are read off diagonally, without an index
    index: Tensor | None  # [B or 1, Tq - in_order, Tk] the column for each pair of the other queries

    def scores(self, query: Tensor, table: Tensor) -> Tensor:
        """Queries [B, H, Tq, W] times vectors [H, W, L], brought to [B, H, Tq, Tk]."""
        found = []
        if self.in_order:
            found.append(self._diagonal(_product(query[:, :, : self.in_order], table)))
        if self.index is not None:
            rows, heads, queries, _ = query.shape
            product = _product(query[:, :, self.in_order :], table).transpose(0, 1)
            found.append(product.gather(3, self.index[:, None].expand(rows, heads, queries - self.in_order, self.keys)))
        return found[0] if len(found) == 1 else torch.cat(found, dim=2)

    def _diagonal(self, product: Tensor) -> Tensor:
        """[H, B, T, L] to [B, H, T, Tk]: each row begins one column before the row above (arXiv:1901.02860, appendix B). A view."""
        heads, rows, time, columns = product.shape
        if torch.jit.is_tracing():  # type: ignore[attr-defined,no-untyped-call]  # a graph has no views, and takes strides for constant
            place = torch.arange(time, device=product.device)
            column = torch.arange(self.keys, device=product.device) + (time - 1 - place)[:, None]
            seen = column.clamp(max=columns - 1)  # what lies further ahead is never seen
            return product.transpose(0, 1).gather(3, seen.expand(rows, heads, -1, -1))
        strides = (time * columns, rows * time * columns, columns - 1, 1)
        return product.as_strided((rows, heads, time, self.keys), strides, product.storage_offset() + time - 1)


def columns(*, keys: int, before: int, causal: bool) -> int:
    """How many distances there are. One ahead is kept even where nobody looks ahead: rows then do not overlap when read diagonally."""
    return keys + (1 if causal else max(keys - before - 1, 1))


def distances(sight: Sight, *, causal: bool) -> Distances:
    """How far each key lies from each query, as a run of distances where positions are consecutive."""
    query, key = sight.query_position, sight.key_position
    keys = key.shape[1]
    if sight.before is None:
        distance = key[:, None, :] - query[:, :, None]
        low, high = (int(edge) for edge in torch.aminmax(distance))
        return Distances(span=torch.arange(low, high + 1, device=key.device), keys=keys, in_order=0, index=distance - low)
    count = columns(keys=keys, before=sight.before, causal=causal)
    in_order = keys - sight.before if sight.in_order else 0
    others = query[:, in_order:]
    index = None
    if others.shape[1]:
        index = (key[:, None, :] - others[:, :, None] + keys - 1).clamp_(max=count - 1)  # what lies further ahead is never seen
    return Distances(span=torch.arange(1 - keys, 1 - keys + count, device=key.device), keys=keys, in_order=in_order, index=index)


def _product(query: Tensor, table: Tensor) -> Tensor:
    """[B, H, T, W] x [H, W, L] to [H, B, T, L]: one large product a head instead of a small one for each row."""
    rows, heads, time, width = query.shape
    product = torch.bmm(query.transpose(0, 1).reshape(heads, rows * time, width), table)
    return product.view(heads, rows, time, table.shape[2])
