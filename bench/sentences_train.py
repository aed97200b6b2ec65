"""Steps/s of SimCSE by plume and by sentence-transformers: same weights, texts, batch, length, dropout and optimizer; two threads.

Each side runs in a process of its own, and they take turns. Printed: the median over rounds, the ratio with its spread, the load of the machine.

    python bench/sentences_train.py --weights FOLDER --text FILE [--rounds 5] [--steps 40] [--batch 64] [--length 32] [--quick]

`--weights` is a sentence-transformers directory (MiniLM), `--text` has a sentence a line. Cutting texts into tokens is counted on both sides; neither
loading nor saving is. sentence-transformers' Trainer needs the package datasets; without it its own older loop is measured, which does less a step.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import tempfile
import time
from pathlib import Path

from _apart import measured
from _rounds import options, ratio

RATE, DROPOUT = 3e-5, 0.1


def sentences(path: Path, count: int) -> list[str]:
    """The first that differ."""
    lines = dict.fromkeys(line.strip() for line in path.read_text(encoding="utf-8").splitlines() if len(line.split()) > 3)
    return list(lines)[:count]


def ours(weights: Path, text: Path, steps: int, batch: int, length: int, threads: int) -> float:
    import torch

    import plume
    from plume.sentences import training
    from plume.sentences.method import method
    from plume.tuning.settings import Wishes

    torch.set_num_threads(threads)
    laid_out, seconds = training._laid_out, [0.0]

    def timed(*arguments):  # type: ignore[no-untyped-def]
        began = time.perf_counter()
        made = laid_out(*arguments)
        seconds[0] = time.perf_counter() - began
        return made

    training._laid_out = timed  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        plume.import_hf(weights, out=f"{folder}/model")
        (Path(folder) / "text.txt").write_text("\n".join(sentences(text, steps * batch)), encoding="utf-8")
        made = training.start(
            Path(folder) / "model", Path(folder) / "out", method=method("simcse"), text=[f"{folder}/text.txt"], budget=f"{steps}steps",
            wishes=Wishes(batch=batch, length=length, rate=RATE), dropout=DROPOUT, quiet=True, measurements=1,
        )  # fmt: skip
    return steps / (made.outcome.position.spent.seconds + seconds[0])


def theirs(weights: Path, text: Path, steps: int, batch: int, length: int, threads: int) -> float:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = SentenceTransformer(str(weights), device="cpu")
    model.max_seq_length = length
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = DROPOUT
    loss, found = MultipleNegativesRankingLoss(model), sentences(text, steps * batch)
    began = time.perf_counter()
    if importlib.util.find_spec("datasets") is None:
        from sentence_transformers import InputExample
        from torch.utils.data import DataLoader

        loader = DataLoader([InputExample(texts=[one, one]) for one in found], shuffle=True, batch_size=batch, drop_last=True)  # type: ignore[arg-type, var-annotated]
        began = time.perf_counter()
        model.old_fit([(loader, loss)], epochs=1, warmup_steps=steps // 10, optimizer_params={"lr": RATE}, show_progress_bar=False)
        return len(loader) / (time.perf_counter() - began)
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments

    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder, num_train_epochs=1, per_device_train_batch_size=batch, learning_rate=RATE, warmup_steps=steps // 10, report_to=[],
            save_strategy="no", logging_strategy="no", disable_tqdm=True, dataloader_drop_last=True, use_cpu=True,
        )  # fmt: skip
        rows = Dataset.from_dict({"one": found, "other": found})
        trainer = SentenceTransformerTrainer(model=model, args=arguments, train_dataset=rows, loss=loss)
        began = time.perf_counter()
        trainer.train()
    return (len(found) // batch) / (time.perf_counter() - began)


def main() -> None:
    asked = options(__doc__, "text", steps=40, batch=64, length=32)
    rounds, steps = (1, 12) if asked.quick else (asked.rounds, asked.steps)
    given = (asked.weights, asked.text, steps, asked.batch, asked.length, asked.threads)
    found: list[tuple[float, float]] = []
    for number in range(rounds):
        sides = [ours, theirs] if number % 2 == 0 else [theirs, ours]
        values = {side.__name__: measured(side, *given) for side in sides}
        found.append((values["ours"], values["theirs"]))
        print(f"round {number + 1}: plume {found[-1][0]:.2f}, sentence-transformers {found[-1][1]:.2f} steps/s", flush=True)
    speeds, peers = zip(*found, strict=True)
    peer = "Trainer" if importlib.util.find_spec("datasets") else "old_fit"
    print(
        f"SimCSE, batch {asked.batch}, {asked.length} tokens, {asked.threads} threads: "
        f"plume {statistics.median(speeds):.2f} steps/s, sentence-transformers ({peer}) {statistics.median(peers):.2f}; "
        f"{ratio(speeds, peers)}; load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
