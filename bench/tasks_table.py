"""The two tables of docs/tasks.md, measured on real data.

    python bench/tasks_table.py gain --english RUN --chinese RUN --data FOLDER [--seeds 3] [--only conll2003,ag_news]
    python bench/tasks_table.py peer --weights FOLDER --data FOLDER [--seeds 3]

`gain`: a BERT of plume's, tuned with and without its pre-training, everything else equal. `peer`: real weights (a Hugging Face directory), tuned
by plume and by a plain loop over transformers: same data, steps, batch, learning rate. What is measured is kept in docs/tasks.json and never
measured twice; docs/make_tasks.py writes the tables from it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "docs" / "tasks.json"


@dataclass(frozen=True)
class Set:
    name: str
    task: str
    train: str
    dev: str
    first: int | None = None  # lines of the training file that are taken; None: all

    @property
    def called(self) -> str:
        return self.name if self.first is None else f"{self.name}-{self.first}"


GAIN = {
    "english": [
        Set("conll2003", "ner", "eng.train", "eng.testa"),
        Set("ag_news", "classification", "train.csv", "dev.csv"),
        Set("ag_news", "classification", "train.csv", "dev.csv", first=500),
        Set("sst2", "classification", "train.tsv", "dev.tsv"),
        Set("mrpc", "paraphrase", "msr-para-train.tsv", "msr-para-val.tsv"),
        Set("squad_v1.1", "qa", "train.json", "dev.json"),
    ],
    "chinese": [
        Set("msra_ner", "ner", "msra_train_bio.txt", "msra_dev_bio.txt"),
        Set("thucnews_titles", "classification", "train.txt", "dev.txt"),
        Set("thucnews_titles", "classification", "train.txt", "dev.txt", first=500),
        Set("chnsenticorp", "classification", "train.tsv", "dev.tsv"),
        Set("lcqmc", "paraphrase", "train.txt", "dev.txt"),
        Set("cmrc2018", "qa", "train.json", "dev.json"),
    ],
}
PEER = [  # with the number of training examples taken
    (Set("sst2", "classification", "train.tsv", "dev.tsv"), 2000),
    (Set("mrpc", "paraphrase", "msr-para-train.tsv", "msr-para-val.tsv"), 1500),
    (Set("conll2003", "ner", "eng.train", "eng.testa"), 1500),
    (Set("stsb", "similarity", "sts-train.csv", "sts-dev.csv"), 2000),
]
PEER_STEPS, PEER_BATCH, PEER_RATE, PEER_LENGTH = 150, 32, 1e-4, 128


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["gain", "peer"])
    parser.add_argument("--data", type=Path, required=True, help="the folder with the data sets")
    parser.add_argument("--english", type=Path)
    parser.add_argument("--chinese", type=Path)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    only = {name for name in given.only.split(",") if name}
    if given.table == "gain":
        for language, sets in GAIN.items():
            for one in sets if getattr(given, language) else []:
                for seed in range(given.seeds):
                    for scratch in (False, True):  # taking turns, so that noise of the machine falls on both
                        if not only or one.called in only:
                            gain(one, getattr(given, language), given.data, seed=seed, scratch=scratch)
    else:
        for one, count in PEER:
            for seed in range(given.seeds):
                if not only or one.name in only:
                    peer(one, given.weights, given.data, count, seed=seed)


def kept() -> dict[str, Any]:
    """Every run so far, by name."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))["runs"] if RESULTS.exists() else {}
    return found


def keep(key: str, value: Any) -> None:
    from plume.core.files import write_json

    about = json.loads(RESULTS.read_text(encoding="utf-8"))["about"] if RESULTS.exists() else {}
    write_json(RESULTS, {"about": about, "runs": kept() | {key: value}})
    print(key, {name: round(number, 4) for name, number in value.items() if isinstance(number, float)}, flush=True)


def gain(one: Set, model: Path, data: Path, *, seed: int, scratch: bool) -> None:
    from plume.tuning.options import start_from_options

    key = f"gain/{one.called}/{one.task}/{'scratch' if scratch else 'pretrained'}/{seed}"
    if key in kept():
        return
    folder = Path(tempfile.mkdtemp()) / "out"
    train = data / one.name / one.train
    if one.first is not None:
        lines = train.read_text(encoding="utf-8").splitlines(keepends=True)[: one.first]
        train = folder.with_name(train.name)
        train.write_text("".join(lines), encoding="utf-8")
    tuned = start_from_options(
        model, task=one.task, train=str(train), dev=str(data / one.name / one.dev), out=folder, seed=seed, from_scratch=scratch, quiet=True
    )
    if tuned.outcome.stopped_by:
        raise SystemExit(f"{key} was stopped by {tuned.outcome.stopped_by}: not kept.")
    keep(key, {name: value for name, value in tuned.scores.items() if "/" not in name})
    shutil.rmtree(folder.parent)


def peer(one: Set, weights: Path, data: Path, count: int, *, seed: int) -> None:
    """Both sides see the same examples and are measured after the last step, whatever came before."""
    from plume.hf.importing import import_folder
    from plume.tuning.options import named
    from plume.tuning.preparing import prepare
    from plume.tuning.settings import TaskData

    key = f"peer/{one.name}/{one.task}/{{}}/{seed}"
    if all(key.format(side) in kept() for side in ("plume", "transformers")):
        return
    folder = Path(tempfile.mkdtemp())
    files = TaskData(task=named(one.task), train=(str(data / one.name / one.train),), dev=(str(data / one.name / one.dev),))
    prepared = prepare(files)
    train = prepared.train[:count]
    import_folder(weights, folder / "model")
    if key.format("plume") not in kept():
        keep(key.format("plume"), _ours(prepared, train, folder, seed))
    if key.format("transformers") not in kept():
        keep(key.format("transformers"), _theirs(one.task, prepared, train, weights, seed))
    shutil.rmtree(folder)


def _ours(prepared: Any, train: list[Any], folder: Path, seed: int) -> dict[str, float]:
    from plume.core.part import replace
    from plume.model.recipe import Training
    from plume.model.schedule import Linear
    from plume.train.budget import Budget
    from plume.tuning.settings import TaskData, TuneSettings
    from plume.tuning.tune import run_prepared

    training = Training(length=PEER_LENGTH, batch=PEER_BATCH, peak=PEER_RATE, schedule=Linear(warmup=0.1))
    settings = TuneSettings(
        model=str(folder / "model"), data=(TaskData(task=prepared.task, train=(), dev=()),), training=training,
        budget=Budget(unit="steps", amount=PEER_STEPS), seed=seed, measurements=1, patience=99,
    )  # fmt: skip
    tuned = run_prepared(settings, [replace(prepared, train=train)], folder / f"out{seed}", quiet=True)
    return {name: value for name, value in tuned.outcome.held_out.items() if "/" not in name}


def _theirs(task: str, prepared: Any, train: list[Any], weights: Path, seed: int) -> dict[str, float]:
    import _transformers_tasks as plain
    import torch
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(weights)
    labels = prepared.task.labels
    torch.manual_seed(seed)
    model = plain.model_for(task, weights, labels)
    rows = plain.encoded(task, train, tokenizer, labels, length=PEER_LENGTH)
    plain.train(model, rows, tokenizer, steps=PEER_STEPS, batch=PEER_BATCH, rate=PEER_RATE, seed=seed)
    held_out = plain.encoded(task, prepared.dev, tokenizer, labels, length=PEER_LENGTH)
    answers = plain.predictions(task, plain.outputs(model, held_out, tokenizer), held_out, labels)
    scores: dict[str, float] = prepared.task.measure(prepared.dev, answers)
    return {name: value for name, value in scores.items() if "/" not in name}


if __name__ == "__main__":
    main()
