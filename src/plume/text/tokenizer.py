"""One tokenizer at work: text to ids and back, whatever file it came from."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.files import write_atomic
from plume.text.chunks import ChunkMemory, independent_chunks
from plume.text.format import Format
from plume.text.pieces import Joined, Pieces, group_chinese_words, join
from plume.text.tidy import tidy_spaces, without_surrogates
from plume.text.tokenizer_files import read_backend
from plume.text.words import Words, space_chinese_words

_FEW = 16  # texts that are cut sooner than a memory of many words is enlarged by theirs


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
        known = {token.content for token in self.backend.get_added_tokens_decoder().values() if token.special}
        self.backend.add_special_tokens([token for token in format.specials() if token not in known])  # known ones keep their own settings

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
        """The same for tokenizers that cut alike."""
        return hashlib.sha256(self.backend.to_str().encode()).hexdigest()

    @functools.cached_property
    def special_ids(self) -> NDArray[np.int64]:
        """The ids of all special tokens, sorted."""
        added = self.backend.get_added_tokens_decoder()
        return np.array(sorted(number for number, token in added.items() if token.special), np.int64)

    @functools.cached_property
    def structural_ids(self) -> NDArray[np.int64]:
        """The special tokens that stand for no text: all but the unknown one, unless that has a second role."""
        roles = {self.id(token) for token in replace(self.format, unknown=None, order=()).specials()}
        return np.array([number for number in self.special_ids.tolist() if number != self.unknown or number in roles], np.int64)

    @functools.cached_property
    def pad(self) -> int:
        """The id that fills rows."""
        return self._id_of(self.format.pad)

    @functools.cached_property
    def separator(self) -> int:
        """The id between two texts and at their end."""
        return self._id_of(self.format.separator)

    @functools.cached_property
    def begin(self) -> int | None:
        """The id at a row's start, if the family has one."""
        return self._role(self.format.begin)

    @functools.cached_property
    def mask(self) -> int | None:
        """The id that hides a token, if the family has one."""
        return self._role(self.format.mask)

    @functools.cached_property
    def unknown(self) -> int | None:
        """The family's unknown token, or the one the model uses although the family names none."""
        if self.format.unknown is not None:
            return self._id_of(self.format.unknown)
        model = self._file["model"]
        return model.get("unk_id") if model["type"] == "Unigram" else self._role(model.get("unk_token"))

    def token(self, number: int) -> str:
        """The token of an id."""
        found = self.backend.id_to_token(int(number))
        if found is None:
            raise PlumeError(f"There is no token with id {number}: this tokenizer's ids are 0 to {self.size - 1}.")
        return str(found)

    def id(self, token: str) -> int | None:
        """The id of a token, if there is such a token."""
        found: int | None = self.backend.token_to_id(token)
        return found

    def tokens(self) -> list[str]:
        """All of them, in the order of their ids."""
        found = self.backend.get_vocab(with_added_tokens=True)
        return sorted(found, key=found.__getitem__)

    def spellings(self) -> list[str]:
        """What each id writes; nothing for special tokens, and for pieces of a character."""
        special = set(self.special_ids.tolist())
        return ["" if number in special else self.decode([number]).removeprefix("##") for number in range(self.size)]

    def encode(self, texts: Sequence[str], *, allow_special: bool = False) -> list[list[int]]:
        """The ids of each text, not wrapped. With `allow_special`, special tokens written in the text become special tokens."""
        if self._needs_jieba:
            texts = [space_chinese_words(text)[0] for text in texts]
        return [encoding.ids for encoding in self._encodings(texts, allow_special=allow_special)]

    def encode_pieces(self, texts: Sequence[str], *, words: Words = Words.SPACES, allow_special: bool = False) -> list[Pieces]:
        """The ids of each text with the places they come from and where words begin."""
        joined = self.encode_joined(texts, words=words, allow_special=allow_special)
        return [joined.part(number) for number in range(len(texts))]

    def encode_joined(self, texts: Sequence[str], *, words: Words, allow_special: bool = False) -> Joined:
        """The same in one run of arrays: what `plume.data.store` keeps."""
        if self._needs_jieba:
            return self._join_spaced(texts, allow_special=allow_special)
        if len(texts) > _FEW and not allow_special and self._memory is not None:
            joined = self._memory.encode(texts)
        else:
            joined = join(self._encodings(texts, allow_special=allow_special), texts)
        return replace(joined, word_start=group_chinese_words(joined, texts)) if words is Words.JIEBA else joined

    def _join_spaced(self, texts: Sequence[str], *, allow_special: bool) -> Joined:
        """Words that jieba cut, at the places they have in the text as it was given."""
        spaced, places = zip(*(space_chinese_words(text) for text in texts), strict=True) if texts else ((), ())
        joined = join(self._encodings(spaced, allow_special=allow_special), spaced)
        # The n-th space put in at place p of its text stands at p + n in the spaced one.
        put_in = [
            base + place + n for base, found in zip(joined.character_bounds.tolist(), places, strict=False) for n, place in enumerate(found)
        ]
        spaces = np.array(put_in, np.int64)
        start, end, character_bounds = (
            places_of - np.searchsorted(spaces, places_of, side="left") for places_of in (joined.start, joined.end, joined.character_bounds)
        )
        return replace(joined, start=start, end=end, character_bounds=character_bounds)

    @functools.cached_property
    def _needs_jieba(self) -> bool:
        """Whole words whose normaliser leaves Chinese characters together: somebody has to cut them (`plume.text.word_level`)."""
        file = self._file
        return file["model"]["type"] == "WordLevel" and (file["normalizer"] or {}).get("handle_chinese_chars") is False

    def decode(self, ids: Iterable[int], *, skip_special: bool = True) -> str:
        """Text again. Spaces that only the decoder put in, as between Chinese characters, are taken out."""
        text: str = self.backend.decode([int(number) for number in ids], skip_special_tokens=skip_special)
        return tidy_spaces(text) if self.decoder_adds_spaces else text

    def bytes_of(self, number: int) -> bytes:
        """What an id writes: where tokens are bytes, these, which need be no whole characters; else its text. Nothing for special tokens."""
        if not self._byte_level:
            return self.decode([number]).encode()
        special = number in self.special_ids
        return b"" if special else bytes(self._byte_level[sign] for sign in self.token(number) if sign in self._byte_level)

    @functools.cached_property
    def _byte_level(self) -> dict[str, int]:
        """GPT-2's letters for bytes, where the decoder knows them; else none."""
        if '"ByteLevel"' not in json.dumps(self._file["decoder"]):
            return {}
        plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
        others = [byte for byte in range(256) if byte not in plain]
        return {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(others)}

    @functools.cached_property
    def decoder_adds_spaces(self) -> bool:
        """Byte-level and Metaspace pieces carry their spaces; others are joined by one each."""
        decoder = json.dumps(self._file["decoder"], ensure_ascii=False)
        return not any(sign in decoder for sign in ('"ByteLevel"', '"Metaspace"', "▁"))

    @functools.cached_property
    def _marked(self) -> tokenizers.Tokenizer:
        """Encoding here adds no special tokens, and places are trimmed in one way for all: no post-processor."""
        backend = tokenizers.Tokenizer.from_str(self.backend.to_str())
        backend.post_processor = None
        return backend

    @functools.cached_property
    def _plain(self) -> tokenizers.Tokenizer:
        """In plain text "[MASK]" is four letters in brackets: a corpus must not be able to write special tokens."""
        backend = tokenizers.Tokenizer.from_str(self._marked.to_str())
        backend.encode_special_tokens = True
        return backend

    @functools.cached_property
    def _memory(self) -> ChunkMemory | None:
        pattern = independent_chunks(self._file)
        return None if pattern is None else ChunkMemory(pattern, lambda texts: join(self._encodings(texts, allow_special=False), texts))

    @property
    def _file(self) -> dict[str, Any]:
        """tokenizer.json as data: it says what the library's objects do not."""
        file: dict[str, Any] = json.loads(self.backend.to_str())
        return file

    def _encodings(self, texts: Sequence[str], *, allow_special: bool) -> list[Any]:
        backend = self._marked if allow_special else self._plain
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
