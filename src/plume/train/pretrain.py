"""Pre-training from a text file to a model directory."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from rich.console import Console

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, removed_if_refused, write_json
from plume.data.collate import Collator
from plume.data.corpus import Corpus
from plume.data.layouts.labelled import CodedBlocks
from plume.data.loader import Mixture, Reader
from plume.data.store import Store, Stores
from plume.data.train_tokenizer import corpus_tokenizer
from plume.model.checkpoint import TOKENIZER, load_model, save_languages, save_recipe
from plume.model.kinds import BatchKind
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.nn.stack import Stack
from plume.noise.rows import Alphabet
from plume.objectives._objective import Answers
from plume.recipes import _catalog as catalog
from plume.text.sentences import cut_warning
from plume.text.tokenizer import Tokenizer
from plume.train.allocator import keep_freed_memory
from plume.train.budget import Budget
from plume.train.card import CARD, write_card
from plume.train.checkpoint import Position, checkpoints, load_checkpoint, save_checkpoint
from plume.train.device import choose_device, choose_precision
from plume.train.distributed import Processes, some_unused
from plume.train.evaluate import evaluate, label_shares
from plume.train.fitting import find_languages, find_units, number_languages, refuse_misfit, save_units
from plume.train.loop import Loop, Outcome, TrainingPlan
from plume.train.measure import measure_noise
from plume.train.metrics import MetricsLog
from plume.train.optimizer import make_optimizer
from plume.train.progress import Progress
from plume.train.settings import Settings, save_settings
from plume.train.stores import read_stores

OUTCOME = Path("train") / "outcome.json"  # the figures of the card, for programs
DATA = Path("train") / "data.json"  # fingerprints: a run must go on with the text it began with
_HELD_OUT_SEED = 20181011  # the masks of held-out rows never change, whatever the run's seed


@dataclass(frozen=True, kw_only=True)
class Finished:
    folder: Path
    outcome: Outcome
    entropy: float  # of single tokens in the held-out text, by their frequencies in the training text
    trivial: dict[str, float]  # by token objective, the loss that needs no context


def start(settings: Settings, folder: Path, *, quiet: bool = False) -> Finished:
    """A new run into a directory that does not exist yet or is empty."""
    processes = Processes(choose_device(settings.device))
    if processes.first and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlumeError(f"{folder} exists already. Choose another --out, or go on with that run: plume pretrain --resume {folder}")
    settings = replace(settings, corpus=tuple(os.path.abspath(path) for path in settings.corpus))
    with removed_if_refused(folder, unless=lambda: not processes.first or checkpoints(folder)):
        return _run(settings, folder, processes, quiet=quiet, fresh=True)


def resume(folder: Path, settings: Settings, *, budget: Budget | None = None, quiet: bool = False) -> Finished:
    """Go on from the last checkpoint; a larger budget goes on longer."""
    if budget is not None:
        settings = replace(settings, budget=budget)
    return _run(settings, folder, Processes(choose_device(settings.device)), quiet=quiet, fresh=False)


def _run(settings: Settings, folder: Path, processes: Processes, *, quiet: bool, fresh: bool) -> Finished:
    quiet = quiet or not processes.first
    keep_freed_memory()
    recipe = settings.recipe
    recipe.noise  # noqa: B018 - says at once if there is nothing to train
    corpus = Corpus(list(settings.corpus), kind=recipe.corpus, carries=recipe.carries)
    corpus.require_trainable()
    tokenizer = _tokenizer(settings, folder, corpus, processes, quiet=quiet)
    stores = _stores(corpus, tokenizer, recipe, processes, quiet=quiet)
    known = number_languages(recipe, stores, settings.initial)
    refuse_misfit(recipe, stores)
    with Console(stderr=True, quiet=quiet).status("looking for phrases and names …") if recipe.needs_units else nullcontext():
        entries, units = find_units(recipe, stores, tokenizer, corpus=corpus, folder=folder, lexicon=settings.lexicon)
    mixture = make_mixture(stores.train, recipe, tokenizer, seed=settings.seed)
    held_out = make_mixture(
        stores.held_out, recipe, tokenizer, seed=_HELD_OUT_SEED, rows=_held_out_rows(recipe, stores.held_out, processes), as_it_is=True
    )
    warnings = [units, corpus.census().blobs, _cut_warning(recipe, stores.train), *(reader.check() for reader in mixture.readers)]
    for reader in mixture.readers + held_out.readers:
        reader.plan(0)  # a layout that cannot use this corpus says so before anything is written

    model = build(recipe, vocabulary=tokenizer.size, seed=settings.seed, initial=settings.initial).to(processes.device)
    model.spell(tokenizer.tokens())
    model.languages = find_languages(recipe, stores, tokenizer, known)
    for part in model.modules():
        if isinstance(part, Stack):
            part.checkpointing = settings.recompute
    precision = choose_precision(settings.precision, processes.device)
    wrapped = processes.wrap(model, shard=settings.shard, some_unused=some_unused(recipe))
    optimizer = make_optimizer(model, recipe.training)
    fingerprint = {name: stores.info[name] for name in ("corpus", "tokenizer")}
    if not fresh and (folder / DATA).exists() and read_json(folder / DATA, "what the run was fed") != fingerprint:
        raise PlumeError(
            f"The text at {', '.join(settings.corpus)} is not what {folder} was trained on: restore it, or start a new run with --init {folder}"
        )
    if processes.first:
        make_folder(folder)
        write_json(folder / DATA, fingerprint)
        save_settings(folder, settings)
        save_recipe(folder, recipe)
        tokenizer.save(folder / TOKENIZER)
        save_languages(folder, model.languages)
        save_units(folder, entries)
        for unfinished in folder.glob("train/.checkpoint-*.tmp"):  # of a save that was killed
            shutil.rmtree(unfinished, ignore_errors=True)
    processes.wait()
    found = [] if fresh else checkpoints(folder)
    position = load_checkpoint(found[-1], model, optimizer) if found else Position(cursors=mixture.start())
    if not found:
        save_checkpoint(folder, model, optimizer, position, write=processes.first)

    log = MetricsLog(folder, resumed_at=position.spent.steps, tensorboard=settings.tensorboard) if processes.first else None
    entropy = stores.unigram_entropy
    trivial = trivial_losses(recipe, entropy)
    with Progress(budget=settings.budget, entropy=entropy, trivial=trivial, quiet=quiet, start=position.spent) as progress:
        progress.say(_opening(settings, model, stores))
        for warning in dict.fromkeys(filter(None, warnings)):
            progress.say(warning)
        shares = label_shares(recipe.kinds, mixture.readers)

        def measure() -> dict[str, float]:
            return evaluate(model, held_out, wrapped=wrapped, device=processes.device, processes=processes, shares=shares)

        loop = Loop(
            settings=settings, plan=plan_of(recipe), model=model, wrapped=wrapped, optimizer=optimizer, mixture=mixture,
            measure=lambda _: measure(),
            processes=processes, precision=precision, folder=folder, progress=progress, log=log,
        )  # fmt: skip
        outcome = loop.run(position)
        if not outcome.held_out:  # stopped before the first mark, or resumed with nothing left to do
            outcome = replace(outcome, held_out=measure())
    if log is not None:
        log.close()
        figures = {"entropy": entropy, "trivial": trivial, "held_out": outcome.held_out}
        write_json(folder / OUTCOME, {"spent": asdict(outcome.position.spent), "stopped_by": outcome.stopped_by} | figures)
        data = stores.info | {"tokens": len(stores.train.tokens), "held_out_tokens": len(stores.held_out.tokens)}
        write_card(
            folder, settings=settings, parent=catalog.parent(recipe), outcome=outcome, data=data,
            figures=[figure for pair in zip(recipe.kinds, mixture.readers, strict=True) for figure in measure_noise(*pair)],
            entropy=entropy, trivial=trivial, parameters=sum(p.numel() for p in model.parameters()),
        )  # fmt: skip
    processes.wait()
    return Finished(folder=folder, outcome=outcome, entropy=entropy, trivial=trivial)


def plan_of(recipe: Recipe) -> TrainingPlan:
    weights = [{objective.name: kind.scale(objective) for objective in kind.objectives} for kind in recipe.kinds]
    during = [kind.during for kind in recipe.kinds]
    return TrainingPlan(training=recipe.training, weights=weights, during=during, readings=recipe.readings)


def trivial_losses(recipe: Recipe, entropy: float) -> dict[str, float]:
    """By token objective, what needs no context: knowing how frequent tokens are, and copying what the input shows in their place."""
    return {
        objective.name: kind.noise.trivial_loss(entropy) if objective.asks is None else entropy
        for kind in recipe.kinds
        for objective in kind.objectives
        if objective.answers is Answers.NOISE
    }


def _held_out_rows(recipe: Recipe, store: Store, processes: Processes) -> int:
    """Where rows go on from batch to batch, few enough that each stream of the held-out text makes some rows."""
    rows = min(recipe.training.batch, 64)
    if any(kind.layout.sequential for kind in recipe.kinds):
        rows = max(processes.size, min(rows, len(store.tokens) // (4 * recipe.training.length)))
    return max(processes.size * recipe.readings, rows - rows % recipe.readings)  # each process then has rows of every reading


def make_mixture(
    store: Store, recipe: Recipe, tokenizer: Tokenizer, *, seed: int, rows: int | None = None, as_it_is: bool = False
) -> Mixture[Reader]:
    """`as_it_is` repeats no text that training repeats."""
    kinds = [replace(kind, layout=kind.layout.as_it_is()) for kind in recipe.kinds] if as_it_is else recipe.kinds
    readers = tuple(make_reader(store, recipe, tokenizer, seed=seed, rows=rows, kind=kind) for kind in kinds)
    return Mixture(readers=readers, shares=tuple(kind.share for kind in kinds), seed=seed)


def make_reader(
    store: Store, recipe: Recipe, tokenizer: Tokenizer, *, seed: int, rows: int | None = None, kind: BatchKind | None = None
) -> Reader:
    """Of one kind of batch, the recipe's first if none is given."""
    kind = kind or recipe.kinds[0]
    tokens = [objective for objective in kind.objectives if objective.answers is Answers.NOISE]
    collator = Collator(
        noise=kind.noise,
        alphabet=alphabet_of(tokenizer, store),
        token_objectives=tuple(objective.name for objective in tokens if objective.asks is None),
        other_objectives=tuple((objective.name, objective.asks) for objective in tokens if objective.asks is not None),
        sentence_objectives=tuple(objective.name for objective in kind.objectives if objective.answers is Answers.LAYOUT),
        row_objectives=tuple(one.name for one in kind.objectives if one.answers is Answers.LAYOUT and one.head.reads_rows),
        reads_last=tokenizer.format.single[-1] == tokenizer.format.begin,
    )
    training = recipe.training
    return Reader(
        store=store, layout=kind.layout, collator=collator, tokenizer=tokenizer,
        length=training.length, rows=rows or training.batch, seed=seed,
    )  # fmt: skip


def alphabet_of(tokenizer: Tokenizer, store: Store) -> Alphabet:
    """The ids that noise may write, and how frequent they are in the text."""
    form = tokenizer.format
    counts = np.zeros(tokenizer.size, np.int64)
    counts[: len(store.counts)] = store.counts[: tokenizer.size]
    return Alphabet(
        size=tokenizer.size,
        mask=tokenizer.mask,
        pad=tokenizer.pad,
        end=tokenizer.id(form.end or form.separator),
        start=tokenizer.id(form.start or form.separator),
        sentinels=tuple(number for token in form.sentinel_tokens() if (number := tokenizer.id(token)) is not None),
        counts=counts,
    )


def build(recipe: Recipe, *, vocabulary: int, seed: int, initial: str | None = None) -> Model:
    """A fresh model, or one that starts from another's weights wherever names and shapes agree."""
    model = recipe.assembly.build(recipe, vocabulary=vocabulary)
    model.initialise(seed)
    if initial is not None:
        given, _ = load_model(Path(initial))
        source, target = dict(given.named_parameters()), dict(model.named_parameters())
        with torch.no_grad():
            for name in source.keys() & target.keys():
                if source[name].shape != target[name].shape:
                    raise PlumeError(
                        f"--init {initial}: {name} has shape {tuple(source[name].shape)}, this recipe {tuple(target[name].shape)}."
                    )
                target[name].copy_(source[name])
    return model


def _tokenizer(settings: Settings, folder: Path, corpus: Corpus, processes: Processes, *, quiet: bool) -> Tokenizer:
    """The run's own when resuming, a given one, or one trained here by the first process and read by the others."""
    form = settings.recipe.format
    own = folder / TOKENIZER
    given = settings.tokenizer or settings.initial
    resumed = own.exists()
    processes.wait()  # all have looked before the first writes one: a late process must not take that for the run's own
    if resumed:
        return Tokenizer.load(own, format=form)
    if given:
        return Tokenizer.load(Path(given), format=form)
    if processes.first:
        console = Console(stderr=True, quiet=quiet)
        with console.status(f"training a {type(settings.recipe.tokenizer).__name__} tokenizer …"):
            coded = any(isinstance(kind.layout, CodedBlocks) for kind in settings.recipe.kinds)
            trained = corpus_tokenizer(corpus, settings.recipe.tokenizer, form, codes=corpus.labels() if coded else ())
        if processes.size > 1:
            trained.save(own)
    processes.wait()
    return trained if processes.first else Tokenizer.load(own, format=form)


def _stores(corpus: Corpus, tokenizer: Tokenizer, recipe: Recipe, processes: Processes, *, quiet: bool) -> Stores:
    """Built by the first process; the others find it ready."""
    if not processes.first:
        processes.wait()
    stores = read_stores(corpus, tokenizer, words=recipe.words, quiet=quiet)
    if processes.first:
        processes.wait()
    return stores


def _cut_warning(recipe: Recipe, store: Store) -> str | None:
    """Where sentences matter, and the text has none."""
    if not any(kind.layout.reads_sentences for kind in recipe.kinds):
        return None
    return cut_warning(int(store.sentence_continued.sum()), len(store.sentence_continued))


def _opening(settings: Settings, model: Model, stores: Stores) -> str:
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return (
        f"{settings.recipe.name}/{settings.recipe.size}: {parameters:,} parameters, {len(stores.train.tokens):,} tokens of text, "
        f"budget {settings.budget}; unigram entropy {stores.unigram_entropy:.2f} nats, the loss to beat"
    )


def say_goodbye(folder: Path, stopped_by: str | None, *, quiet: bool) -> None:
    """Where the model is and what to do next; a run that a signal ended leaves with the signal's usual code."""
    console = Console(stderr=True, quiet=quiet, highlight=False)
    if stopped_by is None:
        console.print(f"done: {folder} (read {folder / CARD})")
        return
    console.print(f"stopped by {stopped_by}, and saved. Go on: plume pretrain --resume {folder}")
    raise SystemExit(128 + getattr(signal, stopped_by, signal.SIGTERM))
