"""Pre-training from a text file to a model directory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console

from plume.core.errors import PlumeError
from plume.core.files import removed_if_refused, write_json
from plume.core.knowledge import fitted
from plume.data.corpus import Corpus
from plume.data.loader import Mixture, Reader
from plume.data.store import Stores
from plume.model.build import build
from plume.model.checkpoint import TOKENIZER, save_recipe
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.model.resources import save_resources
from plume.objectives._objective import Answers
from plume.recipes import _catalog as catalog
from plume.text.tokenizer import Tokenizer
from plume.train.budget import Budget, Spent
from plume.train.card import write_card
from plume.train.checkpoint import checkpoints
from plume.train.continuing.heads import start_heads
from plume.train.continuing.start import start_of
from plume.train.distributed import Processes, some_unused
from plume.train.evaluate import evaluate, label_shares
from plume.train.feeding import held_out_mixture, make_mixture
from plume.train.fit import begin, fit, refuse_other_data
from plume.train.fitting import (
    find_languages,
    find_units,
    mentions_found,
    number_languages,
    refuse_misfit,
    run_evidence,
    run_knowledge,
    save_units,
)
from plume.train.loop import Outcome, TrainingPlan
from plume.train.measure import measure_noise
from plume.train.settings import Settings
from plume.train.stores import no_sentences_warning, run_tokenizer, shared_stores
from plume.train.warm import WarmStartRecord, read_record, warm_start, write_record

OUTCOME = Path("train") / "outcome.json"  # the figures of the card, for programs


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A pre-training run that has ended: where its model is, and what it was measured against."""

    folder: Path
    outcome: Outcome
    entropy: float  # of single tokens in the held-out text, by their frequencies in the training text
    trivial: dict[str, float]  # by token objective, the loss that needs no context


def start(settings: Settings, folder: Path, *, quiet: bool = False) -> Finished:
    """A new run into a directory that does not exist yet or is empty."""
    processes = begin(settings)
    if processes.first and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlumeError(f"{folder} exists already. Choose another --out, or resume it with: plume pretrain --resume {folder}")
    return begin_fresh(settings, folder, quiet=quiet, processes=processes)


def begin_fresh(settings: Settings, folder: Path, *, quiet: bool = False, processes: Processes | None = None) -> Finished:
    """The same where the directory may hold something already, such as what a student starts from."""
    processes = processes or begin(settings)
    corpus, documents = (tuple(os.path.abspath(path) for path in paths) for paths in (settings.corpus, settings.documents))
    settings = replace(settings, corpus=corpus, documents=documents)
    with removed_if_refused(folder, unless=lambda: not processes.first or checkpoints(folder)):
        return _run(settings, folder, processes, quiet=quiet, fresh=True)


def resume(folder: Path, settings: Settings, *, budget: Budget | None = None, quiet: bool = False) -> Finished:
    """Go on from the last checkpoint; a larger budget goes on longer."""
    if budget is not None:
        settings = replace(settings, budget=budget)
    return _run(settings, folder, begin(settings), quiet=quiet, fresh=False)


def _run(settings: Settings, folder: Path, processes: Processes, *, quiet: bool, fresh: bool) -> Finished:
    quiet = quiet or not processes.first
    knowledge = run_knowledge(settings, folder)
    if knowledge is not None:
        settings = replace(settings, recipe=fitted(settings.recipe, knowledge))
    recipe = settings.recipe
    recipe.noise  # noqa: B018 - says at once if there is nothing to train
    corpus = Corpus(list(settings.corpus), kind=recipe.corpus, carries=recipe.carries)
    corpus.require_trainable()
    start = start_of(settings, folder, corpus, there=not fresh and bool(checkpoints(folder)))
    tokenizer = run_tokenizer(settings, folder, corpus, processes, start=start, quiet=quiet)
    stores = shared_stores(corpus, tokenizer, recipe, processes, quiet=quiet)
    known = number_languages(recipe, stores, settings.initial)
    refuse_misfit(recipe, stores, knowledge)
    looks = recipe.needs_units or recipe.needs_salient
    with Console(stderr=True, quiet=quiet).status("looking for phrases and names …") if looks else nullcontext():
        entries, units = find_units(recipe, stores, tokenizer, corpus=corpus, folder=folder, lexicon=settings.lexicon)
    evidence, looked_up = run_evidence(settings, corpus, stores, tokenizer)
    mixture = make_mixture(stores.train, recipe, tokenizer, seed=settings.seed)
    held_out = held_out_mixture(stores.held_out, recipe, tokenizer, processes)
    warnings = [
        units,
        mentions_found(recipe, stores, knowledge),
        looked_up,
        corpus.census().blobs,
        no_sentences_warning(recipe, stores.train),
        *(reader.check() for reader in mixture.readers),
    ]
    for reader in mixture.readers + held_out.readers:
        reader.plan(0)  # a layout that cannot use this corpus says so before anything is written

    vocabulary = max(tokenizer.size, start.vocabulary)
    model = build(recipe, vocabulary=vocabulary, seed=settings.seed, initial=start.model).to(processes.device)
    if start.model is not None:
        start_heads(model, start.model, stores.train)
    model.spell(tokenizer.tokens())
    if knowledge is not None:
        model.know(knowledge)
    if evidence is not None:
        model.consult(evidence)
    model.languages = find_languages(recipe, stores, tokenizer, known)
    fingerprint = {name: stores.info[name] for name in ("corpus", "tokenizer")}
    if evidence is not None:
        fingerprint["documents"] = evidence.blocks.fingerprint
    if not fresh:
        text = ", ".join((*settings.corpus, *settings.documents))
        advice = f"The text at {text} is not what {folder} was trained on: restore it, or start a new run with --init {folder}"
        refuse_other_data(folder, fingerprint, advice)

    warm = _start_warm(model, settings, stores, tokenizer, mixture, processes) if not checkpoints(folder) else read_record(folder)

    said = () if warm is None else (f"warm start: {warm}",)

    def write() -> None:
        save_recipe(folder, start.kept(recipe))
        start.save(folder)
        if warm is not None:
            write_record(folder, warm)
        tokenizer.save(folder / TOKENIZER)
        save_resources(folder, model)
        save_units(folder, entries)

    shares = label_shares(recipe.kinds, mixture.readers)

    def measure(_: Spent) -> dict[str, float]:
        return evaluate(model, held_out, device=processes.device, processes=processes, shares=shares)

    entropy = stores.unigram_entropy
    trivial = trivial_losses(recipe, entropy)
    outcome = fit(
        settings.learner(model, tokenizer), mixture, plan=plan_of(recipe), settings=settings, folder=folder, processes=processes,
        fingerprint=fingerprint, write=write, measure=measure, entropy=entropy, trivial=trivial, some_unused=some_unused(recipe),
        opening=[_opening(settings, model, stores), *start.notes, *dict.fromkeys(filter(None, (*said, *warnings)))],
        spent=Spent() if warm is None else warm.spent, fresh=fresh, quiet=quiet,
    )  # fmt: skip
    if not outcome.held_out:  # stopped before the first mark, or resumed with nothing left to do
        outcome = replace(outcome, held_out=measure(outcome.position.spent))
    if processes.first:
        _report(folder, settings, model=model, outcome=outcome, stores=stores, mixture=mixture, notes=start.notes)
    processes.wait()
    return Finished(folder=folder, outcome=outcome, entropy=entropy, trivial=trivial)


def _start_warm(
    model: Model, settings: Settings, stores: Stores, tokenizer: Tokenizer, mixture: Mixture[Reader], processes: Processes
) -> WarmStartRecord | None:
    """Unless the recipe leaves it out, or the weights are another model's."""
    part = settings.recipe.warm_start
    if part is None or settings.initial is not None:
        return None
    batch = next(mixture.steps(mixture.start(), step=0, active=[0], workers=0)).batches[0]
    with Console(stderr=True, quiet=not processes.first).status("warm start: word2vec on the same tokens …"):
        return warm_start(
            model,
            part,
            store=stores.train,
            tokenizer=tokenizer,
            budget=settings.budget,
            seed=settings.seed,
            batch=batch,
            processes=processes,
        )


def _report(
    folder: Path, settings: Settings, *, model: Model, outcome: Outcome, stores: Stores, mixture: Mixture[Reader], notes: Sequence[str]
) -> None:
    """outcome.json for programs, card.md for people."""
    recipe, entropy = settings.recipe, stores.unigram_entropy
    trivial = trivial_losses(recipe, entropy)
    figures = {"entropy": entropy, "trivial": trivial, "held_out": outcome.held_out}
    write_json(folder / OUTCOME, {"spent": asdict(outcome.position.spent), "stopped_by": outcome.stopped_by} | figures)
    write_card(
        folder, settings=settings, parent=catalog.parent(recipe), outcome=outcome,
        data=stores.info | {"tokens": len(stores.train.tokens), "held_out_tokens": len(stores.held_out.tokens)},
        figures=[figure for pair in zip(recipe.kinds, mixture.readers, strict=True) for figure in measure_noise(*pair)],
        entropy=entropy, trivial=trivial, parameters=sum(p.numel() for p in model.parameters()), notes=notes, warm=read_record(folder),
    )  # fmt: skip


def plan_of(recipe: Recipe) -> TrainingPlan:
    """The stages of a recipe's objectives, and what each loss weighs in each kind of batch."""
    weights = [{objective.name: kind.scale(objective) for objective in kind.objectives} for kind in recipe.kinds]
    during = [kind.during for kind in recipe.kinds]
    return TrainingPlan(training=recipe.training, weights=weights, during=during, readings=recipe.readings)


def trivial_losses(recipe: Recipe, entropy: float) -> dict[str, float]:
    """By token objective, what needs no context: knowing how frequent tokens are, and copying what the input shows in their place."""
    return {
        objective.name: kind.noise.trivial_loss(entropy) if objective.asks is None else entropy
        for kind in recipe.kinds
        for objective in kind.objectives
        if objective.answers is Answers.NOISE and objective.head.of_tokens
    }


def _opening(settings: Settings, model: Model, stores: Stores) -> str:
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return (
        f"{settings.recipe.name}/{settings.recipe.size}: {parameters:,} parameters, {len(stores.train.tokens):,} tokens of text, "
        f"budget {settings.budget}; unigram entropy {stores.unigram_entropy:.2f} nats, the loss to beat"
    )
