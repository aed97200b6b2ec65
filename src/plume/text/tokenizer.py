"""One tokeniser at work: text to ids and back, whatever file it came from."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.files import write_atomic
from plume.text.format import Format
from plume.text.languages import han_mask, has_han
from plume.text.tidy import tidy_spaces, without_surrogates
from plume.text.tokenizer_files import read_backend
from plume.text.words import Words, chinese_word_starts


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """The tokens of one text. `start` and `end` count characters of the original text; the space before a word is no part of it."""

    ids: NDArray[np.int64]
    word_start: NDArray[np.bool_]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Joined:
    """The tokens of many texts one after another; `start` and `end` count characters of the texts put together."""

    ids: NDArray[np.int64]
    word_start: NDArray[np.bool_]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    token_bounds: NDArray[np.int64]  # [texts + 1]
    character_bounds: NDArray[np.int64]  # [texts + 1]


class Tokenizer:
    """A `tokenizers.Tokenizer` with a family's `Format`.

    >>> from plume.text.format import BERT
    >>> from plume.text.tokenizers import WordPiece
    >>> texts = ["the cat sat", "猫坐着"] * 4
    >>> tokenizer = Tokenizer(WordPiece(vocabulary=60).train(iter(texts), format=BERT), format=BERT)
    >>> tokenizer.decode(tokenizer.encode(["The cat 坐着"])[0])
    'the cat 坐着'
    """

    def __init__(self, backend: tokenizers.Tokenizer, *, format: Format, source: str = "the tokenizer") -> None:
        self.format = format
        self.backend = tokenizers.Tokenizer.from_str(backend.to_str())
        self.backend.no_truncation()  # settings of whoever made the file; here lengths are the layouts' business
        self.backend.no_padding()
        _require_specials(self.backend, format, source)
        self.backend.add_special_tokens(list(format.specials()))
        # In plain text "[MASK]" is four letters in brackets: a corpus must not be able to write special tokens.
        self._plain = tokenizers.Tokenizer.from_str(self.backend.to_str())
        self._plain.encode_special_tokens = True

    @classmethod
    def load(cls, path: Path | str, *, format: Format) -> Tokenizer:
        """From tokenizer.json, vocab.txt, or a folder with one of them or with vocab.json and merges.txt."""
        return cls(read_backend(Path(path), format=format), format=format, source=str(path))

    def save(self, path: Path | str) -> None:
        """Write tokenizer.json at `path`, or in it if it is a folder."""
        path = Path(path)
        target = path / "tokenizer.json" if path.is_dir() else path
        write_atomic(target, lambda temporary: temporary.write_text(self.backend.to_str(pretty=True), encoding="utf-8"))

    @functools.cached_property
    def size(self) -> int:
        """How many ids there are, added tokens included."""
        return max(self.backend.get_vocab(with_added_tokens=True).values()) + 1

    @functools.cached_property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.backend.to_str().encode()).hexdigest()

    @functools.cached_property
    def special_ids(self) -> NDArray[np.int64]:
        added = self.backend.get_added_tokens_decoder()
        return np.array(sorted(number for number, token in added.items() if token.special), np.int64)

    @functools.cached_property
    def pad(self) -> int:
        return self._id_of(self.format.pad)

    @functools.cached_property
    def separator(self) -> int:
        return self._id_of(self.format.separator)

    @functools.cached_property
    def begin(self) -> int | None:
        return self._role(self.format.begin)

    @functools.cached_property
    def mask(self) -> int | None:
        return self._role(self.format.mask)

    @functools.cached_property
    def unknown(self) -> int | None:
        """The family's unknown token, or the one the model uses although the family names none."""
        if self.format.unknown is not None:
            return self._id_of(self.format.unknown)
        model = self._file["model"]
        return model.get("unk_id") if model["type"] == "Unigram" else self._role(model.get("unk_token"))

    def token(self, number: int) -> str:
        found = self.backend.id_to_token(int(number))
        if found is None:
            raise PlumeError(f"There is no token with id {number}: this tokenizer's ids are 0 to {self.size - 1}.")
        return str(found)

    def id(self, token: str) -> int | None:
        found: int | None = self.backend.token_to_id(token)
        return found

    def encode(self, texts: Sequence[str], *, allow_special: bool = False) -> list[list[int]]:
        """The ids of each text, not wrapped. With `allow_special`, special tokens written in the text become special tokens."""
        return [encoding.ids for encoding in self._encodings(texts, allow_special=allow_special)]

    def encode_pieces(self, texts: Sequence[str], *, words: Words = Words.SPACES, allow_special: bool = False) -> list[Pieces]:
        """The ids of each text with the places they come from and where words begin."""
        joined = self.encode_joined(texts, words=words, allow_special=allow_special)
        found = []
        for number in range(len(texts)):
            part = slice(joined.token_bounds[number], joined.token_bounds[number + 1])
            base = joined.character_bounds[number]
            found.append(
                Pieces(
                    ids=joined.ids[part],
                    word_start=joined.word_start[part],
                    start=joined.start[part] - base,
                    end=joined.end[part] - base,
                )
            )
        return found

    def encode_joined(self, texts: Sequence[str], *, words: Words, allow_special: bool = False) -> Joined:
        """The same in one run of arrays: what `plume.data.store` keeps."""
        encodings = self._encodings(texts, allow_special=allow_special)
        token_bounds = _bounds(len(encoding) for encoding in encodings)
        character_bounds = _bounds(len(text) for text in texts)
        total = int(token_bounds[-1])
        base = np.repeat(character_bounds[:-1], np.diff(token_bounds))
        offsets = np.fromiter(chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings)), np.int64, 2 * total)
        start, end = offsets[0::2] + base, offsets[1::2] + base
        codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
        start = start + ((end - start > 1) & (codes[np.minimum(start, max(0, len(codes) - 1))] == 32)) if total else start
        word_ids = _word_ids(encodings, total)
        first = np.zeros(total, np.bool_)
        first[token_bounds[:-1][np.diff(token_bounds) > 0]] = True
        word_start = _word_starts(word_ids, start, end, first, codes)
        if words is Words.JIEBA and total:
            may_start = np.concatenate([chinese_word_starts(text) if has_han(text) else np.ones(len(text), np.bool_) for text in texts])
            word_start &= first | may_start[np.minimum(start, len(may_start) - 1)]
        ids = np.fromiter(chain.from_iterable(encoding.ids for encoding in encodings), np.int64, total)
        return Joined(ids=ids, word_start=word_start, start=start, end=end, token_bounds=token_bounds, character_bounds=character_bounds)

    def decode(self, ids: Iterable[int], *, skip_special: bool = True) -> str:
        """Text again. Spaces that only the decoder put in, as between Chinese characters, are taken out."""
        text: str = self.backend.decode([int(number) for number in ids], skip_special_tokens=skip_special)
        return tidy_spaces(text) if self._decoder_adds_spaces else text

    @functools.cached_property
    def _decoder_adds_spaces(self) -> bool:
        """Byte-level and Metaspace pieces carry their spaces; others are joined by one each."""
        decoder = json.dumps(self._file["decoder"], ensure_ascii=False)
        return not any(sign in decoder for sign in ('"ByteLevel"', '"Metaspace"', "▁"))

    @property
    def _file(self) -> dict[str, Any]:
        """tokenizer.json as data: it says what the library's objects do not."""
        file: dict[str, Any] = json.loads(self.backend.to_str())
        return file

    def _encodings(self, texts: Sequence[str], *, allow_special: bool) -> list[Any]:
        backend = self.backend if allow_special else self._plain
        try:
            encoded: list[Any] = backend.encode_batch(list(texts), add_special_tokens=False)
        except TypeError:  # what the library says of text that UTF-8 cannot write
            encoded = backend.encode_batch([without_surrogates(text) for text in texts], add_special_tokens=False)
        return encoded

    def _id_of(self, token: str) -> int:
        return self.backend.get_vocab(with_added_tokens=True)[token]

    def _role(self, token: str | None) -> int | None:
        found: int | None = None if token is None else self.backend.token_to_id(token)
        return found


def _bounds(lengths: Iterable[int]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.fromiter(lengths, np.int64))])


def _word_ids(encodings: Sequence[Any], total: int) -> NDArray[np.int64]:
    try:
        return np.fromiter(chain.from_iterable(encoding.word_ids for encoding in encodings), np.int64, total)
    except TypeError:  # a special token written in the text is of no word, None: then -1
        return np.fromiter((-1 if word is None else word for encoding in encodings for word in encoding.word_ids), np.int64, total)


def _word_starts(
    words: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64], first: NDArray[np.bool_], codes: NDArray[np.uint32]
) -> NDArray[np.bool_]:
    """A token begins a word where the first cut began one, and before and after each Chinese character that it does not share."""
    begins = first.copy()
    if len(words) < 2:
        return begins
    begins[1:] |= (words[1:] != words[:-1]) | (words[1:] < 0)
    han = han_mask(codes)
    here = np.minimum(start, len(codes) - 1)
    beside_han = han[here] | han[np.maximum(here - 1, 0)]
    begins[1:] |= beside_han[1:] & (start[1:] >= end[:-1])  # not in the middle of a character whose bytes are several tokens
    return begins


def _require_specials(backend: tokenizers.Tokenizer, format: Format, source: str) -> None:
    missing = [token for token in format.specials() if backend.token_to_id(token) is None]
    if not missing:
        return
    added = sorted(backend.get_added_tokens_decoder().items())
    found = ", ".join(token.content for _, token in added[:20]) or "none"
    raise PlumeError(
        f"{source} has no token {' or '.join(missing)}, which this family needs (it uses {', '.join(format.specials())}). "
        f"Special tokens found: {found}. Use a tokenizer made for this family, or leave it out and plume trains one on your text."
    )
