"""Who sees whom, drawn from a real batch: one row of a small text through a recipe's own layout and noise."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from plume.core.batch import Batch
from plume.core.part import replace
from plume.data.corpus import Corpus, CorpusKind
from plume.data.layouts.labelled import CodedBlocks
from plume.data.loader import Cursor
from plume.data.store import build_stores
from plume.data.train_tokenizer import train_tokenizer
from plume.model.kinds import BatchKind
from plume.model.recipe import Recipe
from plume.nn.visibility import ranks, visible
from plume.objectives._objective import Answers
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import WordPiece
from plume.train.device import to_device
from plume.train.feeding import make_reader

SEES, BLIND = "■", "·"
_SENTENCES = ("the cat sleeps here .", "rain falls all day .", "we read old books .", "ships sail far away .")
_NAMES = ("cat", "rain", "old books", "ships")  # that mention something
_PAIRS = (("the cat sleeps", "die katze schläft"), ("we read books", "wir lesen bücher"), ("rain falls", "regen fällt"))


def diagrams(recipe: Recipe, *, length: int = 14, seed: int = 5) -> dict[str, str]:
    """By kind of batch, the picture of one row."""
    rows = math.lcm(2, recipe.readings)
    small = replace(recipe, training=replace(recipe.training, length=length, batch=rows))
    with tempfile.TemporaryDirectory() as scratch:
        corpus = _corpus(small, Path(scratch))
        coded = any(isinstance(kind.layout, CodedBlocks) for kind in small.kinds)
        tokenizer = train_tokenizer(corpus, WordPiece(vocabulary=400), small.format, codes=corpus.labels() if coded else ())
        stores = build_stores(corpus, tokenizer, words=small.words, cache=Path(scratch) / "cache")
        stores.train.units |= {unit: np.asarray(stores.train.word_start).copy() for unit in ("phrase", "entity")}
        found = {}
        for kind in small.kinds:
            reader = make_reader(stores.train, small, tokenizer, seed=seed, kind=kind, rows=rows)
            batch = to_device(reader.step(Cursor(), [slice(0, 1)])[0], torch.device("cpu"))
            found[kind.name] = draw(batch, kind, tokenizer)
    return found


def _corpus(recipe: Recipe, folder: Path) -> Corpus:
    """A few lines of the kind that the recipe is trained on."""
    if recipe.corpus is CorpusKind.PAIRS:
        path, lines = folder / "pairs.tsv", ["en\tde", *[f"{a}\t{b}" for a, b in _PAIRS * 20]]
    elif recipe.corpus is CorpusKind.EMOJI:
        path, lines = folder / "texts.txt", [f"{text} {sign}" for text in _SENTENCES * 10 for sign in "😀😢"]
    else:
        path = folder / "corpus.jsonl"
        text = "\n".join(_SENTENCES)
        mentions = [{"start": text.index(name), "end": text.index(name) + len(name), "id": n} for n, name in enumerate(_NAMES)]
        record = {"text": text, "mentions": mentions, "forms": mentions}
        lines = [json.dumps(record | {"label": label}) for label in ("Books", "News") for _ in range(10)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return Corpus(path, kind=recipe.corpus, carries=recipe.carries)


def draw(batch: Batch, kind: BatchKind, tokenizer: Tokenizer) -> str:
    """A line a position: the token shown, whom it sees, and what is asked of it."""
    tokens = [tokenizer.token(int(number)) for number in batch.tokens[0]]
    rows = len(tokens) if batch.length is None else int(batch.length[0])
    rank = ranks(batch)
    seen = visible(query=rank, key=rank, until=batch.until)[0].numpy()
    answers = _answers(batch, kind, tokenizer)
    asked = {} if batch.read is not None and kind.noise.target.streams else answers
    width = max(len(token) for token in tokens[:rows])
    lines = [_line(tokens[place], width, seen[place, :rows], asked.get(place)) for place in range(rows)]
    if batch.read is not None and kind.noise.target.streams:
        strict = visible(query=rank.gather(1, batch.read), key=rank, until=batch.until, strict=True)[0].numpy()
        places = list(dict.fromkeys(batch.read[0].tolist()))
        lines.append(f"{'query stream':{width}}")
        lines += [_line(f"@{place}", width, strict[row, :rows], answers.get(place)) for row, place in enumerate(places)]
    if batch.source is not None:
        shown = [tokenizer.token(int(number)) for number in batch.source.tokens[0]]
        shown = shown if batch.source.length is None else shown[: int(batch.source.length[0])]
        second = (f"encoder, all see all: {' '.join(shown)}", "decoder, each sees the whole source and:")
        if not kind.noise.target.decoder:  # two texts by themselves, whose vectors are compared
            second = (f"second text, all see all: {' '.join(shown)}", "first text, to which one of the batch's second texts belongs:")
        lines = [*second, *lines]
    return "\n".join(lines)


def _line(token: str, width: int, seen: NDArray[np.bool_], answer: str | None) -> str:
    marks = " ".join(SEES if one else BLIND for one in seen)
    return f"{token:{width}}  {marks}" + ("" if answer is None else f"  → {answer}")


def _answers(batch: Batch, kind: BatchKind, tokenizer: Tokenizer) -> dict[int, str]:
    """By position of the first row, what heads must say there."""
    time = batch.tokens.shape[1]
    found: dict[int, list[str]] = {}
    for objective in kind.objectives:
        target = batch.labels.get(objective.name)
        if target is None:
            continue
        for index, value in zip(target.index.tolist(), target.value.tolist(), strict=True):
            if index < time:
                a_token = objective.pair_label is None and objective.answers is not Answers.BATCH and objective.head.of_tokens
                said = tokenizer.token(value) if a_token else f"{objective.name}: {value}"
                found.setdefault(index, [])
                if said not in found[index]:
                    found[index].append(said)
    return {place: ", ".join(said) for place, said in found.items()}
