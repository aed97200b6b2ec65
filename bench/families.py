"""What the families' own mechanisms cost: positions, streams, memory, writing, noise.

Four questions, each a ratio measured in the same run (interleaved rounds, median and spread):

1. a training step with relative positions or two streams, against BERT of the same size at the same length, per token of text;
2. scoring a long text with Transformer-XL's memory, against a window of the same context that slides by one token;
3. writing after sixteen prompts at once with GPT-2, against one after the other;
4. how fast each family's noise makes batches, against how fast its model eats them.

    python bench/families.py [--rounds 7] [--part positions|memory|writing|noise]
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plume.core.batch import Batch, Order, Target
from plume.core.part import replace
from plume.data.corpus import Corpus, CorpusKind
from plume.data.layouts.labelled import CodedBlocks
from plume.data.loader import Cursor, Reader
from plume.data.store import build_stores
from plume.data.train_tokenizer import train_tokenizer
from plume.embedded.material import write_embedded
from plume.embedded.python_manual import english_documents
from plume.model.memory import Memory
from plume.model.recipe import Recipe
from plume.model.use.language_model import LanguageModel
from plume.model.use.scoring import score
from plume.nn.positions.functional import Functional
from plume.nn.positions.relative import Relative
from plume.nn.positions.t5 import Buckets
from plume.recipes import _catalog as catalog
from plume.train.device import to_device
from plume.train.feeding import make_reader
from plume.train.optimizer import make_optimizer

WIDTH, DEPTH, HEADS, LENGTH, ROWS, VOCABULARY = 256, 4, 4, 128, 32, 8000
CPU = torch.device("cpu")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--part", choices=("positions", "memory", "writing", "noise"))
    given = parser.parse_args()
    torch.set_num_threads(2)
    parts = {"positions": positions, "memory": memory, "writing": writing, "noise": noise}
    for name, run in parts.items():
        if given.part in (None, name):
            print(f"\n{name}")
            run(given.rounds)


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def seconds(run: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


# 1. Positions and streams


def sized(recipe: Recipe) -> Recipe:
    return replace(
        recipe,
        embedding=replace(recipe.embedding, width=WIDTH, dropout=0.0),
        network=replace(recipe.network, width=WIDTH, depth=DEPTH, heads=HEADS, feed_forward=4 * WIDTH, dropout=0.0, attention_dropout=0.0),
        training=replace(recipe.training, length=LENGTH, batch=ROWS),
    )


def masked_batch(recipe: Recipe, *, read: int = 20, stream: int | None = None) -> Batch:
    """Rows of random tokens of which a share is asked for, in place: the same work for every scheme."""
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(5, VOCABULARY, (ROWS, LENGTH), generator=generator)
    places = torch.stack([torch.randperm(LENGTH, generator=generator)[:read] for _ in range(ROWS)])
    value = tokens.gather(1, places).flatten()
    index = (places + torch.arange(ROWS)[:, None] * LENGTH).flatten()
    target = Target(index=index, value=value, slot=torch.arange(ROWS * read))
    name = recipe.kinds[0].name
    batch = Batch(tokens=tokens, read=places, labels={name: target}, stream=stream)
    if recipe.assembly.streams:
        rank = torch.zeros_like(tokens).scatter(1, places, torch.arange(1, read + 1).expand(ROWS, -1))
        segment = torch.zeros_like(tokens) if recipe.embedding.segments or getattr(recipe.positions, "segments", False) else None
        batch = replace(batch, order=Order.RANKED, rank=rank, segment=segment, query=torch.full_like(places, 4))
    return batch


def stepper(recipe: Recipe, batch: Batch) -> Callable[[], None]:
    model = recipe.assembly.build(recipe, vocabulary=VOCABULARY).train()
    model.initialise(0)
    optimizer = make_optimizer(model, recipe.training)
    scale = {name: torch.tensor(1.0 / len(target.value)) for name, target in batch.labels.items()}

    def step() -> None:
        model(batch, scale)[0].backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def positions(rounds: int) -> None:
    roberta = sized(catalog.recipe("roberta/tiny"))  # BERT's body and masked LM alone
    relative = replace(roberta, positions=Relative(dropout=0.0))
    cases = {
        "bert": (roberta, masked_batch(roberta)),
        "t5 buckets": (replace(roberta, positions=Buckets()), masked_batch(roberta)),
        "nezha": (replace(roberta, positions=Functional()), masked_batch(roberta)),
        "transformer-xl, no memory": (relative, masked_batch(roberta)),
        "bert, 128 tokens of memory": (_remembering(roberta), masked_batch(roberta, stream=0)),
        "transformer-xl, 128 of memory": (_remembering(relative), masked_batch(roberta, stream=0)),
        "xlnet, two streams": (sized(_unremembering(catalog.recipe("xlnet/tiny"))), None),
        "mpnet, two streams": (sized(catalog.recipe("mpnet/tiny")), None),
    }
    steps = {name: stepper(recipe, batch or masked_batch(recipe)) for name, (recipe, batch) in cases.items()}
    for step in steps.values():
        step()
        step()
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            times[name].append(seconds(lambda step=step: [step() for _ in range(3)]) / 3)  # type: ignore[misc]
    for name, values in times.items():
        ratios = [one / bert for one, bert in zip(values, times["bert"], strict=True)]
        print(f"  {name:32} {1000 * statistics.median(values):7.1f} ms  {spread(ratios)} × bert")


def _remembering(recipe: Recipe) -> Recipe:
    from plume.data.layouts.streams import Streams
    from plume.model.recipe import unchecked

    with unchecked():  # masked tokens in a stream: no recipe, only the same work with memory
        return replace(recipe, memory=Memory(length=LENGTH), layout=Streams())


def _unremembering(recipe: Recipe) -> Recipe:
    return replace(recipe, memory=None)


# 2. Memory


def memory(rounds: int) -> None:
    recipe = catalog.recipe("transformer-xl/tiny")
    recipe = replace(sized(recipe), memory=Memory(length=LENGTH))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "corpus.txt"
        write_embedded(path, english_documents())
        tokenizer = train_tokenizer(Corpus(path), replace(recipe.tokenizer, vocabulary=2000), recipe.format)
        text = " ".join(itertools.islice(english_documents(), 40))
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size).eval()
    model.initialise(0)
    from plume.model.use.abilities import Abilities

    can = Abilities(model, tokenizer)
    ids = tokenizer.encode([text])[0][:2000]
    text = tokenizer.decode(ids)
    head = can.head(can.token_kinds[0])
    row = torch.tensor([[tokenizer.separator, *ids]])

    def sliding(first: int, count: int) -> None:
        """A window for each token: its context, and the token's scores at the end."""
        for last in range(first, first + count):
            window = row[:, max(0, last - LENGTH) : last]
            head.logits(model.encode(Batch(tokens=window, order=Order.CAUSAL)).last[:, -1]).log_softmax(-1)

    ratios = []
    with torch.inference_mode():
        score(can, [text])
        sliding(LENGTH, 8)
        for number in range(rounds):
            remembered = seconds(lambda: score(can, [text])) / len(ids)
            window = seconds(lambda number=number: sliding(LENGTH + 32 * number, 32)) / 32  # type: ignore[misc]
            ratios.append(window / remembered)
    print(f"  {len(ids)} tokens: memory is {spread(ratios)} × as fast as a window of {LENGTH} that slides by one")


# 3. Writing


def writing(rounds: int) -> None:
    """Random weights: what is written does not change how long it takes, as long as it does not stop."""
    recipe = catalog.recipe("gpt2/tiny")
    with tempfile.TemporaryDirectory() as scratch:
        tokenizer = train_tokenizer(
            _corpus(recipe, Path(scratch), labelled=False), replace(recipe.tokenizer, vocabulary=2000), recipe.format
        )
    network = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    network.initialise(0)
    model = LanguageModel(network, tokenizer)
    words = " ".join(itertools.islice(english_documents(), 4)).split()
    prompts = [" ".join(words[40 * number : 40 * number + 3 + number]) for number in range(16)]  # of 3 to 18 words
    for name, way in {"greedy": {"greedy": True}, "sampled": {"top_p": 0.9}, "four beams": {"beams": 4}}.items():

        def together(way: Any = way) -> None:
            model.generate(prompts, **way)

        def one_by_one(way: Any = way) -> None:
            for prompt in prompts:
                model.generate(prompt, **way)

        together()
        ratios = [seconds(one_by_one) / seconds(together) for _ in range(rounds)]
        print(f"  {name}: {len(prompts)} prompts at once are {spread(ratios)} × as fast as one after the other")


# 4. Noise


def noise(rounds: int) -> None:
    """One thread makes batches; the model trains on both cores."""
    for family in catalog.networks():
        recipe = sized(catalog.recipe(f"{family}/tiny"))
        coded = any(isinstance(kind.layout, CodedBlocks) for kind in recipe.kinds)
        with tempfile.TemporaryDirectory() as scratch:
            corpus = _corpus(recipe, Path(scratch), labelled=coded)
            spec = replace(recipe.tokenizer, vocabulary=4000)
            tokenizer = train_tokenizer(corpus, spec, recipe.format, codes=corpus.labels() if coded else ())
            stores = build_stores(corpus, tokenizer, words=recipe.words, cache=Path(scratch) / "cache")
            stores.train.units |= {unit: np.asarray(stores.train.word_start).copy() for unit in ("phrase", "entity")}
            for kind in recipe.kinds:
                reader = make_reader(stores.train, recipe, tokenizer, seed=0, kind=kind)
                steps = min(len(reader.plan(0)[1]), 20)
                reader.step(Cursor(), [slice(None)])
                made = [reader.step(Cursor(step=step), [slice(None)])[0] for step in range(min(steps, 2))]
                step = _trainer(recipe, tokenizer.size, kind.name, [to_device(batch, CPU) for batch in made])
                step()
                ratios = []
                for _ in range(max(rounds // 2, 3)):
                    ratios.append(seconds(step) / len(made) / _making(reader, steps))
                print(f"  {family:16} {kind.name:28} {spread(ratios)} × as fast as its model")


def _making(reader: Reader, steps: int) -> float:
    """Seconds a batch."""
    return seconds(lambda: [reader.step(Cursor(step=number), [slice(None)]) for number in range(steps)]) / steps


def _trainer(recipe: Recipe, vocabulary: int, kind: str, batches: list[Batch]) -> Callable[[], None]:
    model = recipe.assembly.build(recipe, vocabulary=vocabulary).train()
    model.initialise(0)
    optimizer = make_optimizer(model, recipe.training)

    def step() -> None:
        for batch in batches:
            model(batch, {name: torch.tensor(1.0 / max(count, 1)) for name, count in model.counts(batch).items()})[0].backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    return step


def _corpus(recipe: Recipe, folder: Path, *, labelled: bool) -> Corpus:
    """Embedded text in the form that the recipe reads."""
    import json

    documents = list(english_documents())
    if recipe.corpus is CorpusKind.PAIRS:
        lines = [line for document in documents for line in document.splitlines() if 20 < len(line) < 200]
        path, content = folder / "pairs.tsv", "\n".join(f"{line}\t{line.upper()}" for line in lines)
    elif recipe.corpus is CorpusKind.EMOJI:
        lines = [line for document in documents for line in document.splitlines() if len(line) > 20]
        path, content = folder / "texts.txt", "\n".join(f"{line} {'😀😢'[number % 2]}" for number, line in enumerate(lines))
    elif labelled:
        rows = [{"text": document, "label": "Help" if number % 2 else "Manual"} for number, document in enumerate(documents)]
        path, content = folder / "corpus.jsonl", "\n".join(json.dumps(row) for row in rows)
    else:
        path, content = folder / "corpus.txt", "\n\n".join(documents)
    path.write_text(content + "\n", encoding="utf-8")
    return Corpus(path, kind=recipe.corpus)


if __name__ == "__main__":
    main()
