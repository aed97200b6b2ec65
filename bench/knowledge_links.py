"""Entities in the network: what ERNIE (Tsinghua) has of its vectors, and what KnowBERT's linker has above the first sense.

Types: news in which the named instances of WordNet are marked (people, cities, rivers …). A model is pre-trained on it and tuned to tell the type
of a name in a sentence; the names of the test set are in no training row. Arms: BERT; ERNIE with TransE's vectors of all triples, among them those
that say the type, so that the question is whether the network can use them; with vectors of the other triples ("untyped"); and with the first ones
shuffled over the entities.

Senses: KnowBERT is pre-trained on the annotated sentences of SemCor, with what WordNet says each word may mean, and asked for the senses of
SemEval-2007. Arms: real vectors, and one vector for all entities ("constant"). The first sense is the one that SemCor has most often, counted over
the whole of SemCor, the training sentences among it. Shown is the loss of masked tokens on held-out text too.

Every cell (part, arm, seed) is kept in OUT/results.jsonl, and a run that is stopped goes on with the next.

    python bench/knowledge_links.py --data FOLDER --wordnet /usr/share/wordnet --out FOLDER [--parts types,senses] [--seeds 3] [--tokens 400000]
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _wordnet import INSTANCE, Annotated, WordNet, annotated, build_kb

import plume
from plume.core.batch import Batch
from plume.data.layouts.carried import token_values
from plume.kb.building import Sources, build
from plume.kb.candidates import numbers_of_names
from plume.kb.store import KnowledgeBase
from plume.model.checkpoint import load_model
from plume.nn.knowledge.recontextualisation import MEANINGS, PLACES, SCORES
from plume.static.kb_vectors import VECTORS, learn_vectors
from plume.static.transe import TransE

ARMS = {"types": ("bert", "real", "shuffled", "untyped"), "senses": ("real", "constant")}
CLASSES, ROWS, TESTED = 10, 3000, 800
_NAME = re.compile(r"[A-Z][\w.'-]*(?: (?:of |de )?[A-Z][\w.'-]*)*")


@dataclass(frozen=True)
class Bench:
    """What is measured, on what."""

    data: Path
    net: WordNet
    out: Path
    tokens: int
    documents: int
    epochs: float

    def vectors(self, name: str, arm: str, seed: int) -> Path:
        """A copy of a knowledge base with the vectors of an arm."""
        there = self.out / name / "kb"
        made = self.out / name / f"kb-{arm}-{seed}"
        if not (made / VECTORS).exists():
            shutil.copytree(there, made, dirs_exist_ok=True)
            values = np.load(there / VECTORS)
            if arm == "shuffled":
                values = values[np.random.default_rng(seed).permutation(len(values))]
            elif arm == "untyped":
                values = np.load(self.out / name / "untyped" / VECTORS)
            elif arm == "constant":
                values = np.tile(values.mean(0, keepdims=True), (len(values), 1))
            np.save(made / VECTORS, values)
        return made

    def pretrain(self, family: str, part: str, arm: str, seed: int, corpus: Path, kb: Path | None) -> Path:
        """The model of a cell, which is made once."""
        out = self.out / part / f"{arm}-{seed}"
        if not (out / "train" / "outcome.json").exists():
            shutil.rmtree(out, ignore_errors=True)
            given = {} if kb is None else {"kb": str(kb)}
            plume.pretrain(f"{family}/tiny", corpus=str(corpus), budget=f"{self.tokens}tokens", seed=seed, out=out, quiet=True, **given)
        return out

    # Types

    @cached_property
    def instances(self) -> dict[str, str]:
        """Of names that only one instance has, its synset."""
        named: dict[str, list[str]] = {}
        for one in self.net.synsets.values():
            if any(sign == INSTANCE for sign, _ in one.pointers):
                for word, _ in one.words:
                    named.setdefault(word.replace("_", " "), []).append(one.key)
        common = {word.partition(".")[0] for word in self.net.lemmas}
        return {name: keys[0] for name, keys in named.items() if len(keys) == 1 and len(name) > 3 and name not in common}

    def kind(self, key: str) -> str:
        """The synset that it is an instance of."""
        return next(other for sign, other in self.net.synsets[key].pointers if sign == INSTANCE)

    def types(self, arm: str, seed: int) -> dict[str, Any]:
        """The accuracy on names of the test set."""
        folder = self.out / "types"
        if not (folder / "kb" / VECTORS).exists():
            self._write_types(folder)
        family = "bert" if arm == "bert" else "ernie-thu"
        kb = None if arm == "bert" else self.vectors("types", arm, seed)
        model = self.pretrain(family, "types", arm, seed, folder / "linked.jsonl", kb)
        tuned = self.out / "types" / f"{arm}-{seed}-tuned"
        shutil.rmtree(tuned, ignore_errors=True)
        rows = {"train": str(folder / "train.tsv"), "dev": str(folder / "test.tsv")}
        made = plume.tune(model, task="classification", out=tuned, seed=seed, epochs=self.epochs, quiet=True, measurements=1, **rows)
        labels = [line.split("\t")[2] for line in (folder / "train.tsv").read_text(encoding="utf-8").splitlines()[1:]]
        asked = [line.split("\t")[2] for line in (folder / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]]
        (most, _), *_ = Counter(labels).most_common(1)
        outcome = json.loads((model / "train" / "outcome.json").read_text(encoding="utf-8"))["held_out"]
        return {
            "accuracy": made.evaluate(folder / "test.tsv").scores["accuracy"],
            "most frequent": sum(label == most for label in asked) / len(asked),
            "rows": len(asked),
            **{name: value for name, value in outcome.items() if name.startswith(("masked_lm", "entity_"))},
        }

    def _write_types(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        names = self.instances
        linked = list(self._news(names))
        kinds = Counter(self.kind(names[name]) for one in linked for name, *_ in one[1])
        classes = {key: self.net.synsets[key].words[0][0] for key, _ in kinds.most_common(CLASSES)}
        keys = sorted(set(names.values()))
        number = {key: n for n, key in enumerate(keys)}
        self._write_instances(folder, keys, names)
        with (folder / "linked.jsonl").open("w", encoding="utf-8") as file:
            for text, found in linked:
                mentions = [{"start": start, "end": end, "id": number[names[name]]} for name, start, end in found]
                file.write(json.dumps({"text": text, "mentions": mentions}, ensure_ascii=False) + "\n")
        self._write_rows(folder, linked, classes)

    def _write_instances(self, folder: Path, keys: list[str], names: dict[str, str]) -> None:
        """Their triples; and vectors that were not told what a name is an instance of."""
        name_of = {key: name for name, key in names.items()}
        synsets = [*keys, *sorted({other for key in keys for _, other in self.net.synsets[key].pointers} - set(keys))]
        triples = [(key, sign, other) for key in keys for sign, other in self.net.synsets[key].pointers]
        _table(folder / "entities.tsv", ((key, name_of.get(key, f"{self.net.synsets[key].words[0][0]} ({key})")) for key in synsets))
        sources = Sources(entities=folder / "entities.tsv")
        for name, some in (("untyped", [one for one in triples if one[1] != INSTANCE]), ("kb", triples)):
            _table(folder / f"{name}.tsv", some)
            build([folder / f"{name}.tsv"], folder / name, sources=sources).close()
            learn_vectors(folder / name, TransE(), measured=False)

    def _write_rows(self, folder: Path, linked: list[tuple[str, list[tuple[str, int, int]]]], classes: dict[str, str]) -> None:
        draw, rows = np.random.default_rng(0), {"train": [], "test": []}  # type: ignore[var-annotated]
        seen: Counter[str] = Counter()
        for text, found in linked:
            for name, start, end in found:
                kind = self.kind(self.instances[name])
                if kind in classes and seen[name] < 20:
                    seen[name] += 1
                    begin, behind = max(text.rfind(". ", 0, start) + 1, start - 100), min(end + 100, len(text))
                    said = " ".join(text[begin:behind].split())
                    rows["test" if hash_of(name) % 5 == 0 else "train"].append((said, name, classes[kind]))
        for part, most in (("train", ROWS), ("test", TESTED)):
            chosen = draw.permutation(len(rows[part]))[:most]
            _table(folder / f"{part}.tsv", [("text", "name", "label"), *(rows[part][n] for n in chosen.tolist())])

    def _news(self, names: dict[str, str]) -> Iterator[tuple[str, list[tuple[str, int, int]]]]:
        for line in self._lines():
            text = json.loads(line)["text"]
            found = [(one[0], one.start(), one.end()) for one in _NAME.finditer(text) if one[0] in names]
            if found:
                yield text, found

    # Senses

    def senses(self, arm: str, seed: int) -> dict[str, Any]:
        """The share of SemEval-2007's words that get one of their right senses."""
        folder = self.out / "senses"
        if not (folder / "kb" / VECTORS).exists():
            build_kb(self.net, folder).close()
            learn_vectors(folder / "kb", TransE(epochs=30), measured=False)
        with KnowledgeBase.open(folder / "kb") as kb:
            forms, keys = numbers_of_names(kb), {key: n for n, key in enumerate(self.net.synsets)}
        corpus = folder / "linked.jsonl"
        self._write_senses(corpus, forms, keys)
        model = self.pretrain("knowbert", "senses", arm, seed, corpus, self.vectors("senses", arm, seed))
        right, first, count = self._asked(model, list(annotated(self.data / "wsd_en", "semeval2007", self.net)), forms, keys)
        outcome = json.loads((model / "train" / "outcome.json").read_text(encoding="utf-8"))["held_out"]
        return {"accuracy": right / count, "first sense": first / count, "rows": count, **outcome}

    def _write_senses(self, corpus: Path, forms: dict[str, int], keys: dict[str, int]) -> None:
        """SemCor's sentences with their senses, eight times over, and news with what its words may mean. What is held out, every hundredth
        document, is news."""
        told = [_of_sentences(some, forms, keys) for some in _batched(list(annotated(self.data / "wsd_en", "semcor-sample", self.net)), 10)]
        news = [self._of_news(json.loads(line)["text"], forms) for line in self._lines()]
        mixed = [*told * 8, *news[len(news) // 8 :]]
        order, kept = np.random.default_rng(0).permutation(len(mixed)).tolist(), iter(news)
        rows: list[dict[str, Any]] = []
        for number in order:
            if len(rows) % 100 == 0:
                rows.append(next(kept))
            rows.append(mixed[number])
        corpus.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows), encoding="utf-8")

    def _of_news(self, text: str, forms: dict[str, int]) -> dict[str, Any]:
        found = [(one, self._likeliest(one[0].lower())) for one in re.finditer(r"[a-z]{3,}", text)]
        spans = [{"start": one.start(), "end": one.end(), "id": forms[lemma]} for one, lemma in found if lemma in forms]
        return {"text": text, "mentions": [], "forms": spans}

    def _lines(self) -> list[str]:
        return (self.data / "wikinews_en" / "train.jsonl").read_text(encoding="utf-8").splitlines()[: self.documents]

    def _likeliest(self, word: str) -> str | None:
        """As the part of speech that SemCor has it as most often."""
        if word not in self._known:
            lemmas = [f"{word}.{part}" for part in "nvar" if f"{word}.{part}" in self.net.lemmas]
            told = [sum(self.net.counts.get((lemma, key), 0) for key in self.net.lemmas[lemma]) for lemma in lemmas]
            self._known[word] = lemmas[int(np.argmax(told))] if lemmas else None
        return self._known[word]

    @cached_property
    def _known(self) -> dict[str, str | None]:
        return {}

    @torch.no_grad()
    def _asked(self, folder: Path, sentences: list[Annotated], forms: dict[str, int], keys: dict[str, int]) -> tuple[int, int, int]:
        model, tokenizer = load_model(folder)
        begin, end = tokenizer.id("[CLS]"), tokenizer.id("[SEP]")
        right = first = count = 0
        for one in sentences:
            cut = tokenizer.encode_joined([one.text], words=model.recipe.words)
            asked = [(start, stop, forms[lemma], lemma, gold) for start, stop, lemma, gold in one.words]
            spans = np.array([[start, stop, form] for start, stop, form, *_ in asked], np.int64).reshape(-1, 3)
            told = token_values(spans, cut.start, cut.end)[:126]
            tokens = torch.tensor([[begin, *cut.ids[:126].tolist(), end]])
            named = {"forms": torch.tensor([[-1, *told.tolist(), -1]]), "mentions": torch.full_like(tokens, -1)}
            left = model.encode(Batch(tokens=tokens, named=named)).named
            found = {}
            if SCORES in left:
                best = left[MEANINGS].gather(1, left[SCORES].argmax(1, keepdim=True))[:, 0]
                found = dict(zip(left[PLACES].tolist(), best.tolist(), strict=True))
            for start, _, _, lemma, gold in asked:
                place = int(np.searchsorted(cut.start, start)) + 1
                usual = max(self.net.lemmas[lemma], key=lambda key: self.net.counts.get((lemma, key), 0))
                count, first = count + 1, first + (usual in gold)
                right += found.get(place, keys[usual]) in {keys[key] for key in gold}  # cut off: the first sense
        return right, first, count


def _batched(items: list[Annotated], count: int) -> Iterator[list[Annotated]]:
    for first in range(0, len(items), count):
        yield items[first : first + count]


def _of_sentences(some: list[Annotated], forms: dict[str, int], keys: dict[str, int]) -> dict[str, Any]:
    """A document of them, a line each."""
    text, spans, said = "", [], []
    for one in some:
        for start, end, lemma, gold in one.words:
            if lemma in forms:
                place = {"start": len(text) + start, "end": len(text) + end}
                spans.append(place | {"id": forms[lemma]})
                said += [place | {"id": keys[gold[0]]}] if gold else []
        text += one.text + "\n"
    return {"text": text, "mentions": said, "forms": spans}


def hash_of(name: str) -> int:
    """The same in every process."""
    return sum((n + 1) * ord(letter) for n, letter in enumerate(name))


def _table(path: Path, rows: Any) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def shown(results: Sequence[dict[str, Any]]) -> str:
    """The means over seeds, a line an arm."""
    lines = []
    for part, arms in ARMS.items():
        for arm in arms:
            mine = [one for one in results if (one["part"], one["arm"]) == (part, arm)]
            if mine:
                figures = {name for one in mine for name in one if isinstance(one[name], float)}
                means = {name: [one[name] for one in mine if name in one] for name in sorted(figures)}
                told = ", ".join(
                    f"{name} {np.mean(values):.3f} (from {min(values):.3f} to {max(values):.3f})" for name, values in means.items()
                )
                lines.append(f"{part} {arm}, {len(mine)} seeds: {told}")
    return "\n".join(lines)


def main() -> None:
    """All cells that are not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", default="types,senses")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=400_000)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--epochs", type=float, default=3.0)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    bench = Bench(given.data, WordNet(given.wordnet), given.out, given.tokens, given.documents, given.epochs)
    path = given.out / "results.jsonl"
    results = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    done = {(one["part"], one["arm"], one["seed"]) for one in results}
    for seed in range(given.seeds):
        for part in given.parts.split(","):
            for arm in ARMS[part]:
                if (part, arm, seed) not in done:
                    start = time.perf_counter()
                    made = {"part": part, "arm": arm, "seed": seed, **getattr(bench, part)(arm, seed)}
                    results.append(made | {"seconds": round(time.perf_counter() - start)})
                    with path.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(results[-1]) + "\n")
                    print(json.dumps(results[-1]), flush=True)
    print(shown(results))


if __name__ == "__main__":
    main()
