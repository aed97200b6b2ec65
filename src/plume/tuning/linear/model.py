"""A linear model of terms as a tuned model: it predicts, is measured, saved and loaded like any other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, write_json
from plume.core.part import part_from_json
from plume.heads.answer_span import AnswerSpan
from plume.heads.head import Head
from plume.heads.sentence_classification import SentenceClassification
from plume.heads.token_labelling import TokenLabelling
from plume.model.checkpoint import RECIPE, TOKENIZER, WEIGHTS
from plume.model.use.language_model import LanguageModel
from plume.model.use.runtimes._runtime import Runner
from plume.readers.example import Example
from plume.static.model import read_arrays, write_arrays
from plume.static.reading import WORDS
from plume.text.tokenizer import Tokenizer
from plume.tuning.declared import TASK, Declared, read_declaration
from plume.tuning.linear.recipe import TITLE, TermRecipe
from plume.tuning.linear.solving import LinearLayer
from plume.tuning.linear.terms import Floats, Terms, paired, rarity, sentence_terms, sentences_of, text_terms, texts_of, weighted
from plume.tuning.rows.questions import Questions, TokenQuestions
from plume.tuning.rows.rows import Coder
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel
from plume.tuning.writing.written import WrittenTask

TERMS = "terms.json"
LENGTH = 1 << 30  # tokens of a row: none is cut


def is_linear(folder: Path) -> bool:
    """Does the folder hold a linear model of terms?"""
    return (folder / TERMS).exists()


def head_of(task: Task) -> Head:
    """What the task asks of a head; those that have no linear answer say why."""
    if (reason := cannot(task)) is not None:
        raise PlumeError(f"{task.called}: {reason}. Fine-tune a network for it.")
    return task.head(SentenceClassification(), dropout=0.0)


def cannot(task: Task) -> str | None:
    """Why a linear model of terms cannot do it, if so."""
    if isinstance(task, WrittenTask) or task.objective is not None:
        return f"{TITLE} cannot write a text"
    head = task.head(SentenceClassification(), dropout=0.0)
    if isinstance(head, AnswerSpan):
        return f"{TITLE} cannot find an answer in a text"
    if isinstance(head, TokenLabelling) and head.chain:
        return f"{TITLE} labels each word by itself, without --crf"
    return None


@dataclass(frozen=True, kw_only=True)
class LinearReader:
    """From questions to features: the terms of texts and pairs by TF-IDF, those of words in a sentence as they are."""

    recipe: TermRecipe
    tokens: tuple[str, ...]  # of the tokenizer, by id
    terms: Terms
    rare: Floats | None  # [terms]; None: words are labelled

    @classmethod
    def of(cls, recipe: TermRecipe, tokenizer: Tokenizer, head: Head, questions: Questions) -> LinearReader:
        """With the terms of the training examples."""
        tokens = tuple(tokenizer.tokens())
        bags = _bags(recipe, tokens, questions, labelling=isinstance(head, TokenLabelling))
        terms = Terms.of(bag for side in bags for bag in side)
        rare = None if isinstance(head, TokenLabelling) else rarity(terms.counts([bag for side in bags for bag in side]))
        return cls(recipe=recipe, tokens=tokens, terms=terms, rare=rare)

    def __call__(self, questions: Questions) -> csr_matrix:
        """[N, columns] a line for each thing asked."""
        bags = _bags(self.recipe, self.tokens, questions, labelling=self.rare is None)
        counts = [self.terms.counts(side) for side in bags]
        if self.rare is None:
            return counts[0]
        sides = [weighted(one, self.rare, self.terms.words) for one in counts]
        return sides[0] if len(sides) == 1 else paired(sides[0], sides[1], self.terms.words)


def _bags(recipe: TermRecipe, tokens: tuple[str, ...], questions: Questions, *, labelling: bool) -> list[list[list[str]]]:
    """The terms of each word that is asked about; or of each text, of a pair those of either side."""
    if labelling:
        assert isinstance(questions, TokenQuestions)
        return [[bag for sentence in sentences_of(questions, tokens) for bag in sentence_terms(sentence, recipe)]]
    sides = range(max(int(questions.rows.text.max(initial=0)), 0) + 1)
    return [[text_terms(words, recipe) for words in texts_of(questions.rows, tokens, side)] for side in sides]


@dataclass(frozen=True, kw_only=True)
class LinearHead:
    """One task's answers: its terms, and their weights."""

    read: LinearReader
    layer: LinearLayer

    def table(self, features: csr_matrix) -> Floats:
        """[N, classes] as the task reads them: of labels of words the logarithms of their probabilities."""
        scores = self.layer(features)
        if self.read.rare is not None:
            return scores
        highest = scores.max(1, keepdims=True)
        return np.asarray(scores - highest - np.log(np.exp(scores - highest).sum(1, keepdims=True)), np.float32)


class LinearModel(TunedModel):
    """TF-IDF + linear: `predict` and `evaluate` as every tuned model has them; below it there is nothing to embed with."""

    def __init__(self, heads: Mapping[str, LinearHead], tokenizer: Tokenizer, declared: Declared, recipe: TermRecipe) -> None:
        self.heads, self.tokenizer, self.declared, self.recipe = dict(heads), tokenizer, declared, recipe
        self.sentence = None

    def using(self, runtime: str | Runner) -> TunedModel:
        raise PlumeError(f"{TITLE} is no network, and has no other runtime.")

    @property
    def body(self) -> LanguageModel:
        raise PlumeError(f"{TITLE} was made of a task's examples alone: it predicts, and has no model below to embed, fill or write with.")

    @property
    def embedder(self) -> LanguageModel:
        return self.body

    def told(self, examples: Iterable[Example], language: str | None) -> Iterator[Example]:
        if language is not None:
            raise PlumeError(f"{TITLE} reads texts of all languages alike: leave out --language.")
        return iter(examples)

    def coder(self) -> Coder:
        return linear_coder(self.tokenizer)

    def table(self, questions: Questions) -> Floats:
        head = self.heads[questions.name]
        return head.table(head.read(questions))

    def save(self, folder: str | Path) -> None:
        folder = Path(folder)
        make_folder(folder)
        write_json(folder / RECIPE, self.recipe.to_json())
        self.tokenizer.save(folder / TOKENIZER)
        arrays: dict[str, Floats] = {}
        for name, head in self.heads.items():
            arrays |= {f"{name}.weight": head.layer.weight, f"{name}.bias": head.layer.bias}
            arrays |= {} if head.read.rare is None else {f"{name}.rare": head.read.rare}
        write_arrays(folder / WEIGHTS, arrays)
        write_json(folder / TERMS, {name: list(head.read.terms.names) for name, head in self.heads.items()})
        write_json(folder / TASK, self.declared.to_json())

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "cpu", runtime: str = "torch") -> LinearModel:
        """What `save` has written. It is computed on the CPU, whatever the `device`, and by itself."""
        if runtime != "torch":
            raise PlumeError(f"{TITLE} is no network: leave out --runtime.")
        folder = Path(folder)
        recipe = part_from_json(read_json(folder / RECIPE, "it should say what the terms are"))
        if not isinstance(recipe, TermRecipe):
            raise PlumeError(f"{folder / RECIPE} does not say what the terms of {TITLE} are.")
        tokenizer = Tokenizer.load(folder / TOKENIZER, format=WORDS)
        arrays = read_arrays(folder / WEIGHTS)
        terms = read_json(folder / TERMS, "the terms that the weights are of")
        heads = {}
        for name, names in terms.items():
            reader = LinearReader(recipe=recipe, tokens=tuple(tokenizer.tokens()), terms=Terms(names), rare=arrays.get(f"{name}.rare"))
            heads[name] = LinearHead(read=reader, layer=LinearLayer(weight=arrays[f"{name}.weight"], bias=arrays[f"{name}.bias"]))
        return cls(heads, tokenizer, read_declaration(folder), recipe)


def linear_coder(tokenizer: Tokenizer) -> Coder:
    """Which cuts texts into words, and keeps those that the vocabulary lacks as they are written."""
    return Coder(tokenizer, length=LENGTH, spells_from=tokenizer.size)
