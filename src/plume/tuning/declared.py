"""What a tuned model's directory declares: task.json beside the files of the model below."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from plume.core.batch import Order
from plume.core.errors import PlumeError
from plume.core.files import read_json, write_json
from plume.core.part import Part, part_from_json
from plume.model.checkpoint import TOKENIZER, read_recipe, save_recipe
from plume.model.resources import hand_over, save_resources
from plume.static import model as word_models
from plume.static.reading import WORDS
from plume.static.vectors import CharacterNGrams, WordVectors
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.adapting.body import Body, network
from plume.tuning.adapting.word_body import WordBody
from plume.tuning.task import Task

TASK = "task.json"


@dataclass(frozen=True, kw_only=True)
class Declared(Part):
    """What task.json says."""

    tasks: tuple[Task, ...]
    adaptation: Adaptation
    length: int  # longest row, special tokens included
    order: Order = Order.FULL  # how the body reads
    language: str | None = (
        None  # of texts that say too little by themselves, where the body has a vector for each: that of the training texts
    )


def is_tuned(folder: Path) -> bool:
    """Does the folder hold a tuned model?"""
    return (folder / TASK).exists()


def read_declaration(folder: Path) -> Declared:
    """What a tuned model's directory says it was tuned for."""
    declared = part_from_json(read_json(folder / TASK, "it should say what the model was tuned for"))
    if not isinstance(declared, Declared):
        raise PlumeError(f"{folder / TASK} does not say what a model was tuned for.")
    return declared


def save_declaration(folder: Path, declared: Declared, body: Body, tokenizer: Tokenizer) -> None:
    """Everything but the weights."""
    write_json(folder / TASK, declared.to_json())
    tokenizer.save(folder / TOKENIZER)
    if isinstance(body, WordBody):
        word_models.save_words(folder, body.recipe, body.vocabulary_of_words)
    else:
        model = network(body, "Only a network or word vectors are saved below a task.")
        save_recipe(folder, model.recipe)
        save_resources(folder, model)


def body_of(folder: Path, state: dict[str, Tensor]) -> tuple[Body, Tokenizer]:
    """As the directory declares it, without its weights."""
    if word_models.is_word_model(folder):
        return _word_body(folder, state)
    recipe = read_recipe(folder)
    tokenizer = Tokenizer.load(folder / TOKENIZER, format=recipe.format)
    token = state.get("body.embedding.token.weight")
    body = recipe.assembly.build(recipe, vocabulary=tokenizer.size if token is None else len(token))
    hand_over(body, tokenizer, folder)
    return body, tokenizer


def _word_body(folder: Path, state: dict[str, Tensor]) -> tuple[WordBody, Tokenizer]:
    recipe = word_models.read_recipe(folder)
    tokenizer = Tokenizer.load(folder / TOKENIZER, format=WORDS)
    grams = state.get("body.grams")
    ngrams = (
        None
        if grams is None
        else CharacterNGrams(matrix=grams.numpy(), shortest=getattr(recipe, "shortest", 0), longest=getattr(recipe, "longest", 0))
    )
    words = word_models.read_words(folder / word_models.VOCABULARY)
    vectors = WordVectors(words=words.words, counts=words.counts, matrix=state["body.table.weight"][1:].numpy(), ngrams=ngrams)
    return WordBody(vectors, recipe=recipe, tokenizer=tokenizer), tokenizer
