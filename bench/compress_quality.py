"""What each way to make a model small costs and keeps, on real tasks, as Markdown tables (docs/compress.md).

    python bench/compress_quality.py --data FOLDER --minilm FOLDER --m3e FOLDER --cache FOLDER \
        [--tasks sst2,ag_news,conll2003,lcqmc] [--ways "2 × 128"] [--seeds 3] [--minutes 40] [--speed] [--write docs/compress.md] [--quick]

The teacher is a public checkpoint, tuned on some labelled rows. Students of one shape take the same number of steps, the directly trained one too;
what is called text are further rows of the same file without their labels. A tenth of the labelled rows chooses the checkpoint, and the set's dev
file, which nothing else sees, is scored. Every cell is a directory in `--cache`, so that a run that was stopped goes on; after `--minutes` nothing
new is begun, and the tables hold what is there. `--speed` measures latency and throughput again, model after model in turns, on a quiet machine.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import plume
from plume.core.files import write_json, write_text
from plume.tuning.loaded import load_tuned
from plume.tuning.tuned import TunedModel

BEGIN, END = "<!-- figures: bench/compress_quality.py -->\n", "<!-- end of figures -->"


@dataclass(frozen=True, kw_only=True)
class Set:
    """A real task: its files, its teacher, and how many rows are labelled."""

    name: str
    kind: str
    train: str
    test: str
    teacher: str
    labelled: int
    length: int
    title: str


SETS = (
    Set(name="sst2", kind="classification", train="sst2/train.tsv", test="sst2/dev.tsv", teacher="minilm", labelled=2000, length=48,
        title="SST-2, accuracy"),
    Set(name="ag_news", kind="classification", train="ag_news/train.csv", test="ag_news/dev.csv", teacher="minilm", labelled=1200, length=64,
        title="AG News, accuracy"),
    Set(name="conll2003", kind="ner", train="conll2003/eng.train", test="conll2003/eng.testa", teacher="minilm", labelled=2500, length=64,
        title="CoNLL-2003, F1"),
    Set(name="lcqmc", kind="paraphrase", train="lcqmc/train.txt", test="lcqmc/dev.txt", teacher="m3e", labelled=3000, length=48,
        title="LCQMC, accuracy"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Students of one shape: what they are, and how many steps each takes."""

    name: str
    steps: int
    options: dict[str, Any] = field(default_factory=dict)


TINY = Shape(name="2 × 128, the teacher's vectors cut", steps=1200, options={"student": "bert/tiny"})
TWO = Shape(name="2 layers of the teacher's", steps=600, options={"depth": 2})
HALF = Shape(name="every second layer", steps=300)
OTHER = Shape(name="", steps=300)


@dataclass(frozen=True, kw_only=True)
class Way:
    """A row of the table: a method with its options, and the model that it starts from (None: the teacher)."""

    name: str
    method: str
    shape: Shape = OTHER
    options: dict[str, Any] = field(default_factory=dict)
    text: bool = False  # is it fed unlabelled rows as well?
    after: str | None = None
    trains: bool = True
    only: str = ""  # a set; else all


def ways() -> list[Way]:
    """All rows, in the order of the table."""
    found = []
    for shape in (TINY, TWO, HALF):
        found += [
            Way(name=f"{shape.name}: directly", method="direct", shape=shape),
            Way(name=f"{shape.name}: distil", method="distil", shape=shape),
            Way(name=f"{shape.name}: distil, with text", method="distil", shape=shape, text=True),
        ]
    found += [
        Way(
            name=f"{TINY.name}: distil, with text, T {of}", method="distil", shape=TINY, options={"temperature": of}, text=True, only="sst2"
        )
        for of in (1.0, 4.0, 10.0, 20.0)
    ]
    found += [
        Way(name=f"{HALF.name}: {method}", method=method, shape=HALF)
        for method in ("distilbert", "tinybert", "minilm", "patient", "theseus")
    ]
    found += [
        Way(name=f"{TINY.name}: minilm, with text", method="minilm", shape=TINY, text=True),
        Way(name="BiLSTM over fastText: with text", method="bilstm", shape=TINY, options={"student": None}, text=True),
        Way(name="heads, half of them", method="heads", options={"keep": 0.5}),
        Way(name="feed-forward, half of it", method="feed-forward", options={"keep": 0.5}),
        Way(name="vocabulary, what the texts use", method="vocabulary", text=True, trains=False),
        Way(name="int8", method="int8", trains=False),
    ]
    found += [
        Way(name=f"{shape.name}: distil, with text, then int8", method="int8", after=f"{shape.name}: distil, with text", trains=False)
        for shape in (TINY, TWO, HALF)
    ]
    return found


class Bench:
    """One set's cells."""

    def __init__(self, one: Set, data: Path, cache: Path, teachers: dict[str, Path], deadline: float, *, quick: bool) -> None:
        self.set, self.cache, self.deadline, self.quick = one, cache / one.name, deadline, quick
        self.cache.mkdir(parents=True, exist_ok=True)
        self.test = data / one.test
        self.train, self.text = self._rows(data / one.train)
        self.base = teachers[one.teacher]

    def _rows(self, path: Path) -> tuple[Path, Path]:
        """The labelled rows, and the texts of the others."""
        labelled = 60 if self.quick else self.set.labelled
        train, text = self.cache / f"train{path.suffix}", self.cache / ("text.conll" if self.set.kind == "ner" else f"text{path.suffix}")
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        blocks = "".join(lines).split("\n\n") if self.set.kind == "ner" else lines
        header = 1 if path.suffix == ".tsv" else 0
        kept, rest = blocks[: header + labelled], blocks[header + labelled :]
        glue = "\n\n" if self.set.kind == "ner" else ""
        train.write_text(glue.join(kept), encoding="utf-8")
        text.write_text(glue.join([*blocks[:header], *rest]), encoding="utf-8")
        return train, text

    def teacher(self) -> Path:
        """Tuned once, on the labelled rows."""
        folder = self.cache / "teacher"
        if not _done(folder):
            shutil.rmtree(folder, ignore_errors=True)
            epochs = 0.2 if self.quick else 4.0
            plume.tune(self.base, task=self.set.kind, train=self.train, out=folder, epochs=epochs, length=self.set.length, quiet=True)
            _mark(folder, self._score(folder))
        return folder

    def cell(self, way: Way, seed: int) -> dict[str, float] | None:
        """Made and scored once; None: not yet."""
        folder = self.cache / f"{_slug(way.name)}-{seed}"
        if not _done(folder):
            if time.monotonic() > self.deadline:
                return None
            source = self.teacher()
            if way.after is not None:
                source = self.cache / f"{_slug(way.after)}-{seed}"
                if not _done(source):
                    return None
            shutil.rmtree(folder, ignore_errors=True)
            options = {name: value for name, value in (way.shape.options | way.options).items() if value is not None}
            if way.trains:
                options |= {"budget": f"{4 if self.quick else way.shape.steps}steps", "seed": seed, "length": self.set.length}
            began = time.perf_counter()
            plume.compress(source, method=way.method, out=folder, text=self.text if way.text else None, quiet=True, **options)
            _mark(folder, self._score(folder) | {"seconds": time.perf_counter() - began})
        return _read(folder)

    def _score(self, folder: Path) -> dict[str, float]:
        model = load_tuned(folder)
        task = model.tasks[0]
        return {"score": model.evaluate(self.test).scores[task.metric], "bytes": float((folder / "model.safetensors").stat().st_size)}


def _slug(name: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in name).strip("-")


def _mark(folder: Path, figures: dict[str, float]) -> None:
    write_json(folder / "bench.json", figures)


def _done(folder: Path) -> bool:
    return (folder / "bench.json").exists()


def _read(folder: Path) -> dict[str, float]:
    return dict(json.loads((folder / "bench.json").read_text(encoding="utf-8")))


def measure_speeds(bench: Bench, folders: Sequence[Path], *, rounds: int = 5) -> None:
    """Texts a second in batches, and milliseconds of one text alone: all models in turns, so that a moment's load favours none."""
    texts = _texts(bench.test, bench.set)[:256]
    models = {folder: load_tuned(folder) for folder in folders}
    alone: dict[Path, list[float]] = {folder: [] for folder in folders}
    together: dict[Path, list[float]] = {folder: [] for folder in folders}
    for number in range(rounds + 1):  # the first warms up
        for folder, model in models.items():
            single = [_timed(model, [text]) for text in texts[:20]]
            batch = _timed(model, texts)
            if number:
                alone[folder].append(statistics.median(single))
                together[folder].append(batch)
    for folder in folders:
        per_second = len(texts) / statistics.median(together[folder])
        _mark(folder, _read(folder) | {"latency": 1000 * statistics.median(alone[folder]), "throughput": per_second})


def _timed(model: TunedModel, items: Sequence[Any]) -> float:
    began = time.perf_counter()
    model.predict(items)
    return time.perf_counter() - began


def _texts(path: Path, one: Set) -> list[Any]:
    if one.kind == "ner":
        blocks = path.read_text(encoding="utf-8").split("\n\n")
        return [" ".join(line.split()[0] for line in block.splitlines() if line.strip()) for block in blocks if block.strip()]
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="," if path.suffix == ".csv" else "\t"))
    if one.kind == "paraphrase":
        return [tuple(row[:2]) for row in rows if len(row) >= 3]
    return [row[0] for row in rows[1:]]


def table(bench: Bench, seeds: int) -> Iterator[str]:
    """Lines of Markdown."""
    teacher = _read(bench.cache / "teacher") if _done(bench.cache / "teacher") else None
    if teacher is None:
        return
    yield f"### {bench.set.title}\n"
    yield "| model | score | of the teacher | MB | ms, one text | texts/s |"
    yield "| --- | --- | --- | --- | --- | --- |"
    yield f"| **teacher** | {100 * teacher['score']:.1f} | 100% | {_costs(teacher)} |"
    for way in ways():
        cells = [_read(folder) for seed in range(seeds) if _done(folder := bench.cache / f"{_slug(way.name)}-{seed}")]
        if cells:
            scores = [100 * cell["score"] for cell in cells]
            spread = f" ± {statistics.stdev(scores):.1f}" if len(scores) > 1 else ""
            mean = statistics.mean(scores)
            yield f"| {way.name} | {mean:.1f}{spread} | {mean / teacher['score']:.1f}% | {_costs(cells[0])} |"
    yield ""


def _costs(figures: dict[str, float]) -> str:
    speed = f"{figures['latency']:.1f} | {figures['throughput']:,.0f}" if "latency" in figures else "– | –"
    return f"{figures['bytes'] / 1e6:.1f} | {speed}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--minilm", type=Path, required=True, help="all-MiniLM-L6-v2, imported by plume import")
    parser.add_argument("--m3e", type=Path, help="m3e-small, imported by plume import")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--tasks", default="sst2,ag_news,conll2003,lcqmc")
    parser.add_argument("--ways", default="", help="only rows whose name begins so; those that are done stay in the table")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--write", type=Path, action="append", default=[])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    deadline = time.monotonic() + 60 * given.minutes
    teachers = {"minilm": given.minilm, "m3e": given.m3e}
    chosen = [one for one in SETS if one.name in given.tasks.split(",") and teachers[one.teacher] is not None]
    benches = [Bench(one, given.data, given.cache, teachers, deadline, quick=given.quick) for one in chosen]
    for seed in range(given.seeds):
        for bench in benches:
            for way in ways():
                if way.only not in ("", bench.set.name) or not way.name.startswith(given.ways):
                    continue
                try:
                    made = bench.cell(way, seed)
                except plume.PlumeError as error:
                    print(f"{bench.set.name} {way.name}: {error}", flush=True)
                    continue
                if made is not None:
                    print(f"{bench.set.name} {way.name}, seed {seed}: {made['score']:.4f}", flush=True)
    for bench in benches:
        folders = [bench.cache / "teacher", *(bench.cache / f"{_slug(way.name)}-0" for way in ways())]
        if given.speed:
            measure_speeds(bench, [folder for folder in folders if _done(folder)], rounds=1 if given.quick else 5)
    text = "\n".join(line for bench in benches for line in table(bench, given.seeds))
    print(text)
    for page in given.write:
        whole = page.read_text(encoding="utf-8")
        before, _, rest = whole.partition(BEGIN)
        _, _, after = rest.partition(END)
        write_text(page, f"{before}{BEGIN}{text}\n{END}{after}")


if __name__ == "__main__":
    main()
