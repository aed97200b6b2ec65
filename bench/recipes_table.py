"""Does every family learn? Trains each `tiny` for the same time and holds its held-out losses against what needs no context.

    python bench/recipes_table.py --text corpus.txt --pairs pairs.tsv --labelled labelled.jsonl --emoji tweets.txt [family …]

Results are kept in docs/recipes.json, a family at a time, so that a run can be taken up again; docs/recipes.md is made from it.
Without --text the embedded corpus is used. Families whose kind of corpus is not given are left out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import plume
from plume.core.files import write_json
from plume.data.corpus import CorpusKind
from plume.data.layouts.labelled import CodedBlocks
from plume.embedded.chinese_grammar import chinese_documents
from plume.embedded.material import write_embedded
from plume.embedded.python_manual import english_documents
from plume.recipes import _catalog as catalog
from plume.static.recipe import StaticRecipe
from plume.train.budget import Budget
from plume.train.card import sparkline
from plume.train.metrics import read_metrics

RESULTS = Path(__file__).parents[1] / "docs" / "recipes.json"


def main() -> None:
    given = arguments()
    if given.one:
        print(json.dumps(trained(given.one, Path(given.corpus), given.budget, given.seed)))
        return
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    with tempfile.TemporaryDirectory() as scratch:
        corpora = corpora_of(given, Path(scratch))
        for family in given.families or catalog.families():
            kind = corpus_kind(family)
            if kind not in corpora:
                print(f"{family}: left out, give --{kind} to train it", file=sys.stderr)
                continue
            print(f"{family} …", file=sys.stderr, flush=True)
            call = [
                sys.executable,
                __file__,
                "--one",
                family,
                "--corpus",
                str(corpora[kind]),
                "--budget",
                given.budget,
                "--seed",
                str(given.seed),
            ]
            done = subprocess.run(call, capture_output=True, text=True, check=False)
            if done.returncode:
                print(done.stderr, file=sys.stderr)
                continue
            results[family] = json.loads(done.stdout.splitlines()[-1]) | {"corpus": given.named.get(kind, kind)}
            print(line(family, results[family]), file=sys.stderr, flush=True)
            write_json(RESULTS, dict(sorted(results.items())))


def arguments() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*")
    for kind in ("text", "pairs", "labelled", "emoji"):
        parser.add_argument(f"--{kind}", type=Path)
    parser.add_argument("--budget", default="3m")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--corpus", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.named = {
        kind: path.parent.name + "/" + path.name for kind in ("text", "pairs", "labelled", "emoji") if (path := getattr(given, kind))
    }
    return given


def corpora_of(given: Any, scratch: Path) -> dict[str, Path]:
    found = {kind: getattr(given, kind) for kind in ("text", "pairs", "labelled", "emoji") if getattr(given, kind)}
    if "text" not in found:
        found["text"] = scratch / "embedded.txt"
        write_embedded(found["text"], itertools.chain(english_documents(), chinese_documents()))
        given.named["text"] = "embedded"
    return found


def corpus_kind(family: str) -> str:
    """Which of the four corpora a family is trained on."""
    recipe = catalog.declaration(f"{family}/tiny")
    if isinstance(recipe, StaticRecipe):
        return "text"
    if any(isinstance(kind.layout, CodedBlocks) for kind in recipe.kinds):
        return "labelled"
    return {CorpusKind.PAIRS: "pairs", CorpusKind.EMOJI: "emoji"}.get(recipe.corpus, "text")


def trained(family: str, corpus: Path, budget: str, seed: int) -> dict[str, Any]:
    """One family's run, in a process of its own: what it spent, and each objective's loss beside its baseline."""
    if isinstance(catalog.declaration(f"{family}/tiny"), StaticRecipe):
        return trained_vectors(family, corpus, seed)
    from plume.train import pretrain as runs
    from plume.train.settings import make_settings

    folder = Path(tempfile.mkdtemp()) / family
    settings = make_settings(f"{family}/tiny", corpus=corpus, budget=budget, seed=seed)
    finished = runs.start(settings, folder, quiet=True)
    spent, held_out = finished.outcome.position.spent, finished.outcome.held_out
    model = plume.load(folder)
    lines = read_metrics(folder)
    objectives = {}
    for objective in model.recipe.objectives:
        name = objective.name
        values = [entry[f"held_out/{name}"] for entry in lines if f"held_out/{name}" in entry]
        objectives[name] = {
            "loss": held_out[name],
            "baseline": finished.trivial.get(name, held_out.get(f"{name}/guessing")),
            "accuracy": held_out[f"{name}/accuracy"],
            "curve": sparkline(values),
        }
    shutil.rmtree(folder.parent)
    return {
        "parameters": sum(parameter.numel() for parameter in model.model.parameters()),
        "budget": str(Budget.parse(budget)),
        "seed": seed,
        "steps": spent.steps,
        "tokens": spent.tokens,
        "seconds": round(spent.seconds, 1),
        "flops": spent.flops,
        "entropy": finished.entropy,
        "objectives": objectives,
    }


def trained_vectors(family: str, corpus: Path, seed: int) -> dict[str, Any]:
    """The same for word vectors, which train for the recipe's epochs."""
    from plume.train import word_vectors
    from plume.train.settings import make_word_settings

    recipe = catalog.declaration(f"{family}/tiny")
    assert isinstance(recipe, StaticRecipe)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / family
        finished = word_vectors.start(make_word_settings(recipe, corpus=corpus, seed=seed), folder, quiet=True)
        model = plume.load(folder)
        curve = [entry["held_out/loss"] for entry in read_metrics(folder) if "held_out/loss" in entry]
    measured = {"loss": finished.measured.loss, "baseline": finished.measured.baseline, "accuracy": None, "curve": sparkline(curve)}
    return {
        "parameters": model.vectors.matrix.size,
        "budget": f"{recipe.epochs} epochs",
        "seed": seed,
        "steps": finished.spent.steps,
        "tokens": finished.spent.tokens,
        "seconds": round(finished.spent.seconds, 1),
        "objectives": {recipe.objective: measured},
    }


def line(family: str, result: dict[str, Any]) -> str:
    shown = ", ".join(
        f"{name} {value['loss']:.3f} ({'no baseline' if value['baseline'] is None else format(value['baseline'], '.3f')})"
        for name, value in result["objectives"].items()
    )
    return f"{family}: {result['tokens']:,} tokens, {result['seconds']:.0f} s, {shown}"


if __name__ == "__main__":
    main()
