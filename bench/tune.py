"""Examples/s of tuning by plume and by transformers' Trainer: same weights, data, batch, steps, optimizer; dynamic padding on both sides.

Each side runs in a process of its own, and they take turns. Printed: the median over rounds, the ratio with its spread, the load of the machine.

    python bench/tune.py --weights FOLDER --data FOLDER [--rounds 5] [--steps 40]

`--weights` is a Hugging Face directory (a BERT), `--data` holds the data sets. Time is that of training steps: neither reading, encoding nor
measuring is counted on either side.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

from _apart import measured

CASES = {
    "sst2": ("classification", "sst2/train.tsv", "sst2/dev.tsv"),
    "ag_news": ("classification", "ag_news/train.csv", "ag_news/dev.csv"),
    "conll2003": ("ner", "conll2003/eng.train", "conll2003/eng.testa"),
}
BATCH, RATE, LENGTH = 32, 1e-4, 128


def prepared(case: str, data: Path, steps: int) -> Any:
    """The first examples, enough for the steps; a few to measure on, because there must be some."""
    from plume.core.part import replace
    from plume.tuning.options import named
    from plume.tuning.preparing import prepare
    from plume.tuning.settings import TaskData

    task, train, dev = CASES[case]
    found = prepare(TaskData(task=named(task), train=(str(data / train),), dev=(str(data / dev),)))
    return replace(found, train=found.train[: steps * BATCH], dev=found.dev[:8])


def ours(case: str, weights: Path, data: Path, steps: int) -> float:
    from plume.hf.importing import import_folder
    from plume.model.recipe import Training
    from plume.model.schedule import Linear
    from plume.train.budget import Budget
    from plume.tuning.settings import TaskData, TuneSettings
    from plume.tuning.tune import run_prepared

    ready = prepared(case, data, steps)
    with tempfile.TemporaryDirectory() as folder:
        import_folder(weights, Path(folder) / "model")
        settings = TuneSettings(
            model=f"{folder}/model", data=(TaskData(task=ready.task, train=()),), seed=0, measurements=1,
            training=Training(length=LENGTH, batch=BATCH, peak=RATE, schedule=Linear(warmup=0.1)), budget=Budget(unit="steps", amount=steps),
            save_every=Budget(unit="seconds", amount=1e6),
        )  # fmt: skip
        spent = run_prepared(settings, [ready], Path(folder) / "out", quiet=True).outcome.position.spent
    return steps * BATCH / spent.seconds


def theirs(case: str, weights: Path, data: Path, steps: int) -> float:
    import _transformers_tasks as plain
    import torch
    from transformers import AutoTokenizer, DataCollatorForTokenClassification, DataCollatorWithPadding, Trainer, TrainingArguments

    torch.manual_seed(0)
    ready = prepared(case, data, steps)
    tokenizer = AutoTokenizer.from_pretrained(weights)
    task, labels = ready.task.kind, ready.task.labels
    rows = plain.encoded(task, ready.train, tokenizer, labels, length=LENGTH)
    collate = DataCollatorForTokenClassification if task == "ner" else DataCollatorWithPadding
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, per_device_train_batch_size=BATCH, learning_rate=RATE, max_steps=steps, warmup_steps=max(1, steps // 10),
            weight_decay=0.01, adam_epsilon=1e-6, max_grad_norm=1.0, report_to=[], save_strategy="no", logging_strategy="no", use_cpu=True,
            disable_tqdm=True,
        )  # fmt: skip
        trainer = Trainer(
            model=plain.model_for(task, weights, labels), args=arguments, train_dataset=rows, data_collator=collate(tokenizer=tokenizer)
        )
        seconds = trainer.train().metrics["train_runtime"]
    return steps * BATCH / seconds


SIDES = {"plume": ours, "transformers": theirs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--cases", default=",".join(CASES))
    given = parser.parse_args()
    for case in given.cases.split(","):
        speeds: dict[str, list[float]] = {"plume": [], "transformers": []}
        for _ in range(given.rounds):
            for side, found in speeds.items():
                found.append(measured(SIDES[side], case, given.weights, given.data, given.steps))
        ratios = sorted(one / other for one, other in zip(speeds["plume"], speeds["transformers"], strict=True))
        medians = {side: statistics.median(found) for side, found in speeds.items()}
        print(
            f"{case}: plume {medians['plume']:.1f} examples/s, Trainer {medians['transformers']:.1f}; {statistics.median(ratios):.2f} times "
            f"({ratios[0]:.2f}–{ratios[-1]:.2f}); load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
