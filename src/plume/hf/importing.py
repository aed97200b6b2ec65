"""Read a Hugging Face directory into a plume model directory."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace as with_fields
from pathlib import Path

import torch

from plume.core.errors import PlumeError
from plume.core.files import read_json, write_folder, write_text
from plume.core.part import replace
from plume.heads.head import Head
from plume.heads.sentence_classification import SentenceClassification
from plume.hf.dpr import dpr_vectors
from plume.hf.export import SECOND
from plume.hf.reading import bridge_of, read_config, read_languages, read_state, read_tokenizer
from plume.hf.sentence_folders import read_sentence, transformer_folder
from plume.hf.task_heads import apart, head_of_config, part_of
from plume.model.assembly import GeneratorDiscriminator, OneNetwork
from plume.model.bridge import Bridge
from plume.model.checkpoint import load_weights, save_model
from plume.model.config_map import Config
from plume.model.keymap import State
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.model.task_head import TaskHead
from plume.objectives._objective import Answers
from plume.text.tokenizer import Tokenizer
from plume.vectors.sentence import SentenceVectors


@dataclass(frozen=True, kw_only=True)
class ImportedHead:
    """What a class for a task has on top."""

    architecture: str
    part: Head
    state: State  # its parameters


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A model read from a Hugging Face directory."""

    model: Model
    tokenizer: Tokenizer
    notes: list[str]  # what the checkpoint did not carry
    config: Config  # config.json's
    head: ImportedHead | None = None  # for a task
    sentence: SentenceVectors | None = None  # of a folder of sentence-transformers


def check_free(out: Path) -> None:
    """Raise where something is that writing would destroy; an empty folder is nothing."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PlumeError(f"{out} exists already: choose another --out.")


def is_task_folder(folder: Path) -> bool:
    """Does config.json name a class with a head for a task?"""
    folder = transformer_folder(folder)
    config = read_config(folder)
    return head_of_config(bridge_of(config, folder), config) is not None


def import_folder(folder: Path, out: Path) -> Imported:
    """Read `folder`, write a model directory at `out`, whole or not at all."""
    check_free(out)
    body = read_folder(transformer_folder(folder))
    imported = with_fields(body, sentence=read_sentence(folder, body.tokenizer) or dpr_vectors(body.config))
    if imported.head is not None:
        imported.notes.append(f"The head of {imported.head.architecture} was left out: this is the model below it.")
    if out.exists():
        out.rmdir()
    recipe = imported.model.recipe
    card = [
        f"# {recipe.name}, imported",
        f"{recipe.title} ({recipe.paper}). Read from a Hugging Face directory named {folder.name}.",
        *imported.notes,
    ]

    def fill(target: Path) -> None:
        save_model(target, imported.model, imported.tokenizer)
        if imported.sentence is not None:
            imported.sentence.save(target)
        write_text(target / "card.md", "\n\n".join(card) + "\n")

    write_folder(out, fill)
    return imported


def read_folder(folder: Path) -> Imported:
    """The model of a Hugging Face directory, with its tokenizer, and the head of a class for a task."""
    config = read_config(folder)
    bridge = bridge_of(config, folder)
    made = bridge.config.read(config)
    head = head_of_config(bridge, config)
    if head is not None:
        return _with_head(folder, config, bridge, made, head)
    theirs, recipe = _with_prefix(read_state(folder), bridge), made
    if bridge.second is not None and set(config.get("architectures") or ()) & set(bridge.second.architectures) - set(bridge.architectures):
        recipe, state = _generator_alone(recipe, bridge.second, theirs)
    else:
        state = bridge.keys.apply(theirs)
        if bridge.second is not None and (folder / SECOND).is_dir():
            recipe = _add_second(recipe, bridge.second, folder / SECOND, state)
    return _built(folder, config, recipe, state)


def _built(folder: Path, config: Config, recipe: Recipe, state: State) -> Imported:
    recipe, notes = fitted(recipe, state)
    tokenizer = read_tokenizer(folder, recipe.format)
    vocabulary = len(state["embedding.token.weight"])
    if tokenizer.size > vocabulary:
        raise PlumeError(
            f"The tokenizer in {folder} has {tokenizer.size} tokens, the model embeds {vocabulary}: they do not belong together."
        )
    model = recipe.assembly.build(recipe, vocabulary=vocabulary)
    load_weights(model, {name: value.float() if value.is_floating_point() else value for name, value in state.items()}, folder)
    model.languages = read_languages(config, recipe) or model.languages
    return Imported(model=model, tokenizer=tokenizer, notes=notes, config=config)


def _with_head(folder: Path, config: Config, bridge: Bridge, recipe: Recipe, head: TaskHead) -> Imported:
    """A class for a task: the model below as any other, and the head."""
    body, own = apart(bridge, head, read_state(folder))
    imported = _built(folder, config, body_recipe(recipe, head), bridge.keys.apply(body))
    part = part_of(head, config, len(own["output.weight"]))
    return with_fields(imported, head=ImportedHead(architecture=head.architecture, part=part, state=own))


def body_recipe(recipe: Recipe, head: TaskHead) -> Recipe:
    """Of the model below a task's head."""
    if head.encoder_alone:
        recipe = replace(recipe, assembly=OneNetwork(), objectives=())
    return replace(recipe, classifier=SentenceClassification(hidden=head.hidden, bias=head.bias)) if head.reads_text else recipe


def _with_prefix(state: State, bridge: Bridge) -> State:
    """The bare model's names, made those of the classes with heads."""
    if any(key.startswith(bridge.prefix) for key in state):
        return state
    return {bridge.prefix + key: value for key, value in state.items()}


def _add_second(recipe: Recipe, second: Bridge, folder: Path, state: State) -> Recipe:
    """ELECTRA's generator from its own folder; its embeddings must be the discriminator's, for they are shared."""
    config = read_json(folder / "config.json", "the generator's folder needs one")
    for name, value in second.keys.apply(_with_prefix(read_state(folder), second)).items():
        if name in state and not torch.equal(state[name], value):
            raise PlumeError(f"{folder}: {name} is not shared with the discriminator; plume trains them as one (arXiv:2003.10555 §3.2).")
        state[name] = value
    found = second.config.read(config).transformer
    assembly = GeneratorDiscriminator(fraction=found.width / recipe.transformer.width)
    if assembly.generator(recipe.transformer) != replace(
        recipe.transformer, width=found.width, heads=found.heads, feed_forward=found.feed_forward
    ):
        assembly = replace(assembly, heads=found.heads, feed_forward=found.feed_forward)
    return replace(recipe, assembly=assembly)


def _generator_alone(recipe: Recipe, second: Bridge, theirs: State) -> tuple[Recipe, State]:
    """A generator published by itself is a masked language model."""
    state = {name.replace("generator.", "stack.", 1): value for name, value in second.keys.apply(theirs).items()}
    objectives = tuple(objective for objective in recipe.objectives if objective.answers is Answers.NOISE)
    return replace(recipe, assembly=OneNetwork(), objectives=objectives), state


def fitted(recipe: Recipe, state: State) -> tuple[Recipe, list[str]]:
    """The recipe without the heads that the checkpoint lacks, and a word about each."""
    notes: list[str] = []
    with torch.device("meta"):
        expected = [name for name, _ in recipe.assembly.build(recipe, vocabulary=8).named_parameters()]
    kept = []
    for objective in recipe.objectives:
        own = [name for name in expected if name.startswith(f"heads.{objective.head_of or objective.name}.")]
        if all(name in state for name in own):
            kept.append(objective)
        else:
            notes.append(f"The checkpoint has no head for {objective.name}: it was left out.")
    if recipe.pooler and "pooler.dense.weight" not in state:
        recipe = replace(recipe, pooler=False, objectives=tuple(o for o in kept if o.answers is not Answers.LAYOUT))
        notes.append("The checkpoint has no pooler: it was left out.")
        return recipe, notes
    return replace(recipe, pooler="pooler.dense.weight" in state, objectives=tuple(kept)), notes
