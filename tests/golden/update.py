"""Twenty deterministic steps of a recipe, as a line of text; `python tests/golden/update.py [family …]` writes losses.txt anew."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from plume.core.part import replace
from plume.core.seeds import Draws
from plume.data.collate import Collator, Frame, gather
from plume.noise.rows import Alphabet
from plume.objectives._objective import Answers
from plume.recipes import _catalog as catalog
from plume.train.evaluate import to_device
from plume.train.optimiser import make_optimiser

LOSSES = Path(__file__).with_name("losses.txt")
VOCABULARY, STEPS, ROWS, LENGTH = 97, 20, 6, 24


class FixedStore:
    """A made-up corpus that needs no tokeniser, so that only the model's arithmetic and the data side can change the figures."""

    def __init__(self) -> None:
        import numpy as np

        generator = np.random.default_rng(11)
        cuts = np.sort(generator.choice(np.arange(1, 3000), 299, replace=False))
        self.tokens = (5 + (generator.zipf(1.5, 3000) % (VOCABULARY - 5))).astype(np.uint16)
        self.word_start = generator.random(3000) < 0.7
        self.sentence_start = np.concatenate([[0], cuts])
        self.sentence_end = np.concatenate([cuts, [3000]])
        self.document_start = np.append(np.arange(0, 300, 9), 300)
        self.vocabulary = VOCABULARY


def losses(family: str) -> list[float]:
    """The weighted loss of each step, with dropout on."""
    import numpy as np

    recipe = catalog.recipe(f"{family}/tiny")
    recipe = replace(
        recipe,
        embedding=replace(recipe.embedding, width=min(recipe.embedding.width, 32), dropout=0.1),
        network=replace(recipe.network, width=32, heads=4, feed_forward=64, dropout=0.1, attention_dropout=0.1),
        training=replace(recipe.training, peak=3e-3),
    )
    generator = np.random.default_rng(12)
    pieces = ((2, None, 3, None, 3) if recipe.layout.texts == 2 else (2, None, 3)) if recipe.layout.wrapped else (None,)
    frame = Frame(pieces=pieces, segments=(0, 0, 0, 1, 1)[: len(pieces)], pad=0)
    store = FixedStore()
    plan = recipe.layout.plan(store, room=LENGTH - frame.specials, generator=generator)  # type: ignore[arg-type]
    named = {kind: tuple(o.name for o in recipe.objectives if o.answers is kind) for kind in Answers}
    collator = Collator(
        noise=recipe.noise,
        alphabet=Alphabet(size=VOCABULARY, mask=4),
        token_objectives=named[Answers.NOISE],
        sentence_objectives=named[Answers.LAYOUT],
    )
    model = recipe.assembly.build(recipe, vocabulary=VOCABULARY)
    model.initialise(13)
    optimiser = make_optimiser(model, recipe.training)
    weight = {objective.name: objective.weight for objective in recipe.objectives}
    torch.manual_seed(14)
    found = []
    for step in range(STEPS):
        index = generator.choice(len(plan), ROWS, replace=False)
        rows = gather(store, plan, index, frame, np.arange(VOCABULARY) < 5)  # type: ignore[arg-type]
        batch = to_device(collator(rows, Draws(seed=15, epoch=step, index=index)), torch.device("cpu"))
        loss, _ = model(batch, {name: torch.tensor(weight[name] / count) for name, count in model.counts(batch).items()})
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        found.append(float(loss.detach()))
    return found


def read() -> dict[str, list[float]]:
    lines = LOSSES.read_text(encoding="utf-8").splitlines() if LOSSES.exists() else []
    return {family: [float(value) for value in values.split()] for family, values in (line.split(": ") for line in lines)}


def main() -> None:
    torch.set_num_threads(1)
    known = read()
    for family in sys.argv[1:] or catalog.families():
        known[family] = losses(family)
    LOSSES.write_text("".join(f"{name}: {' '.join(f'{value:.6f}' for value in known[name])}\n" for name in sorted(known)), encoding="utf-8")


if __name__ == "__main__":
    main()
