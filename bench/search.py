"""Search: what plume's index adds to faiss' own time, filtered recall, hybrid against either side, opening, memory and growth, and peers.

    python bench/search.py [--quick] [--only overhead,filters,quality,opening,growth,peers]
        [--data FOLDER --english MODEL --chinese MODEL]      # quality: squad_v1.1, cmrc2018, drcd in FOLDER; model directories of plume
        [--txtai PYTHON]                                     # peers: the python of an environment that has txtai 9.14; or TXTAI_PYTHON

Two sides that are compared take turns on the same vectors, in one process and with the same threads; medians are shown.
Vectors are 1,000 clusters with noise.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _apart import measured
from _search_peers import milvus, txtai

TYPES = ("flat", "hnsw", "ivf", "sq", "ivf-sq", "pq", "ivfadc", "ivfadc-refine")
PARTS = ("overhead", "filters", "quality", "opening", "growth", "peers")


def made_vectors(rows: int, width: int, seed: int = 0) -> Any:
    """Unit vectors around 1,000 centres, made a block at a time; the last 200 are queries."""
    source = np.random.default_rng(seed)
    centres = source.normal(size=(1_000, width)).astype(np.float32)
    made = np.empty((rows, width), np.float32)
    for begin in range(0, rows, 50_000):
        count = min(50_000, rows - begin)
        block = centres[source.integers(1_000, size=count)] + 0.6 * source.normal(size=(count, width)).astype(np.float32)
        made[begin : begin + count] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return made


def index_of(folder: Path, vectors: Any, type: str) -> Any:
    """Ready vectors with a little metadata, no words."""
    from plume.search.index import Index

    index = Index.create(folder, dimension=vectors.shape[1], type=type, words=None)
    index.add(({"id": str(row), "text": f"passage {row}", "hundredth": row % 100} for row in range(len(vectors))), vectors=vectors)
    return index


def turns(rounds: int, *sides: Callable[[int], Any]) -> list[float]:
    """Milliseconds of each, one after the other in every round; medians."""
    times: list[list[float]] = [[] for _ in sides]
    for number in range(rounds + 3):
        for side, one in enumerate(sides):
            began = time.perf_counter()
            one(number)
            times[side].append(1_000 * (time.perf_counter() - began))
    return [statistics.median(one[3:]) for one in times]


def bare(path: Path | None, vectors: Any, effort: int) -> Any:
    """faiss' own index of the same file, or a flat one, set to look as far."""
    import faiss

    if path is None:
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        return index
    index = faiss.read_index(str(path))
    if isinstance(index, faiss.IndexIVF):
        index.nprobe = effort
    elif isinstance(index, faiss.IndexHNSW):
        index.hnsw.efSearch = effort
    return index


def overhead(quick: bool) -> None:
    """One query at a time, 100 together, one after a removal: faiss itself with the same type and effort, and the index's search_vectors."""
    from plume.search.embedded import ann

    rows, width, rounds = (20_000, 64, 300) if quick else (100_000, 384, 1_000)
    vectors = made_vectors(rows + 200, width)
    vectors, queries = vectors[:rows], vectors[rows:]
    print(f"\n{rows:,} × {width}: milliseconds, faiss | plume | added; one query, 100 together, one query after a removal")
    for type in TYPES[:5] if quick else TYPES:
        with tempfile.TemporaryDirectory() as folder, index_of(Path(folder) / "idx", vectors, type) as index:
            backend, state = index.backend, index.backend.info()
            own = bare(next((Path(folder) / "idx").glob("ann-*.faiss"), None), vectors, state["effort"])

            def plain(some: Any, own: Any = own, refined: int = state["refined"]) -> Any:
                found = own.search(some, 10 * refined)
                return ann.compared(found, some, vectors, index.settings.metric) if refined > 1 else found  # as RFlat does

            shown = []
            for size in (1, 100, 1):
                if len(shown) == 2:
                    index.remove(["7"])
                asked = [queries[number : number + size] for number in range(200 - size)]
                faiss_ms, plume_ms = turns(
                    rounds if size == 1 else max(5, rounds // 50),
                    lambda number, asked=asked: plain(asked[number % len(asked)]),
                    lambda number, asked=asked, backend=backend: backend.search_vectors(asked[number % len(asked)], top=10),
                )
                shown.append(f"{faiss_ms:8.3f} | {plume_ms:8.3f} | {plume_ms / faiss_ms - 1:+6.1%}")
            print(f"{type:<14} {'    '.join(shown)}")


def filters(quick: bool) -> None:
    """Recall@10 against exact search over what the filter leaves."""
    rows, width = (30_000, 64) if quick else (100_000, 384)
    vectors = made_vectors(rows + 200, width)
    vectors, queries = vectors[:rows], vectors[rows:]
    print(f"\nfiltered recall@10, {rows:,} × {width}: 1%, 10%, 50% left; milliseconds a query at 1%")
    for type in ("hnsw", "ivf", "ivfadc-refine", "lsh"):
        with tempfile.TemporaryDirectory() as folder, index_of(Path(folder) / "idx", vectors, type) as index:
            found = []
            for share in (1, 10, 50):
                where = index.condition(f"hundredth < {share}")
                left = np.flatnonzero(np.arange(rows) % 100 < share)
                right = left[np.argsort(-(queries @ vectors[left].T), axis=1)[:, :10]]
                keys = index.backend.search_vectors(queries, top=10, where=where).keys
                found.append(np.mean([len(np.intersect1d(one, other)) / 10 for one, other in zip(keys, right, strict=True)]))
            where = index.condition("hundredth < 1")
            (ms,) = turns(
                50, lambda number, index=index, where=where: index.backend.search_vectors(queries[number : number + 1], top=10, where=where)
            )
            print(f"{type:<14} {'  '.join(f'{one:.3f}' for one in found)}   {ms:.3f} ms")


def questions(folder: Path, most: int) -> tuple[list[dict[str, str]], dict[str, dict[str, float]]]:
    """The passages of a SQuAD-like set, and a question of each with its passage."""
    passages: dict[str, str] = {}
    asked: dict[str, dict[str, float]] = {}
    for name in ("dev.json", "train.json"):
        for article in json.loads((folder / name).read_text(encoding="utf-8"))["data"]:
            for paragraph in article["paragraphs"]:
                identity = passages.setdefault(paragraph["context"], f"p{len(passages)}")
                if name == "dev.json":
                    for one in paragraph["qas"]:
                        asked.setdefault(" ".join(one["question"].split()), {})[identity] = 1.0
    some = dict(random.Random(0).sample(sorted(asked.items()), min(most, len(asked))))
    needed = {identity for ids in some.values() for identity in ids}
    kept = [(text, identity) for text, identity in passages.items() if identity in needed or int(identity[1:]) < 10 * most]
    return [{"id": identity, "text": text} for text, identity in kept], some


def quality(data: Path, english: Path | None, chinese: Path | None, quick: bool) -> None:
    """nDCG@10 and recall of vectors, words and both."""
    from plume.search.evaluating import evaluate, shown
    from plume.search.index import Index

    for name, model in (("squad_v1.1", english), ("cmrc2018", chinese), ("drcd", chinese)):
        if model is None:
            continue
        documents, asked = questions(data / name, 100 if quick else 1_000)
        with tempfile.TemporaryDirectory() as folder, Index.create(Path(folder) / "idx", model=model, passage=400) as index:
            index.add(documents)
            print(f"\n{name}: {len(documents):,} passages, {len(asked):,} questions, {model.name}\n{shown(evaluate(index, asked))}")


def _build_large(folder: str, rows: int) -> tuple[float, float]:
    vectors = np.lib.format.open_memmap(Path(folder) / "v.npy", "w+", np.float32, (rows, 128))
    for begin in range(0, rows, 100_000):
        vectors[begin : begin + 100_000] = made_vectors(min(100_000, rows - begin), 128, seed=0)
    vectors.flush()
    began = time.perf_counter()
    index_of(Path(folder) / "idx", np.load(Path(folder) / "v.npy", mmap_mode="r"), "auto").close()
    return time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _open_large(folder: str) -> tuple[float, float, float]:
    import plume.search.embedded.ann as ann
    from plume.search.index import Index

    ann.faiss_module()
    query = np.array(np.load(Path(folder) / "v.npy", mmap_mode="r")[:1])
    began = time.perf_counter()
    index = Index.open(Path(folder) / "idx")
    with index.backend.snapshot():
        opened = time.perf_counter() - began
    index.backend.search_vectors(query, top=10)
    return opened, time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def opening(quick: bool) -> None:
    """Build and open each in a process of its own."""
    rows = 100_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        seconds, built = measured(_build_large, folder, rows)
        opened, first, searched = measured(_open_large, folder)
    print(
        f"\n{rows:,} × 128: built in {seconds:.0f} s within {built:,.0f} MB; opened in {opened * 1e3:.0f} ms, "
        f"first answer after {first * 1e3:.0f} ms, {searched:,.0f} MB"
    )


def growth(quick: bool) -> None:
    """Eight times the vectors: how many times the time to build and to search?"""
    print("\ngrowth: vectors, seconds to add and build, ms a query (ivf), ms a query by words")
    for rows in (2_500, 5_000, 10_000, 20_000) if quick else (25_000, 50_000, 100_000, 200_000):
        vectors = made_vectors(rows + 200, 64)
        with tempfile.TemporaryDirectory() as folder:
            from plume.search.index import Index

            began = time.perf_counter()
            index = Index.create(Path(folder) / "idx", dimension=64, type="ivf")
            source = np.random.default_rng(1)
            words = lambda source=source: " ".join(f"w{number}" for number in source.zipf(1.3, 40) % 30_000)
            index.add(({"id": str(row), "text": words()} for row in range(rows)), vectors=vectors[:rows])
            seconds = time.perf_counter() - began
            near, said = turns(
                30,
                lambda number, index=index, vectors=vectors, rows=rows: index.backend.search_vectors(vectors[rows + number][None], top=10),
                lambda number, index=index: index.backend.search_words([f"w1 w{number} w{7 * number} w{100 * number}"], top=10),
            )
            print(f"{rows:>9,} {seconds:>8.1f} {near:>8.3f} {said:>8.3f}")
            index.close()


def peers(quick: bool, python: str | None) -> None:
    """The same vectors and queries; plume between each."""
    rows, width = (10_000, 64) if quick else (100_000, 384)
    vectors = made_vectors(rows + 200, width)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "v.npy", vectors)
        print(f"\npeers, {rows:,} × {width}, one query with a filter of 10%, milliseconds; recall@10 against exact")
        for name, one in [("plume", ours), ("milvus-lite", milvus), ("plume", ours), ("txtai", lambda path: txtai(path, python))]:
            found = one(Path(folder) / "v.npy")
            for of, figures in found.items() if isinstance(found, dict) else [(None, found)]:
                shown = name if of is None else f"{name}, {of}"
                said = figures if isinstance(figures, str) else "build {:.1f} s, query {:.3f} ms, recall {:.3f}".format(*figures)
                print(f"{shown:<16} {said}")


def ours(path: Path) -> tuple[float, float, float]:
    """HNSW, as milvus-lite has it."""
    vectors = np.load(path)
    rows, queries = vectors[:-200], vectors[-200:]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        index = index_of(Path(folder) / "idx", rows, "hnsw")
        seconds = time.perf_counter() - began
        where = index.condition("hundredth < 10")
        (ms,) = turns(
            100,
            lambda number: index.backend.get(
                index.backend.search_vectors(queries[number : number + 1], top=10, where=where).keys[0].tolist()
            ),
        )
        left = np.flatnonzero(np.arange(len(rows)) % 100 < 10)
        right = left[np.argsort(-(queries @ rows[left].T), axis=1)[:, :10]]
        keys = index.backend.search_vectors(queries, top=10, where=where).keys
        index.close()
    return seconds, ms, float(np.mean([len(np.intersect1d(one, other)) / 10 for one, other in zip(keys, right, strict=True)]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--english", type=Path)
    parser.add_argument("--chinese", type=Path)
    parser.add_argument("--txtai", "--txtai-python", default=os.environ.get("TXTAI_PYTHON"))
    given = parser.parse_args()
    asked = given.only.split(",")
    for name, part in (("overhead", overhead), ("filters", filters), ("opening", opening), ("growth", growth)):
        if name in asked:
            part(given.quick)
    if "quality" in asked and given.data is not None:
        quality(given.data, given.english, given.chinese, given.quick)
    if "peers" in asked:
        peers(given.quick, given.txtai)


if __name__ == "__main__":
    main()
