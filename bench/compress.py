"""What int8 gains over float32, and what a teacher costs in training.

    python bench/compress.py --weights FOLDER --data FOLDER [--rounds 9] [--threads 1] [--quick]

`--weights` is a folder of sentence-transformers (all-MiniLM-L6-v2), `--data` holds sst2 and ag_news. The sides take turns; printed are medians over
rounds, and the ratio of each round with its range. Training is measured by CPU time, step by step on the same batches: with the teacher's answers
kept, against the student's own step; with the teacher reading every batch, against its forward pass and the student's step.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _rounds import options, ratio
from runtimes import classifier, measured, texts_of

SIDES = ("float32", "int8", "int8, torch")


def quantised(folder: Path, texts: Sequence[str], rounds: int) -> None:
    """Size, cosine, latency and throughput of the encoder, float32 by torch against the int8 directory."""
    import plume

    small = folder / "int8"
    plume.compress(folder / "model", method="int8", out=small, quiet=True, timed=False)
    sizes = [(one / "model.safetensors").stat().st_size for one in (folder / "model", small)]
    print(f"size {sizes[0]:,} → {sizes[1]:,} bytes: {sizes[0] / sizes[1]:.2f} times smaller")
    models: dict[str, Any] = dict(
        zip(SIDES, (plume.load(folder / "model"), plume.load(small), plume.load(small, runtime="torch-int8")), strict=True)
    )
    vectors = {name: model.embed(list(texts)) for name, model in models.items()}
    for name in SIDES[1:]:
        length = np.linalg.norm(vectors[SIDES[0]], axis=1) * np.linalg.norm(vectors[name], axis=1)
        cosine = (vectors[SIDES[0]] * vectors[name]).sum(1) / length
        print(f"{name}: cosine at least {cosine.min():.4f}, mean {cosine.mean():.4f}")
    for size in (1, 32, 64):
        part = list(texts[:: max(1, len(texts) // size)][:size])
        seconds = measured({name: partial(model.embed, part, batch=size) for name, model in models.items()}, rounds)
        for name in SIDES:
            own = statistics.median(seconds[name])
            print(f"batch {size:3d}  {name:12s} {1000 * own:9.2f} ms {size / own:8.0f} texts/s  {ratio(seconds[SIDES[0]], seconds[name])}")


def taught(folder: Path, rounds: int, steps: int) -> None:
    """A step with a teacher against its parts."""
    import torch

    from plume.compressing.distilling.comparisons import DistilLoss, Gold, Logits
    from plume.compressing.distilling.computed import whole
    from plume.compressing.distilling.inner import HiddenDistance, Relations, Scores
    from plume.compressing.distilling.lesson import DistilSettings
    from plume.compressing.distilling.network import LABELLED, SAID, DistilledModel, Tutor
    from plume.compressing.distilling.students import student_directory
    from plume.compressing.job import data_of
    from plume.core.batch import Batch
    from plume.data.loader import Cursor
    from plume.train.device import to_device
    from plume.tuning.declared import Declared
    from plume.tuning.lesson import Pupil
    from plume.tuning.planning import plan
    from plume.tuning.settings import Wishes
    from plume.tuning.tuned import TunedModel, assemble, reading_order

    source = folder / "tuned"
    teacher = TunedModel.load(source).model.requires_grad_(False)
    start = student_directory(source, folder / "student", student=None, depth=3, start=None, seed=0)
    kept: tuple[DistilLoss, ...] = (Gold(weight=0.5), Logits(weight=0.5, temperature=2.0))
    made = plan(
        start, data_of(source, (), ()), DistilSettings, wishes=Wishes(batch=32, length=128), budget="1steps", known=True, seed=0,
        teachers=((str(source),),), comparisons=kept,
    )  # fmt: skip
    body, tokenizer, asked = made.ready
    declared = Declared(
        tasks=tuple(one.task for one in made.prepared), adaptation=made.settings.adaptation, length=made.settings.training.length,
        order=reading_order(body, tokenizer),
    )  # fmt: skip
    student = assemble(body, declared)
    student.initialise(0)
    pupil = Pupil(
        tuned=TunedModel(student, tokenizer, declared), prepared=made.prepared, asked=[one for one, _ in asked], folder=folder / "student"
    )
    reader = made.settings.lesson(pupil).mixture.readers[0]
    batches = len(reader.plan(0)[1])
    cpu = torch.device("cpu")

    def read(number: int) -> Batch:
        (batch,) = reader.step(Cursor(epoch=0, step=number % batches), (slice(None),))
        return to_device(batch, cpu)

    def bare(batch: Batch, *names: str) -> Batch:
        return replace(batch, named={name: value for name, value in batch.named.items() if name not in names})

    def trained(model: Any, which: Callable[[Batch], Batch]) -> Callable[[], None]:
        optimizer = torch.optim.AdamW([one for _, one in model.kept()], lr=1e-5, fused=True)

        def run() -> None:
            model.train()
            for number in range(steps):
                losses = model.losses(which(read(number)))
                torch.stack([one.total / max(one.count, 1) for one in losses.values()]).sum().backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)

        return run

    @torch.no_grad()
    def forward(which: Callable[[Batch], Batch]) -> None:
        for number in range(steps):
            teacher.states(which(read(number)))

    def plain(batch: Batch) -> Batch:
        return bare(batch, SAID, LABELLED)

    def every(batch: Batch) -> Batch:
        """All tokens in the last block too, which what looks inside needs."""
        return whole(plain(batch), pooled=task in teacher.pooled)

    (task,) = read(0).labels
    tutors = {task: Tutor(model=teacher, task=task)}
    inner = {
        "hidden": (*kept, HiddenDistance()),
        "hidden and scores": (*kept, HiddenDistance(), Scores()),
        "relations": (*kept, Relations()),
    }
    calls = {
        "student's step": trained(student, plain),
        "teacher's forward": partial(forward, plain),
        "student's step, all": trained(student, every),
        "teacher's forward, all": partial(forward, every),
        "answers kept": trained(DistilledModel(student, {}, kept), lambda batch: batch),
        "answers asked": trained(DistilledModel(student, tutors, kept), lambda batch: bare(batch, SAID)),
        **{name: trained(DistilledModel(student, tutors, how), lambda batch: batch) for name, how in inner.items()},
    }
    seconds = measured(calls, rounds, time.process_time)  # what else the machine does is not counted
    alone = seconds["student's step"]
    both, all_of_both = (
        [one + other for one, other in zip(seconds[f"student's step{what}"], seconds[f"teacher's forward{what}"], strict=True)]
        for what in ("", ", all")
    )
    against = {
        "answers kept": (alone, "the student's"),
        "answers asked": (both, "both"),
        **dict.fromkeys(inner, (all_of_both, "both, all tokens")),
    }
    for name, own in seconds.items():
        said = f"  {ratio(own, against[name][0])} of {against[name][1]}" if name in against else ""
        print(f"{name:22s} {1000 * statistics.median(own) / steps:8.1f} ms CPU a step{said}")


def main() -> None:
    """Print everything."""
    given = options(__doc__, "data", rounds=9, threads=1)
    rounds, count, rows, steps = (2, 64, 64, 2) if given.quick else (given.rounds, 512, 640, 20)

    import torch

    from plume.core.machine import instructions, processor

    torch.set_num_threads(given.threads)
    print(f"{processor()} ({', '.join(instructions())}), {given.threads} threads")
    with tempfile.TemporaryDirectory() as folder:
        classifier(given.weights, Path(folder), given.data, rows=rows)
        quantised(Path(folder), texts_of(given.data, count), rounds)
        taught(Path(folder), rounds, steps)


if __name__ == "__main__":
    main()
