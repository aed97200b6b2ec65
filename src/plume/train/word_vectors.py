"""Pre-training of word vectors, from a text file to a model directory."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, removed_if_refused, write_folder, write_json
from plume.data.corpus import Corpus
from plume.data.train_tokenizer import corpus_tokenizer
from plume.static.model import TOKENIZER, read_arrays, save_model, write_arrays
from plume.static.reading import WORDS, join_phrases, read_text, read_vocabulary, without_rare
from plume.static.recipe import NOT_MEASURED, HeldOutLoss, Trainer
from plume.static.text import Vocabulary, WordText
from plume.text.tokenizer import Tokenizer
from plume.text.word_level import WordLevel
from plume.text.words import Words
from plume.train.budget import Budget, Spent
from plume.train.fit import DATA, refuse_other_data
from plume.train.loop import passed
from plume.train.metrics import MetricsLog
from plume.train.pretrain import OUTCOME
from plume.train.progress import Progress
from plume.train.settings import WordSettings, save_settings
from plume.train.signals import watched_signals
from plume.train.stores import read_stores
from plume.train.word_card import write_word_card

_SCRATCH = Path("train") / "scratch"  # the text as word numbers, co-occurrences; gone when the run is done
_ARRAYS, _STATE = "arrays.safetensors", "state.json"
_MEASUREMENTS = 10
_FASTEST = 500_000  # words a second, about what CBOW makes of two threads
_ALL_WORDS = 1 << 31


@dataclass(frozen=True, kw_only=True)
class WordRunState:
    """Where a run is: `pieces` of the text are done, over all epochs, of so many an epoch."""

    pieces: int = 0
    an_epoch: int = 0  # 0: it has not begun
    spent: Spent = Spent()


@dataclass(frozen=True, kw_only=True)
class FinishedVectors:
    """A run of word vectors that has ended."""

    folder: Path
    spent: Spent
    measured: HeldOutLoss
    stopped_by: str | None


def start(settings: WordSettings, folder: Path, *, quiet: bool = False) -> FinishedVectors:
    """A new run into a directory that does not exist yet or is empty."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise PlumeError("Word vectors are trained by one process with several threads: leave torchrun out, and set --threads.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlumeError(f"{folder} exists already. Choose another --out, or resume it with: plume pretrain --resume {folder}")
    settings = replace(settings, corpus=tuple(os.path.abspath(path) for path in settings.corpus))
    return _run(settings, folder, quiet=quiet)


def resume(folder: Path, settings: WordSettings, *, budget: Budget | None = None, quiet: bool = False) -> FinishedVectors:
    """Go on from the last checkpoint."""
    return _run(replace(settings, budget=budget or settings.budget), folder, quiet=quiet)


def _run(settings: WordSettings, folder: Path, *, quiet: bool) -> FinishedVectors:
    recipe = settings.recipe
    corpus = Corpus(list(settings.corpus))
    corpus.require_trainable()
    tokenizer = _tokenizer(settings, folder, corpus, quiet=quiet)
    stores = read_stores(corpus, tokenizer, words=Words.SPACES, quiet=quiet)
    fingerprint = {name: stores.info[name] for name in ("corpus", "tokenizer")}
    files = ", ".join(settings.corpus)
    refuse_other_data(folder, fingerprint, f"The text at {files} is not what {folder} was trained on: restore it, or start a new run.")
    vocabulary = read_vocabulary(stores.train, tokenizer)
    recipe.check(vocabulary, settings.threads)  # before anything is written
    fresh = not (folder / DATA).exists()
    make_folder(folder)
    with _scratch(folder), removed_if_refused(folder, unless=lambda: not fresh or _checkpoints(folder)):
        write_json(folder / DATA, fingerprint)
        save_settings(folder, settings)
        tokenizer.save(folder / TOKENIZER)
        text = read_text(stores.train, vocabulary, tokenizer, folder / _SCRATCH / "text.bin")
        held_out = read_text(stores.held_out, vocabulary, tokenizer, folder / _SCRATCH / "held_out.bin")
        if recipe.phrases is not None:
            words = vocabulary
            text, vocabulary = recipe.phrases.apply(text, words)
            text, vocabulary = without_rare(text, vocabulary, recipe.least)
            recipe.check(vocabulary, settings.threads)
            held_out = join_phrases(held_out, recipe.phrases, words, vocabulary)
        run = _Run(settings, folder, tokenizer, vocabulary, text, held_out, warning=corpus.census().blobs, quiet=quiet)
        return run.go(entropy=stores.unigram_entropy)


@contextlib.contextmanager
def _scratch(folder: Path) -> Iterator[None]:
    try:
        yield
    finally:
        shutil.rmtree(folder / _SCRATCH, ignore_errors=True)


class _Run:
    def __init__(
        self,
        settings: WordSettings,
        folder: Path,
        tokenizer: Tokenizer,
        vocabulary: Vocabulary,
        text: WordText,
        held_out: WordText,
        *,
        warning: str | None,
        quiet: bool,
    ) -> None:
        self.warning = warning
        self.settings, self.folder, self.tokenizer, self.quiet = settings, folder, tokenizer, quiet
        self.vocabulary, self.text, self.held_out = vocabulary, text, held_out
        self.trainer: Trainer = settings.recipe.trainer(vocabulary, seed=settings.seed, threads=settings.threads)
        self.measured: HeldOutLoss | None = None

    def go(self, *, entropy: float) -> FinishedVectors:
        recipe, trainer = self.settings.recipe, self.trainer
        budget = self.settings.budget or Budget(unit="tokens", amount=float(max(1, recipe.epochs * len(self.text.ids))))
        standing = self._standing()
        with Progress(budget=budget, entropy=entropy, trivial={}, quiet=self.quiet, start=standing.spent) as progress:
            progress.say(
                f"{recipe.name}/{recipe.size}: {len(self.vocabulary):,} words × {recipe.dimension}, {len(self.text.ids):,} words of text, "
                f"{f'budget {budget}' if self.settings.budget else f'{recipe.epochs} epochs'}, {self.settings.threads} threads"
            )
            if self.warning:
                progress.say(self.warning)
            began = time.perf_counter()
            trainer.prepare(self.text, self.folder / _SCRATCH, progress.preparing)
            if not standing.pieces:  # counting is GloVe's work too; a run that goes on has been charged for it
                standing = replace(standing, spent=replace(standing.spent, seconds=time.perf_counter() - began))
            trainer.pieces = standing.an_epoch or max(trainer.pieces, self._least_pieces())
            self._restore()
            log = MetricsLog(self.folder, resumed_at=standing.pieces)
            standing, stopped_by = self._train(standing, budget, progress, log)
            log.close()
        measured = self.measured or NOT_MEASURED
        known = not math.isnan(measured.loss)
        figures = {
            "entropy": entropy,
            "trivial": {"loss": measured.baseline} if known else {},
            "held_out": {"loss": measured.loss} if known else {},
        }
        write_json(self.folder / OUTCOME, {"spent": asdict(standing.spent), "stopped_by": stopped_by} | figures)
        write_word_card(
            self.folder, settings=self.settings, spent=standing.spent, measured=measured, vocabulary=self.vocabulary,
            words=len(self.text.ids), stopped_by=stopped_by,
        )  # fmt: skip
        return FinishedVectors(folder=self.folder, spent=standing.spent, measured=measured, stopped_by=stopped_by)

    def _train(self, standing: WordRunState, budget: Budget, progress: Progress, log: MetricsLog) -> tuple[WordRunState, str | None]:
        """Piece by piece; after each the run may be measured, saved or stopped."""
        total = self.settings.recipe.epochs * self.trainer.pieces
        saved = standing.spent
        with watched_signals() as caught:
            while (self._share(standing, budget, total) < 1 or not standing.pieces) and not caught:
                before = self._share(standing, budget, total)
                standing, loss = self._piece(standing, budget, total)
                share = self._share(standing, budget, total)
                progress.step(standing.spent, {"loss": loss})
                log.write(
                    step=standing.pieces, tokens=standing.spent.tokens, seconds=round(standing.spent.seconds, 3), **{"loss/training": loss}
                )
                done = share >= 1 or bool(caught)
                if done or passed(before, share, _MEASUREMENTS):
                    self._measure(standing, progress, log)
                since = Spent(tokens=standing.spent.tokens - saved.tokens, seconds=standing.spent.seconds - saved.seconds)
                if self.settings.save_every.progress(since) >= 1:
                    saved = standing.spent
                    self._save(standing)
            if standing.spent != saved:
                self._save(standing)
        if self.measured is None:  # resumed with nothing left to do: the log has this measurement already
            self.measured = self.trainer.loss(self.held_out)
            self._publish()
        return standing, caught[0] if caught else None

    def _piece(self, standing: WordRunState, budget: Budget, total: int) -> tuple[WordRunState, float]:
        epoch, piece = divmod(standing.pieces, self.trainer.pieces)
        before = self._share(standing, budget, total)
        # A time budget does not know how far the piece will bring it: as far as the one before did.
        step = before / standing.pieces if self.settings.budget and standing.pieces else 1 / total
        started = time.perf_counter()
        done = self.trainer.train(self.text, epoch=epoch, piece=piece, progress=before, progress_after=min(1.0, before + step))
        spent = Spent(
            steps=standing.pieces + 1,
            tokens=standing.spent.tokens + done.words,
            seconds=standing.spent.seconds + time.perf_counter() - started,
        )
        return WordRunState(pieces=standing.pieces + 1, an_epoch=self.trainer.pieces, spent=spent), done.loss / max(done.count, 1)

    def _least_pieces(self) -> int:
        """An epoch's, so that a budget is kept to one hundredth: a run ends between two pieces."""
        budget = self.settings.budget
        if budget is None:
            return 1
        words = budget.amount if budget.unit == "tokens" else budget.amount * _FASTEST
        return math.ceil(len(self.text.ids) / max(words / 100, 1.0))

    def _share(self, standing: WordRunState, budget: Budget, total: int) -> float:
        """Of the run that is done: of its budget where there is one, else of its epochs."""
        return budget.progress(standing.spent) if self.settings.budget else standing.pieces / total

    def _measure(self, standing: WordRunState, progress: Progress, log: MetricsLog) -> None:
        self.measured = self.trainer.loss(self.held_out)
        if math.isnan(self.measured.loss):
            return
        progress.measured(standing.spent, {"loss": self.measured.loss, "loss/guessing": self.measured.baseline})
        log.write(step=standing.pieces, tokens=standing.spent.tokens, **{"held_out/loss": self.measured.loss})

    def _save(self, standing: WordRunState) -> None:
        def fill(target: Path) -> None:
            write_arrays(target / _ARRAYS, self.trainer.arrays)
            write_json(target / _STATE, {"pieces": standing.pieces, "an_epoch": standing.an_epoch, "spent": asdict(standing.spent)})

        older = _checkpoints(self.folder)
        target = self.folder / "train" / f"checkpoint-{standing.pieces:09d}"
        if target not in older:
            write_folder(target, fill)
        for path in older:
            if path != target:
                shutil.rmtree(path, ignore_errors=True)
        self._publish()

    def _standing(self) -> WordRunState:
        found = _checkpoints(self.folder)
        if not found:
            return WordRunState()
        advice = "the checkpoint is damaged; delete its folder to start over"
        state = read_json(found[-1] / _STATE, advice)
        try:
            return WordRunState(pieces=int(state["pieces"]), an_epoch=int(state["an_epoch"]), spent=Spent(**state["spent"]))
        except (KeyError, TypeError, ValueError):
            raise PlumeError(f"{found[-1] / _STATE} does not say where the run stood: {advice}.") from None

    def _restore(self) -> None:
        found = _checkpoints(self.folder)
        if not found:
            return
        arrays = read_arrays(found[-1] / _ARRAYS)
        for name, array in self.trainer.arrays.items():
            if name not in arrays or arrays[name].shape != array.shape:
                raise PlumeError(f"{found[-1] / _ARRAYS} does not fit this run: '{name}' is missing or of another size.")
            array[...] = arrays[name]

    def _publish(self) -> None:
        save_model(
            self.folder, recipe=self.settings.recipe, tokenizer=self.tokenizer, vocabulary=self.vocabulary, arrays=self.trainer.vectors()
        )


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("train/checkpoint-*"), key=lambda path: path.name)


def _tokenizer(settings: WordSettings, folder: Path, corpus: Corpus, *, quiet: bool) -> Tokenizer:
    """The run's own when resuming, else the words of the corpus."""
    if (folder / TOKENIZER).exists():
        return Tokenizer.load(folder / TOKENIZER, format=WORDS)
    recipe = settings.recipe
    most = _ALL_WORDS if recipe.most is None else recipe.most + len(WORDS.specials())
    with Console(stderr=True, quiet=quiet).status("counting words …"):
        spec = WordLevel(vocabulary=most, least=recipe.least, lowercase=recipe.lowercase, chinese=recipe.cut)
        return corpus_tokenizer(corpus, spec, WORDS)
