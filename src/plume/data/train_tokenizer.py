"""A tokenizer trained on the corpus itself."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version

from plume.core.errors import PlumeError
from plume.data.corpus import Corpus
from plume.data.encoder import LONGEST_TEXT
from plume.data.store import cache_home
from plume.text.control import control_token
from plume.text.format import Format
from plume.text.long_text import parts
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import TokenizerSpec

VERSION = 2  # of what training makes: raise it with every change to that
SAMPLE = 64_000_000  # bytes of text: more does not change a vocabulary of this size, and would have to be held in memory


def corpus_tokenizer(corpus: Corpus, spec: TokenizerSpec, format: Format, *, codes: Sequence[str] = ()) -> Tokenizer:
    """The same as `train_tokenizer`; of text that it was trained on before it is read from the cache."""
    parts = (VERSION, version("tokenizers"), corpus.census().fingerprint, spec.to_json(), format.to_json(), list(codes))
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
    path = cache_home() / "tokenizers" / f"{key}.json"
    with contextlib.suppress(PlumeError):  # not there, or damaged
        return Tokenizer.load(path, format=format)
    made = train_tokenizer(corpus, spec, format, codes=codes)
    with contextlib.suppress(PlumeError):  # a cache that cannot be written to
        made.save(path)
    return made


def train_tokenizer(corpus: Corpus, spec: TokenizerSpec, format: Format, *, codes: Sequence[str] = (), sample: int = SAMPLE) -> Tokenizer:
    """Train `spec` on the corpus, or on whole documents spread evenly over it if it is larger than `sample` bytes.

    Control `codes` become special tokens, whose ids follow those of the format.
    """
    own = format.specials()
    tokens = tuple(control_token(code) for code in dict.fromkeys(codes))
    if taken := [token for token in tokens if token in own]:
        raise PlumeError(f"The label of some documents would be the special token {taken[0]}, which has another meaning: rename the label.")
    extended = replace(format, order=own + tokens) if tokens else format
    limit = corpus.census().bytes if spec.reads_all else sample
    return Tokenizer(spec.train(sample_paragraphs(corpus, limit=limit), format=extended), format=format)


def sample_paragraphs(corpus: Corpus, *, limit: int) -> Iterator[str]:
    """At most `limit` bytes; always the same for the same text."""
    share = min(1.0, limit / max(1, corpus.census().bytes))
    due = taken = 0.0
    for document in corpus.documents():
        size = sum(len(paragraph.encode()) for paragraph in document.paragraphs)
        due += size * share
        if share == 1 or taken + size <= due + 1:
            taken += size
            for paragraph in document.paragraphs:
                yield from parts(paragraph, longest=LONGEST_TEXT)
