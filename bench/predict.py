"""Examples/s of prediction over a file of texts of very different lengths, by plume and by transformers' pipelines: same weights, same batch.

Each side runs in a process of its own, and they take turns; a pipeline reads its texts as its documentation advises, in batches. The answers of both
are compared: labels must be equal, scores to 1e-3.

    python bench/predict.py --weights FOLDER --data FOLDER [--rounds 5] [--texts 1000]

The head is random but the same on both sides: what is predicted does not change how long it takes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from _apart import measured

BATCH, LENGTH = 32, 256
LABELS = {"classification": ["World", "Sports", "Business", "Sci/Tech"], "ner": ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]}


def made_texts(data: Path, count: int) -> list[str]:
    """A mixture: short phrases, news items, and paragraphs of articles, in random order."""
    import random

    short = [line.split("\t")[0] for line in (data / "sst2" / "train.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    articles = [json.loads(line)["text"] for line in (data / "wikinews_en" / "dev.jsonl").open(encoding="utf-8")]
    paragraphs = [
        " ".join(part.split()[:150]) for text in articles for part in text.split("\n\n") if part.strip()
    ]  # none is cut by either side
    source = random.Random(3)
    mixed = source.sample(short, count // 2) + (paragraphs * (count // len(paragraphs) + 1))[: count - count // 2]
    source.shuffle(mixed)
    return mixed


def make_models(weights: Path, folder: Path) -> None:
    """Both heads with random weights, as Hugging Face directories and as plume's."""
    import _transformers_tasks as plain
    import torch
    from transformers import AutoTokenizer

    from plume.tuning.exchange import import_tuned

    for task, labels in LABELS.items():
        torch.manual_seed(1)
        model = plain.model_for(task, weights, labels)
        model.classifier.weight.data.normal_(std=0.5)
        model.save_pretrained(folder / f"{task}-theirs")
        tokenizer = AutoTokenizer.from_pretrained(weights, model_max_length=LENGTH)
        tokenizer.save_pretrained(folder / f"{task}-theirs")
        import_tuned(folder / f"{task}-theirs", folder / f"{task}-ours")


def ours(task: str, folder: Path, texts: list[str]) -> tuple[float, list[Any]]:
    import plume
    from plume.core.part import replace

    model = plume.load(folder / f"{task}-ours")
    model.declared = replace(model.declared, length=LENGTH)
    model.predict(texts[:BATCH])
    began = time.perf_counter()
    found = model.predict(texts)
    seconds = time.perf_counter() - began
    if task == "classification":
        return seconds, [(one["label"], one["score"]) for one in found]
    return seconds, [[(entity["start"], entity["end"], entity["label"]) for entity in one["entities"]] for one in found]


def theirs(task: str, folder: Path, texts: list[str]) -> tuple[float, list[Any]]:
    from transformers import AutoTokenizer, pipeline

    tokenizer = AutoTokenizer.from_pretrained(folder / f"{task}-theirs", model_max_length=LENGTH)
    kind = {"classification": "text-classification", "ner": "token-classification"}[task]
    options = {"truncation": True} if task == "classification" else {"aggregation_strategy": "first"}
    run = pipeline(kind, model=str(folder / f"{task}-theirs"), tokenizer=tokenizer, batch_size=BATCH, device="cpu", **options)
    list(run(texts[:BATCH]))
    began = time.perf_counter()
    found = list(run(texts))
    seconds = time.perf_counter() - began
    if task == "classification":
        return seconds, [(one["label"], one["score"]) for one in found]
    return seconds, [[(entity["start"], entity["end"], entity["entity_group"]) for entity in one] for one in found]


SIDES = {"plume": ours, "transformers": theirs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--cases", default=",".join(LABELS))
    given = parser.parse_args()
    texts = made_texts(given.data, given.texts)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_models(given.weights, folder)
        for task in given.cases.split(","):
            speeds: dict[str, list[float]] = {"plume": [], "transformers": []}
            answers: dict[str, list[Any]] = {}
            for _ in range(given.rounds):
                for side, found in speeds.items():
                    seconds, answers[side] = measured(SIDES[side], task, folder, texts)
                    found.append(len(texts) / seconds)
            ratios = sorted(one / other for one, other in zip(speeds["plume"], speeds["transformers"], strict=True))
            both = zip(answers["plume"], answers["transformers"], strict=True)
            same = [a[0] == b[0] and abs(a[1] - b[1]) < 1e-3 if task == "classification" else a == b for a, b in both]
            equal = f"; equal answers {sum(same)} of {len(same)}"
            print(
                f"{task}: plume {statistics.median(speeds['plume']):.1f} texts/s, pipeline {statistics.median(speeds['transformers']):.1f}; "
                f"{statistics.median(ratios):.2f} times ({ratios[0]:.2f}–{ratios[-1]:.2f}){equal}; load {os.getloadavg()[0]:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
