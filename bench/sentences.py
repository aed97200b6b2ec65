"""Sentences/s of encoding: plume (float32, and ONNX Runtime int8) and sentence-transformers, same weights, same texts, same threads.

    python bench/sentences.py --weights FOLDER --data FOLDER [--rounds 5] [--threads 2] [--quick]

`--weights` is a folder of sentence-transformers (all-MiniLM-L6-v2), `--data` holds sst2 and ag_news. They take turns; printed are the medians
over the rounds, the ratio to sentence-transformers with its range, the cosine of the vectors and the load of the machine. Loading is not
counted, tokenizing is.
"""

from __future__ import annotations

import csv
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _rounds import options, ratio


def corpora(data: Path, count: int) -> dict[str, list[str]]:
    """Short: phrases and sentences of sst2. Mixed: half of them, and as many news of ag_news, in random order."""
    with (data / "sst2" / "train.tsv").open(encoding="utf-8") as handle:
        short = [line.split("\t")[0].strip() for line in handle][1 : count + 1]
    with (data / "ag_news" / "train.csv").open(encoding="utf-8") as handle:
        news = [row[0] for row, _ in zip(csv.reader(handle), range(count // 2), strict=False)]
    mixed = short[: count - len(news)] + news
    return {"short": short, "mixed": [mixed[place] for place in np.random.default_rng(0).permutation(len(mixed))]}


def encoders(weights: Path, folder: Path) -> dict[str, Callable[[list[str]], Any]]:
    """By name; the first is what the others are held against."""
    from sentence_transformers import SentenceTransformer

    import plume

    plume.import_hf(weights, out=folder / "model")
    theirs = SentenceTransformer(str(weights), device="cpu")
    return {
        "sentence-transformers": lambda texts: theirs.encode(texts, batch_size=32, show_progress_bar=False),
        "plume": plume.load(folder / "model").embed,
        "plume onnx-int8": plume.load(folder / "model", runtime="onnx-int8").embed,
    }


def main() -> None:
    """Print a line for each corpus and encoder."""
    given = options(__doc__, "data", texts=2000)
    rounds, count = (1, 200) if given.quick else (given.rounds, given.texts)
    os.environ["HF_HUB_OFFLINE"] = "1"

    import torch

    torch.set_num_threads(given.threads)
    with tempfile.TemporaryDirectory() as folder:
        made = encoders(given.weights, Path(folder))
        for name, texts in corpora(given.data, count).items():
            seconds: dict[str, list[float]] = {encoder: [] for encoder in made}
            vectors = {encoder: encode(texts) for encoder, encode in made.items()}  # warm
            for _ in range(rounds):
                for encoder, encode in made.items():
                    begun = time.perf_counter()
                    encode(texts)
                    seconds[encoder].append(time.perf_counter() - begun)
            report(name, len(texts), seconds, vectors)


def report(name: str, texts: int, seconds: dict[str, list[float]], vectors: dict[str, Any]) -> None:
    """The ratio is that of each round, whose encoders ran one after the other."""
    base, *_ = seconds
    print(f"{name}: {texts:,} texts, load {os.getloadavg()[0]:.1f}")
    for encoder, spent in seconds.items():
        speed = [[texts / one for one in rounds] for rounds in (spent, seconds[base])]
        one, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (vectors[base], vectors[encoder]))
        cosine = (one * other).sum(1)
        near = f"cosine mean {cosine.mean():.6f}, least {cosine.min():.6f}"
        print(f"  {encoder:22} {statistics.median(speed[0]):8.0f} sentences/s  {ratio(*speed)}  {near}")


if __name__ == "__main__":
    main()
