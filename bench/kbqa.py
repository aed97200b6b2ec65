"""Questions to a knowledge base: NLPCC 2016 (relations ranked over all, and among a subject's) and MetaQA (1 to 3 hops, all and half of the triples).

    python bench/kbqa.py --data FOLDER --zh MODEL --en MODEL --vectors MODEL --cache FOLDER [--seeds 3] [--minutes 20] [--every 6] \
        [--only nlpcc|metaqa] [--write docs/knowledge.md --write docs/zh/knowledge.md]

`--zh` and `--en` are pre-trained model directories, `--vectors` a Chinese one whose sentence vectors are good. Every cell is a file in `--cache`,
so that a run that was stopped goes on; baselines come first, then seed after seed. After `--minutes` nothing new is begun, and the tables hold what
is there; `--write` puts them into a page, between its comments "kbqa". NLPCC's training questions come with their triples; of MetaQA only questions
and answers are learned from, neither types nor brackets. A tenth of the training questions is held out. A run chooses nothing by dev; the task's
defaults were found with these dev questions in sight, so figures on them flatter. Over all relations every sixth dev question is ranked (`--every`).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _metaqa import MetaData

import plume
from plume.core.files import read_json, write_json, write_text
from plume.kb.building import Literals, Sources, build
from plume.kb.graph import Hop
from plume.kb.names import flat
from plume.readers.example import Example, Reading
from plume.readers.kb_questions import KnownAnswers, read_kb_questions
from plume.tuning.knowledge.answering import scored
from plume.tuning.knowledge.likeness import Alike
from plume.tuning.knowledge.measuring import baselines, row_values
from plume.tuning.knowledge.opened import OpenedKB, opened, relation_text
from plume.tuning.knowledge.situations import Situation, WayOn, answer_of, asked_text, begin
from plume.tuning.knowledge.supervision import gold_topics

VARIANTS = {  # what has a say
    "letters, vectors and network": ["vectors={vectors}"],
    "letters and network": [],
    "letters and vectors": ["read_pairs=false", "vectors={vectors}"],
    "letters": ["read_pairs=false"],
    "network": ["counted=false"],
}
_AT_ONCE = 20  # questions ranked over all relations
_FORMULAS: dict[str, Callable[[Alike, str], float]] = {
    "shared letters over those of the relation": lambda alike, relation: alike.share,
    "number of shared letters": lambda alike, relation: alike.shared + alike.share / 100,
}


@dataclass(frozen=True, kw_only=True)
class Given:
    """What the command line says."""

    data: Path
    zh: Path
    en: Path
    vectors: Path
    cache: Path
    seeds: int
    every: int
    until: float

    def cell(self, name: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
        """From its file, or computed if there is time left."""
        path = self.cache / "cells" / f"{name}.json"
        if not path.exists():
            if time.monotonic() > self.until:
                return None
            print(f"{name} …", flush=True)
            write_json(path, compute())
        return read_json(path, "a cell of the benchmark")


# NLPCC


def nlpcc(given: Given) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Baselines, then the variants."""
    folder, kb = given.data / "nlpcc2016_kbqa", given.cache / "nlpcc-kb"
    if not kb.exists():
        build([folder / "kb.txt"], kb, literals=Literals.LEAVES).close()
    known, dev = opened(str(kb)), examples(folder / "dev.kbqa")
    yield "baselines", given.cell("nlpcc-baselines", lambda: {"whole": baselines(known, dev)} | letter_baselines(known, dev, given.every))
    for seed in range(given.seeds):
        for variant, settings in VARIANTS.items():
            out = given.cache / "runs" / f"nlpcc-{variant.replace(' ', '-')}-{seed}"

            def compute(out: Path = out, settings: list[str] = settings, seed: int = seed) -> dict[str, Any]:
                settings = [one.format(vectors=given.vectors) for one in settings]
                model = tuned(given.zh, out, kb, folder / "train.kbqa", settings, seed, epochs=1.5, rate=3e-4)
                known = opened(str(kb), model.tasks[0].vectors)
                made = model.evaluate(folder / "dev.kbqa").scores
                return made | {
                    "several": among(model, known, dev, all_relations=False),
                    "all": among(model, known, dev[:: given.every], all_relations=True),
                }

            yield variant, given.cell(out.name, compute)


def letter_baselines(known: OpenedKB, dev: Sequence[Example], every: int) -> dict[str, Any]:
    """Ranked by letters alone, over a subject's relations where it has several, and over all."""
    found = {}
    for name, formula in _FORMULAS.items():
        rank = lambda question, relation, formula=formula: formula(known.likeness.of(question, relation), relation)
        found[name] = {
            "several": ranked_by(rank, known, dev, all_relations=False),
            "all": ranked_by(rank, known, dev[::every], all_relations=True),
        }
    return found


def ranked_by(rank: Callable[[str, str], float], known: OpenedKB, dev: Sequence[Example], *, all_relations: bool) -> float:
    """Share of questions whose relation comes first."""
    right = []
    for ways, gold, question in choices(known, dev, all_relations=all_relations):
        text = flat(asked_text(question, ways[0].topic))
        names = [known.relations[way.path[0].relation] for way in ways]
        right.append(max(names, key=lambda name: rank(text, name)) == gold)
    return float(np.mean(right))


def among(model: Any, known: OpenedKB, dev: Sequence[Example], *, all_relations: bool) -> float:
    """The same, ranked by the model."""
    right = []
    asked = list(choices(known, dev, all_relations=all_relations))
    for first in range(0, len(asked), _AT_ONCE):
        some = asked[first : first + _AT_ONCE]
        situations = [Situation(question=question, ways=ways) for ways, _, question in some]
        shares = scored("kbqa", known, model, situations)
        for (ways, gold, _), share in zip(some, shares, strict=True):
            right.append(known.relations[ways[int(share.argmax())].path[0].relation] == gold)
    return float(np.mean(right))


def choices(known: OpenedKB, dev: Sequence[Example], *, all_relations: bool) -> Iterator[tuple[tuple[WayOn, ...], str, str]]:
    """The relations of the right topic, where it has several; or all there are. With the right one, and the question."""
    each = {name: number for number, name in enumerate(known.relations)}
    for example in dev:
        question = example.texts[0]
        topic = gold_topics(known, question, example.answer)[0]
        if all_relations:
            ways = tuple(WayOn(topic=topic, path=(Hop(number),)) for number in each.values())
        else:
            ways = tuple(way for way in begin(known, question, [topic]).ways if not way.path[0].inverse)
        if len(ways) > 1:
            yield ways, relation_text(example.answer.path[0][0]), question


# MetaQA


def metaqa(given: Given) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Half of the triples are drawn once, for all seeds; what is trained with them is asked with them."""
    data = MetaData(given.data / "metaqa")
    for half in (False, True):
        name = "half" if half else "whole"
        kb = metaqa_kb(given, data, half=half)
        files = metaqa_files(given, data)
        known = opened(str(kb))
        compute = lambda known=known, files=files: {
            part: baselines(known, examples(path)) | {"best possible": reachable(known, data, hops=hops)}
            for hops, part, path in files["dev"]
        }
        yield f"{name} baselines", given.cell(f"metaqa-{name}-baselines", compute)
        for seed in range(given.seeds):
            out = given.cache / "runs" / f"metaqa-{name}-{seed}"

            def tune(out: Path = out, kb: Path = kb, seed: int = seed, files: Any = files) -> dict[str, Any]:
                model = tuned(given.en, out, kb, files["train"], ["hops=3", "wrong=7"], seed, epochs=0.5, rate=5e-4)
                return {part: model.evaluate(path).scores for _, part, path in files["dev"]}

            yield name, given.cell(out.name, tune)


def metaqa_kb(given: Given, data: MetaData, *, half: bool) -> Path:
    """All triples, or every second by the toss of a coin."""
    kb, folder = given.cache / f"metaqa-kb-{'half' if half else 'whole'}", data.folder / "kb"
    if not kb.exists():
        triples = folder / "triples.tsv"
        if half:
            kept = np.random.default_rng(7).random(len(data.triples)) < 0.5
            triples = given.cache / "half.tsv"
            write_text(triples, "".join("\t".join(map(str, one)) + "\n" for one, keep in zip(data.triples, kept, strict=True) if keep))
        build([triples], kb, sources=Sources(entities=folder / "entities.tsv", relations=folder / "relations.tsv")).close()
    return kb


def metaqa_files(given: Given, data: MetaData) -> dict[str, Any]:
    """Questions and answers only."""
    made: dict[str, Any] = {"dev": [], "train": given.cache / "metaqa.train.jsonl"}
    train = []
    for hops in (1, 2, 3):
        train += [as_line(one, topic=False) for one in data.questions(hops, "train")]
        path = given.cache / f"metaqa.{hops}.dev.jsonl"
        write_text(path, "".join(as_line(one, topic=True) for one in data.questions(hops, "dev")))
        made["dev"].append((hops, f"{hops}-hop", path))
    write_text(made["train"], "".join(train))
    return made


def as_line(one: Any, *, topic: bool) -> str:
    """The topic of dev questions is only measured by."""
    return (
        json.dumps({"question": one.question, "answers": list(one.answers)} | ({"topic": one.topic} if topic else {}), ensure_ascii=False)
        + "\n"
    )


def reachable(known: OpenedKB, data: MetaData, *, hops: int) -> dict[str, float]:
    """Where the right path leads in this knowledge base."""
    asked = data.questions(hops, "dev")
    gold = [example.answer for example in map(as_example, asked)]
    answers = [answer_of(known, data.ids[one.topic], tuple(Hop(*step) for step in one.path)) for one in asked]
    values = row_values(gold, [{"answers": [known.kb.name_of(number) for number in some]} for some in answers])
    return {name: float(np.mean(some)) for name, some in values.items()}


def as_example(one: Any) -> Example:
    """With its answers."""
    return Example(texts=(one.question,), answer=KnownAnswers(answers=one.answers, topic=one.topic))


# Both


def tuned(model: Path, out: Path, kb: Path, train: Path, settings: Sequence[str], seed: int, *, epochs: float, rate: float) -> Any:
    """Trained once, and measured once, at the end: the last weights are taken."""
    if not (out / "model.safetensors").exists() or not (out / "task.json").exists():
        plume.tune(
            model, task="kbqa", train=train, out=out, kb=kb, epochs=epochs, rate=rate, seed=seed, task_options=list(settings), measurements=1,
            batch=16, quiet=True,
        )  # fmt: skip
    return plume.load(out)


def examples(path: Path) -> list[Example]:
    """With their answers."""
    return list(read_kb_questions(path, Reading(file=path), labelled=True))


def mean(values: Sequence[float]) -> str:
    """With the standard deviation over seeds.

    >>> mean([0.5, 0.7])
    '60.0 ± 14.1'
    """
    if not values:
        return "–"
    spread = f" ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * statistics.mean(values):.1f}{spread}"


def tables(given: Given, only: str | None) -> str:
    """Markdown."""
    lines: list[str] = []
    if only in (None, "nlpcc"):
        lines += nlpcc_table(list(nlpcc(given)))
    if only in (None, "metaqa"):
        lines += metaqa_table(list(metaqa(given)))
    return "\n".join(lines)


def nlpcc_table(cells: Sequence[tuple[str, dict[str, Any] | None]]) -> list[str]:
    """Rows: baselines, variants."""
    lines = ["| NLPCC 2016, 300 questions | answers (hits@1) | relation, of several | relation, of all |", "|---|---|---|---|"]
    (_, base), *rest = cells
    for name, scores in (base or {}).get("whole", {}).items():
        lines.append(f"| {name} | {mean([scores['hits@1']])} | | |")
    for name in _FORMULAS:
        if base:
            lines.append(f"| {name}, topic given | | {mean([base[name]['several']])} | {mean([base[name]['all']])} |")
    for variant in VARIANTS:
        some = [cell for name, cell in rest if name == variant and cell]
        lines.append(
            f"| {variant}, {len(some)} seed{'s' * (len(some) != 1)} | "
            + " | ".join(mean([one[key] for one in some]) for key in ("hits@1", "several", "all"))
            + " |"
        )
    return [*lines, ""]


def metaqa_table(cells: Sequence[tuple[str, dict[str, Any] | None]]) -> list[str]:
    """Rows: baselines, the model, by knowledge base."""
    lines = ["| MetaQA, hits@1 / F1 | 1 hop | 2 hops | 3 hops |", "|---|---|---|---|"]
    parts = ("1-hop", "2-hop", "3-hop")
    for name in ("whole", "half"):
        (base,) = [cell for what, cell in cells if what == f"{name} baselines"]
        for what in (base or {}).get(parts[0], ()):
            row = [base[part][what] for part in parts]  # type: ignore[index]
            lines.append(f"| {name}: {what} | " + " | ".join(f"{mean([one['hits@1']])} / {mean([one['f1']])}" for one in row) + " |")
        some = [cell for what, cell in cells if what == name and cell]
        for what, keys in (("end to end", ("hits@1", "f1")), ("topic given", ("given_topic_hits@1", "given_topic_f1"))):
            if not some:
                continue
            row = [" / ".join(mean([one[part][key] for one in some]) for key in keys) for part in parts]
            lines.append(f"| {name}: {what}, {len(some)} seed{'s' * (len(some) != 1)} | " + " | ".join(row) + " |")
    return [*lines, ""]


def main() -> None:
    """Compute what is missing, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--data", "--zh", "--en", "--vectors", "--cache"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--only", choices=("nlpcc", "metaqa"))
    parser.add_argument("--write", type=Path, action="append", default=[])
    said = parser.parse_args()
    said.cache.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * said.minutes
    made = tables(
        Given(
            data=said.data, zh=said.zh, en=said.en, vectors=said.vectors, cache=said.cache, seeds=said.seeds, every=said.every, until=until
        ),
        said.only,
    )
    print(made)
    for page in said.write:
        before, _, rest = page.read_text(encoding="utf-8").partition("<!-- kbqa -->")
        write_text(page, f"{before}<!-- kbqa -->\n{made}\n<!-- /kbqa -->{rest.partition('<!-- /kbqa -->')[2]}")


if __name__ == "__main__":
    main()
