"""plume search"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

IndexFolder = Annotated[Path, typer.Argument(help="Index directory.")]


def run(
    index: IndexFolder,
    query: Annotated[list[str] | None, typer.Argument(help="What to search for; several queries may be given.")] = None,
    top: Annotated[int, typer.Option(help="Number of hits a query.")] = 10,
    where: Annotated[str | None, typer.Option(help="Filter by metadata: \"lang = 'en' AND year > 2020\".")] = None,
    by: Annotated[str | None, typer.Option(help="vectors, words or hybrid.  [default: hybrid if the index has both]")] = None,
    rerank: Annotated[Path | None, typer.Option(help="Re-rank the best with a model fine-tuned on pairs of texts.")] = None,
    model: Annotated[Path | None, typer.Option(help="Model directory that embeds queries.  [default: the one that made the index]")] = None,
    backend: Annotated[
        str | None, typer.Option(help="Server of the index, with a password or elsewhere.  [default: as it was built]")
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Compare with every vector, whatever the type of the index.")] = False,
    evaluate: Annotated[
        Path | None, typer.Option("--eval", help="Measure recall, MRR, nDCG and time on a file of queries and ids: query<tab>id a line.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """Search an index by meaning and by words, with filters on metadata."""
    from plume.core.errors import PlumeError
    from plume.data.documents import clean
    from plume.search.evaluating import evaluate as measure
    from plume.search.evaluating import read_queries, shown
    from plume.search.hits import estimated
    from plume.search.index import Index

    if (evaluate is None) == (not query):
        raise PlumeError("Give a query, or a file of queries with --eval.")
    with Index.open(index, model=model, backend=backend) as opened:
        if not len(opened):
            raise PlumeError(f"{index} is empty: add documents with plume index add {index} FILE.")
        if evaluate is not None:
            scores = measure(opened, read_queries(evaluate), ks=sorted({1, 5, top}), where=where, by=by, rerank=rerank, exact=exact)  # type: ignore[arg-type]
            print("\n".join(json.dumps(one.as_json()) for one in scores) if as_json else shown(scores))
            return
        asked = [clean(one) for one in query or ()]
        found = opened.search_many(asked, top=top, where=where, by=by, rerank=rerank, exact=exact)  # type: ignore[arg-type]
        sign = "≈" if not exact and estimated(opened.backend.info()) else ""
        for text, hits in zip(asked, found, strict=True):
            if not hits:
                print(f"Nothing found for '{text}'.", file=sys.stderr)
            for rank, hit in enumerate(hits, start=1):
                record = {"query": text, "rank": rank} | hit.as_json() | ({"estimated": True} if sign and hit.vectors is not None else {})
                print(json.dumps(record, ensure_ascii=False) if as_json else _shown(rank, hit, sign))


def _shown(rank: int, hit: object, sign: str) -> str:
    """A hit in two or three lines: where it is and why, then its text. `sign` stands before a score by vectors that is estimated."""
    from plume.search.hits import Hit

    assert isinstance(hit, Hit)
    sides = [
        f"{name} {value:.3f}"
        for name, value in ((f"vectors {sign}".strip(), hit.vectors), ("words", hit.words), ("rerank", hit.rerank))
        if value is not None
    ]
    why = f"; matched: {', '.join(hit.matched)}" if hit.matched else ""
    metadata = "  " + json.dumps(dict(hit.metadata), ensure_ascii=False) if hit.metadata else ""
    text = " ".join(hit.text.split())
    return f"{rank:>2}. {hit.id}  [{hit.start}:{hit.end}]  {', '.join(sides)}{why}{metadata}\n    {text if len(text) <= 240 else text[:239] + '…'}"
