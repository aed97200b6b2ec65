"""Embedding a corpus into a file: chunk by chunk in constant memory, on this machine's cores or on Ray's."""

from __future__ import annotations

import functools
import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.embedder import Embedder
from plume.core.errors import PlumeError
from plume.vectors.corpus_texts import STDIN, chunks, stream_texts
from plume.vectors.sentence import ARRAYS, SENTENCE
from plume.vectors.vector_files import VectorFile

CHUNK = 4096  # texts that are held, and sorted by length, at once
Floats = NDArray[np.float32]


def embed_files(
    model: Path,
    files: Sequence[str],
    out: Path,
    *,
    column: str | None = None,
    options: dict[str, Any] | None = None,
    device: str = "cpu",
    runtime: str | None = None,
    engine: str = "local",
    address: str | None = None,
    threads: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    shown: Callable[[int], object] = lambda done: None,
) -> int:
    """Every text's vector into `out` (.npy or .jsonl); returns how many there are. `shown` is told how far it has come.

    The same vectors, bit for bit, with any engine and number of threads, and after a kill: a chunk is always computed as a whole.
    """
    if any(file != STDIN and Path(file).resolve() == out.resolve() for file in files):
        raise PlumeError(f"--out {out} is an input itself: choose another.")
    if resume and STDIN in files:
        raise PlumeError("What came by standard input cannot be read again: --resume is for files.")
    how = options or {}
    of = {
        "model": fingerprint(model),
        "input": [_input(file) for file in files],
        "column": column,
        "options": {name: repr(value) for name, value in {"runtime": runtime, **how}.items()},
        "chunk": CHUNK,
    }
    with VectorFile(out, of=of, resume=resume, overwrite=overwrite) as written:
        shown(written.done)
        texts = islice(stream_texts(files, column=column), written.done, None)
        loaded = {"model": str(model.absolute()), "device": device, "runtime": runtime, "threads": threads}
        for some, vectors in _embedded(loaded, chunks(texts, CHUNK), how, engine=engine, address=address):
            written.append(some, vectors)
            shown(written.done)
        if not written.done:
            raise PlumeError(f"{' and '.join(files)}: there is no text to embed.")
        written.finish()
    return written.done


def fingerprint(model: Path) -> str:
    """The same for directories that embed alike."""
    from plume.model.checkpoint import RECIPE, TOKENIZER, WEIGHTS
    from plume.model.use.runtimes._preferred import PREFERRED

    made = hashlib.sha256()
    for name in (RECIPE, TOKENIZER, WEIGHTS, SENTENCE, ARRAYS, PREFERRED):
        if (model / name).exists():
            made.update(name.encode())
            with (model / name).open("rb") as handle:
                made.update(hashlib.file_digest(handle, "sha256").digest())
    return made.hexdigest()


def _input(file: str) -> list[Any]:
    if file == STDIN:
        return [file]
    path = Path(file)
    if not path.is_file():
        raise PlumeError(f"There is no file {file}.")
    return [str(path.resolve()), path.stat().st_size]


def _embedded(
    loaded: dict[str, Any], some: Iterable[list[str]], options: dict[str, Any], *, engine: str, address: str | None
) -> Iterator[tuple[list[str], Floats]]:
    if engine == "ray":
        yield from _by_ray(loaded, some, options, address=address)
        return
    if engine != "local":
        raise PlumeError(f"There is no engine '{engine}': choose local or ray.")
    if address is not None:
        raise PlumeError("--address is of a Ray that is running: add --engine ray.")
    for texts in some:
        yield texts, _work(loaded, texts, options)


def _by_ray(
    loaded: dict[str, Any], some: Iterable[list[str]], options: dict[str, Any], *, address: str | None
) -> Iterator[tuple[list[str], Floats]]:
    """Chunks on Ray's workers, some more on their way than it has places for; they come back in the order of the texts."""
    from plume.core.ray_connection import connected, slots

    ray, threads = connected(address), loaded["threads"] or 1
    loaded = loaded | {"threads": threads}
    try:
        places = slots(ray, threads=threads)
        if not places:
            raise PlumeError(f"No machine of Ray has {threads} CPUs: set --threads.")
        remote = ray.remote(num_cpus=threads)(_work)
        waiting: deque[tuple[list[str], Any]] = deque()
        for texts in some:
            waiting.append((texts, remote.remote(loaded, texts, options)))
            if len(waiting) > 2 * places:
                first, reference = waiting.popleft()
                yield first, ray.get(reference)
        for first, reference in waiting:
            yield first, ray.get(reference)
    finally:
        ray.shutdown()


def _work(loaded: dict[str, Any], texts: list[str], options: dict[str, Any]) -> Floats:
    return _embedder(**loaded).embed(texts, **options)


@functools.lru_cache(maxsize=1)
def _embedder(*, model: str, device: str, runtime: str | None, threads: int | None) -> Embedder:
    """Loaded once in each process."""
    import torch

    from plume.tuning.loaded import load

    if threads is not None:
        torch.set_num_threads(threads)
    return load(model, device=device, runtime=runtime)
