"""A model directory of word vectors: recipe.json, tokenizer.json, words.tsv, model.safetensors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, write_atomic, write_json, write_text
from plume.core.part import part_from_json
from plume.static.formats.fasttext import compose
from plume.static.reading import WORDS
from plume.static.recipe import StaticRecipe
from plume.static.sif import SIF, Mean, Weighting
from plume.static.text import Vocabulary
from plume.static.vectors import CharacterNGrams, Neighbour, WordVectors
from plume.text.tokenizer import Tokenizer
from plume.text.words import Words
from plume.vectors.sentence import SentenceVectors
from plume.vectors.transforms.without_component import WithoutComponent

RECIPE, TOKENIZER, VOCABULARY, WEIGHTS = "recipe.json", "tokenizer.json", "words.tsv", "model.safetensors"


class WordModel:
    """Word vectors with the means to cut a text into their words."""

    def __init__(
        self, vectors: WordVectors, *, recipe: StaticRecipe, tokenizer: Tokenizer, sentence: SentenceVectors | None = None
    ) -> None:
        self.vectors, self.recipe, self.tokenizer, self.sentence = vectors, recipe, tokenizer, sentence

    @classmethod
    def load(cls, folder: Path | str) -> WordModel:
        """A model directory, ready for use."""
        folder = Path(folder)
        recipe = read_recipe(folder)
        arrays = read_arrays(folder / WEIGHTS)
        vocabulary = read_words(folder / VOCABULARY)
        tokenizer = Tokenizer.load(folder / TOKENIZER, format=WORDS)
        vectors = vectors_of(recipe, vocabulary, arrays, folder)
        return cls(vectors, recipe=recipe, tokenizer=tokenizer, sentence=SentenceVectors.read(folder))

    def __getattr__(self, name: str) -> Any:
        if name in ("fill", "generate", "score", "hidden"):
            raise PlumeError(f"{self.recipe.name} has one vector a word and cannot {name}: it embeds, and says which words are alike.")
        raise AttributeError(name)

    @property
    def width(self) -> int:
        """Of what `embed` gives."""
        return self.vectors.dimension if self.sentence is None else self.sentence.width(self.vectors.dimension)

    def words(self, text: str) -> list[str]:
        """The text cut as the corpus was; words that the vocabulary has as one phrase are joined. What the tokenizer lacks is as it stands in the
        text, or, where unknown words have a vector in common, the name of that."""
        pieces = self.tokenizer.encode_pieces([text], words=Words.SPACES)[0]
        whole = self.tokenizer.unknown is None or self.tokenizer.token(self.tokenizer.unknown) in self.vectors.index
        found = [
            self._unseen(text[start:end]) if number == self.tokenizer.unknown and not whole else self.tokenizer.token(number)
            for number, start, end in zip(pieces.ids.tolist(), pieces.start.tolist(), pieces.end.tolist(), strict=True)
        ]
        return found if self.recipe.phrases is None else self.recipe.phrases.join(found, self.vectors.index)

    def _unseen(self, word: str) -> str:
        return word.lower() if self.recipe.lowercase else word

    def embed(
        self, texts: str | Sequence[str], *, pooling: str | None = None, layer: int | None = None, language: str | None = None
    ) -> NDArray[np.float32]:
        """[N, D] as sentence.json says, or else the mean of the words' vectors.

        `pooling` asks for raw vectors instead: "mean", or "sif", the weighted mean less the texts' main direction: that of these texts, unless
        the model was fitted to others ('plume sentences fit --sif').
        """
        if layer is not None:
            raise PlumeError(f"{self.recipe.name} has no layers: leave out layer={layer}.")
        if language is not None:
            raise PlumeError(f"{self.recipe.name} reads texts of all languages alike: leave language out.")
        listed = [texts] if isinstance(texts, str) else list(texts)
        if pooling is None and self.sentence is not None:
            own = self.sentence.pooling
            weighting = own if isinstance(own, Weighting) else Mean()
            return self.sentence.finish(self.weighted(self.sentence.texts(listed), weighting, longest=self.sentence.longest))
        if pooling == "sif":
            rows = self.weighted(listed, SIF())
            return self._component(rows).apply(rows) if listed else rows
        if pooling not in (None, "mean"):
            raise PlumeError(f"Word vectors have no pooling '{pooling}': choose mean or sif.")
        return self.weighted(listed, Mean())

    def weighted(self, texts: Sequence[str], weighting: Weighting, *, longest: int | None = None) -> NDArray[np.float32]:
        """[N, D] the weighted mean of each text's words, or of its first `longest`."""
        return self.vectors.sentence_vectors([self.words(text)[:longest] for text in texts], weighting=weighting)

    def _component(self, rows: NDArray[np.float32]) -> WithoutComponent:
        kept = () if self.sentence is None else self.sentence.transforms[:1]
        return next((one for one in kept if isinstance(one, WithoutComponent)), None) or WithoutComponent().fit(rows)

    def most_similar(self, positive: str | Sequence[str], negative: str | Sequence[str] = (), *, top: int = 10) -> list[Neighbour]:
        """The nearest words by cosine, to one word or to several with others taken away."""
        return self.vectors.most_similar(positive, negative, top=top)

    def analogy(self, first: str, second: str, third: str, *, top: int = 10) -> list[Neighbour]:
        """First is to second as third is to …"""
        return self.vectors.analogy(first, second, third, top=top)

    def similarity(self, first: str, second: str) -> float:
        """Cosine of two words."""
        return self.vectors.similarity(first, second)


def save_model(
    folder: Path, *, recipe: StaticRecipe, tokenizer: Tokenizer, vocabulary: Vocabulary, arrays: dict[str, NDArray[np.float32]]
) -> None:
    """The files that make a model directory."""
    make_folder(folder)
    tokenizer.save(folder / TOKENIZER)
    save_words(folder, recipe, vocabulary)
    write_arrays(folder / WEIGHTS, arrays)


def save_words(folder: Path, recipe: StaticRecipe, vocabulary: Vocabulary) -> None:
    """What the vectors are of, and how they were made."""
    write_json(folder / RECIPE, recipe.to_json())
    lines = (f"{word}\t{count}\n" for word, count in zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))
    write_text(folder / VOCABULARY, "".join(lines))


def vectors_of(recipe: StaticRecipe, vocabulary: Vocabulary, arrays: dict[str, NDArray[np.float32]], folder: Path) -> WordVectors:
    """The arrays of a directory as word vectors, n-grams included where there are some."""
    if "word" not in arrays or len(arrays["word"]) != len(vocabulary):
        raise PlumeError(f"{folder / WEIGHTS} and {VOCABULARY} beside it are not of the same run.")
    ngrams = None
    if "ngram" in arrays:
        ngrams = CharacterNGrams(matrix=arrays["ngram"], shortest=getattr(recipe, "shortest", 0), longest=getattr(recipe, "longest", 0))
    matrix = arrays["word"] if ngrams is None else compose(vocabulary.words, arrays["word"], ngrams)
    return WordVectors(words=vocabulary.words, counts=vocabulary.counts, matrix=matrix, ngrams=ngrams)


def is_word_model(folder: Path) -> bool:
    """Does the folder hold word vectors, rather than a network?"""
    return (folder / VOCABULARY).exists()


def read_recipe(folder: Path) -> StaticRecipe:
    """Of a directory of word vectors."""
    recipe = part_from_json(read_json(folder / RECIPE, "it should hold the model's recipe"))
    if not isinstance(recipe, StaticRecipe):
        raise PlumeError(f"{folder / RECIPE} holds no recipe of word vectors.")
    return recipe


def read_words(path: Path) -> Vocabulary:
    """The vocabulary with its counts."""
    words, counts = [], []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], start=1):
        word, tab, count = line.rpartition("\t")
        if not tab or not count.isdigit():
            raise PlumeError(f"{path}, line {number}: expected a word, a tab and its count, found '{line[:40]}'.")
        words.append(word)
        counts.append(int(count))
    return Vocabulary(words=tuple(words), counts=np.array(counts, np.int64))


def write_arrays(path: Path, arrays: dict[str, NDArray[np.float32]]) -> None:
    """As safetensors, in one move."""
    write_atomic(path, lambda target: save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, target))


def read_arrays(path: Path) -> dict[str, NDArray[np.float32]]:
    """What `write_arrays` wrote, or an error that says what is wrong with the file."""
    try:
        found: dict[str, NDArray[np.float32]] = load_file(path)
        return found
    except FileNotFoundError:
        raise PlumeError(f"{path} is missing: the folder holds no trained vectors. Was the run stopped before its first save?") from None
    except (SafetensorError, OSError) as error:
        raise PlumeError(f"{path} cannot be read as safetensors ({error}): it is cut short or of another kind.") from None
