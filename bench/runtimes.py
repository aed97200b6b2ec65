"""Torch, ONNX Runtime and its 8 bits: latency of one text, and texts/s, of an encoder and of a tuned classifier.

    python bench/runtimes.py --weights FOLDER --data FOLDER [--rounds 9] [--threads 1] [--quick]

`--weights` is a folder of sentence-transformers (all-MiniLM-L6-v2), `--data` holds sst2 and ag_news. They take turns; printed are medians, the
ratio to torch of each round with its range, and how near the answers are: the least and the mean cosine of vectors, the share of equal labels.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

RUNTIMES = ("torch", "onnx", "onnx-int8")


def texts_of(data: Path, count: int) -> list[str]:
    """Half phrases and sentences of sst2, half news of ag_news."""
    with (data / "sst2" / "train.tsv").open(encoding="utf-8") as handle:
        short = [line.split("\t")[0].strip() for line in handle][1 : count // 2 + 1]
    with (data / "ag_news" / "train.csv").open(encoding="utf-8") as handle:
        return short + [row[0] for row, _ in zip(csv.reader(handle), range(count // 2), strict=False)]


def classifier(weights: Path, folder: Path, data: Path, *, rows: int) -> Any:
    """MiniLM tuned on a little of sst2: how good it is does not matter here."""
    import plume

    plume.import_hf(weights, out=folder / "model")
    with (data / "sst2" / "train.tsv").open(encoding="utf-8") as handle:
        lines = handle.readlines()[: rows + 1]
    (folder / "train.tsv").write_text("".join(lines), encoding="utf-8")
    return plume.tune(folder / "model", task="classification", train=folder / "train.tsv", out=folder / "tuned", epochs=1, quiet=True)


def measured(calls: dict[str, Callable[[], Any]], rounds: int, clock: Callable[[], float] = time.perf_counter) -> dict[str, list[float]]:
    """Seconds of each call, taken in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            begun = clock()
            call()
            seconds[name].append(clock() - begun)
    return seconds


def report(title: str, texts: int, seconds: dict[str, list[float]]) -> None:
    """A line for each runtime."""
    for name, own in seconds.items():
        ratios = [first / second for first, second in zip(seconds["torch"], own, strict=True)]
        print(
            f"{title:24s} {name:10s} {1000 * statistics.median(own):9.2f} ms {texts / statistics.median(own):8.0f} texts/s   "
            f"{statistics.median(ratios):.2f} times torch ({min(ratios):.2f}–{max(ratios):.2f})"
        )


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="Few texts and rounds: does it run?")
    given = parser.parse_args()
    rounds, count = (2, 40) if given.quick else (given.rounds, 512)

    import torch

    torch.set_num_threads(given.threads)
    texts = texts_of(given.data, count)
    with tempfile.TemporaryDirectory() as folder:
        tuned = classifier(given.weights, Path(folder), given.data, rows=64 if given.quick else 400)
        models = {name: tuned.using(name) for name in RUNTIMES}
        vectors = {name: model.embed(texts) for name, model in models.items()}
        labels = {name: [one["label"] for one in model.predict(texts)] for name, model in models.items()}
        for name in RUNTIMES[1:]:
            unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (vectors["torch"], vectors[name])]
            cosine = (unit[0] * unit[1]).sum(1)
            equal = np.mean([one == right for one, right in zip(labels[name], labels["torch"], strict=True)])
            print(f"{name}: cosine at least {cosine.min():.4f}, mean {cosine.mean():.4f}; {equal:.1%} of the labels the same")
        for size in (1, 64, count):
            part = texts[:: max(1, count // size)][:size]
            for verb in ("embed", "predict"):
                calls = {name: partial(getattr(model, verb), part) for name, model in models.items()}
                report(f"{verb}, {size} texts", size, measured(calls, rounds))


if __name__ == "__main__":
    main()
