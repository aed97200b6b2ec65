"""Facts edited without training, in a made-up world: people, three relations, places; every name and every fact is drawn at random.

Four fifths of the facts are told, a sentence each, and are the knowledge base of training; of the others nobody tells. Then "NAME lives in ___." is
asked for both. FaE is asked with the knowledge base of training, after the facts that nobody told were added, after they were removed again, and with
other ones in their place, which then are what is right. Nothing is trained between, and no name is new. EaE has the same network without facts.
Chance is one of the places.

Every cell (arm, seed) is kept in OUT/facts.jsonl, and a run that is stopped goes on with the next.

    python bench/knowledge_facts.py --out FOLDER [--steps 600] [--seeds 3] [--arms eae,fae] [--people 100]
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _metaqa import write_jsonl

from plume.core.knowledge import Knowledge
from plume.core.part import replace
from plume.kb.building import Sources, build
from plume.kb.knowledge import open_knowledge
from plume.kb.link import Linker
from plume.kb.store import KnowledgeBase
from plume.model.resources import exchange
from plume.model.use.language_model import LanguageModel
from plume.recipes import _catalog as catalog
from plume.train import pretrain
from plume.train.settings import make_settings

RELATIONS = ("lives in", "works for", "was born in")
PLACES, TOLD = 30, 0.8
Fact = tuple[int, int, int]  # by the numbers of names and relations


@dataclass(frozen=True)
class World:
    """Who lives where: people come before places among the names."""

    names: list[str]
    told: list[Fact]
    untold: list[Fact]

    @classmethod
    def drawn(cls, people: int, seed: int) -> World:
        source = random.Random(seed)
        syllables = [consonant + vowel for consonant in "bkrmtslfnd" for vowel in "aeiou"]
        names: dict[str, None] = {}
        while len(names) < people + PLACES:
            names["".join(source.choice(syllables) for _ in range(3)).capitalize()] = None
        facts = [(who, relation, people + source.randrange(PLACES)) for who in range(people) for relation in range(len(RELATIONS))]
        source.shuffle(facts)
        cut = round(TOLD * len(facts))
        return cls(list(names), facts[:cut], facts[cut:])

    def false(self) -> list[Fact]:
        """Other places for the facts that nobody told."""
        people = len(self.names) - PLACES
        return [(who, relation, people + (place - people + 7) % PLACES) for who, relation, place in self.untold]

    def sentence(self, fact: Fact) -> dict[str, Any]:
        """With both names linked."""
        first, last = self.names[fact[0]], self.names[fact[2]]
        text = f"{first} {RELATIONS[fact[1]]} {last}."
        begin = len(text) - 1 - len(last)
        mentions = [{"start": 0, "end": len(first), "id": fact[0]}, {"start": begin, "end": begin + len(last), "id": fact[2]}]
        return {"text": text, "mentions": mentions}

    def write(self, out: Path) -> None:
        """The knowledge base of training, and its text."""
        out.mkdir(parents=True, exist_ok=True)
        if not (out / "kb").exists():
            (out / "names.tsv").write_text("".join(f"{name}\t{name}\n" for name in self.names), encoding="utf-8")
            lines = [f"{self.names[who]}\t{RELATIONS[relation]}\t{self.names[place]}\n" for who, relation, place in self.told]
            (out / "triples.tsv").write_text("".join(lines), encoding="utf-8")
            build([out / "triples.tsv"], out / "kb", sources=Sources(entities=out / "names.tsv")).close()
        write_jsonl(out / "told.jsonl", map(self.sentence, self.told))


def measure(world: World, kb: Path, folder: Path) -> dict[str, float]:
    """How often the likeliest entity is the right one, and λ where facts may be asked."""
    model = LanguageModel.load(folder)
    model.linker = Linker(KnowledgeBase.open(kb))
    before = open_knowledge(kb, ("triples",))
    found = asked(model, world, "told", world.told) | asked(model, world, "without", world.untold)
    if "fact_prediction" not in model.model.heads:
        return found
    for name, facts in (("added", world.untold), ("removed", []), ("other ones", world.false())):
        exchange(model.model, with_facts(before, facts))
        found |= asked(model, world, name, facts or world.untold)
    return found


def with_facts(knowledge: Knowledge, facts: Sequence[Fact]) -> Knowledge:
    """The same with these too."""
    relation = [knowledge.relations.index(name) for name in RELATIONS]
    more = np.array([(who, relation[number], place) for who, number, place in facts], np.int32).reshape(-1, 3)
    return with_fields(knowledge, arrays={"triples": np.concatenate([np.asarray(knowledge.array("triples")), more])})


def asked(model: LanguageModel, world: World, name: str, facts: Sequence[Fact]) -> dict[str, float]:
    """Each of these facts with its place hidden."""
    right, context = [], []
    for who, relation, place in facts:
        (blank,) = [one for one in model.entities(f"{world.names[who]} {RELATIONS[relation]} ___.") if one.blank]
        right.append(blank.guesses[0].entity == place)
        context.append(blank.context)
    shares = [one for one in context if one is not None]
    return {name: float(np.mean(right))} | ({f"{name} λ": float(np.mean(shares))} if shares else {})


def main() -> None:
    """Every cell that is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--arms", default="eae,fae")
    parser.add_argument("--people", type=int, default=100)
    given = parser.parse_args()
    torch.set_num_threads(1)
    results = given.out / "facts.jsonl"
    done = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()] if results.exists() else []
    for seed in range(given.seeds):
        world, out = World.drawn(given.people, seed), given.out / f"world-{given.people}-{seed}"
        world.write(out)
        for arm in given.arms.split(","):
            cell = {"arm": arm, "seed": seed, "steps": given.steps, "people": given.people}
            if any(cell.items() <= one.items() for one in done):
                continue
            recipe = catalog.recipe(f"{arm}/tiny")
            recipe = replace(
                recipe, warm_start=None, layout=replace(recipe.layout, across=False), tokenizer=replace(recipe.tokenizer, vocabulary=300),
                training=replace(recipe.training, length=24, batch=32),
            )  # fmt: skip
            folder, began = out / f"{arm}-{given.steps}", time.process_time()
            if not (folder / "train" / "outcome.json").exists():
                settings = make_settings(recipe, corpus=out / "told.jsonl", budget=f"{given.steps}steps", seed=seed, kb=out / "kb")
                stopped_by = pretrain.begin_fresh(settings, folder, quiet=True).outcome.stopped_by
                if stopped_by is not None:
                    shutil.rmtree(folder)
                    raise SystemExit(f"{folder} was stopped by {stopped_by}, and will be trained again.")
            found = cell | measure(world, out / "kb", folder) | {"seconds": round(time.process_time() - began)}
            with results.open("a", encoding="utf-8") as handle:
                handle.write(json.dumps(found, ensure_ascii=False) + "\n")
            print(json.dumps(found, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
