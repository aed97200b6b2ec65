"""Documents to arrays of ids, with the bounds of words, sentences and documents."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import DTypeLike, NDArray

from plume.data.layouts.carried import Spans, token_values
from plume.text.sentences import cuts_between, whole_sentence_starts
from plume.text.tokenizer import Tokenizer
from plume.text.words import Words

# Characters. The tokenizer is given texts of at most this length, and so many characters at once: its own records take some 200 bytes a token.
LONGEST_TEXT = 10_000
BATCH = 200_000


@dataclass(frozen=True, kw_only=True)
class EncodedDocuments:
    """Tokens of some documents one after another, without separators. No sentence and no document is empty."""

    tokens: NDArray[np.uint16] | NDArray[np.uint32]
    word_start: NDArray[np.bool_]
    sentence_length: NDArray[np.int64]  # in tokens
    document_length: NDArray[np.int64]  # in sentences
    document_text: NDArray[np.int64]  # which text it comes from: several documents may share one, and must stay together
    document_label: NDArray[np.int64]  # -1: none
    sentence_language: NDArray[np.int64]
    sentence_continued: NDArray[np.bool_]  # it goes on with the one before: text without a sentence end was cut between them
    named: dict[str, NDArray[np.int64]] = field(default_factory=dict)  # by carried field, its value at each token

    @classmethod
    def plain(
        cls,
        tokens: NDArray[np.uint16] | NDArray[np.uint32],
        word_start: NDArray[np.bool_],
        sentence_length: NDArray[np.int64],
        document_length: NDArray[np.int64],
        document_text: NDArray[np.int64],
        sentence_continued: NDArray[np.bool_],
    ) -> EncodedDocuments:
        """Without labels, in one language."""
        return cls(
            tokens=tokens,
            word_start=word_start,
            sentence_length=sentence_length,
            document_length=document_length,
            document_text=document_text,
            document_label=np.full(len(document_length), -1, np.int64),
            sentence_language=np.zeros(len(sentence_length), np.int64),
            sentence_continued=sentence_continued,
        )

    def select(self, sentences: NDArray[np.bool_]) -> EncodedDocuments:
        """Only the sentences chosen; a document that loses all of them is gone."""
        chosen = np.repeat(sentences, self.sentence_length)
        lengths = np.bincount(self.document_of_sentence()[sentences], minlength=len(self.document_length))
        return EncodedDocuments(
            tokens=self.tokens[chosen],
            word_start=self.word_start[chosen],
            sentence_length=self.sentence_length[sentences],
            document_length=lengths[lengths > 0],
            document_text=self.document_text[lengths > 0],
            document_label=self.document_label[lengths > 0],
            sentence_language=self.sentence_language[sentences],
            sentence_continued=self.sentence_continued[sentences],
            named={name: values[chosen] for name, values in self.named.items()},
        )

    def document_of_sentence(self) -> NDArray[np.int64]:
        """[sentences] which document each belongs to."""
        return np.repeat(np.arange(len(self.document_length)), self.document_length)


def concatenate(parts: Sequence[EncodedDocuments]) -> EncodedDocuments:
    """The documents of all parts, one after another."""
    plain = [item.name for item in fields(EncodedDocuments) if item.name != "named"]
    return EncodedDocuments(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in plain},
        named={name: np.concatenate([part.named[name] for part in parts]) for name in parts[0].named},
    )


def token_type(vocabulary: int) -> DTypeLike:
    """The smallest type that holds every id."""
    return np.uint16 if vocabulary <= 1 << 16 else np.uint32


@dataclass(frozen=True, kw_only=True)
class _Text:
    """What the tokenizer gets at once: sentences of one paragraph, and where they begin in it."""

    text: str
    place: int  # of its first character among those of all documents, a line break after each paragraph
    starts: list[int]
    continued: list[bool]  # does it go on with the sentence before?
    document: int


class Encoder:
    """Encodes whole paragraphs, so that a word keeps the space before it, and finds the sentences among their tokens.

    Paragraphs of a document are joined by a line break if the tokenizer has a token for it (byte-level ones do). With `pairs`, a document
    is two texts by themselves, each of them one sentence.

    >>> from plume.text.format import BERT
    >>> from plume.text.tokenizers import WordPiece
    >>> texts = ["one two. one", "two two two."] * 4
    >>> tokenizer = Tokenizer(WordPiece(vocabulary=40).train(iter(texts), format=BERT), format=BERT)
    >>> made = Encoder(tokenizer, words=Words.SPACES).encode([["Two one. One two one."], ["Two", "two"]])
    >>> made.sentence_length.tolist(), made.document_length.tolist()
    ([3, 4, 1, 1], [2, 2])
    """

    def __init__(self, tokenizer: Tokenizer, *, words: Words, pairs: bool = False) -> None:
        self.tokenizer = tokenizer
        self.words = words
        self.pairs = pairs
        self._type = token_type(tokenizer.size)
        self._line_break = "\n" if tokenizer.unknown not in tokenizer.encode(["a\na"])[0] else " "

    def encode(self, documents: Sequence[Sequence[str]], named: Mapping[str, Spans] | None = None) -> EncodedDocuments:
        """`documents` are lists of paragraphs. Sentences and documents without tokens are dropped.

        `named` are the fields that they carry, at places among the characters of them all, where a line break follows each paragraph.
        """
        parts = [self._encode_batch(batch, placed=bool(named)) for batch in _batches(self._texts(documents))]
        sentences, owners, continued = (np.concatenate([part[place] for part in parts]) for place in (2, 3, 4))
        lengths = np.bincount(owners[sentences > 0], minlength=len(documents))
        made = EncodedDocuments.plain(
            np.concatenate([part[0] for part in parts]),
            np.concatenate([part[1] for part in parts]),
            sentences[sentences > 0],
            lengths[lengths > 0],
            np.flatnonzero(lengths),
            continued[sentences > 0],
        )
        if self.pairs and (made.document_length != 2).any():  # a side of signs that the tokenizer does not know: the pair is lost
            made = made.select(np.repeat(made.document_length == 2, made.document_length))
        if not named:
            return made
        start, end = np.concatenate([part[5] for part in parts], axis=1)
        return replace(made, named={name: token_values(spans, start, end) for name, spans in named.items()})

    def _texts(self, documents: Sequence[Sequence[str]]) -> Iterator[_Text]:
        place = 0
        for number, paragraphs in enumerate(documents):
            for turn, paragraph in enumerate(paragraphs):
                if self.pairs:
                    yield _Text(text=paragraph, place=place, starts=[0], continued=[False], document=number)
                elif turn == 0:
                    yield from _pieces(paragraph, place=place, document=number)
                else:
                    yield from _pieces(self._line_break + paragraph, place=place - 1, document=number)
                place += len(paragraph) + 1

    def _encode_batch(
        self, texts: Sequence[_Text], *, placed: bool
    ) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray, NDArray[np.int64]]:
        """Tokens, word starts, the length of each sentence, its document, whether it goes on with the one before; [2, N] the tokens' places."""
        joined = self.tokenizer.encode_joined([text.text for text in texts], words=self.words)
        begin = np.fromiter(
            (base + start for text, base in zip(texts, joined.character_bounds.tolist(), strict=False) for start in text.starts), np.int64
        )
        # A token belongs to the sentence in which it begins.
        first = np.searchsorted(np.maximum.accumulate(joined.start), begin, side="left")
        owners = np.fromiter((text.document for text in texts for _ in text.starts), np.int64)
        continued = np.fromiter((flag for text in texts for flag in text.continued), np.bool_)
        places = np.zeros((2, 0), np.int64)
        if placed:
            shift = np.array([text.place for text in texts], np.int64) - joined.character_bounds[:-1]
            places = np.stack([joined.start, joined.end]) + np.repeat(shift, np.diff(joined.token_bounds))
        return joined.ids.astype(self._type), joined.word_start, np.diff(first, append=len(joined.ids)), owners, continued, places


def _pieces(text: str, *, place: int, document: int) -> Iterator[_Text]:
    """A paragraph as it is, or in parts that end with a sentence if it is long."""
    whole = whole_sentence_starts(text)
    cuts = set(cuts_between(text, whole))
    starts = sorted([*whole, *cuts]) if cuts else whole

    def part(first: int, last: int, kept: list[int]) -> _Text:
        return _Text(
            text=text[first:last], place=place + first, starts=[start - first for start in kept], continued=[start in cuts for start in kept],
            document=document,
        )  # fmt: skip

    first = 0
    kept: list[int] = []
    for start, end in itertools.pairwise([*starts, len(text)]):
        if kept and end - first > LONGEST_TEXT:
            yield part(first, start, kept)
            first, kept = start, []
        kept.append(start)
    yield part(first, len(text), kept)


def _batches(texts: Iterable[_Text]) -> Iterator[list[_Text]]:
    batch: list[_Text] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text.text)
        if size > BATCH:
            yield batch
            batch, size = [], 0
    yield batch  # perhaps empty: arrays of the right type come out of it all the same
