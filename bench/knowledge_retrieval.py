"""Retrieval and RAG, measured (docs/knowledge.md): what each kind of negatives brings beside BM25, and answers that follow other documents.

    python bench/knowledge_retrieval.py --data FOLDER --out FOLDER [--body tiny=RUN --body minilm=RUN] [--writer RUN] [--seeds 3] [--minutes 10]
        [--write docs/knowledge.md --write docs/zh/knowledge.md]

`--data` holds squad_v1.1, wikinews_en and metaqa. A body is a pre-trained model directory of an encoder, the writer one of an encoder–decoder
that was pre-trained on docs.jsonl of `_metaqa.py`. Every cell is a file in OUT/cells, so that a run that was stopped goes on; after `--minutes`
nothing new is begun, and the tables hold what is there; `--write` puts them into a page, between its comments "figures".

Retrieval: SQuAD's dev questions among all of its contexts and 300 news articles, cut to 100 words. RAG: a document a film, synthetic language;
questions to learn from are the training questions' words with other films; those of dev and 300 films are left out, whose directors are then
changed in the documents.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import plume
from plume.core.files import write_json, write_text
from plume.metrics.squad import squad_scores
from plume.readers.example import Reading
from plume.retrieval.collection import read_passages
from plume.retrieval.evaluating import similarity_of
from plume.retrieval.measuring import Pool, best_weight, found_by_vectors, pool_of, three_ways
from plume.retrieval.pairing import pair
from plume.retrieval.questions import read_questions
from plume.retrieval.words import WordIndex
from plume.text.sentences import sentence_starts

sys.path.insert(0, str(Path(__file__).parent))
from _metaqa import MetaData, changed, documents, write_jsonl

NEWS, CLOZES, TUNED_ON = 300, 2_000, 100  # articles; sentences of the inverse cloze; training questions that choose λ
STEPS = {"tiny": 60, "minilm": 30}  # by body
ARMS: dict[str, dict[str, Any]] = {
    "random negatives, a question's own": {"task_options": ["negatives=3", "random=true", "in_batch=false"]},
    "those of the batch": {"task_options": ["negatives=0"]},
    "those of the batch and BM25's": {"task_options": ["negatives=1"]},
    "the same, two encoders": {"task_options": ["negatives=1", "two=true"]},
    "the same, after inverse cloze": {"task_options": ["negatives=1"], "cloze": True},
}
MADE, READ, MIXED, PASSAGES = 20_000, 300, 50, 3  # questions; steps of the reader, and of the RAGs that go on from it; passages of these
Cell = dict[str, float]
BEGIN, END = "<!-- figures: bench/knowledge_retrieval.py -->\n", "<!-- end of figures -->"


@dataclass
class Cells:
    """Measured once each, until a deadline, but one at least, unless there is no time at all."""

    folder: Path
    deadline: float
    new: int = 0

    def __call__(self, name: str, measure: Callable[[], Cell]) -> Cell | None:
        if not self._file(name).exists():
            if time.monotonic() > self.deadline and self.new:
                return None
            self.new += 1
            write_json(self._file(name), measure())
            print(f"{name}: {json.dumps(self.kept(name))}", flush=True)
        return self.kept(name)

    def kept(self, name: str) -> Cell | None:
        """What was measured; None: nothing yet."""
        if not self._file(name).exists():
            return None
        found: Cell = json.loads(self._file(name).read_text(encoding="utf-8"))
        return found

    def _file(self, name: str) -> Path:
        return self.folder / f"{name.replace('/', '-').replace(' ', '_')}.json"


class Finding:
    """SQuAD's questions among contexts and news."""

    def __init__(self, data: Path, out: Path, cells: Cells) -> None:
        self.squad, self.news, self.out, self.cells = data / "squad_v1.1", data / "wikinews_en" / "train.jsonl", out, cells
        self.documents = out / "finding.jsonl"
        if not self.documents.exists():
            write_jsonl(self.documents, [*self._contexts(), *self._articles()])

    def _contexts(self) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for part in ("train", "dev"):
            for article in json.loads((self.squad / f"{part}.json").read_text(encoding="utf-8"))["data"]:
                for one in article["paragraphs"]:
                    record = {"id": f"s{len(found)}", "title": article["title"].replace("_", " "), "text": one["context"]}
                    found.setdefault(one["context"], record)
        return list(found.values())

    def _articles(self) -> list[dict[str, Any]]:
        with self.news.open(encoding="utf-8") as lines:
            records = [json.loads(line) for _, line in zip(range(NEWS), lines, strict=False)]
        return [{"id": f"n{number}"} | one for number, one in enumerate(records) if one["text"].strip()]

    @cached_property
    def passages(self) -> Any:
        return read_passages([self.documents], words=100)

    @cached_property
    def words(self) -> WordIndex:
        return WordIndex(self.passages.texts)

    def pool(self, part: str, most: int | None = None) -> Pool:
        path = self.squad / f"{part}.json"
        asked = read_questions(path, Reading(file=path))
        if most is not None:
            asked = [asked[number] for number in sorted(np.random.default_rng(0).permutation(len(asked))[:most].tolist())]
        return pool_of(pair(asked, self.passages, None, negatives=0).pairs, self.passages.texts)

    @cached_property
    def pools(self) -> dict[str, tuple[Pool, Any]]:
        made = {"train": self.pool("train", TUNED_ON), "dev": self.pool("dev")}
        return {part: (pool, pool.by_words(self.words)) for part, pool in made.items()}

    def scores(self, folder: Path) -> Cell:
        """Of a model: by vectors, and by BM25 + λ · dense, λ chosen on training questions."""
        model: Any = plume.load(folder)
        vectors = model.embed(self.passages.texts)

        class Known:  # the passages are embedded once
            embed = staticmethod(lambda texts: vectors)
            embed_questions = staticmethod(model.embed_questions)

        near = {part: found_by_vectors(Known, pool, similarity_of(model)) for part, (pool, _) in self.pools.items()}  # type: ignore[arg-type]
        weight = best_weight(self.pools["train"][0], near["train"], self.pools["train"][1])
        pool, said = self.pools["dev"]
        ways = three_ways(near["dev"], said, pool, weight=weight)
        return {f"{way}.{name}": value for way, found in ways.items() for name, value in found.items()} | {"weight": weight}

    def cloze(self, body: Path, name: str, seed: int) -> Path:
        """A model that has learned which block a sentence was taken from: the sentence is gone from it in nine of ten."""
        folder = self.out / "models" / f"cloze.{name}.{seed}"
        if not (folder / "card.md").exists():
            source = np.random.default_rng(seed)
            rows = []
            for number in source.permutation(len(self.passages)).tolist():
                text = self.passages.passages[number].text
                starts = [*sentence_starts(text), len(text)]
                if len(starts) < 4:
                    continue
                place = int(source.integers(len(starts) - 1))
                begin, end = starts[place], starts[place + 1]
                block = text if source.random() < 0.1 else f"{text[:begin]} {text[end:]}"
                rows.append({"question": text[begin:end].strip(), "positive": f"{self.passages.passages[number].title}\n{block.strip()}"})
                if len(rows) == CLOZES:
                    break
            file = self.out / f"cloze.{seed}.jsonl"
            write_jsonl(file, [row for row in rows if row["question"]])
            plume.tune(
                body, task="retrieval", train=file, out=folder, task_options=["negatives=0"], budget=f"{STEPS[name]}steps", batch=32, length=96,
                seed=seed, measurements=1, quiet=True,
            )  # fmt: skip
        return folder

    def arm(self, body: Path, name: str, options: dict[str, Any], seed: int) -> Cell:
        out = self.out / "models" / f"arm.{name}.{seed}.{time.time_ns()}"
        given = dict(options)
        start = self.cloze(body, name, seed) if given.pop("cloze", False) else body
        plume.tune(
            start, task="retrieval", train=self.squad / "train.json", documents=self.documents, out=out, seed=seed, batch=16, length=96,
            budget=f"{STEPS[name]}steps", measurements=1, quiet=True, **given,
        )  # fmt: skip
        return self.scores(out)

    def table(self, bodies: dict[str, Path], seeds: Sequence[int]) -> list[str]:
        lines = ["| | MRR@10 | top 1 | top 5 | top 20 | BM25 + λ · dense: MRR@10 | seeds |", "|---|---|---|---|---|---|---|"]
        for name, body in bodies.items():
            self.cells(f"{name}.raw", lambda body=body: self.scores(body))  # type: ignore[misc]
        for seed in seeds:  # a seed after the other, so that a run that ends early has all rows of the first
            for name, body in bodies.items():
                for arm, options in ARMS.items():
                    self.cells(
                        f"{name}.{arm}.{seed}", lambda body=body, name=name, options=options, seed=seed: self.arm(body, name, options, seed)
                    )  # type: ignore[misc]
        for number, name in enumerate(bodies):
            raw = self.cells.kept(f"{name}.raw")
            if raw is not None and not number:
                lines.append(_row("BM25", [raw], "bm25"))
            if raw is not None:
                lines.append(_row(f"{name}, not trained", [raw], "dense"))
            for arm in ARMS:
                found = [one for seed in seeds if (one := self.cells.kept(f"{name}.{arm}.{seed}"))]
                if found:
                    lines.append(_row(f"{name}, {arm}", found, "dense"))
        return lines


def _row(name: str, found: list[Cell], way: str) -> str:
    figures = [_shown([one[f"{way}.{score}"] for one in found]) for score in ("mrr", "top1", "top5", "top20")]
    both = "–" if way == "bm25" else _shown([one["both.mrr"] for one in found])
    return f"| {name} | {' | '.join(figures)} | {both} | {len(found)} |"


def _shown(values: list[float]) -> str:
    """In percent, with the standard deviation over seeds."""
    spread = f" ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * statistics.fmean(values):.1f}{spread}"


class Answering:
    """Questions about films: with nothing read, one passage, and several; from the documents of training and from changed ones."""

    def __init__(self, data: Path, out: Path, cells: Cells, writer: Path) -> None:
        self.data, self.out, self.cells, self.writer = MetaData(data / "metaqa"), out, cells, writer
        self.changes = changed(self.data, 300)
        self.files = {name: out / f"films.{name}.jsonl" for name in ("docs", "changed", "train", "dev")}
        if not self.files["dev"].exists():
            write_jsonl(self.files["docs"], self._plain(documents(self.data)))
            write_jsonl(self.files["changed"], self._plain(documents(self.data, directors=self.changes)))
            write_jsonl(self.files["train"], self._made())
            write_jsonl(self.files["dev"], [{"question": one.question, "answers": list(one.answers)} for one in self._dev()])

    @staticmethod
    def _plain(records: Any) -> Any:
        return ({name: one[name] for name in ("id", "title", "text")} for one in records)

    def _dev(self) -> list[Any]:
        return [one for one in self.data.questions(1, "dev") if not one.path[0][1]]  # about a film

    def _made(self) -> list[dict[str, Any]]:
        """The words of the training questions, with films that are neither asked about in dev nor changed."""
        words: dict[int, list[str]] = {}
        for one in self.data.questions(1, "train"):
            ((relation, inverse),) = one.path
            if not inverse:
                words.setdefault(relation, []).append(f"{one.question[: one.start]}{{}}{one.question[one.start + len(one.topic) :]}")
        kept = {self.data.ids[one.topic] for one in self._dev()} | set(self.changes)
        films = [film for film in self.data.films if film not in kept]
        source, rows = np.random.default_rng(0), list[dict[str, Any]]()
        while len(rows) < MADE:
            film, relation = films[source.integers(len(films))], list(words)[source.integers(len(words))]
            if relation in self.data.films[film]:
                question = words[relation][source.integers(len(words[relation]))].replace("{}", self.data.entities[film])
                rows.append({"question": question, "answers": [self.data.entities[one] for one in self.data.films[film][relation]]})
        return rows

    @cached_property
    def dev(self) -> tuple[list[str], list[list[str]]]:
        return [one.question for one in self._dev()], [list(one.answers) for one in self._dev()]

    @cached_property
    def swapped(self) -> tuple[list[str], list[list[str]], list[list[str]]]:
        """Who directed the changed films: the question, the director before, and after."""
        films = list(self.changes)
        names = self.data.entities
        asked = [f"who directed the film {names[film]}" for film in films]
        before = [[names[one] for one in self.data.films[film][0]] for film in films]
        return asked, before, [[names[one] for one in self.changes[film]] for film in films]

    def tuned(self, name: str, start: Path, seed: int, *, steps: int, options: Sequence[str]) -> Path:
        folder = self.out / "models" / f"{name}.{seed}"
        if not (folder / "card.md").exists():
            plume.tune(
                start, task="rag", train=self.files["train"], dev=self.files["dev"], documents=self.files["docs"], out=folder, seed=seed,
                budget=f"{steps}steps", batch=16, length=96, measurements=2, task_options=["beams=1", *options], quiet=True,
            )  # fmt: skip
        return folder

    def reader(self, seed: int) -> Path:
        return self.tuned("reader", self.writer, seed, steps=READ, options=["passages=1"])

    def closed(self, seed: int) -> Cell:
        """The same writer, which learns the same questions with nothing to read."""
        folder = self.out / "models" / f"closed.{seed}"
        if not (folder / "card.md").exists():
            pairs = [{"source": one["question"], "target": one["answers"][0]} for one in self._made()]
            write_jsonl(self.out / "closed.jsonl", pairs)
            plume.tune(
                self.writer, task="text-to-text", train=self.out / "closed.jsonl", out=folder, seed=seed, budget=f"{READ}steps", batch=16, length=64,
                measurements=1, quiet=True,
            )  # fmt: skip
        model: Any = plume.load(folder)
        asked, before, _ = self.swapped
        return {
            "dev": _exact(self.dev[1], [one["text"] for one in model.predict(self.dev[0])]),
            "before": _exact(before, [one["text"] for one in model.predict(asked)]),
        }

    def answers(self, folder: Path) -> Cell:
        model: Any = plume.load(folder)
        asked, before, after = self.swapped
        dev = {name: [one.answer for one in model.answer(self.dev[0], documents=self.files[name])] for name in ("docs", "changed")}
        said = {name: [one.answer for one in model.answer(asked, documents=self.files[name])] for name in ("docs", "changed")}
        return {
            "dev": _exact(self.dev[1], dev["docs"]),
            "before": _exact(before, said["docs"]),
            "after, new": _exact(after, said["changed"]),
            "after, old": _exact(before, said["changed"]),
            "others that move": float(np.mean([one != other for one, other in zip(dev["docs"], dev["changed"], strict=True)])),
        }

    def table(self, seeds: Sequence[int]) -> list[str]:
        ways: dict[str, Callable[[int], Cell]] = {
            "nothing to read": self.closed,
            "BM25's first passage": lambda seed: self.answers(self.reader(seed)),
        }
        for likelihood in ("sequence", "token"):
            options = [f"passages={PASSAGES}", f"likelihood={likelihood}"]
            ways[f"RAG, {PASSAGES} passages, {likelihood}"] = lambda seed, likelihood=likelihood, options=options: self.answers(  # type: ignore[misc]
                self.tuned(f"rag-{likelihood}", self.reader(seed), seed, steps=MIXED, options=options)
            )
        for seed in seeds:
            for name, measure in ways.items():
                self.cells(f"films.{name}.{seed}", lambda measure=measure, seed=seed: measure(seed))  # type: ignore[misc]
        lines = [
            "| | dev | changed films: before | after: new director | after: old director | other answers that move | seeds |",
            "|---|---|---|---|---|---|---|",
        ]
        for name in ways:
            found = [one for seed in seeds if (one := self.cells.kept(f"films.{name}.{seed}"))]
            if found:
                scores = ("dev", "before", "after, new", "after, old", "others that move")
                shown = [_shown([one[score] for one in found]) if score in found[0] else "–" for score in scores]
                lines.append(f"| {name} | {' | '.join(shown)} | {len(found)} |")
        return lines


def _exact(gold: list[list[str]], given: list[str]) -> float:
    return squad_scores(gold, given)["exact_match"]


def main() -> None:
    """Measure what there is time for, and show all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--body", action="append", default=[])
    parser.add_argument("--writer", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--write", type=Path, action="append", default=[])
    given = parser.parse_args()
    cells = Cells(given.out / "cells", time.monotonic() + 60 * given.minutes, new=int(given.minutes == 0))
    cells.folder.mkdir(parents=True, exist_ok=True)
    bodies = {name: Path(folder) for name, _, folder in (one.partition("=") for one in given.body)}
    tables = [Finding(given.data, given.out, cells).table(bodies, range(given.seeds))] if bodies else []
    tables += [Answering(given.data, given.out, cells, given.writer).table(range(given.seeds))] if given.writer else []
    made = "\n\n".join("\n".join(table) for table in tables) + "\n"
    print(made)
    for page in given.write:
        text = page.read_text(encoding="utf-8")
        write_text(page, text[: text.index(BEGIN) + len(BEGIN)] + made + text[text.index(END) :])


if __name__ == "__main__":
    main()
