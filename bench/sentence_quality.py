"""What each way to sentence vectors brings: Spearman × 100 on sets of scored pairs, as Markdown tables (docs/sentences.md).

    python bench/sentence_quality.py --data FOLDER --minilm FOLDER --m3e FOLDER --cache FOLDER \
        [--threads 1] [--minutes 40] [--write docs/sentences.md --write docs/zh/sentences.md] [--quick]

`--data` holds sts12-16, stsb, sick, stsb_zh, lcqmc, bq_corpus, afqmc, wikinews_en and zhwiki_large; `--minilm` and `--m3e` are folders of
sentence-transformers. A BERT of each language is pre-trained first. Every cell is a file in `--cache`, so that a run that was stopped goes on;
first come those without chance in them, then seed after seed. After `--minutes` nothing new is begun, and the tables hold what is there; `--write`
puts them into a page, between its comments "figures".
Nothing that is measured on was seen in fitting or training, and no set chooses weights: the last are taken.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _sentence_sets import LANGUAGES, Language, Sets
from numpy.typing import NDArray

import plume
from plume.core.files import write_json, write_text
from plume.static.model import WordModel
from plume.static.sif import SIF
from plume.vectors.transform import Transform
from plume.vectors.transforms.flow import Flow
from plume.vectors.transforms.principal_components import PrincipalComponents
from plume.vectors.transforms.whiten import Whiten
from plume.vectors.transforms.without_component import WithoutComponent

Floats = NDArray[np.float32]
SEEDS = (0, 1, 2)
BEGIN, END = "<!-- figures: bench/sentence_quality.py -->\n", "<!-- end of figures -->"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is spent."""

    tokens: float = 2e6  # of pre-training
    fitted: int = 8000  # texts
    steps: dict[str, tuple[int, int]]  # of SimCSE and of CoSENT, by body
    measured: int = 10_000  # pairs of a set


FULL = Sizes(steps={"MiniLM": (20, 40), "m3e-small": (15, 40), "bert/tiny": (100, 200)})  # about an hour of one core in all
QUICK = Sizes(tokens=4e4, fitted=300, steps=dict.fromkeys(FULL.steps, (2, 2)), measured=40)


Cell = dict[str, float]  # sets, with Spearman × 100
Rows = Iterator[tuple[str, list[Cell | None]]]  # a line of a table and its cells, None where one is not measured yet


class Bench:
    """One language's cells. `seeds` are those that may be measured now, until `deadline`."""

    def __init__(self, language: Language, data: Path, cache: Path, sizes: Sizes, deadline: float) -> None:
        self.language, self.data, self.cache, self.sizes, self.deadline = language, data, cache / language.name, sizes, deadline
        self.now: tuple[int, ...] = ()
        self.cache.mkdir(parents=True, exist_ok=True)
        self.sets = Sets(data, language.measured, most=sizes.measured)
        self.training = language.training_texts(data, sizes.fitted)
        self.sentences = language.sentences(data, sizes.fitted)
        self.text = self.cache / "sentences.txt"
        self.text.write_text("\n".join(self.sentences), encoding="utf-8")

    def cell(self, name: str, measure: Callable[[], Cell], *, now: bool = True) -> Cell | None:
        """Measured once."""
        file = self.cache / "cells" / f"{name.replace('/', '-')}.json"
        if not file.exists():
            if not now or time.monotonic() > self.deadline:
                return None
            file.parent.mkdir(exist_ok=True)
            write_json(file, measure())
            print(f"{self.language.name}: {name}", flush=True)
        found: Cell = json.loads(file.read_text(encoding="utf-8"))
        return found

    def seeds(self, name: str, measure: Callable[[int], Cell]) -> list[Cell | None]:
        """One after the other."""
        return [self.cell(f"{name}.{seed}", lambda seed=seed: measure(seed), now=seed in self.now) for seed in SEEDS]  # type: ignore[misc]

    def vectors(self, folder: Path, texts: str) -> Floats:
        """Raw, the mean of the last layer; kept, as every transform needs them."""
        file = self.cache / "vectors" / f"{folder.name}.{texts}.npy"
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            np.save(file, plume.load(folder).embed(getattr(self.sets if texts == "texts" else self, texts), pooling="mean"))
        found: Floats = np.load(file)
        return found

    def transformed(self, folder: Path, transform: Transform, fitted: str = "training") -> Cell:
        """Fitted to texts that are not measured on."""
        return self.sets.scores(transform.fit(self.vectors(folder, fitted)).apply(self.vectors(folder, "texts")))

    def trained(self, folder: Path, method: str, text: Path, budget: str | None, seed: int) -> Cell:
        """Of a model that is trained and thrown away."""
        with tempfile.TemporaryDirectory() as made:
            model = plume.sentences.train(
                folder, method=method, text=text, out=Path(made) / "model", seed=seed, budget=budget, pooling="mean", quiet=True
            )
            return self.sets.scores(model.embed(self.sets.texts))

    def rows(self, body: str, folder: Path) -> Rows:
        """All ways, from the cheapest on."""
        simcse, cosent = self.sizes.steps[body]
        width = plume.load(folder).width
        cut = min(256, width)
        yield "raw, mean", [self.cell(f"{body}.raw", lambda: self.sets.scores(self.vectors(folder, "texts")))]
        for fitted, of in (("training", ""), ("sentences", ", fitted to running text")):
            name = f"{body}.whiten{cut}.{fitted}"
            yield f"whitened, {cut}{of}", [self.cell(name, lambda of=fitted: self.transformed(folder, Whiten(dimensions=cut), of))]  # type: ignore[misc]
        yield "flow", self.seeds(f"{body}.flow", lambda seed: self.transformed(folder, Flow(seed=seed)))
        steps = f"{simcse}steps"
        yield "SimCSE", self.seeds(f"{body}.simcse", lambda seed: self.trained(folder, "simcse", self.text, steps, seed))
        budget, pairs = f"{cosent}steps", self.data / self.language.scored
        yield "supervised, CoSENT", self.seeds(f"{body}.cosent", lambda seed: self.trained(folder, "cosent", pairs, budget, seed))

    def words(self) -> Rows:
        """Baselines that know no order."""
        yield "TF-IDF", [self.cell("tfidf", lambda: self.sets.scores(tfidf(self.training + self.sentences, self.sets.texts)))]

        def fasttext(pooling: str, seed: int) -> Cell:
            folder = self.cache / f"fasttext{seed}"
            if not folder.exists():
                plume.pretrain(
                    "fasttext/tiny", corpus=self.data / self.language.corpus, out=folder, seed=seed, budget="2e7tokens", quiet=True
                )
            model = plume.load(folder)
            assert isinstance(model, WordModel)
            if pooling == "mean":
                return self.sets.scores(model.embed(self.sets.texts))
            component = WithoutComponent().fit(model.weighted(self.training, SIF()))
            return self.sets.scores(component.apply(model.weighted(self.sets.texts, SIF())))

        for pooling in ("mean", "sif"):
            yield f"fastText, {pooling}", self.seeds(f"fasttext.{pooling}", lambda seed, how=pooling: fasttext(how, seed))  # type: ignore[misc]

    def dimensions(self, body: str, folder: Path) -> Rows:
        """Whitening and principal components, cut."""
        width = plume.load(folder).width
        for kept in dict.fromkeys(one for one in (width, 256, 128, 64) if one <= width):
            for name, transform in (("whitened", Whiten(dimensions=kept)), ("principal components", PrincipalComponents(dimensions=kept))):
                cell = self.cell(f"{body}.{type(transform).__name__}{kept}", lambda how=transform: self.transformed(folder, how))  # type: ignore[misc]
                yield f"{name}, {kept}", [cell]

    def methods(self, folder: Path) -> Rows:
        """The methods of training, at their defaults, one seed (docs/sentences-training.md)."""
        pairs, texts, near = self.data / self.language.scored, self.cache / "training.txt", self.cache / "near.tsv"
        texts.write_text("\n".join(self.training), encoding="utf-8")
        near.write_text("".join(f"{one}\t{other}\n" for one, other in near_pairs(pairs)), encoding="utf-8")
        quick = None if self.sizes is FULL else "2steps"
        for name, file in (("simcse", texts), ("ranking", near), ("cosine", pairs), ("cosent", pairs), ("simbert", near)):
            measured = self.cell(f"methods.{name}", lambda how=name, of=file: self.trained(folder, how, of, quick, 0), now=2 in self.now)  # type: ignore[misc]
            yield name, [measured]


def near_pairs(path: Path) -> list[tuple[str, ...]]:
    """Those that belong together."""
    from plume.vectors.sts import read_pairs

    return [one.texts for one in read_pairs(path) if float(one.answer) >= 4]


def tfidf(corpus: list[str], texts: list[str]) -> Floats:
    """Of words, or where there is no space between them of characters and pairs of them."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    spaced = sum(" " in text for text in texts) > len(texts) / 2
    made = TfidfVectorizer(sublinear_tf=True) if spaced else TfidfVectorizer(analyzer="char", ngram_range=(1, 2), sublinear_tf=True)
    made.fit(corpus)
    found: Floats = made.transform(texts).toarray().astype(np.float32)
    return found + np.float32(1e-9)  # a text of unknown words has a direction too


def table(title: str, rows: Rows) -> Iterator[str]:
    """Means over seeds, with the standard deviation of the mean over sets."""
    begun = False
    for name, measured in rows:
        cells = [cell for cell in measured if cell is not None]
        if not cells:
            continue
        names = list(cells[0])
        if not begun:
            begun = True
            yield f"| {title} | {' | '.join(names)} | mean |\n|{'---|' * (len(names) + 2)}"
        means = [statistics.mean(cell[one] for cell in cells) for one in names]
        overall = [statistics.mean(cell.values()) for cell in cells]
        spread = f" ± {statistics.stdev(overall):.1f}" if len(cells) > 1 else ""
        spread += f" ({len(cells)} of {len(measured)} seeds)" if len(cells) < len(measured) else ""
        yield f"| {name} | {' | '.join(f'{one:.1f}' for one in means)} | {statistics.mean(overall):.1f}{spread} |"


def bodies(bench: Bench, given: Any, sizes: Sizes) -> dict[str, Path]:
    """By name, as model directories."""
    name, folder = ("MiniLM", given.minilm) if bench.language.name == "English" else ("m3e-small", given.m3e)
    ready, own = bench.cache / "ready", bench.cache / "own"
    if not ready.exists():
        plume.import_hf(folder, out=ready)

    def pretrained() -> Cell:
        if own.exists():
            plume.resume(own, quiet=True)
        else:
            plume.pretrain("bert/tiny", corpus=given.data / bench.language.corpus, out=own, budget=f"{sizes.tokens}tokens", quiet=True)
        return {}

    return {name: ready} if bench.cell("own", pretrained, now=0 in bench.now) is None else {"bert/tiny": own, name: ready}


def _block(lines: Iterator[str]) -> list[str]:
    found = list(lines)
    return ["", *found] if found else []


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "minilm", "m3e", "cache"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--write", type=Path, action="append", default=[])
    parser.add_argument("--quick", action="store_true", help="Few texts and steps: does it run?")
    given = parser.parse_args()

    import torch

    torch.set_num_threads(given.threads)
    sizes = QUICK if given.quick else FULL
    deadline = time.monotonic() + 60 * given.minutes
    benches = [Bench(language, given.data, given.cache, sizes, deadline) for language in LANGUAGES]
    for measured in range(len(SEEDS) + 1):
        tables: list[str] = []
        for bench in benches:
            bench.now = SEEDS[:measured]
            tables += [f"\n### {bench.language.name}", *_block(table("words", bench.words()))]
            for name, folder in bodies(bench, given, sizes).items():
                tables += _block(table(name, bench.rows(name, folder)))
                tables += _block(table(f"{name}, dimensions", bench.dimensions(name, folder)))
        english = benches[0]
        tables += _block(table("bert/tiny, STS-B's training pairs", english.methods(english.cache / "own")))
    print("\n".join(tables))
    for page in given.write:
        before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
        write_text(page, before + BEGIN + "\n".join(tables) + "\n\n" + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
