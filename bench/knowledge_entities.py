"""Entities in the network on documents about films (MetaQA's triples, written out: synthetic language whose links are exact).

The films of the directors with the most films are told, a document each. Of a fifth of the films nobody is told who directed them: neither the
documents nor the knowledge base of training say it. Two questions are put to every model:

- recall: the training documents in other words (other phrases of the same facts), one mention of each hidden whole, by how often its entity stands
  in the training documents. BERT has as many weights in all (more layers, no table of entities) and chooses among the names of as many tokens; EaE
  and FaE choose among all entities. Both are shown the number of tokens.
- edits: the document of a film with the sentence that was kept back, its director hidden. FaE is asked with the knowledge base of training, after
  the facts were added, after they were taken away again, and with false ones instead (and the document told with those, so that they are what is
  right); nothing is trained between. How often the most frequent director is right is shown beside.

Every cell (arm, seed) is kept in OUT/results.jsonl, and a run that is stopped goes on with the next.

    python bench/knowledge_entities.py --data FOLDER --out FOLDER [--films 800] [--steps 2000] [--seeds 3] [--arms bert,eae,unlinked,fae]
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _metaqa import DIRECTED, MetaData, documents, write_jsonl

from plume.core.batch import Batch
from plume.core.knowledge import Knowledge
from plume.core.part import replace
from plume.data.layouts.carried import token_values
from plume.heads.fact_prediction import FactPredictionModule
from plume.kb.building import Sources, build
from plume.kb.knowledge import open_knowledge
from plume.kb.store import KnowledgeBase
from plume.model.checkpoint import load_model
from plume.model.recipe import Recipe
from plume.model.resources import exchange
from plume.model.use.rows import padded
from plume.recipes import _catalog as catalog
from plume.train import pretrain
from plume.train.settings import make_settings

ARMS = ("bert", "eae", "unlinked", "fae")
BANDS = ((1, 1), (2, 4), (5, 19), (20, 10**9))
LENGTH, ROWS, UNTOLD = 80, 16, 0.2


@dataclass(frozen=True)
class World:
    """The films that are told, and what is kept back."""

    data: MetaData
    films: int

    @cached_property
    def told(self) -> dict[int, dict[int, list[int]]]:
        """Facts of each film, directors with the most films first."""
        by_director = defaultdict(list)
        for film, facts in self.data.films.items():
            if len(facts.get(DIRECTED, ())) == 1:
                by_director[facts[DIRECTED][0]].append(film)
        chosen = [film for _, films in sorted(by_director.items(), key=lambda one: (-len(one[1]), one[0])) for film in films][: self.films]
        return {film: self.data.films[film] for film in sorted(chosen)}

    @cached_property
    def untold(self) -> dict[int, int]:
        """Films of which nobody says who directed them, and who did: directors whom another film tells of."""
        generator = np.random.default_rng(7)
        told = Counter(facts[DIRECTED][0] for facts in self.told.values())
        kept: dict[int, int] = {}
        for film in generator.permutation(list(self.told)).tolist():
            director = self.told[film][DIRECTED][0]
            facts = self.told[film]
            alone = all(director not in values for relation, values in facts.items() if relation != DIRECTED)
            if len(kept) < UNTOLD * len(self.told) and told[director] > 3 and alone and len(facts) > 2:
                kept[film], told[director] = director, told[director] - 1
        return kept

    @cached_property
    def names(self) -> list[int]:
        """Entities of the knowledge base, in the order of their numbers there."""
        used = set(self.told) | {one for facts in self.told.values() for values in facts.values() for one in values}
        return sorted(used)

    @cached_property
    def number(self) -> dict[int, int]:
        return {entity: number for number, entity in enumerate(self.names)}

    def documents(self, seed: int, *, directors: dict[int, int] | None = None) -> Iterator[dict[str, Any]]:
        """With the numbers of the knowledge base. Of films that are kept back nobody says the director; with `directors` only these films are
        told, with these."""
        films = {}
        for film, facts in self.told.items():
            if directors is None:
                films[film] = {one: values for one, values in facts.items() if not (one == DIRECTED and film in self.untold)}
            elif film in directors:
                films[film] = facts | {DIRECTED: [directors[film]]}
        data = MetaData(self.data.folder)
        data.__dict__.update(films=films, entities=self.data.entities)
        for record in documents(data, seed=seed):
            yield record | {"mentions": [one | {"id": self.number[one["id"]]} for one in record["mentions"]]}

    def build(self, out: Path) -> Path:
        """The knowledge base of training, and the corpus beside it."""
        out.mkdir(parents=True, exist_ok=True)
        if not (out / "kb").exists():
            said = self.data.folder / "kb" / "relations.tsv"
            relation = {int(line.split("\t")[0]): line.split("\t")[1] for line in said.read_text(encoding="utf-8").splitlines() if line}
            keys = {entity: f"e{entity}" for entity in self.names}
            (out / "entities.tsv").write_text("".join(f"{keys[one]}\t{self.data.entities[one]}\n" for one in self.names), encoding="utf-8")
            rows = [
                f"{keys[film]}\t{relation[one]}\t{keys[value]}\n"
                for film, facts in self.told.items() for one, values in facts.items() for value in values
                if not (one == DIRECTED and film in self.untold)
            ]  # fmt: skip
            (out / "triples.tsv").write_text("".join(rows), encoding="utf-8")
            build([out / "triples.tsv"], out / "kb", sources=Sources(entities=out / "entities.tsv")).close()
        if not (out / "docs.jsonl").exists():
            write_jsonl(out / "docs.jsonl", self.documents(1))
        return out / "kb"


@dataclass(frozen=True)
class Probe:
    """A row in which one mention is hidden."""

    tokens: list[int]
    named: list[int]
    first: int
    last: int
    answers: tuple[int, ...]


@dataclass
class Asked:
    """A trained model, and how probes are put to it."""

    folder: Path

    def __post_init__(self) -> None:
        self.model, self.tokenizer = load_model(self.folder)

    def probe(self, text: str, mentions: Sequence[dict[str, int]], hidden: int, answers: Sequence[int]) -> Probe | None:
        """None: it does not fit a row."""
        (pieces,) = self.tokenizer.encode_pieces([text], words=self.model.recipe.words)
        spans = np.array([(one["start"], one["end"], one["id"]) for one in mentions], np.int64).reshape(-1, 3)
        named = token_values(spans, pieces.start, pieces.end)
        place = mentions[hidden]
        inside = np.flatnonzero((pieces.start < place["end"]) & (pieces.end > place["start"]))
        room = LENGTH - 2
        begin = max(0, min(int(inside[0]) - room // 2, len(pieces.ids) - room))
        ids = pieces.ids.copy()
        ids[inside] = self.tokenizer.mask
        if inside[-1] >= begin + room or not len(inside):
            return None
        cut = slice(begin, begin + room)
        framed = [self.tokenizer.begin, *ids[cut].tolist(), self.tokenizer.separator]
        return Probe(framed, [-1, *named[cut].tolist(), -1], int(inside[0]) - begin + 1, int(inside[-1]) - begin + 1, tuple(answers))

    @torch.inference_mode()
    def right(self, probes: Sequence[Probe], names: Sequence[str]) -> list[bool]:
        """Is the likeliest entity one of the answers?"""
        found = []
        for start in range(0, len(probes), 64):
            some = probes[start : start + 64]
            length = torch.tensor([len(one.tokens) for one in some])
            batch = Batch(
                tokens=padded([one.tokens for one in some], self.tokenizer.pad), length=length if len(set(length.tolist())) > 1 else None,
                named={"mentions": padded([one.named for one in some], -1)},
            )  # fmt: skip
            states = self.model.encode(batch).last
            found += [one in probe.answers for probe, one in zip(some, self._best(states, some, names), strict=True)]
        return found

    def _best(self, states: torch.Tensor, probes: Sequence[Probe], names: Sequence[str]) -> list[int]:
        heads = {one.name: self.model.head(one.name) for one in self.model.recipe.objectives}
        head = heads.get("fact_prediction") or heads.get("entity_prediction")
        row = torch.arange(len(probes))
        if head is not None:
            ends = torch.cat([states[row, [one.first for one in probes]], states[row, [one.last for one in probes]]], -1)
            return head.logits(ends).argmax(-1).tolist()
        return [self._by_tokens(heads["masked_lm"], states[number], one, names) for number, one in enumerate(probes)]

    def _by_tokens(self, head: Any, states: torch.Tensor, probe: Probe, names: Sequence[str]) -> int:
        """Among the names of as many tokens."""
        count = probe.last - probe.first + 1
        numbers, spelled = self._spelled(tuple(names))[count]
        scores = head.logits(states[probe.first : probe.last + 1]).log_softmax(-1)
        return int(numbers[scores[torch.arange(count)[None], spelled].sum(1).argmax()])

    def _spelled(self, names: tuple[str, ...]) -> dict[int, tuple[torch.Tensor, torch.Tensor]]:
        if not hasattr(self, "_by_length"):
            by_length = defaultdict(list)
            for number, ids in enumerate(self.tokenizer.encode(list(names))):
                by_length[len(ids)].append((number, ids))
            self._by_length = {
                count: (torch.tensor([one for one, _ in some]), torch.tensor([ids for _, ids in some])) for count, some in by_length.items()
            }
        return self._by_length


def recipe_of(arm: str, entities: int) -> Recipe:
    """EaE's tiny size; BERT is deeper, so that it has as many weights."""
    recipe = catalog.recipe("fae/tiny" if arm == "fae" else "eae/tiny")
    recipe = replace(
        recipe,
        warm_start=None,
        tokenizer=replace(recipe.tokenizer, vocabulary=4000),
        training=replace(recipe.training, length=LENGTH, batch=ROWS),
    )
    if arm == "unlinked":
        return replace(recipe, objectives=tuple(one for one in recipe.objectives if one.name != "entity_linking"))
    if arm != "bert":
        return recipe
    network = recipe.transformer
    block = 12 * network.width**2
    table = entities * recipe.transformer.between[0].width
    return replace(
        recipe, objectives=recipe.objectives[:1],
        network=replace(network, between=(), depth=network.depth + max(1, round(table / block))),
    )  # fmt: skip


def recall_probes(world: World, asked: Asked) -> list[tuple[Probe, int]]:
    """One hidden mention a document in other words, and how often its entity stands in the training documents."""
    counts = Counter(one["id"] for record in world.documents(1) for one in record["mentions"])
    found = []
    generator = np.random.default_rng(11)
    for record in world.documents(2):
        mentions = record["mentions"]
        once = Counter(one["id"] for one in mentions)
        film = world.number[record["id"]]
        open_ones = [n for n, one in enumerate(mentions) if once[one["id"]] == 1 and one["id"] != film]
        if open_ones:
            hidden = int(generator.choice(open_ones))
            made = asked.probe(record["text"], mentions, hidden, [mentions[hidden]["id"]])
            if made is not None:
                found.append((made, counts[mentions[hidden]["id"]]))
    return found


def edit_probes(world: World, asked: Asked, directors: dict[int, int]) -> list[Probe]:
    """The director hidden in each of these films' documents, which say it once."""
    found = []
    for record in world.documents(1, directors=directors):
        director = world.number[directors[record["id"]]]
        places = [number for number, one in enumerate(record["mentions"]) if one["id"] == director]
        made = asked.probe(record["text"], record["mentions"], places[0], [director]) if len(places) == 1 else None
        if made is not None:
            found.append(made)
    return found


def with_facts(knowledge: Knowledge, facts: dict[int, int], world: World) -> Knowledge:
    """The same with these directors."""
    relation = knowledge.relations.index(relation_name(world))
    more = np.array([[world.number[film], relation, world.number[director]] for film, director in facts.items()], np.int32)
    return with_fields(knowledge, arrays={"triples": np.concatenate([np.asarray(knowledge.array("triples")), more])})


def relation_name(world: World) -> str:
    lines = (world.data.folder / "kb" / "relations.tsv").read_text(encoding="utf-8").splitlines()
    return next(line.split("\t")[1] for line in lines if line.startswith(f"{DIRECTED}\t"))


def measure(world: World, kb: Path, folder: Path) -> dict[str, Any]:
    """Both questions, to one model."""
    asked = Asked(folder)
    names = [world.data.entities[one] for one in world.names]
    recall = recall_probes(world, asked)
    right = asked.right([one for one, _ in recall], names)
    found: dict[str, Any] = {"recall": float(np.mean(right)), "recall_rows": len(right)}
    for least, most in BANDS:
        some = [one for one, (_, count) in zip(right, recall, strict=True) if least <= count <= most]
        found[f"recall {least}-{most if most < 10**9 else ''}"] = [float(np.mean(some)) if some else None, len(some)]
    true = world.untold
    turned = dict(zip(true, [*list(true.values())[1:], next(iter(true.values()))], strict=True))
    false = {film: director for film, director in turned.items() if director != true[film]}
    found["without"] = float(np.mean(asked.right(edit_probes(world, asked, true), names)))
    found["edit_rows"] = len(edit_probes(world, asked, true))
    head = next((one for one in asked.model.heads.values() if isinstance(one, FactPredictionModule)), None)
    if head is not None:
        before = open_knowledge(kb, ("triples",))
        for name, facts in (("added", true), ("false", false)):
            exchange(asked.model, with_facts(before, facts, world))
            found[name] = float(np.mean(asked.right(edit_probes(world, asked, facts), names)))
            exchange(asked.model, before)  # as after the facts were removed again
            found[f"{name} removed"] = float(np.mean(asked.right(edit_probes(world, asked, facts), names)))
    frequent, _ = Counter(facts[DIRECTED][0] for film, facts in world.told.items() if film not in true).most_common(1)[0]
    found["most frequent director"] = sum(one == frequent for one in true.values()) / len(true)
    return found | {"weights": sum(one.numel() for one in asked.model.parameters())}


def main() -> None:
    """Every cell that is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--films", type=int, default=800)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--arms", default=",".join(ARMS))
    given = parser.parse_args()
    torch.set_num_threads(1)
    world = World(MetaData(given.data / "metaqa"), given.films)
    kb = world.build(given.out)
    results = given.out / "results.jsonl"
    done = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()] if results.exists() else []
    with KnowledgeBase.open(kb) as opened:
        print(
            f"{len(world.told)} films, {len(opened)} entities, {opened.count} triples; {len(world.untold)} films without a director",
            flush=True,
        )
        entities = len(opened)
    for seed in range(given.seeds):
        for arm in given.arms.split(","):
            cell = {"arm": arm, "seed": seed, "films": given.films, "steps": given.steps}
            if any(cell.items() <= one.items() for one in done):
                continue
            folder = given.out / f"{arm}-{given.steps}-{seed}"
            settings = make_settings(
                recipe_of(arm, entities),
                corpus=given.out / "docs.jsonl",
                budget=f"{given.steps}steps",
                seed=seed,
                kb=None if arm == "bert" else kb,
            )
            began = time.process_time()
            if not (folder / "train" / "outcome.json").exists():
                stopped_by = pretrain.begin_fresh(settings, folder, quiet=True).outcome.stopped_by
                if stopped_by is not None:
                    shutil.rmtree(folder)
                    raise SystemExit(f"{folder} was stopped by {stopped_by}, and will be trained again.")
            found = cell | measure(world, kb, folder) | {"seconds": round(time.process_time() - began)}
            with results.open("a", encoding="utf-8") as handle:
                handle.write(json.dumps(found) + "\n")
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
