"""New words for a tokenizer: frequent in the corpus, and cut into many pieces. Each starts as the mean of its pieces."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tokenizers
import torch

from plume.core.errors import PlumeError
from plume.data.corpus import Corpus
from plume.data.train_tokenizer import sample_paragraphs
from plume.model.networks.model import Model
from plume.text.tokenizer import Tokenizer

_SAMPLE = 16_000_000  # bytes of the corpus: words that are frequent show in less
_FEWEST = 5  # times that a word occurs in them
_SHORTEST = 3  # letters
_SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class NewWord:
    """A token to be added: as the tokenizer writes it, and the ids that it was cut into."""

    token: str
    pieces: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class WithWords:
    """A model and its tokenizer after words were added."""

    model: Model
    tokenizer: Tokenizer
    note: str


def add_words(model: Model, tokenizer: Tokenizer, corpus: Corpus, count: int) -> WithWords:
    """At most `count` of the corpus; a word about them."""
    words = find_words(tokenizer, sample_paragraphs(corpus, limit=_SAMPLE), count)
    if not words:
        note = "No word was added: none that is frequent in the corpus is cut into pieces (tokenizers that take Chinese by the character have none)."
        return WithWords(model=model, tokenizer=tokenizer, note=note)
    larger = with_words(tokenizer, words)
    shown = ", ".join(larger.decode([tokenizer.size + place]).strip() for place in range(min(_SHOWN, len(words))))
    note = (
        f"{len(words):,} words of the corpus were added to the tokenizer, each as the mean of its pieces: "
        f"{shown}{' …' if len(words) > _SHOWN else ''}"
    )
    return WithWords(model=grown(model, tokenizer.size, words), tokenizer=larger, note=note)


def find_words(tokenizer: Tokenizer, texts: Iterable[str], count: int) -> list[NewWord]:
    """Those that would save the most tokens, the best first."""
    backend = tokenizer.backend
    _check_kind(_file(tokenizer))
    if backend.pre_tokenizer is None:
        raise PlumeError("--add-words: this tokenizer does not cut text into words first, so it cannot be given any.")
    seen: Counter[str] = Counter()
    for text in texts:
        plain = text if backend.normalizer is None else backend.normalizer.normalize_str(text)
        seen.update(word for word, _ in backend.pre_tokenizer.pre_tokenize_str(plain))
    saved = {}
    for word, times in seen.items():
        if times >= _FEWEST and _is_word(backend, word):
            pieces = tuple(token.id for token in backend.model.tokenize(word))
            if len(pieces) > 1 and tokenizer.unknown not in pieces:
                saved[NewWord(token=word, pieces=pieces)] = times * (len(pieces) - 1)
    return sorted(saved, key=lambda word: (-saved[word], word.token))[:count]


def _is_word(backend: tokenizers.Tokenizer, piece: str) -> bool:
    text = piece if backend.decoder is None else backend.decoder.decode([piece])
    return len(text.strip()) >= _SHORTEST and text.strip().isalpha()


def with_words(tokenizer: Tokenizer, words: Sequence[NewWord]) -> Tokenizer:
    """The same tokenizer with these words whole; their ids follow those that there are."""
    file = _file(tokenizer)
    kind, model = _check_kind(file), file["model"]
    first = tokenizer.size
    if kind == "Unigram":
        if len(model["vocab"]) != first:
            raise PlumeError(
                "--add-words: the special tokens of this tokenizer stand behind its pieces, where new words would have to stand."
            )
        # A little likelier than its pieces together, so that it is preferred to them.
        model["vocab"] += [[word.token, sum(model["vocab"][piece][1] for piece in word.pieces) + 0.01] for word in words]
    else:
        model["vocab"] |= {word.token: first + place for place, word in enumerate(words)}
    if kind == "BPE":
        model["ignore_merges"] = True  # what is a token as a whole is not put together from its letters
    return Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(file)), format=tokenizer.format)


def _file(tokenizer: Tokenizer) -> dict[str, Any]:
    file: dict[str, Any] = json.loads(tokenizer.backend.to_str())
    return file


def _check_kind(file: Mapping[str, Any]) -> str:
    model = file["model"]
    kind: str = model["type"]
    if kind not in ("WordPiece", "Unigram", "BPE") or model.get("end_of_word_suffix"):
        raise PlumeError("--add-words is for tokenizers that cut words into pieces: WordPiece, byte-level BPE and Unigram.")
    return kind


@torch.no_grad()
def grown(model: Model, first: int, words: Sequence[NewWord]) -> Model:
    """The model with a vector for each word, from the id `first` on: wherever tokens have rows, at the input or the output, the mean of its
    pieces' rows."""
    recipe = model.recipe
    made = recipe.assembly.build(recipe, vocabulary=max(model.vocabulary, first + len(words)))
    made.languages = model.languages
    with torch.device("meta"):
        another = dict(recipe.assembly.build(recipe, vocabulary=model.vocabulary + 1).named_parameters())
    source = dict(model.named_parameters())
    for name, parameter in made.named_parameters():
        old = source[name]
        if another[name].shape == old.shape:
            parameter.copy_(old)
            continue
        if another[name].shape[0] != old.shape[0] + 1:
            raise PlumeError(f"--add-words: {recipe.name} has no row a token in {name}, so words cannot be added to it.")
        parameter[: len(old)] = old
        parameter[len(old) :] = old.mean(0)
        for place, word in enumerate(words):
            parameter[first + place] = old[list(word.pieces)].mean(0)
    return made
