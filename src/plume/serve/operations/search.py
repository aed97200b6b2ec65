"""Passages of an index that answer a query: `Index.search_many`, over all requests that wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plume.core.errors import PlumeError
from plume.search.adding import checked
from plume.search.hits import Hit
from plume.search.index import By, Index
from plume.search.ranking import make_hits
from plume.serve.errors import BadRequest, EmptyText
from plume.serve.models.opened import Opened
from plume.serve.operations._operation import Operation, Prepared, about_tokens


@dataclass(frozen=True, kw_only=True)
class SearchAsked:
    """A text or a vector; the rest is as `Index.search` has it."""

    query: str | tuple[float, ...]
    top: int = 10
    where: str | None = None
    by: By | None = None  # None: as the index is usually asked
    exact: bool = False


@dataclass(frozen=True, kw_only=True)
class SearchReady(Prepared):
    """The same, checked."""

    asked: SearchAsked


class SearchIndex(Operation[SearchAsked, SearchReady, list[Hit]]):
    """Indexes."""

    name = "search"
    field = "query"

    def able(self, opened: Opened) -> bool:
        return opened.has(lambda one: one.index)

    def prepare(self, opened: Opened, asked: SearchAsked) -> SearchReady:
        index = opened.index
        if isinstance(asked.query, str):
            if not asked.query.strip():
                raise EmptyText("The query is empty.", param="query")
            asked = replace(asked, by=_way(opened, asked.by))
        elif index.settings.dimension != len(asked.query):
            has = "has no vectors" if index.settings.dimension is None else f"has vectors of {index.settings.dimension} numbers"
            raise BadRequest(f"'{opened.name}' {has}, not of {len(asked.query)}.", param="vector")
        elif not (np.abs(np.array(asked.query)) <= np.finfo(np.float32).max).all():
            raise BadRequest("The vector has NaN, infinity or a number that is too large.", param="vector")
        else:
            asked = replace(asked, by="vectors")
        try:
            index.condition(asked.where)
        except PlumeError as error:
            raise BadRequest(str(error), param="where") from None
        kind = type(asked.query)
        cost = about_tokens(asked.query) if isinstance(asked.query, str) else 1
        return SearchReady(cost=cost, group=(kind, asked.top, asked.where, asked.by, asked.exact), asked=asked)

    def run(self, opened: Opened, prepared: Sequence[SearchReady]) -> list[list[Hit]]:
        how, index = prepared[0].asked, opened.index
        queries = [one.asked.query for one in prepared]
        texts = [one for one in queries if isinstance(one, str)]
        if texts:
            return index.search_many(texts, top=how.top, where=how.where, by=how.by, exact=how.exact)
        return _by_vectors(index, np.array(queries, np.float32), how)

    def warm_up(self, opened: Opened) -> None:
        """Its model is loaded, and what it opens when first searched."""
        index = opened.index
        if len(index) and index.text_ways:
            index.search("plume", top=1, by=index.text_ways[0])


def _way(opened: Opened, said: By | None) -> By:
    """The one that was asked for, or the usual one."""
    ways = opened.index.text_ways
    if not ways:
        raise BadRequest(f"'{opened.name}' knows no model that embeds a query: give its vector.", param="query")
    if said is not None and said not in ways:
        raise BadRequest(f"'{opened.name}' cannot be searched by {said} for a query; by {' or '.join(ways)} it can.", param="mode")
    return said or ways[0]


def _by_vectors(index: Index, vectors: np.ndarray, how: SearchAsked) -> list[list[Hit]]:
    made = checked(vectors, index.settings, lambda row: "The vector of the query")
    top = min(how.top, max(1, index.backend.count()[1]))
    with index.backend.snapshot():
        near = index.backend.search_vectors(made, top=top, where=index.condition(how.where), exact=how.exact)
        return make_hits(index.backend, [""] * len(made), near, None, top=top, analysis=None)


OPERATION = SearchIndex()
