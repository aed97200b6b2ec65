"""Questions of one, two and three hops over documents: CogQA's loop against one document, and without System 2 (docs/knowledge.md).

    python bench/knowledge_hops.py --data FOLDER --model RUN --out FOLDER [--seeds 3] [--questions 1200] [--epochs 6]
    python bench/knowledge_hops.py --model RUN --out FOLDER [--seeds 3] [--questions 240] [--epochs 6]

Without `--data` the questions are made up: for whom somebody works, in which city, in which country; each brings a world of its own, so nothing
can be known by heart. `--data` holds metaqa, `--model` is a pre-trained model directory. Of metaqa a document a film and one a person are written
from the triples: synthetic language. Questions to learn from are the training questions' words with other topics; those to measure are the files'
own. Each row brings the pages of one way to its answers and others beside, ten in all. A seed is a cell: what is measured is in OUT/SEED.json and is
not measured again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import plume
from plume.core.files import write_json
from plume.core.part import replace
from plume.tuning.hops.answering import MultiHopAnswering

sys.path.insert(0, str(Path(__file__).parent))
from _metaqa import MetaData, MetaQuestion, Step, write_jsonl

TOLD = {  # relation: what a person's page says of the films
    0: "{} directed {}.",
    1: "{} wrote {}.",
    2: "{} acted in {}.",
}
FILM = (  # … and a film's, by relation
    "{} was directed by {}.",
    "{} was written by {}.",
    "{} stars {}.",
    "{} was released in {}.",
    "The language of {} is {}.",
    "Viewers describe {} as {}.",
    "The genre of {} is {}.",
)
WHAT = ("For whom does {} work?", "In which city does {} work?", "In which country does {} work?")
PEOPLE = (
    "Anna",
    "Ben",
    "Clara",
    "David",
    "Emma",
    "Frank",
    "Grace",
    "Henry",
    "Iris",
    "Jack",
    "Laura",
    "Mark",
    "Nina",
    "Paul",
    "Rosa",
    "Tom",
)
FIRMS = ("Northern Bank", "Blue Airlines", "City Museum", "Green Press", "Star Radio", "Apex Motors", "West Hospital", "Royal Theatre")
CITIES = ("Berlin", "London", "Paris", "Oslo", "Rome", "Vienna", "Lisbon", "Madrid", "Boston", "Sydney", "Cairo", "Tokyo")
COUNTRIES = ("Norway", "Canada", "Brazil", "India", "Kenya", "Poland", "Spain", "Turkey", "Mexico", "China")
MOST, PAGES, WAYS = 6, 10, 2  # names in a sentence, pages a row, pages that a hop has


class Pages:
    """The films' documents and the people's, in sentences that each tell one relation."""

    def __init__(self, data: MetaData) -> None:
        self.data, self.names = data, data.entities

    @cached_property
    def of_people(self) -> dict[int, dict[int, list[int]]]:
        """Films of each person, by relation."""
        found: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for film, relation, person in self.data.triples:
            if relation in TOLD:
                found[person][relation].append(film)
        return found

    def facts(self, entity: int) -> dict[Step, list[int]]:
        """What its page tells, a sentence each: only so many names."""
        film = {(relation, False): values[:MOST] for relation, values in self.data.films.get(entity, {}).items() if relation < len(FILM)}
        person = {(relation, True): films[:MOST] for relation, films in sorted(self.of_people.get(entity, {}).items())}
        return film | person

    def page(self, entity: int) -> list[Any]:
        """As a row has it."""
        sentences = []
        for (relation, inverse), values in self.facts(entity).items():
            told = ", ".join(self.names[value] for value in values)
            sentences.append((TOLD if inverse else dict(enumerate(FILM)))[relation].format(self.names[entity], told))
        return [self.names[entity], sentences]

    def ways(self, topic: int, path: Sequence[Step]) -> Iterator[tuple[int, ...]]:
        """Every chain from the topic along the path that the pages tell."""
        if not path:
            yield (topic,)
            return
        for value in self.facts(topic).get(path[0], ()):
            for way in self.ways(value, path[1:]):
                yield (topic, *way)


def row(pages: Pages, one: MetaQuestion, chance: np.random.Generator) -> dict[str, Any] | None:
    """With pages of some ways to the answers; None where the pages do not tell them."""
    topic = pages.data.ids.get(one.topic)
    right = set(one.answers)
    ways = [] if topic is None else [way for way in pages.ways(topic, one.path) if pages.names[way[-1]] in right]
    if not ways:
        return None
    kept = [ways[place] for place in chance.permutation(len(ways))[:WAYS]]
    facts = list(dict.fromkeys((way[turn], one.path[turn]) for way in kept for turn in range(len(one.path))))
    support = [[pages.names[entity], list(pages.facts(entity)).index(step)] for entity, step in facts]
    gold = list(dict.fromkeys(entity for entity, _ in facts))
    beside = [value for entity in gold for values in pages.facts(entity).values() for value in values if pages.facts(value)]
    others = [*chance.permutation(beside).tolist()[: PAGES // 2], *chance.integers(len(pages.names), size=4 * PAGES).tolist()]
    shown = list(dict.fromkeys([*gold, *(entity for entity in others if pages.facts(entity))]))[: max(PAGES, len(gold))]
    return {
        "question": one.question, "answers": list(one.answers), "supporting_facts": support,
        "context": [pages.page(shown[place]) for place in chance.permutation(len(shown))],
        "topic": one.topic, "hops": len(one.path), "path": [list(step) for step in one.path],
    }  # fmt: skip


def more(pages: Pages, known: Sequence[MetaQuestion], chance: np.random.Generator) -> Iterator[MetaQuestion]:
    """The same questions about other topics, for ever."""
    topics = [entity for entity in range(len(pages.names)) if pages.facts(entity)]
    while True:
        one = known[int(chance.integers(len(known)))]
        topic = topics[int(chance.integers(len(topics)))]
        ends = {pages.names[way[-1]] for way in pages.ways(topic, one.path)} - {pages.names[topic]}
        if ends:
            name = pages.names[topic]
            asked = one.question[: one.start] + name + one.question[one.start + len(one.topic) :]
            yield replace_question(one, asked, name, tuple(sorted(ends)))


def replace_question(one: MetaQuestion, question: str, topic: str, answers: tuple[str, ...]) -> MetaQuestion:
    """With another topic."""
    return MetaQuestion(question=question, topic=topic, start=one.start, answers=answers, type=one.type, path=one.path)


def files(data: MetaData, out: Path, *, questions: int, seed: int) -> tuple[Path, dict[int, Path]]:
    """What is learned from, as many questions of each number of hops; and what is measured on, by hops."""
    pages, chance = Pages(data), np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for hops in (1, 2, 3):
        made = (found for one in more(pages, data.questions(hops, "train"), chance) if (found := row(pages, one, chance)) is not None)
        rows += [next(made) for _ in range(questions // 3)]
    train = out / f"train.{seed}.jsonl"
    write_jsonl(train, [rows[place] for place in chance.permutation(len(rows))])
    dev = {}
    for hops in (1, 2, 3):
        dev[hops] = out / f"dev.{hops}.jsonl"
        fixed = np.random.default_rng(1)
        write_jsonl(dev[hops], [found for one in data.questions(hops, "dev") if (found := row(pages, one, fixed)) is not None])
    return train, dev


def chain(chance: np.random.Generator, hops: int, fixed: Sequence[str] = WHAT) -> dict[str, Any]:
    """A made-up question of so many hops, with three people, four firms and three cities that are told of."""
    people, firms, cities = (chance.permutation(names).tolist() for names in (PEOPLE, FIRMS, CITIES))
    works = dict(zip(people[:3], firms, strict=False))
    place = dict(zip(firms[:4], chance.choice(cities[:3], 4).tolist(), strict=True))
    lies = dict(zip(cities[:3], chance.choice(COUNTRIES, 3).tolist(), strict=True))
    told = [[one, [f"{one} works for {firm}.", f"{one} likes tea."]] for one, firm in works.items()]
    told += [[firm, [f"{firm} is in {city}.", "The office is large."]] for firm, city in place.items()]
    told += [[city, [f"{city} is a city of {country}.", "It is old."]] for city, country in lies.items()]
    way = [people[0], works[people[0]], place[works[people[0]]], lies[place[works[people[0]]]]]
    return {
        "question": fixed[hops - 1].format(people[0]), "answers": [way[hops]], "supporting_facts": [[name, 0] for name in way[:hops]],
        "context": [told[number] for number in chance.permutation(len(told))], "hops": hops,
    }  # fmt: skip


def made_up(out: Path, *, questions: int, seed: int) -> tuple[Path, dict[int, Path]]:
    """The same for questions that are made up."""
    train, dev = out / f"train.{seed}.jsonl", {hops: out / f"dev.{hops}.jsonl" for hops in (1, 2, 3)}
    chance = np.random.default_rng(seed)
    write_jsonl(train, [chain(chance, 1 + number % 3) for number in range(questions)])
    for hops, path in dev.items():
        fixed = np.random.default_rng(1_000 + hops)
        write_jsonl(path, [chain(fixed, hops) for _ in range(60)])
    return train, dev


def held(pages: Pages, file: Path, predictions: Sequence[dict[str, Any]]) -> tuple[float, int]:
    """The share of right answers whose graph holds some way to them along the question's path; and how many are right."""
    found = []
    for line, one in zip(file.read_text(encoding="utf-8").splitlines(), predictions, strict=True):
        asked = json.loads(line)
        if one["answer"] not in asked["answers"]:
            continue
        shown = {node["name"] for node in one["nodes"] if node["page"]}
        path = [(relation, inverse) for relation, inverse in asked["path"]]
        ways = [way for way in pages.ways(pages.data.ids[asked["topic"]], path) if pages.names[way[-1]] == one["answer"]]
        found.append(any(all(pages.names[entity] in shown for entity in way[:-1]) for way in ways))
    return (float(np.mean(found)) if found else 0.0), len(found)


def cell(data: MetaData | None, given: argparse.Namespace, seed: int) -> dict[str, Any]:
    """One seed: tuned once, measured with the loop and without."""
    questions = {"questions": given.questions, "seed": seed}
    train, dev = made_up(given.out, **questions) if data is None else files(data, given.out, **questions)
    run = given.out / f"run.{seed}"
    if (run / "train").exists():
        from plume.tuning.tune import resume

        resume(run, quiet=True)
        tuned = plume.load(run)
    else:
        tuned = plume.tune(
            given.model, task="multihop", train=train, dev=dev[2], out=run, seed=seed, epochs=given.epochs, rate=given.rate, batch=8,
            measurements=2, patience=99, save_every="50steps", quiet=True,
        )  # fmt: skip
    measured = {}
    for hops, file in dev.items():
        found = tuned.evaluate(file)
        share, right = (found.scores.get("gold path"), None) if data is None else held(Pages(data), file, found.predictions)
        whole = tuned.task()
        assert isinstance(whole, MultiHopAnswering)
        first = tuned.measure(replace(whole, hops=False), found.examples, found.reading)
        measured[hops] = found.scores | {
            "questions": len(found.examples), "held": share, "right": right,
            "one_document": first.scores["exact_match"], "one_document_f1": first.scores["f1"],
        }  # fmt: skip
    return {"seed": seed, "questions": given.questions, "epochs": given.epochs, "hops": measured}


def main() -> None:
    """Measure what is missing, print the table of what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    for name in ("model", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--questions", type=int, default=1200)
    parser.add_argument("--epochs", type=float, default=6)
    parser.add_argument("--rate", type=float, default=None)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for seed in range(given.seeds):
        if not (given.out / f"{seed}.json").exists():
            data = None if given.data is None else MetaData(given.data / "metaqa")
            write_json(given.out / f"{seed}.json", cell(data, given, seed))
    table([json.loads(file.read_text()) for file in sorted(given.out.glob("[0-9]*.json"))])


def table(cells: Sequence[dict[str, Any]]) -> None:
    """Means and ranges over seeds, exact match."""
    print("| hops | questions | CogQA | without System 2 | one document | supporting facts F1 | right answers whose graph holds the way |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for hops in ("1", "2", "3"):
        rows = [one["hops"][hops] for one in cells]
        names = ("exact_match", "exact_match/without System 2", "one_document", "f1/supporting facts", "held")
        columns = [[one[name] for one in rows if one[name] is not None] for name in names]
        shown = [f"{np.mean(some):.3f} ({min(some):.3f}–{max(some):.3f})" if some else "–" for some in columns]
        print(f"| {hops} | {rows[0]['questions']} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
