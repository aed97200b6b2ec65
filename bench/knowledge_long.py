"""Questions about whole articles: CogLTX's recall against windows, at the same number of steps (docs/knowledge.md).

    python bench/knowledge_long.py --data FOLDER --model RUN --out FOLDER [--sets films,squad,drcd] [--seeds 3] [--steps 600] [--train 300]

An article is all paragraphs of a title one behind the other (squad_v1.1, drcd), or the documents of so many `--films` (metaqa: synthetic
language), of which one holds the answer. A set × way × seed is a cell: what is measured is in OUT/SET.WAY.SEED.json and is not measured again. Rows
are counted as they go through the network: those of the reader, and all.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import plume
from plume.core.files import write_json
from plume.core.part import replace
from plume.readers.example import Example
from plume.tuning.long_texts.answering import RecalledAnswering
from plume.tuning.long_texts.lessons import answer_places, gold_blocks
from plume.tuning.long_texts.words import word_scores
from plume.tuning.rows.questions import Questions
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel

sys.path.insert(0, str(Path(__file__).parent))
from _metaqa import MetaData, documents

WAYS = {  # how it is tuned, and how the same model is measured besides
    "windows": ("windows", {}, {}),
    "recall": (
        "recall",
        {},
        {
            "recall, 12 blocks by BM25": {"shortlist": 12},
            "recall without words": {"words": 0.0},
            "recall without words, 12 blocks": {"words": 0.0, "shortlist": 12},
        },
    ),
    "recall, unsupervised": ("recall", {"supervised": False}, {}),
}
ABOUT = (0, 1, 3)  # relations that are asked about: directed by, written by, released in
ASKED = {0: "who directed {}", 1: "who wrote {}", 3: "when was {} released"}
Row = dict[str, Any]


def articles(file: Path) -> Iterator[Row]:
    """Questions of SQuAD's JSON, about the whole of what stands under their title."""
    found: dict[str, list[Any]] = defaultdict(list)
    for number, article in enumerate(json.loads(file.read_text(encoding="utf-8"))["data"]):
        found[str(article.get("title") or number)] += article["paragraphs"]
    for paragraphs in found.values():
        text = "\n".join(one["context"] for one in paragraphs)
        begin = 0
        for one in paragraphs:
            for asked in one["qas"]:
                answers = [{"text": a["text"], "answer_start": begin + a["answer_start"]} for a in asked["answers"]]
                yield {"question": asked["question"], "context": text, "answers": answers}
            begin += len(one["context"]) + 1


def films(data: MetaData, chance: np.random.Generator, count: int) -> Iterator[Row]:
    """Questions about one of many films in one text, for ever."""
    every = list(documents(data))
    while True:
        chosen = [every[place] for place in chance.choice(len(every), count, replace=False).tolist()]
        text = "\n".join(one["text"] for one in chosen)
        begin = 0
        for one in chosen[:8]:
            facts = data.films[one["id"]]
            relation = ABOUT[int(chance.integers(len(ABOUT)))]
            names = [data.entities[value] for value in facts.get(relation, [])]
            places = [one["text"].find(name) for name in names]
            if names and min(places) >= 0:
                answers = [{"text": name, "answer_start": begin + place} for name, place in zip(names, places, strict=True)]
                yield {"question": ASKED[relation].format(one["title"]), "context": text, "answers": answers}
            begin += len(one["text"]) + 1


def write_set(name: str, given: argparse.Namespace, seed: int) -> tuple[Path, Path]:
    """What a cell learns from, and what all are measured on."""
    paths = []
    for part, count, draw in (("train", given.train, seed), ("dev", given.dev, 1_000)):
        path = given.out / f"{name}.{part}.{draw}.jsonl"
        chance = np.random.default_rng(draw)
        if name == "films":
            made = films(MetaData(given.data / "metaqa"), chance, given.films)
            rows = [next(made) for _ in range(count)]
        else:
            every = list(articles(given.data / {"squad": "squad_v1.1"}.get(name, name) / f"{part}.json"))
            rows = [every[place] for place in chance.permutation(len(every))[:count].tolist()]
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        paths.append(path)
    return paths[0], paths[1]


class CountedRows:
    """Rows that went through the network, call by call."""

    def __init__(self, tuned: TunedModel) -> None:
        self.calls: list[int] = []
        self._table = tuned.table
        tuned.table = self.table  # type: ignore[method-assign]

    def table(self, questions: Questions) -> Any:
        self.calls.append(len(questions.rows))
        return self._table(questions)


def measured(tuned: TunedModel, task: Task, file: Path) -> Row:
    """F1, the rows that it took, and how often the blocks that were read held the answer."""
    reading = tuned.evaluate(file)
    counted = CountedRows(tuned)
    found = tuned.measure(task, reading.examples, reading.reading)
    tuned.table = counted._table  # type: ignore[method-assign]
    recalls = isinstance(task, RecalledAnswering)
    held = [_held(example, one) for example, one in zip(found.examples, found.predictions, strict=True)] if recalls else []
    count = len(found.examples)
    return found.scores | {
        "questions": count, "rows": sum(counted.calls) / count, "reader": (counted.calls[-1] if recalls else sum(counted.calls)) / count,
        "held": float(np.mean(held)) if held else None, "bm25": _by_words(tuned, task, found.examples) if recalls else None,
    }  # fmt: skip


def _held(example: Example, one: Row) -> bool:
    return any(block["start"] <= answer.start < block["end"] for answer in example.answer if answer.start >= 0 for block in one["blocks"])


def _by_words(tuned: TunedModel, task: Task, examples: Sequence[Example]) -> float:
    """How often a row of the blocks that BM25 likes best holds the answer."""
    assert isinstance(task, RecalledAnswering)
    texts, _ = task.texts(examples, tuned.coder())
    gold, found = gold_blocks(answer_places(examples, texts), texts), []
    for number, right in enumerate(gold):
        every = texts.of(number)
        order = every[np.argsort(-word_scores(texts.question(number), [texts.tokens(block) for block in every]), kind="stable")]
        found.append(bool(set(right) & set(texts.fill(number, order.tolist()))))
    return float(np.mean(found))


def cell(name: str, way: str, seed: int, given: argparse.Namespace) -> Row:
    """Tuned once; measured as it is, and as it reads otherwise."""
    train, dev = write_set(name, given, seed)
    long, settings, besides = WAYS[way]
    run = given.out / f"run.{name}.{way.replace(', ', '-')}.{seed}"
    if (run / "train").exists():
        from plume.tuning.tune import resume

        resume(run, quiet=True)
        tuned: Any = plume.load(run)
    else:
        tuned = plume.tune(
            given.model, task="qa", train=train, dev=dev, out=run, seed=seed, budget=f"{given.steps}steps", batch=16, rate=given.rate, long=long,
            length=given.length, measurements=1, patience=99, save_every="100steps", task_options=[f"{k}={v}".lower() for k, v in settings.items()],
            quiet=True,
        )  # fmt: skip
    found = {way: measured(tuned, tuned.task(), dev)}
    for other, changes in besides.items():
        found[other] = measured(tuned, replace(tuned.task(), **changes), dev)
    return {"set": name, "seed": seed, "steps": given.steps, "train": given.train, "length": given.length, "ways": found}


def main() -> None:
    """Measure what is missing, print the table of what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "model", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name, value in {"seeds": 3, "steps": 600, "train": 300, "dev": 60, "length": 128, "films": 60}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rate", type=float, default=None)
    parser.add_argument("--sets", default="films,squad")
    parser.add_argument("--ways", default="windows|recall|recall, unsupervised")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for seed in range(given.seeds):
        for name in given.sets.split(","):
            for way in given.ways.split("|"):
                file = given.out / f"{name}.{way.replace(', ', '-')}.{seed}.json"
                if not file.exists():
                    write_json(file, cell(name, way, seed, given))
    table([json.loads(file.read_text()) for file in sorted(given.out.glob("*.[0-9].json"))])


def table(cells: Sequence[Row]) -> None:
    """Means and ranges over seeds."""
    print(
        "| texts | way | seeds | F1 | rows the reader reads, a question | all rows | the answer is in what is read | in BM25's best blocks |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    by: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for one in cells:
        for way, found in one["ways"].items():
            by[one["set"], way].append(found)
    for (name, way), some in by.items():
        f1 = [one["f1"] for one in some]
        shown = [_mean([one[key] for one in some], digits) for key, digits in (("reader", 1), ("rows", 1), ("held", 3), ("bm25", 3))]
        print(f"| {name} | {way} | {len(some)} | {np.mean(f1):.3f} ({min(f1):.3f}–{max(f1):.3f}) | {' | '.join(shown)} |")


def _mean(values: Sequence[float | None], digits: int) -> str:
    known = [one for one in values if one is not None]
    return f"{np.mean(known):.{digits}f}" if known else "–"


if __name__ == "__main__":
    main()
