"""Twenty deterministic steps of a recipe, as a line of text; `python tests/golden/update.py [family …]` writes losses.txt anew."""

from __future__ import annotations

import sys
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plume.core.knowledge import Knowledge, fitted, needs_knowledge
from plume.core.part import replace
from plume.core.seeds import Draws
from plume.data.collate import gather
from plume.model.recipe import Recipe
from plume.nn.character_embedding import CharacterEmbedding
from plume.nn.recurrent.recurrent import Recurrent
from plume.noise.spelling import Spelling
from plume.recipes import _catalog as catalog
from plume.text.format import Format
from plume.train.device import to_device
from plume.train.feeding import make_reader
from plume.train.optimizer import make_optimizer

LOSSES = Path(__file__).with_name("losses.txt")
ENTITIES = 23
TRIPLES = np.stack([np.arange(40) % ENTITIES, np.arange(40) % 3, np.arange(40) * 7 % ENTITIES], axis=1)
MEANT = (np.arange(ENTITIES)[:, None] + np.array([[4, 0, 9]])) % ENTITIES
KNOWLEDGE = Knowledge(
    entities=tuple(f"e{number}" for number in range(ENTITIES)), relations=("a", "b", "c"), path="kb", fingerprint="0", facts=len(TRIPLES),
    arrays={"triples": TRIPLES, "vectors": np.random.default_rng(16).normal(size=(ENTITIES, 12)).astype(np.float32),
            "candidates": MEANT, "priors": np.tile(np.array([[0.5, 0.3, 0.2]], np.float32), (ENTITIES, 1))},
)  # fmt: skip
TEXT, STEPS, ROWS, LENGTH = 97, 20, 6, 24


class FixedTokenizer:
    """Ids without text: the five usual roles first, a family's further special tokens behind the text's."""

    def __init__(self, format: Format) -> None:
        self.format = format
        roles = (format.pad, format.unknown, format.begin, format.separator, format.mask)
        self._ids = {token: number for number, token in reversed(list(enumerate(roles))) if token is not None}
        for token in format.specials():
            self._ids.setdefault(token, TEXT + len([number for number in self._ids.values() if number >= TEXT]))
        self.size = max(TEXT, max(self._ids.values()) + 1)
        self.pad, self.mask = 0, 4 if format.mask is not None else None
        self.special_ids = self.structural_ids = np.array([*range(5), *range(TEXT, self.size)])

    def id(self, token: str) -> int | None:
        return self._ids.get(token)

    def spellings(self) -> list[str]:
        return [chr(0x4E00 + number) for number in range(self.size)]


class FixedStore:
    """A made-up corpus that needs no tokenizer, so that only the model's arithmetic and the data side can change the figures."""

    def __init__(self, *, pairs: bool = False) -> None:
        generator = np.random.default_rng(11)
        cuts = np.sort(generator.choice(np.arange(1, 3000), 299, replace=False))
        self.tokens = (5 + (generator.zipf(1.5, 3000) % (TEXT - 5))).astype(np.uint16)
        self.word_start = generator.random(3000) < 0.7
        self.sentence_start = np.concatenate([[0], cuts])
        self.sentence_end = np.concatenate([cuts, [3000]])
        self.document_start = np.arange(0, 301, 2) if pairs else np.append(np.arange(0, 300, 9), 300)
        self.sentence_language = np.arange(300) % 2
        self.document_label = np.arange(len(self.document_start) - 1) % 7
        self.vocabulary = TEXT
        self.counts = np.bincount(self.tokens, minlength=TEXT)
        self.named: dict[str, np.ndarray] = {}
        self.units = {kind: generator.random(3000) < 0.5 for kind in ("phrase", "entity")}
        run = np.repeat(np.arange(300), 10)  # every third run of ten tokens begins with a mention of one to four
        inside = (run % 3 == 0) & (np.arange(3000) % 10 < 1 + run % 4)
        self.named = {"mentions": np.where(inside, run % ENTITIES, -1), "forms": np.where(inside, run % ENTITIES, -1)}
        self.codes = 5 + np.arange(7)  # the token of each label


def _small(recipe: Recipe) -> Recipe:
    training = replace(recipe.training, peak=3e-3, length=LENGTH, batch=ROWS)
    network = recipe.network
    if isinstance(network, Recurrent):
        network = replace(network, width=32, projection=network.projection and 16, output=network.output and 16, dropout=0.1)
        embedding = replace(recipe.embedding, width=16, dropout=0.1)
        if isinstance(embedding, CharacterEmbedding):
            embedding = replace(embedding, characters=replace(embedding.characters, projection=16))
        return replace(recipe, embedding=embedding, network=network, training=training)
    network = replace(recipe.transformer, width=32, heads=4, feed_forward=64, dropout=0.1, attention_dropout=0.1)
    embedding = replace(recipe.embedding, width=min(recipe.embedding.width, 32), dropout=0.1)
    return replace(recipe, embedding=embedding, network=network, training=training)


def losses(family: str) -> list[float]:
    """The weighted loss of each step, with dropout on; kinds of batch take turns."""
    recipe = _small(fitted(catalog.recipe(f"{family}/tiny"), KNOWLEDGE))
    generator = np.random.default_rng(12)
    tokenizer: Any = FixedTokenizer(recipe.format)
    special = np.isin(np.arange(tokenizer.size), tokenizer.special_ids)
    readers = []
    for kind in recipe.kinds:
        store: Any = FixedStore(pairs=str(kind.layout.corpus) == "pairs")
        reader = make_reader(store, recipe, tokenizer, seed=0, kind=kind)
        room = kind.noise.raw(LENGTH) - reader.frame.specials
        plan = kind.layout.plan(store, room=room, rows=ROWS, generator=generator)
        readers.append((kind, store, reader, plan))
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    model.initialise(13)
    model.spell([f"w{number}" for number in range(tokenizer.size)])
    if needs_knowledge(recipe):
        model.know(KNOWLEDGE)
    optimizer = make_optimizer(model, recipe.training)
    torch.manual_seed(14)
    found = []
    for step in range(STEPS):
        kind, store, reader, plan = readers[step % len(readers)]
        turn = step // len(readers)
        index = np.arange(turn * ROWS, (turn + 1) * ROWS) if kind.layout.sequential else generator.choice(len(plan), ROWS, replace=False)
        rows = with_fields(gather(store, plan, index, reader.frame, special), spelling=Spelling.of(tokenizer.spellings()))
        batch = to_device(reader.collator(rows, Draws(seed=15, epoch=step, index=index)), torch.device("cpu"))
        if kind.layout.sequential:
            batch = with_fields(batch, stream=0, begins=turn == 0)
        weight = {objective.name: kind.scale(objective) for objective in kind.objectives}
        loss, _ = model(batch, {name: torch.tensor(weight[name] / max(count, 1)) for name, count in model.counts(batch).items()})
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(float(loss.detach()))
    return found


def read() -> dict[str, list[float]]:
    lines = LOSSES.read_text(encoding="utf-8").splitlines() if LOSSES.exists() else []
    return {family: [float(value) for value in values.split()] for family, values in (line.split(": ") for line in lines)}


def main() -> None:
    torch.set_num_threads(1)
    known = read()
    for family in sys.argv[1:] or catalog.networks():
        known[family] = losses(family)
    LOSSES.write_text("".join(f"{name}: {' '.join(f'{value:.6f}' for value in known[name])}\n" for name in sorted(known)), encoding="utf-8")


if __name__ == "__main__":
    main()
