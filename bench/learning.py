"""How much sooner plume reaches the held-out loss of a plain transformers loop: the same network, text, tokens, rows and batch, one thread each.

The peer is transformers' BertForMaskedLM or GPT2LMHeadModel in a plain torch loop: its own first weights, AdamW, a warm-up over a tenth of the run
and a line to zero, masks by DataCollatorForLanguageModeling. Its peak learning rate is tuned beforehand on runs of a quarter of the time, and so is
the spread of its first weights (transformers' 0.02, or the recipe's, which is scaled to the width); that is not charged. It trains for T seconds,
and its weights are put into plume's network, which measures them on plume's held-out rows. Then plume runs for T/4, T/10 and T/20, each a whole
run with its own schedule, the warm start charged. The ratio is that of the shortest of these whose loss is not above the peer's, in the seconds that
both really took (a run ends with a whole step). Beside the peer's loss stands the one that needs no context: a ratio against a peer that has not got
below it says nothing about learning, and is marked; give it longer.

Seconds are the CPU time of the process (time.process_time), so that a busy machine changes little: steps and the making of their batches on both
sides; neither reading the corpus nor measuring on either. plume's budget counts
wall seconds: here its clock is the CPU's. Rows are plume's own for both sides, made before the peer's clock runs. plume's BERT also learns
next-sentence prediction, the peer does not: only masked LM is compared.

    python bench/learning.py [--corpus FILE] [--cases bert/tiny,gpt2/mini] [--seconds 600] [--seeds 3] [--quick]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from _apart import measured

CASES = ("bert/tiny", "bert/mini", "gpt2/tiny", "gpt2/mini")
OBJECTIVE = {"bert": "masked_lm", "gpt2": "causal_lm"}
CLASS = {"bert": "BertForMaskedLM", "gpt2": "GPT2LMHeadModel"}
PARTS = (4, 10, 20)  # of the peer's time
SHORT = 4  # the peer is tuned on runs of this part of its time


@dataclass(frozen=True)
class Trained:
    """What a run came to: the held-out loss, the tokens it read (a warm start's charge among them), the CPU seconds it was charged."""

    loss: float
    tokens: int
    seconds: float
    trivial: float  # the loss that needs no context

    def __str__(self) -> str:
        return f"{self.loss:.3f} after {self.seconds:.1f} s and {self.tokens:,} tokens"


@dataclass(frozen=True)
class Setting:
    """What the peer is tuned for."""

    peak: float
    scaled: bool = True  # first weights as wide as the recipe's, not transformers' 0.02

    def __str__(self) -> str:
        return f"{self.peak:.2g}, {'scaled' if self.scaled else '0.02'}"


@dataclass(frozen=True)
class Material:
    """What both sides read."""

    recipe: Any
    tokenizer: Any
    stores: Any


def material(case: str, corpus: Path) -> Material:
    """plume's tokenizer and store for the recipe, from the cache where they have been made."""
    from plume.data.corpus import Corpus
    from plume.data.train_tokenizer import corpus_tokenizer
    from plume.recipes import _catalog as catalog
    from plume.train.stores import read_stores

    recipe = catalog.recipe(case)
    text = Corpus([str(corpus)], kind=recipe.corpus, carries=recipe.carries)
    tokenizer = corpus_tokenizer(text, recipe.tokenizer, recipe.format)
    return Material(recipe=recipe, tokenizer=tokenizer, stores=read_stores(text, tokenizer, words=recipe.words, quiet=True))


def ours(case: str, corpus: Path, seconds: float, seed: int) -> Trained:
    import torch

    from plume.recipes import _catalog as catalog
    from plume.train.budget import Budget
    from plume.train.pretrain import start
    from plume.train.settings import Settings

    torch.set_num_threads(1)
    settings = Settings(
        recipe=catalog.recipe(case), corpus=(str(corpus),), budget=Budget(unit="seconds", amount=seconds), seed=seed, device="cpu",
        save_every=Budget(unit="seconds", amount=1e6), measurements=1,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, mock.patch("time.perf_counter", time.process_time):
        run = start(settings, Path(folder) / "run", quiet=True)
    name, spent = OBJECTIVE[settings.recipe.name], run.outcome.position.spent
    return Trained(loss=run.outcome.held_out[name], tokens=spent.tokens, seconds=spent.seconds, trivial=run.trivial[name])


def theirs(case: str, corpus: Path, seconds: float, seed: int, setting: Setting) -> Trained:
    import torch

    from plume.train.pretrain import trivial_losses

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    read = material(case, corpus)
    network = their_network(read, setting).train()
    collate = their_collator(read)
    optimizer = their_optimizer(network, setting.peak)
    spent, tokens = 0.0, 0
    for rows in unmasked(read, seed):
        began = time.process_time()
        for group in optimizer.param_groups:
            group["lr"] = setting.peak * warm_then_linear(spent / seconds)
        batch = collate(rows)
        network(**batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        spent += time.process_time() - began
        tokens += sum(len(row["input_ids"]) for row in rows)
        if spent >= seconds:
            break
    trivial = trivial_losses(read.recipe, read.stores.unigram_entropy)[OBJECTIVE[read.recipe.name]]
    return Trained(loss=held_out_loss(read, network), tokens=tokens, seconds=spent, trivial=trivial)


def warm_then_linear(progress: float, warmup: float = 0.1) -> float:
    """The learning rate's share of its peak at this share of the run."""
    return progress / warmup if progress < warmup else max(0.0, (1 - progress) / (1 - warmup))


def their_network(read: Material, setting: Setting) -> Any:
    """From the config that plume would export, with first weights by transformers."""
    import transformers

    from plume.hf.export import config_of
    from plume.recipes import _catalog as catalog

    written = config_of(read.recipe, catalog.bridge(read.recipe), vocabulary=read.tokenizer.size, tokenizer=read.tokenizer)
    if not setting.scaled:
        del written["initializer_range"]
    return getattr(transformers, CLASS[read.recipe.name])(transformers.AutoConfig.for_model(**written))


def their_collator(read: Material) -> Callable[[list[dict[str, Any]]], Any]:
    from transformers import DataCollatorForLanguageModeling, PreTrainedTokenizerFast

    form = read.recipe.format
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=read.tokenizer.backend, pad_token=form.pad, mask_token=form.mask)
    if form.mask is not None:
        return DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)

    def causal(rows: list[dict[str, Any]]) -> Any:
        """Not the collator's: it takes the ends of texts for padding, where both are one token, and never asks for them."""
        batch = tokenizer.pad(rows, return_tensors="pt")
        return batch | {"labels": batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)}

    return causal


def their_optimizer(network: Any, peak: float) -> Any:
    """AdamW as torch has it; neither biases nor norms decay."""
    import torch

    matrices = [value for value in network.parameters() if value.ndim > 1]
    others = [value for value in network.parameters() if value.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=peak, fused=True)


def unmasked(read: Material, seed: int) -> Iterator[list[dict[str, Any]]]:
    """For ever: batches of rows as plume lays them out, those of like length together, before any mask."""
    from plume.train.feeding import make_reader

    reader = make_reader(read.stores.train, read.recipe, read.tokenizer, seed=seed)
    epoch = 0
    while True:
        plan, batches = reader.plan(epoch)
        for index in batches:
            rows = reader.rows_of(plan, index)
            named = {"input_ids": rows.tokens}
            if read.recipe.format.mask is not None:  # what the collator must not hide
                named["special_tokens_mask"] = rows.special.astype(int)
            if rows.segment is not None:
                named["token_type_ids"] = rows.segment
            yield [{name: value[row, :length].tolist() for name, value in named.items()} for row, length in enumerate(rows.length)]
        epoch += 1


def held_out_loss(read: Material, network: Any) -> float:
    """Of the peer's weights in plume's network, on the rows and masks that plume's runs are measured on."""
    from plume.train.device import choose_device
    from plume.train.distributed import Processes
    from plume.train.evaluate import evaluate
    from plume.train.feeding import held_out_mixture

    processes = Processes(choose_device("cpu"))
    rows = held_out_mixture(read.stores.held_out, read.recipe, read.tokenizer, processes)
    found = evaluate(as_ours(read, network), rows, device=processes.device, processes=processes)
    return found[OBJECTIVE[read.recipe.name]]


def as_ours(read: Material, network: Any) -> Any:
    """plume's network with the peer's weights. What the peer lacks, the head for the next sentence, masked LM does not read."""
    from plume.model.build import build
    from plume.model.checkpoint import load_weights, state_of
    from plume.recipes import _catalog as catalog

    model = build(read.recipe, vocabulary=read.tokenizer.size, seed=0)
    aside = {name: value.clone() for name, value in state_of(model).items() if name.startswith(("pooler.", "heads.next_sentence."))}
    load_weights(model, aside | catalog.bridge(read.recipe).keys.apply(network.state_dict()), Path("the peer"))
    return model


def climb(loss_of: Callable[[float], float], start: float) -> float:
    """The peak of the least loss among doublings and halvings, from `start` on as long as it gets better."""
    best, least = start, loss_of(start)
    for factor in (2.0, 0.5):
        while (found := loss_of(best * factor)) < least:
            best, least = best * factor, found
        if best > start:
            break
    return best


def tuned(case: str, corpus: Path, seconds: float) -> Setting:
    """The peer's peak, found with scaled first weights; then transformers' own at that peak, if they do better."""
    from plume.recipes import _catalog as catalog

    seen: dict[Setting, float] = {}

    def loss_of(setting: Setting) -> float:
        seen[setting] = measured(theirs, case, corpus, seconds, 0, setting).loss
        print(f"{case}: the peer with {setting} for {seconds:.3g} s: {seen[setting]:.3f}", flush=True)
        return seen[setting]

    peak = climb(lambda value: loss_of(Setting(value)), catalog.recipe(case).training.peak)
    loss_of(Setting(peak, scaled=False))
    return min(seen, key=seen.__getitem__)


def times_shorter(peer: Trained, runs: Sequence[Trained]) -> float:
    """By the shortest run whose loss is not above the peer's, in the seconds that both took; 0: there is none."""
    return max((peer.seconds / run.seconds for run in runs if run.loss <= peer.loss), default=0.0)


def told(ratios: Sequence[float], peers: Sequence[Trained]) -> str:
    """The median and its spread, and whether the loss that was reached is worth reaching."""
    from plume.train.evaluate import learned_context

    said = spread(ratios, digits=1) if any(ratios) else "not reached"
    stuck = sum(not learned_context(peer.loss, peer.trivial) for peer in peers)
    return said + (f"; {stuck} of {len(peers)} peers learned no context" if stuck else "")


def run_case(case: str, corpus: Path, *, seconds: float, seeds: int, parts: Sequence[int], setting: Setting) -> str:
    """A line of the table."""
    peers: list[Trained] = []
    runs: list[list[Trained]] = []  # by seed, by part
    for seed in range(seeds):
        peers.append(measured(theirs, case, corpus, seconds, seed, setting))
        print(f"{case}, seed {seed}: the peer {peers[-1]}", flush=True)
        runs.append([])
        for part in parts:
            runs[-1].append(measured(ours, case, corpus, seconds / part, seed))
            print(f"{case}, seed {seed}: plume {runs[-1][-1]}", flush=True)
    ratios = [times_shorter(peer, found) for peer, found in zip(peers, runs, strict=True)]
    cells = [
        case, f"{seconds:g}", str(setting), f"{peers[0].trivial:.2f}", spread([peer.loss for peer in peers]),
        *(spread([run.loss for run in found]) for found in zip(*runs, strict=True)), told(ratios, peers), f"{os.getloadavg()[0]:.1f}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def spread(values: Sequence[float], digits: int = 2) -> str:
    """The median, and from where to where."""
    middle = f"{statistics.median(values):.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def main() -> None:
    from plume.embedded.study import write_study
    from plume.recipes import _catalog as catalog

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="a text or JSONL file; the embedded English study's, if none is given")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--seconds", type=float, default=600.0, help="of CPU time that the peer trains")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--parts", default=",".join(map(str, PARTS)), help="of the peer's time that plume gets")
    parser.add_argument("--quick", action="store_true", help="does it run at all: tiny sizes, a few seconds, one seed, nothing tuned")
    given = parser.parse_args()
    cases, seconds, seeds = given.cases.split(","), given.seconds, given.seeds
    if given.quick:
        cases, seconds, seeds = ["bert/tiny", "gpt2/tiny"], 10.0, 1
    parts = tuple(int(part) for part in given.parts.split(","))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        corpus = (given.corpus or write_study("en", Path(folder)).corpus).resolve()
        for case in cases:
            peak = catalog.recipe(case).training.peak
            setting = Setting(peak) if given.quick else tuned(case, corpus, seconds / SHORT)
            lines.append(run_case(case, corpus, seconds=seconds, seeds=seeds, parts=parts, setting=setting))
    names = ("case", "T, CPU s", "peer's peak, first weights", "needs no context", "peer", *(f"plume T/{part}" for part in parts))
    print(f"| {' | '.join((*names, 'times shorter', 'load'))} |")
    print(f"|{'---|' * (7 + len(parts))}", *lines, sep="\n")


if __name__ == "__main__":
    main()
