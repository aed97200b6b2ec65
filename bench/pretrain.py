"""Tokens/s of plume's pre-training step and of transformers' own model in a plain loop: same weights, batches, optimizer.

Each side runs in a process of its own (so that plume's allocator setting does not help the other), and they take turns. Printed: median over
rounds, the ratio with its spread, the largest difference of the two loss curves, and the share of the measured matmul peak.

    python bench/pretrain.py [--rounds 7] [--steps 4] [--cases bert-30k,gpt2-8k]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

LENGTH, ROWS, WARM = 128, 32, 3


@dataclass(frozen=True)
class Case:
    family: str
    vocabulary: int
    dropout: float


CASES = {
    f"{family}-{vocabulary // 1000}k{'-dropout' if dropout else ''}": Case(family, vocabulary, dropout)
    for family, vocabulary in (("bert", 30522), ("bert", 8000), ("gpt2", 8000), ("electra", 8000), ("gpt2", 30522), ("electra", 30522))
    for dropout in (0.0, 0.1)
}


def made_batches(case: Case, count: int) -> list[Any]:
    """Batches as training sees them, from a made-up corpus whose words are as frequent as in real text (Zipf)."""
    from plume.core.seeds import Draws
    from plume.data.collate import Collator, Frame, gather
    from plume.noise.rows import Alphabet

    recipe = recipe_of(case)
    generator = np.random.default_rng(1)
    store = FakeStore(generator, case.vocabulary)
    pieces = {1: (2, None, 3), 2: (2, None, 3, None, 3)}[recipe.layout.texts] if recipe.layout.wrapped else (None,)
    frame = Frame(pieces=pieces, segments=(0, 0, 0, 1, 1)[: len(pieces)], pad=0)
    plan = recipe.layout.plan(store, room=LENGTH - frame.specials, generator=generator)  # type: ignore[arg-type]
    special = np.arange(case.vocabulary) < 5
    names = {answers: tuple(o.name for o in recipe.objectives if o.answers == answers) for answers in ("noise", "layout")}
    collator = Collator(
        noise=recipe.noise,
        alphabet=Alphabet(size=case.vocabulary, mask=4),
        token_objectives=names["noise"],
        sentence_objectives=names["layout"],
    )
    made = []
    for number in range(count):
        index = generator.choice(len(plan), ROWS, replace=False)
        rows = gather(store, plan, index, frame, special)  # type: ignore[arg-type]
        made.append(collator(rows, Draws(seed=0, epoch=number, index=index)))
    return made


class FakeStore:
    """Sentences of about 20 tokens, documents of 30 sentences."""

    def __init__(self, generator: np.random.Generator, vocabulary: int) -> None:
        tokens, sentences = 400_000, 20_000
        weight = 1.0 / np.arange(1, vocabulary - 4)
        self.tokens = (5 + generator.choice(vocabulary - 5, tokens, p=weight / weight.sum())).astype(np.uint16)
        self.word_start = np.ones(tokens, bool)
        cuts = np.sort(generator.choice(np.arange(1, tokens), sentences - 1, replace=False))
        self.sentence_start = np.concatenate([[0], cuts])
        self.sentence_end = np.concatenate([cuts, [tokens]])
        self.document_start = np.append(np.arange(0, sentences, 30), sentences)
        self.vocabulary = vocabulary
        self.units: dict[str, Any] = {}


def recipe_of(case: Case) -> Any:
    from plume.core.part import replace
    from plume.recipes import _catalog as catalog

    recipe = catalog.recipe(f"{case.family}/mini")
    return replace(
        recipe,
        embedding=replace(recipe.embedding, dropout=case.dropout),
        network=replace(recipe.network, dropout=case.dropout, attention_dropout=case.dropout),
        training=replace(
            recipe.training, peak=2e-4
        ),  # without warm-up a higher rate makes loss curves jump, and they could not be compared
    )


def our_step(case: Case) -> Callable[[Any], float]:
    import torch

    from plume.train.allocator import keep_freed_memory
    from plume.train.device import to_device
    from plume.train.optimizer import make_optimizer

    keep_freed_memory()
    recipe = recipe_of(case)
    model = recipe.assembly.build(recipe, vocabulary=case.vocabulary)
    model.initialise(0)
    optimizer = make_optimizer(model, recipe.training)
    weight = {objective.name: objective.weight for objective in recipe.objectives}

    def step(batch: Any) -> float:
        moved = to_device(batch, torch.device("cpu"))
        scale = {name: torch.tensor(weight[name] / count) for name, count in model.counts(moved).items()}
        loss, _ = model(moved, scale)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    step.flops = model.flops  # type: ignore[attr-defined]
    return step


def their_step(case: Case) -> Callable[[Any], float]:
    """transformers' classes, the same first weights, a plain loop with torch's fused AdamW."""
    import torch
    import transformers

    from plume.hf.export import config_of
    from plume.model.checkpoint import state_of
    from plume.recipes import _catalog as catalog

    recipe = recipe_of(case)
    model = recipe.assembly.build(recipe, vocabulary=case.vocabulary)
    model.initialise(0)
    bridge = catalog.bridge(recipe)

    def theirs_of(side: Any) -> Any:
        config = transformers.AutoConfig.for_model(**config_of(recipe, side, vocabulary=case.vocabulary))
        made = getattr(transformers, side.architecture(recipe))(config)
        state = {name: value for name, value in state_of(model).items() if side.keys.knows(name)}
        made.load_state_dict(side.keys.revert(state), strict=False)
        made.tie_weights()
        return made.train()

    main = theirs_of(bridge)
    networks = [main]
    if bridge.second is not None:
        generator = theirs_of(bridge.second)
        generator.electra.embeddings = main.electra.embeddings
        generator.tie_weights()
        networks.append(generator)
    groups: dict[bool, list[Any]] = {True: [], False: []}
    for parameter in dict.fromkeys(p for network in networks for p in network.parameters()):
        groups[parameter.ndim > 1].append(parameter)
    training = recipe.training
    optimizer = torch.optim.AdamW(
        [{"params": groups[True], "weight_decay": training.decay}, {"params": groups[False], "weight_decay": 0.0}],
        lr=training.peak, betas=(training.beta1, training.beta2), eps=training.epsilon, fused=True,
    )  # fmt: skip
    loss_of = {"bert": _bert_loss, "gpt2": _gpt_loss, "electra": _electra_loss}[case.family]

    def step(batch: Any) -> float:
        loss = loss_of(networks, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for group in groups.values() for p in group], 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    return step


def _tensors(batch: Any) -> dict[str, Any]:
    import torch

    inside = (
        np.ones(batch.tokens.shape, np.int64)
        if batch.length is None
        else (np.arange(batch.tokens.shape[1]) < batch.length[:, None]).astype(np.int64)
    )
    found = {"input_ids": torch.from_numpy(np.ascontiguousarray(batch.tokens)), "attention_mask": torch.from_numpy(inside)}
    if batch.segment is not None:
        found["token_type_ids"] = torch.from_numpy(np.ascontiguousarray(batch.segment))
    return found


def _dense(batch: Any, name: str) -> Any:
    import torch

    labels = np.full(batch.tokens.size, -100)
    labels[batch.labels[name].index] = batch.labels[name].value
    return torch.from_numpy(labels.reshape(batch.tokens.shape))


def _bert_loss(networks: list[Any], batch: Any) -> Any:
    import torch

    labels = {"labels": _dense(batch, "masked_lm"), "next_sentence_label": torch.from_numpy(batch.labels["next_sentence"].value)}
    return networks[0](**_tensors(batch), **labels).loss


def _gpt_loss(networks: list[Any], batch: Any) -> Any:
    import torch

    # transformers shifts labels itself; ours come shifted, so the loss is taken from its logits.
    logits = networks[0](input_ids=_tensors(batch)["input_ids"]).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), _dense(batch, "causal_lm").flatten())


def _electra_loss(networks: list[Any], batch: Any) -> Any:
    """There is no ELECTRA pre-training in transformers: its two classes, and the paper's sampling between them."""
    import torch

    discriminator, generator = networks
    inputs, labels = _tensors(batch), _dense(batch, "masked_lm")
    made = generator(**inputs, labels=labels)
    with torch.no_grad():
        where = labels != -100
        sampled = torch.multinomial(made.logits[where].softmax(-1), 1).squeeze(1)
        tokens = inputs["input_ids"].clone()
        tokens[where] = sampled
        replaced = torch.zeros_like(tokens)
        replaced[where] = (sampled != labels[where]).long()
    judged = discriminator(**(inputs | {"input_ids": tokens}), labels=replaced)
    return made.loss + 50.0 * judged.loss


def worker(connection: Any, side: str, case: Case, batches: list[Any]) -> None:
    import torch

    torch.set_num_threads(os.cpu_count() or 1)
    torch.manual_seed(0)
    step = our_step(case) if side == "plume" else their_step(case)
    flops = statistics.mean(step.flops(batch) for batch in batches) if side == "plume" else 0.0  # type: ignore[attr-defined]
    connection.send(flops)
    while True:
        numbers = connection.recv()
        if numbers is None:
            return
        started = time.perf_counter()
        losses = [step(batches[number % len(batches)]) for number in numbers]
        connection.send((time.perf_counter() - started, losses))


def matmul_peak() -> float:
    """GFLOP/s of a large product, the best of a few."""
    import torch

    matrix = torch.randn(2048, 2048)
    best = float("inf")
    for _ in range(6):
        started = time.perf_counter()
        _ = matrix @ matrix
        best = min(best, time.perf_counter() - started)
    return 2 * 2048**3 / best / 1e9


def run_case(name: str, case: Case, *, rounds: int, steps: int) -> None:
    batches = made_batches(case, WARM + rounds * steps)
    tokens = statistics.mean(batch.tokens.size if batch.length is None else int(batch.length.sum()) for batch in batches)
    context = multiprocessing.get_context("spawn")
    sides: dict[str, Any] = {}
    for side in ("plume", "transformers"):
        here, there = context.Pipe()
        process = context.Process(target=worker, args=(there, side, case, batches), daemon=True)
        process.start()
        sides[side] = (here, process)
    flops = max(pipe.recv() for pipe, _ in sides.values())
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    losses: dict[str, list[float]] = {side: [] for side in sides}
    for turn in range(-1, rounds):
        numbers = range(WARM) if turn < 0 else range(WARM + turn * steps, WARM + (turn + 1) * steps)
        for side in list(sides) if turn % 2 else list(sides)[::-1]:
            sides[side][0].send(list(numbers))
            spent, values = sides[side][0].recv()
            losses[side] += values
            if turn >= 0:
                seconds[side].append(spent / steps)
    for pipe, process in sides.values():
        pipe.send(None)
        process.join()
    speed = {side: tokens / statistics.median(times) for side, times in seconds.items()}
    ratios = sorted(theirs / ours for ours, theirs in zip(seconds["plume"], seconds["transformers"], strict=True))
    apart = max(abs(a - b) for a, b in zip(losses["plume"], losses["transformers"], strict=True))
    share = flops / statistics.median(seconds["plume"]) / 1e9 / matmul_peak()
    print(
        f"{name:20s} {speed['plume']:>9,.0f} {speed['transformers']:>9,.0f} {statistics.median(ratios):>6.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"
        f" {apart:>10.2g} {share:>6.0%} {os.getloadavg()[0]:>6.2f}",
        flush=True,
    )


def feeding_speed() -> float:
    """Tokens/s of the data side alone, BERT's pairs with masking."""
    started = time.perf_counter()
    batches = made_batches(CASES["bert-8k"], 201)
    first = time.perf_counter() - started
    started = time.perf_counter()
    made_batches(CASES["bert-8k"], 1)
    return sum(batch.tokens.size for batch in batches[1:]) / (first - (time.perf_counter() - started))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--cases", default=",".join(CASES))
    options = parser.parse_args()
    print(f"4 layers × 256, {ROWS} rows × {LENGTH} tokens, {os.cpu_count()} threads, matmul peak {matmul_peak():,.0f} GFLOP/s")
    print(f"data side alone: {feeding_speed():,.0f} tokens/s")
    print(f"{'case':20s} {'plume':>9} {'transf.':>9} {'ratio (spread)':>19} {'loss apart':>10} {'peak':>6} {'load':>6}")
    for name in options.cases.split(","):
        run_case(name, CASES[name], rounds=options.rounds, steps=options.steps)


if __name__ == "__main__":
    main()
