"""Writes docs/tasks.md from docs/tasks.json, which bench/tasks_table.py measures.

python docs/make_tasks.py
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

from plume.core.files import write_text
from plume.metrics.scores import confidence_interval
from plume.train.card import table
from plume.tuning.options import named

HERE = Path(__file__).parent
SIDES = {"gain": ("pretrained", "scratch"), "peer": ("plume", "transformers")}

TEXT = """# Tasks, measured

What each task reads, predicts and measures is on its own page: [tasks/](tasks/index.md). Here are two tables on real data; docs/tasks.json holds
every single figure. Intervals are 95% confidence intervals (Student's t) over {seeds} seeds, or as many runs
as the table says: with so few they are wide. To reproduce:

    make tasks-table DATA=… ENGLISH=runs/en CHINESE=runs/zh WEIGHTS=…

## What pre-training brings

A BERT of plume's own, pre-trained for {budget} on the corpus of its language, fine-tuned by `plume tune` with its defaults, against the same
command with `--from-scratch`: the same network, tokenizer, data, steps and learning rate, without the pre-trained weights. The score is the best on
the dev file over the run, for both. {models}

{gain}

## Beside transformers

The real weights of all-MiniLM-L6-v2, fine-tuned by plume and by a plain loop over transformers (`bench/_transformers_tasks.py`): the same examples,
{steps} steps, batch size 32, learning rate 1e-4 with a tenth of warm-up, dropout 0.1; measured after the last step. The two draw
batches and dropout differently, so single runs differ.

{peer}
"""


def main() -> None:
    kept: dict[str, Any] = json.loads((HERE / "tasks.json").read_text(encoding="utf-8"))
    runs: dict[tuple[str, str, str], dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for key, scores in sorted(kept["runs"].items()):
        which, name, task, side, _ = key.split("/")
        runs[which, name, task][side].append(scores)
    about = kept["about"]
    text = TEXT.format(
        seeds=about["seeds"],
        budget=about["budget"],
        models=about["models"],
        steps=about["steps"],
        gain=rows("gain", runs),
        peer=rows("peer", runs),
    )
    write_text(HERE / "tasks.md", text)


def rows(which: str, runs: Any) -> str:
    made = []
    for (table_of, name, task), sides in runs.items():
        if table_of != which:
            continue
        metric = named(task).metric
        found = [[run[metric] for run in sides[side]] for side in SIDES[which]]
        if not all(found):
            continue
        (one, wide), (other, narrow) = (confidence_interval(values) for values in found)
        few = min(map(len, found)) < 2  # nothing can be said of one run
        apart = "one run" if few else "yes" if abs(one - other) > wide + narrow else "no"
        runs_of = " / ".join(str(len(values)) for values in found)
        made.append((name, task, metric, shown(one, wide), shown(other, narrow), runs_of, apart))
    if not made:
        return "Not measured yet."
    return table(("data", "task", "measure", *SIDES[which], "runs", "intervals apart"), made)


def shown(mean: float, half: float) -> str:
    return f"{mean:.3f}" if math.isnan(half) else f"{mean:.3f} ± {half:.3f}"


if __name__ == "__main__":
    main()
