"""What REALM's parts are worth at a tiny size: salient spans, inverse cloze, a fresh index; one cell at a time, what is done is kept.

    python bench/knowledge_realm.py --data FOLDER --out RESULTS [--sets films,news] [--arms realm,stale] [--seeds 3] [--steps 900]
    python bench/knowledge_realm.py --out RESULTS --table

`films`: documents of MetaQA's films (bench/_metaqa.py, synthetic), and a corpus that tells the same facts in other words; asked are sentences about
films that the corpus leaves out and the documents have. `news`: wikinews_en is corpus and documents at once, a text's own article left out; asked
are sentences of its dev part. Every arm is asked for the same names and dates, with the documents and without. `--minutes` ends after the cell
that is running then. The baseline of retrieval is BM25 on the same blocks.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _metaqa import MetaData, documents, write_jsonl

import plume
from plume.core.part import replace
from plume.model.networks.realm import Realm, marginal
from plume.model.recipe import Recipe
from plume.model.use.language_model import LanguageModel
from plume.parts import GeometricSpans, Tokens
from plume.text.sentences import split_sentences

TOLD = {  # relation: what the corpus says, in words that the documents do not use
    0: "Behind the camera of {film} stood {value}.",
    1: "The script of {film} came from {value}.",
    2: "In {film} one can see {value}.",
    3: "{film} reached the cinemas in {value}.",
    4: "People in {film} speak {value}.",
    6: "Critics count {film} as {value}.",
}
ARMS = ("realm", "spans", "tokens", "no ict", "ict first", "stale")
ASKED = 16  # sentences at once


@dataclass(frozen=True, kw_only=True)
class Question:
    """A sentence, the characters that are hidden, and, where it is known, the title of the document that says it."""

    text: str
    start: int
    end: int
    title: str | None = None


@dataclass(frozen=True, kw_only=True)
class Material:
    """Files of a set, and what is asked."""

    corpus: Path
    documents: Path
    lexicon: Path | None
    questions: list[Question]


def films(data: Path, out: Path, *, count: int, asked: int) -> Material:
    meta, folder = MetaData(data / "metaqa"), out / "films"
    vars(meta)["films"] = {
        film: {one: facts[one] for one in TOLD if one in facts} for film, facts in meta.films.items()
    }  # no tags, no votes
    folder.mkdir(parents=True, exist_ok=True)
    source = random.Random(1)
    chosen = sorted(source.sample(sorted(film for film, facts in meta.films.items() if {0, 2, 3} <= set(facts)), count + asked))
    new = set(source.sample(chosen, asked))
    lines, questions, names = [], [], set()
    for film in chosen:
        told = []
        for relation, sentence in TOLD.items():
            if values := meta.films[film].get(relation):
                value = meta.entities[source.choice(values)]
                names.add(value)
                text = sentence.format(film=meta.entities[film], value=value)
                told.append(text)
                if film in new:
                    start = sentence.format(film=meta.entities[film], value="\0").index("\0")
                    questions.append(Question(text=text, start=start, end=start + len(value), title=meta.entities[film]))
        if film not in new:
            lines.append({"text": " ".join(source.sample(told, len(told)))})
    write_jsonl(folder / "corpus.jsonl", lines)
    write_jsonl(folder / "docs.jsonl", ({"title": d["title"], "text": d["text"]} for d in documents(meta) if d["id"] in set(chosen)))
    (folder / "names.txt").write_text("".join(f"{name}\tentity\n" for name in sorted(names)), encoding="utf-8")
    return Material(corpus=folder / "corpus.jsonl", documents=folder / "docs.jsonl", lexicon=folder / "names.txt", questions=questions)


def news(data: Path, out: Path, *, count: int, asked: int) -> Material:
    from plume.data.corpus import Corpus
    from plume.data.salient import salient_entries

    folder = out / "news"
    folder.mkdir(parents=True, exist_ok=True)
    read = [json.loads(line) for line in (data / "wikinews_en" / "train.jsonl").read_text(encoding="utf-8").splitlines()[:count]]
    write_jsonl(folder / "docs.jsonl", read)
    names = {entry.text for entry in salient_entries(Corpus(folder / "docs.jsonl"))}
    questions = []
    for line in (data / "wikinews_en" / "dev.jsonl").read_text(encoding="utf-8").splitlines():
        for sentence in split_sentences(json.loads(line)["text"]):
            questions += [Question(text=sentence, start=start, end=end) for start, end in _names_in(sentence, names)]
    random.Random(1).shuffle(questions)
    return Material(corpus=folder / "docs.jsonl", documents=folder / "docs.jsonl", lexicon=None, questions=questions[:asked])


def _names_in(sentence: str, names: set[str]) -> Iterator[tuple[int, int]]:
    """Names and dates, the longest first, none over another; never the first word of the sentence."""
    starts = [number for number in range(1, len(sentence)) if sentence[number - 1] == " "]
    ends = [number for number in range(1, len(sentence) + 1) if number == len(sentence) or not sentence[number].isalnum()]
    last = 0
    for start in starts:
        found = [end for end in ends if start < end <= start + 40 and sentence[start:end] in names]
        if found and start >= last:
            last = max(found)
            yield start, last


SETS = {"films": (films, 2000, 300), "news": (news, 12_000, 10_000)}


def recipe_of(arm: str, refresh: int) -> Recipe:
    """The tiny recipe with one thing changed."""
    recipe = plume.recipe("realm/tiny")
    masked, cloze = recipe.objectives
    select = {"spans": GeometricSpans(), "tokens": Tokens()}.get(arm)
    if select is not None and masked.noise is not None:
        masked = replace(masked, noise=replace(masked.noise, select=select))
    if arm == "ict first":  # as in the paper: not beside the masks
        cloze = replace(cloze, during=(0.0, masked.during[0]))
    objectives = (replace(masked, during=(0.0, 1.0)),) if arm == "no ict" else (masked, cloze)
    assembly = replace(recipe.assembly, refresh=10**9 if arm == "stale" else refresh)
    return replace(recipe, objectives=objectives, assembly=assembly)


def cell(material: Material, arm: str, *, steps: int, refresh: int, seed: int, settings: Sequence[str], run: Path) -> dict[str, Any]:
    """Train the arm, and ask it."""
    began = time.process_time()
    recipe = recipe_of(arm, refresh)
    for setting in settings:
        recipe = recipe.override(setting)
    budget = steps // 2 if arm == "no ict" else steps  # as many steps of filling masks: three in four of the last two thirds
    given = {"lexicon": material.lexicon} if material.lexicon is not None and arm not in ("spans", "tokens") else {}
    if (run / "train").exists():
        model = plume.resume(run, quiet=True)
    else:
        model = plume.pretrain(
            recipe, corpus=material.corpus, out=run, budget=f"{budget}steps", seed=seed, quiet=True, documents=[material.documents], **given
        )
    assert isinstance(model, LanguageModel)
    if json.loads((run / "train" / "outcome.json").read_text(encoding="utf-8"))["stopped_by"] is not None:
        raise SystemExit("stopped; the same command goes on")
    trained = time.process_time() - began
    lines = [json.loads(line) for line in (run / "train" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    rising = [line["held_out/masked_lm/utility"] for line in lines if "held_out/masked_lm/utility" in line]
    model.consult(material.documents)
    return {"arm": arm, "seed": seed, "steps": budget, "cpu_seconds": trained, "held_out_utility": rising, **ask(model, material)}


@torch.inference_mode()
def ask(model: LanguageModel, material: Material) -> dict[str, float]:
    """Of all questions: nats a token with documents and without, whole names right, and how often a block found holds the name or is the film's."""
    network, sums = model.model, Counter[str]()
    assert isinstance(network, Realm) and network.evidence is not None
    title_of = [network.evidence.title(block) for block in range(len(network.evidence))] if material.questions[0].title else []
    for rows in _batches(model, material.questions):
        frames, places, answers, asked = zip(*rows, strict=True)
        batch = model.abilities.rows(frames)
        found = network.candidates(batch)
        assert found is not None
        row = torch.tensor([number for number, one in enumerate(places) for _ in one])
        place = torch.tensor([place for one in places for place in one])
        value = torch.tensor([answer for one in answers for answer in one])
        scores = network.head("masked_lm").logits(network._states(batch, found, row, place)).float().log_softmax(-1)
        each = scores.gather(2, value[:, None, None].expand(-1, scores.shape[1], 1)).squeeze(2)
        token = marginal(each, found.prior[row])
        right = marginal(scores, found.prior[row][:, :, None]).argmax(-1) == value
        alone = scores[:, 0].argmax(-1) == value
        held = network.evidence.holds(found.which, [list(one) for one in answers])
        sums.update(tokens=len(value), loss=-float(token.sum()), empty=-float(each[:, 0].sum()), spans=len(asked), found=int(held.sum()))
        for number in range(len(asked)):
            sums.update(right=bool(right[row == number].all()), right_alone=bool(alone[row == number].all()))
        if title_of:
            ours = [network.evidence.tokenizer.decode(network.evidence.tokenizer.encode([str(one.title)])[0]) for one in asked]
            sums.update(
                gold=sum(name in [title_of[block] for block in which if block >= 0] for name, which in zip(ours, found.which, strict=True))
            )
    made = {"loss": sums["loss"] / sums["tokens"], "utility": (sums["empty"] - sums["loss"]) / sums["tokens"], "spans": sums["spans"]}
    rates = {name: sums[name] / sums["spans"] for name in ("right", "right_alone", "found", *(("gold",) if title_of else ()))}
    return made | rates


def _batches(model: LanguageModel, questions: Sequence[Question]) -> Iterator[list[tuple[list[int], list[int], list[int], Question]]]:
    """Sentences with masks, where they stand, and what belongs there; a sentence that is too long keeps what stands around its name."""
    room = round(model.recipe.training.length / 3) - 2
    rows = []
    for one in questions:
        (pieces,) = model.tokenizer.encode_pieces([one.text])
        hidden = np.flatnonzero((pieces.end > one.start) & (pieces.start < one.end)).tolist()
        if hidden and len(hidden) <= 10:
            first = max(0, min(hidden[0] - room // 2, len(pieces.ids) - room))
            ids = pieces.ids.tolist()
            answers = [ids[place] for place in hidden]
            for place in hidden:
                ids[place] = model.abilities.mask
            frame = model.abilities.frame(ids[first : first + room])
            rows.append((frame, [place - first + 1 for place in hidden], answers, one))
    rows.sort(key=lambda row: len(row[0]))
    yield from (rows[first : first + ASKED] for first in range(0, len(rows), ASKED))


def bm25(material: Material, model: LanguageModel, *, top: int) -> dict[str, float]:
    """The same two rates of blocks found by their words (k1 1.2, b 0.75), the hidden ones left out of the question."""
    network = model.model
    assert isinstance(network, Realm) and network.evidence is not None
    evidence, sums = network.evidence, Counter[str]()
    words = [(evidence.title(block) + " " + evidence.text(block)).lower().split() for block in range(len(evidence))]
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for block, said in enumerate(words):
        for word, count in Counter(said).items():
            postings[word].append((block, count))
    length = np.array([len(said) for said in words])
    for rows in _batches(model, material.questions):
        for frame, _, answers, one in rows:
            scores = np.zeros(len(words))
            for word in set(model.tokenizer.decode(frame).lower().split()):
                where, count = np.array(postings.get(word) or [(0, 0)]).T
                weight = math.log(1 + (len(words) - len(where) + 0.5) / (len(where) + 0.5))
                scores[where] += weight * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length[where] / length.mean()))
            which = np.argsort(-scores, kind="stable")[:top]
            ours = evidence.tokenizer.decode(evidence.tokenizer.encode([str(one.title)])[0])
            sums.update(
                spans=1, found=bool(evidence.holds(which[None], [answers])[0]), gold=ours in [evidence.title(int(block)) for block in which]
            )
    return {name: sums[name] / sums["spans"] for name in ("found", "gold")}


def table(out: Path) -> str:
    """Mean and half the range over seeds, a line an arm."""
    lines = []
    for name in SETS:
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for path in sorted((out / name / "cells").glob("*.json")):
            done = json.loads(path.read_text(encoding="utf-8"))
            found[done["arm"]].append(done)
        if found:
            lines += [
                f"\n{name}\n",
                "| arm | seeds | loss | utility | right | right, no documents | found@4 | gold@4 |",
                "| --- " * 8 + "|",
            ]
        for arm in ("bm25", *ARMS):
            if arm in found:
                figures = [_figure(found[arm], key) for key in ("loss", "utility", "right", "right_alone", "found", "gold")]
                lines.append(f"| {arm} | {len(found[arm])} | {' | '.join(figures)} |")
    return "\n".join(lines)


def _figure(cells: Sequence[dict[str, Any]], key: str) -> str:
    values = [one[key] for one in cells if key in one]
    if not values:
        return ""
    scale, form = (1, ".3f") if key in ("loss", "utility") else (100, ".1f")
    spread = f" ± {scale * (max(values) - min(values)) / 2:{form}}" if len(values) > 1 else ""
    return f"{scale * statistics.fmean(values):{form}}{spread}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", default="films")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--refresh", type=int, default=100)
    parser.add_argument("--size", type=int, nargs=2, help="documents of the corpus, and how much is asked")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    for name in () if given.table else given.sets.split(","):
        make, count, asked = SETS[name]
        material = make(given.data, given.out, count=(given.size or (count, asked))[0], asked=(given.size or (count, asked))[1])
        cells = given.out / name / "cells"
        cells.mkdir(parents=True, exist_ok=True)
        for seed in range(given.seeds):
            for arm in given.arms.split(","):
                path, run = cells / f"{arm}-{seed}.json", given.out / name / "runs" / f"{arm}-{seed}"
                if path.exists() or time.monotonic() > until:
                    continue
                done = cell(material, arm, steps=given.steps, refresh=given.refresh, seed=seed, settings=given.settings, run=run)
                write_jsonl(path, [done])
                print(json.dumps(done), flush=True)
                if not (cells / "bm25-0.json").exists():
                    model = plume.load(run)
                    assert isinstance(model, LanguageModel)
                    model.consult(material.documents)
                    write_jsonl(cells / "bm25-0.json", [{"arm": "bm25", "seed": 0, **bm25(material, model, top=4)}])
    print(table(given.out))


if __name__ == "__main__":
    main()
