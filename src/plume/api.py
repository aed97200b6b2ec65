"""plume in Python: the same verbs as the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plume import sentences as sentences
from plume import view as view
from plume.comparing.compare import compare as run_study
from plume.comparing.results import Results
from plume.comparing.study import make_study, parse_task
from plume.compressing.options import compress_from_options
from plume.core.errors import PlumeError
from plume.exporting.folder import Exported
from plume.exporting.folder import export_graph as write_graph
from plume.hf.export import export
from plume.hf.importing import check_free, import_folder, is_task_folder
from plume.hf.sentence_folders import is_static_folder, write_modules
from plume.hf.static_embedding import export_static, import_static
from plume.model.recipe import Recipe
from plume.model.use.language_model import LanguageModel
from plume.prompting.facts.outcome import probe
from plume.prompting.facts.probing import ProbeSettings
from plume.prompting.options import prompt_from_options
from plume.recipes import _catalog as catalog
from plume.report import write_report
from plume.retrieval.options import start_retrieval
from plume.retrieval.rag.answering import RagAnswerer
from plume.retrieval.rag.declared import is_rag
from plume.retrieval.rag.options import start_rag
from plume.search.index import Index as Index
from plume.static.model import WordModel
from plume.static.recipe import StaticRecipe
from plume.train import runs
from plume.train.signals import raise_if_stopped
from plume.tuning import options as tuning
from plume.tuning.exchange import export_tuned, import_tuned
from plume.tuning.loaded import Loaded, load_tuned
from plume.tuning.loaded import load as load_directory
from plume.tuning.tuned import TunedModel
from plume.vectors.sentence import SentenceVectors

recipe = catalog.declaration


def pretrain(
    recipe: str | Recipe | StaticRecipe | None = None,
    *,
    corpus: str | Path | Sequence[str | Path],
    out: str | Path,
    budget: str | None = None,
    objectives: Sequence[str] = (),
    overrides: Sequence[str] = (),
    quiet: bool = False,
    **settings: Any,
) -> LanguageModel | WordModel:
    """Pre-train `recipe` on `corpus` and return the model; everything is in `out`. Without a recipe the model that `init` names, plume's or a
    Hugging Face directory, goes on with its family's objective.

    Without a budget a network trains for ten minutes, word vectors for the recipe's epochs. `objectives` replace the recipe's own, with weights
    ("masked_lm=1", "sentence_order=0.5"). `overrides` are parts by dotted path, as --set takes them ("network.depth=4"). `settings` are those
    of the command line: seed, save_every; for networks tokenizer, init, add_words, accumulate, precision, device, workers, log_every, shard,
    recompute, tensorboard, lexicon, documents; for word vectors threads.
    """
    stopped_by = runs.start(
        recipe, corpus=corpus, out=Path(out), budget=budget, objectives=objectives, overrides=overrides, quiet=quiet, **settings
    )
    return _trained(out, stopped_by)


def resume(folder: str | Path, *, budget: str | None = None, quiet: bool = False) -> LanguageModel | WordModel:
    """Go on with a run, from its last checkpoint."""
    return _trained(folder, runs.go_on(Path(folder), budget=budget, quiet=quiet))


def _trained(folder: str | Path, stopped_by: str | None) -> LanguageModel | WordModel:
    raise_if_stopped(stopped_by, folder)
    model = load(folder)
    assert not isinstance(model, TunedModel), "the run has pre-trained it"
    return model


def load(folder: str | Path, *, device: str = "cpu", runtime: str | None = None) -> Loaded:
    """A model directory: a `LanguageModel` (embed, fill, generate, score, hidden), a `WordModel` (embed, most_similar, analogy, similarity), a
    `TunedModel` (predict, evaluate), or a `RagAnswerer` (ask). `runtime` is what a network embeds and answers with: torch, onnx, onnx-int8,
    torch-int8; None: what its directory prefers, where that is installed and fits, else torch."""
    if is_rag(folder):
        return RagAnswerer.load(folder, device=device)
    return load_directory(folder, device=device, runtime=runtime)


def tune(
    model: str | Path,
    *,
    task: str | Sequence[str],
    train: str | Path | Sequence[str | Path] | None = None,
    dev: str | Path | Sequence[str | Path] | None = None,
    out: str | Path,
    quiet: bool = False,
    **options: Any,
) -> Any:
    """Tune `model`, a model directory or "tfidf", for a task, and return what predicts; everything is in `out`.

    Several tasks at once: task=["ner=train.conll,dev.conll", "topic:classification=train.tsv,dev.tsv"]. `options` are those of the command line:
    mode, pooling, epochs, batch, rate, length, seed, from_scratch, metric, patience, text (columns), label (column), language, crf, budget,
    overrides …; of retrieval and rag also documents, and of rag retriever: what returns embeds, or answers (`ask`).
    """
    if task == "rag":
        answering = start_rag(Path(model), train=train, dev=dev, out=Path(out), quiet=quiet, **options)
        raise_if_stopped(answering.outcome.stopped_by, out)
        return load(out)
    if task == "retrieval":
        searching = start_retrieval(Path(model), train=train, dev=dev, out=Path(out), quiet=quiet, **options)
        raise_if_stopped(searching.outcome.stopped_by, out)
        return load(out)
    made = tuning.start_from_options(Path(model), task=task, train=train, dev=dev, out=Path(out), quiet=quiet, **options)
    raise_if_stopped(made.outcome.stopped_by, out)
    return load_tuned(out)


def prompt(model: str | Path, *, train: tuning.Paths, out: str | Path, quiet: bool = False, **options: Any) -> TunedModel:
    """Use a prompt with few labelled examples, and return what predicts; everything is in `out`.

    `options` are those of the command line: task, method, template, labels, dev, text (files without labels), columns, label (column), epochs,
    batch, rate, length, budget, seed, `settings` of the method by dotted path, and the usual ones by name: tokens, shots, calibrate.
    """
    made = prompt_from_options(Path(model), train=train, out=Path(out), quiet=quiet, **options)
    raise_if_stopped(made.stopped_by, out)
    return load_tuned(out)


def probe_facts(
    model: str | Path, facts: str | Path, *, templates: str | Path, out: str | Path | None = None, **settings: Any
) -> dict[str, Any]:
    """What a model knows: the right object of each fact ranked among all objects of its relation, beside baselines (docs/probe-facts.md).

    `settings` are candidates, rows, seed, untrained. `out` is a JSON file with all that is returned.
    """
    return probe(Path(model), Path(facts), Path(templates), out=None if out is None else Path(out), settings=ProbeSettings(**settings))


def compress(
    models: str | Path | Sequence[str | Path], *, method: str, out: str | Path, quiet: bool = False, **options: Any
) -> LanguageModel | WordModel | TunedModel:
    """Make a model small by a method of `plume compress`, and return it; everything is in `out`.

    `options` are those of the command line: train, dev, text, epochs, batch, rate, length, budget, seed, `settings` of the method by dotted path
    ("keep=0.5"), and the usual ones by name: student, start, depth, temperature, keep.
    """
    made = compress_from_options(models, method=method, out=Path(out), quiet=quiet, **options)
    raise_if_stopped(made.stopped_by, out)
    return load(out)


def compare(
    *,
    corpus: str | Path | Sequence[str | Path],
    tasks: str | Sequence[str],
    recipes: str | Sequence[str] = (),
    models: str | Sequence[str] = (),
    continued: str | Sequence[str] = (),
    compress: str | Sequence[str] = (),
    budget: str = "10m",
    out: str | Path,
    resume: bool = False,
    language: str = "en",
    quiet: bool = False,
    **settings: Any,
) -> Results:
    """Pre-train every recipe on `corpus` at the same budget, tune each on every task, and return what was measured; the report is in `out`.

    `models` are directories that enter as they are ("minilm=./hf-minilm"); those named in `continued` also with their pre-training continued.
    `compress` says what is made small of the tuned models, and how: "distil:bert/tiny", "int8@minilm".
    `tasks` are written as on the command line: "ner=train.conll,test.conll". `settings` are those of the command line: seeds, size, tokenizer,
    static, tfidf, overrides, tune, threads, probes, margin, continue_on.
    """
    listed = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    asked = [parse_task(text) for text in ([tasks] if isinstance(tasks, str) else tasks)]
    families, directories, going_on, small = (
        one.split(",") if isinstance(one, str) and one else one for one in (recipes, models, continued, compress)
    )
    study = make_study(
        corpus=listed, tasks=asked, recipes=families, models=directories, continued=going_on, compress=small, budget=budget, **settings
    )
    made = run_study(study, Path(out), resume=resume, quiet=quiet)
    assert made is not None
    write_report(made.results, Path(out), language=language)
    raise_if_stopped(made.stopped_by, out)
    return made.results


def import_hf(folder: str | Path, *, out: str | Path) -> LanguageModel | TunedModel | WordModel:
    """A Hugging Face directory as a plume model directory; one with a task's head as a tuned model, a StaticEmbedding as word vectors."""
    if is_static_folder(Path(folder)):
        return import_static(Path(folder), Path(out))
    if is_task_folder(Path(folder)):
        return import_tuned(Path(folder), Path(out))
    imported = import_folder(Path(folder), Path(out))
    return LanguageModel(imported.model, imported.tokenizer, imported.sentence)


def export_hf(folder: str | Path, *, out: str | Path, task: str | None = None) -> None:
    """A plume model directory as a Hugging Face directory; a tuned one with the head of its task, or of the one that is named."""
    model = load(folder)
    if isinstance(model, TunedModel):
        export_tuned(model, Path(out), task=task)
        return
    if isinstance(model, WordModel):
        raise PlumeError("Word vectors have no counterpart in transformers: 'plume export' writes them as a word2vec or fastText file.")
    export(model.model, model.tokenizer, Path(out))


def export_graph(
    folder: str | Path, *, out: str | Path, to: str = "onnx", int8: bool = False, task: str | None = None, check: str | Path | None = None
) -> Exported:
    """A plume model directory as an ONNX or TorchScript file with tokenizer, config and a script that needs no plume.

    What writes becomes an encoder and a decoder with a cache. A language model does if it can, unless its `task` is "embed" or it has a
    sentence.json. All is checked against torch on the texts of `check`, or on texts that plume brings along; in full precision the answers must
    be the same.
    """
    model = load(folder, runtime="torch")  # also where the directory prefers 8 bits, whose answers are not those of the file
    return write_graph(model, Path(out), to=to, int8=int8, task=task, check=None if check is None else Path(check))


def export_sentence_transformers(folder: str | Path, *, out: str | Path) -> None:
    """A plume model directory as one that sentence-transformers loads, with the same vectors."""
    model = load(folder)
    body = model.embedder if isinstance(model, TunedModel) else model
    if isinstance(body, WordModel):
        check_free(Path(out))
        export_static(body, Path(out))
        return
    sentence = body.sentence or SentenceVectors()
    export(body.model, body.tokenizer, Path(out), more=lambda target: write_modules(target, body.model, sentence))
