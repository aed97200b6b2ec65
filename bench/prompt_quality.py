"""What prompts are worth with 16 examples a class: methods × sets × cuts × bodies, beside the controls, one cell at a time; what is done is kept.

    python bench/prompt_quality.py --data FOLDER --body minilm=DIR --out RESULTS [--sets sst2,trec] [--methods pattern,p-tuning] [--cuts 5]
    python bench/prompt_quality.py --out RESULTS --table

Test rows are those of the set's dev file, never looked at before. A method may carry settings: prefix+head=true. `setfit` runs in an environment of
its own (--setfit-python), on the body's Hugging Face directory (--hf minilm=DIR). `--minutes` ends after the cell that is running then.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from itertools import product
from pathlib import Path

from _few_shot_sets import SETS, cut_rows, write_rows

METHODS = "tfidf,frozen,fine-tuning,zero-shot,pattern,pet,adapters,p-tuning,soft,prefix,prefix+head=true"
WITHOUT_A_BODY = ("tfidf",)
TRAIN, DEV, UNLABELLED = "train.jsonl", "dev.jsonl", "unlabelled.jsonl"


def cell(body: Path, name: str, method: str, work: Path, seed: int) -> float:
    """Accuracy on the test rows."""
    from plume.prompting.method import method as declared
    from plume.prompting.options import prompt_from_options
    from plume.tuning.loaded import load_tuned

    one = SETS[name]
    called, *settings = method.split("+")
    chosen, given = declared(called), {}
    if chosen.prompted:
        given = {"template": [one.template, *one.others] if chosen.several else one.template, "labels": one.labels}
    if chosen.unlabelled and not chosen.text_optional:
        given["text"] = work / UNLABELLED
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        prompt_from_options(
            body, train=work / TRAIN, out=out, task=one.task, method=called, settings=settings, length=128, seed=seed, quiet=True, **given
        )
        return load_tuned(out).evaluate(work / DEV).scores["accuracy"]


def setfit(python: str, hf: Path, work: Path, seed: int) -> float:
    command = [python, str(Path(__file__).with_name("_setfit_peer.py")), str(hf), str(work / TRAIN), str(work / DEV), str(seed)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(json.loads(said.strip().splitlines()[-1])["accuracy"])


def table(out: Path) -> str:
    """Mean and spread over cuts, by body."""
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for path in sorted((out / "cells").glob("*.json")):
        done = json.loads(path.read_text(encoding="utf-8"))
        found[done["body"], done["method"], done["set"]].append(100 * done["accuracy"])
    lines = []
    for body in sorted({key[0] for key in found}):
        sets = [name for name in SETS if any(key[0] == body and key[2] == name for key in found)]
        lines += [f"\n{body}\n", "| method | " + " | ".join(sets) + " |", "|---|" + "---|" * len(sets)]
        for method in dict.fromkeys(key[1] for key in found if key[0] == body):
            shown = [_cell(found.get((body, method, name), [])) for name in sets]
            lines.append(f"| {method} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _cell(scores: list[float]) -> str:
    if not scores:
        return ""
    spread = f" ± {statistics.stdev(scores):.1f}" if len(scores) > 1 else ""
    return f"{statistics.mean(scores):.1f}{spread} ({len(scores)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--body", action="append", default=[], help="NAME=DIR")
    parser.add_argument("--hf", action="append", default=[], help="NAME=DIR, for setfit")
    parser.add_argument("--sets", default="sst2,trec,ag_news,cr,subj")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--cuts", type=int, default=5)
    parser.add_argument("--a-class", type=int, default=16)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--setfit-python", default="python")
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    if asked.table:
        print(table(asked.out))
        return
    bodies, theirs = (dict(one.split("=", 1) for one in given) for given in (asked.body, asked.hf))
    began = time.monotonic()
    for cut, name, method, body in product(range(asked.cuts), asked.sets.split(","), asked.methods.split(","), bodies):
        shown = "none" if method in WITHOUT_A_BODY else body
        done = asked.out / "cells" / f"{shown}-{name}-{method}-{cut}.json"
        if done.exists() or time.monotonic() - began > 60 * asked.minutes:
            continue
        started = time.monotonic()
        rows = cut_rows(SETS[name], asked.data, cut=cut, a_class=asked.a_class, rows=asked.rows)
        work = asked.out / f"work-{shown}-{name}-{method}-{cut}"
        for file, some in ((TRAIN, rows.train), (DEV, rows.dev), (UNLABELLED, rows.unlabelled)):
            write_rows(work / file, some)
        if method == "setfit":
            accuracy = setfit(asked.setfit_python, Path(theirs[body]).absolute(), work, cut)
        else:
            accuracy = cell(Path(bodies[body]), name, method, work, cut)
        shutil.rmtree(work)
        seconds = round(time.monotonic() - started, 1)
        result = {
            "body": shown, "set": name, "method": method, "cut": cut, "accuracy": accuracy, "examples": len(rows.train), "rows": len(rows.dev),
            "seconds": seconds,
        }  # fmt: skip
        done.parent.mkdir(parents=True, exist_ok=True)
        done.write_text(json.dumps(result) + "\n", encoding="utf-8")
        print(json.dumps(result), flush=True)
    print(table(asked.out))


if __name__ == "__main__":
    main()
