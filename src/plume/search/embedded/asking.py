"""An index of faiss, asked: how far to look and which rows count are told in the way of its type."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from plume.search.backend import Vectors
from plume.search.embedded.ann import Floats, Keys, Mask, faiss_module, innermost

Found = tuple[Floats, Keys]  # scores, the higher the better, and row numbers


class Allowed:
    """The rows that count, of all that there are."""

    def __init__(self, mask: Mask, *, by_filter: bool) -> None:
        self.mask, self.count, self.by_filter = mask, int(mask.sum()), by_filter
        self.parameters: dict[int, Any] = {}  # a searcher's, by effort

    @cached_property
    def selector(self) -> Any:
        """What faiss asks whether a row counts."""
        return faiss_module().IDSelectorBitmap(np.packbits(self.mask, bitorder="little"))


class Searcher:
    """What faiss has to be told again with every search is found out once."""

    def __init__(self, index: Any) -> None:
        faiss = faiss_module()
        self.index = index
        self._width = int(index.d)
        inverted = faiss.try_extract_index_ivf(index)
        self._lists = 0 if inverted is None else int(inverted.nlist)
        self._graph = inverted is None and isinstance(innermost(index), faiss.IndexHNSW)
        self._product = index.metric_type == faiss.METRIC_INNER_PRODUCT
        self._pointer = faiss.swig_ptr
        self._unfiltered: dict[int, Any] = {}  # parameters by effort

    def nearest(self, queries: Vectors, *, top: int, effort: int, allowed: Allowed | None = None) -> Found | None:
        """None: this type cannot leave rows out, so that one has to ask for more and pick."""
        look = min(effort, self._lists) if self._lists else max(effort, top) if self._graph else 0
        known = self._unfiltered
        if allowed is not None:
            if not self._selects:
                return None
            known = allowed.parameters
        if look not in known:
            known[look] = self._parameters(look, allowed)
        parameters = known[look]
        rows = np.ascontiguousarray(queries, np.float32)
        assert rows.shape[1] == self._width
        scores, keys = np.empty((len(rows), top), np.float32), np.empty((len(rows), top), np.int64)
        pointer = self._pointer  # what faiss' own `search` does, without its checks, which take as long as a small search
        self.index.search_c(len(rows), pointer(rows), top, pointer(scores), pointer(keys), parameters)
        return (scores if self._product else -scores), keys

    def _parameters(self, look: int, allowed: Allowed | None) -> Any:
        faiss = faiss_module()
        selected = {} if allowed is None else {"sel": allowed.selector}
        if self._lists:
            return faiss.SearchParametersIVF(nprobe=look, **selected)
        if self._graph:
            return faiss.SearchParametersHNSW(efSearch=look, **selected)
        return faiss.SearchParameters(**selected) if selected else None

    @cached_property
    def _selects(self) -> bool:
        """Can it leave rows out? Some types refuse, and some pay no heed: it is asked for a row where none counts."""
        one, none = np.zeros((1, self._width), np.float32), Allowed(np.zeros(self.index.ntotal, np.bool_), by_filter=True)
        try:
            return bool(self.index.search(one, 1, params=self._parameters(16, none))[1][0, 0] < 0)
        except RuntimeError:
            return False
