"""The parts of bench/static.py about GloVe and about growth: entries/s beside a plain C loop, and cost and memory at 1 to 8 times the text."""

from __future__ import annotations

import ctypes
import functools
import multiprocessing
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from plume.core.part import replace
from plume.static.recipe import Architecture, FastText, GloVe, StaticRecipe, Trainer, Word2Vec
from plume.static.text import Vocabulary, WordText

# glove.c's update as one would write it down, on the same records in memory (with logarithm and weight at hand, which glove.c computes each time).
_C = r"""
#include <math.h>
typedef struct { int word, context; float log, weight; } Entry;
static float clipped(float x) { return x > 100 ? 100 : x < -100 ? -100 : x; }
double epoch(const Entry *entries, long first, long last, float *w, float *c, float *ws, float *cs, float *wb, float *cb, float *wbs, float *cbs,
             long size, float rate) {
    double loss = 0;
    for (long n = first; n < last; n++) {
        long i = entries[n].word, j = entries[n].context;
        float *a = w + i * size, *b = c + j * size, *p = ws + i * size, *q = cs + j * size, dot = 0;
        for (long d = 0; d < size; d++) dot += a[d] * b[d];
        float difference = dot + wb[i] + cb[j] - entries[n].log, slope = entries[n].weight * difference;
        loss += 0.5 * slope * difference;
        for (long d = 0; d < size; d++) {
            float one = clipped(slope * b[d]) * rate, two = clipped(slope * a[d]) * rate;
            a[d] -= one / sqrtf(p[d]);
            b[d] -= two / sqrtf(q[d]);
            p[d] += one * one;
            q[d] += two * two;
        }
        wb[i] -= slope / sqrtf(wbs[i]);
        cb[j] -= slope / sqrtf(cbs[j]);
        wbs[i] += slope * slope;
        cbs[j] += slope * slope;
    }
    return loss;
}
"""
_FLAGS = {
    "-O3": ["-O3"],
    "-O3 -march=native": ["-O3", "-march=native"],
    "-O3 -march=native -ffast-math": ["-O3", "-march=native", "-ffast-math"],
}
_SHARES = 16
_NAMES = ("word", "context", "word_squares", "context_squares", "word_bias", "context_bias", "word_bias_squares", "context_bias_squares")


def c_epoch(
    folder: Path, number: int, flags: list[str], entries: np.ndarray, start: dict[str, np.ndarray], threads: int
) -> Callable[[], float]:
    source, library = folder / "glove.c", folder / f"glove{number}.so"
    source.write_text(_C)
    subprocess.run(["cc", *flags, "-shared", "-fPIC", "-o", str(library), str(source), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).epoch
    function.restype = ctypes.c_double
    arrays = [np.ascontiguousarray(start[name]).copy() for name in _NAMES]
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
    cuts = np.linspace(0, len(entries), _SHARES + 1).astype(int).tolist()

    def part(share: int) -> float:
        given = entries.ctypes.data_as(ctypes.c_void_p), ctypes.c_long(cuts[share]), ctypes.c_long(cuts[share + 1])
        return function(*given, *pointers, ctypes.c_long(arrays[0].shape[1]), ctypes.c_float(0.05))

    def run() -> float:
        with ThreadPoolExecutor(threads) as pool:
            return sum(pool.map(part, range(_SHARES)))

    return run


def one_epoch(trainer: Trainer, text: WordText) -> float:
    return sum(trainer.train(text, epoch=0, piece=piece, progress=0, progress_after=1).loss for piece in range(trainer.pieces))


def glove(vocabulary: Vocabulary, text: WordText, folder: Path, rounds: int) -> None:
    text = text.part(0, min(len(text), 20_000))  # enough entries to leave every cache
    print("\n## glove\n\n| threads | side | entries/s | ratio (spread) | loss after the rounds |\n|---|---|---|---|---|")
    for threads in (1, 2):
        trainer = GloVe().trainer(vocabulary, seed=1, threads=threads)
        trainer.prepare(text, folder / "entries", lambda share: None)
        entries = np.array(trainer._entries)  # type: ignore[attr-defined]
        others = {
            f"C {name}": c_epoch(folder, 10 * threads + number, flags, entries, trainer.arrays, threads)
            for number, (name, flags) in enumerate(_FLAGS.items())
        }

        sides = {"plume": functools.partial(one_epoch, trainer, text), **others}
        times: dict[str, list[float]] = {name: [] for name in sides}
        losses: dict[str, float] = {}
        for number in range(rounds + 1):
            for name, run in sides.items():
                begin = time.perf_counter()
                losses[name] = run() / len(entries)
                if number:  # the first round compiles
                    times[name].append(time.perf_counter() - begin)
        for name, spent in times.items():
            ratios = [other / own for own, other in zip(times["plume"], spent, strict=True)]
            ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"
            print(f"| {threads} | {name} | {len(entries) / statistics.median(spent):,.0f} | {ratio} | {losses[name]:.5f} |", flush=True)
    print(f"\n{len(entries):,} entries, dimension 100; load {os.getloadavg()[0]:.1f}; ratio: how many times faster plume is")


def growth(vocabulary: Vocabulary, text: WordText) -> None:
    """The text repeated 1 to 8 times, one epoch each, in processes of their own."""
    print(
        "\n## growth\n\n| family | times the text | words | preparing, s | epoch, processor s | peak memory, MB |\n|---|---|---|---|---|---|"
    )
    recipes: dict[str, StaticRecipe] = {
        "word2vec": Word2Vec(), "cbow": Word2Vec(architecture=Architecture.CBOW), "fasttext": FastText(), "glove": GloVe(memory=256),
    }  # fmt: skip
    for name, recipe in recipes.items():
        for times in (1, 2, 4, 8):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                words, before, spent, memory = pool.apply(_grown, (recipe, vocabulary, text, times))
            print(f"| {name} | {times} | {words:,} | {before:.1f} | {spent:.1f} | {memory:,.0f} |", flush=True)


def _grown(recipe: StaticRecipe, vocabulary: Vocabulary, text: WordText, times: int) -> tuple[int, float, float, float]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        larger = np.memmap(Path(folder) / "ids.bin", np.int32, "w+", shape=(len(text.ids) * times,))
        for number in range(times):
            larger[number * len(text.ids) : (number + 1) * len(text.ids)] = text.ids
        starts = np.concatenate([text.start[:-1] + number * len(text.ids) for number in range(times)] + [[len(larger)]])
        whole = WordText(ids=larger, start=starts)
        counted = replace(vocabulary, counts=vocabulary.counts * times)
        trainer = recipe.trainer(counted, seed=1, threads=2)
        if not isinstance(recipe, GloVe):
            trainer.loss(whole.part(0, 2))  # compiled before the clock starts
        begin = time.process_time()
        trainer.prepare(whole, Path(folder) / "scratch", lambda share: None)
        before, begin = time.process_time() - begin, time.process_time()
        for piece in range(trainer.pieces):
            trainer.train(whole, epoch=0, piece=piece, progress=piece / trainer.pieces, progress_after=(piece + 1) / trainer.pieces)
        spent = time.process_time() - begin
    return len(larger), before, spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
