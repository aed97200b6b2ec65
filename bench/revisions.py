"""This checkout against an earlier revision of it: a training step of bert/tiny, and tuning it, from the command to the card.

Both sides run the same commands, each in a process of its own, and they take turns. Printed: the median of the ratios (below 1 this
checkout is faster) and their spread.

    python bench/revisions.py --base REVISION --corpus FILE --train train.tsv --dev dev.tsv [--rounds 5] [--examples 2000]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
STEPS = 60


def plume(checkout: Path, folder: Path, *words: str) -> float:
    """Seconds that a command takes with that checkout's code."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "PLUME_CACHE": str(folder / f"cache-{checkout.name}")}
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "plume", *words, "--quiet"], cwd=folder, env=environment, check=True)
    return time.perf_counter() - began


def step_seconds(checkout: Path, folder: Path, corpus: Path, number: int) -> float:
    """Of one training step, without reading and measuring."""
    out = folder / f"pretrained-{checkout.name}-{number}"
    plume(checkout, folder, "pretrain", "bert/tiny", "--corpus", str(corpus), "--budget", f"{STEPS}steps", "--out", str(out))
    return float(json.loads((out / "train" / "outcome.json").read_text(encoding="utf-8"))["spent"]["seconds"]) / STEPS


def tune_seconds(checkout: Path, folder: Path, train: Path, dev: Path, number: int) -> float:
    """Of the whole command: it reads, tokenizes, trains and measures."""
    model, out = folder / f"pretrained-{checkout.name}-0", folder / f"tuned-{checkout.name}-{number}"
    words = ("--task", "classification", "--train", str(train), "--dev", str(dev), "--epochs", "1", "--out", str(out))
    return plume(checkout, folder, "tune", str(model), *words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", required=True, help="a revision of this repository")
    for name in ("corpus", "train", "dev"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--examples", type=int, default=2000, help="of the training file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base = folder / "base"
        subprocess.run(["git", "-C", str(ROOT), "worktree", "add", "--detach", "-q", str(base), given.base], check=True)
        try:
            lines = given.train.read_text(encoding="utf-8").splitlines(keepends=True)
            few = folder / given.train.name
            few.write_text("".join(lines[: given.examples + 1]), encoding="utf-8")
            corpus, dev = given.corpus.resolve(), given.dev.resolve()
            ratios: dict[str, list[float]] = {"step of bert/tiny": [], "plume tune": []}
            for number in range(given.rounds):
                sides = (base, ROOT) if number % 2 else (ROOT, base)
                steps = {side: step_seconds(side, folder, corpus, number) for side in sides}
                tuned = {side: tune_seconds(side, folder, few, dev, number) for side in sides}
                for what, seconds in zip(ratios, (steps, tuned), strict=True):
                    ratios[what].append(seconds[ROOT] / seconds[base])
                    print(f"round {number}: {what}: {seconds[ROOT]:.4g} s here, {seconds[base]:.4g} s before", flush=True)
        finally:
            subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(base)], check=True)
    for what, found in ratios.items():
        print(f"{what}: {statistics.median(found):.3f} of the time before (from {min(found):.3f} to {max(found):.3f})")


if __name__ == "__main__":
    main()
