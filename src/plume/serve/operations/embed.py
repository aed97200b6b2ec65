"""One vector a text: `LanguageModel.embed`, over all requests that wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.model.use.text_batches import TextBatches
from plume.nn.pooling import Pooling
from plume.serve.errors import BadRequest
from plume.serve.models.opened import Opened, checked_language
from plume.serve.operations._operation import Operation, Prepared
from plume.static.model import WordModel
from plume.vectors.transforms.normalise import Normalise

Ids = Sequence[int]


@dataclass(frozen=True, kw_only=True)
class EmbedAsked:
    """Texts, or their token ids; `dimensions` keeps the first ones, `pooling` and `layer` are those of `LanguageModel.embed`."""

    texts: Sequence[str | Ids]
    dimensions: int | None = None
    pooling: Pooling | str | None = None
    layer: int | None = None
    language: str | None = None


@dataclass(frozen=True, kw_only=True)
class EmbedReady(Prepared):
    """Read by a network; or left as texts, for word vectors."""

    read: TextBatches | list[str]
    count: int  # of texts
    dimensions: int | None


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """[N, D] and the number of tokens that were read for it."""

    vectors: NDArray[np.float32]
    tokens: int


class Embed(Operation[EmbedAsked, EmbedReady, Embedded]):
    """Networks, word vectors, and the model below a tuned one."""

    name = "embed"
    field = "input"
    parallel = True

    def able(self, opened: Opened) -> bool:
        return opened.has(lambda one: one.language_model) or opened.has(lambda one: one.words)

    def characters(self, asked: EmbedAsked) -> int:
        return sum(map(len, asked.texts))

    def prepare(self, opened: Opened, asked: EmbedAsked) -> EmbedReady:
        group = (asked.pooling, asked.layer)
        if asked.dimensions is not None and not 0 < asked.dimensions <= opened.width:
            raise BadRequest(f"dimensions must be 1 to {opened.width}: so wide are the vectors of '{opened.name}'.", param="dimensions")
        if isinstance(opened.content, WordModel):
            return self._words(opened.content, asked)
        model = opened.language_model
        checked_language(opened, asked.language)
        ids = [one if isinstance(one, str) else _unframed(opened, one) for one in asked.texts]
        read = model.read(ids, raw=group != (None, None), language=asked.language)
        return EmbedReady(cost=read.tokens, group=group, read=read, count=len(ids), dimensions=asked.dimensions)

    def _words(self, model: WordModel, asked: EmbedAsked) -> EmbedReady:
        if asked.layer is not None or not isinstance(asked.pooling, str | None):
            raise BadRequest("Word vectors have no layers.", param="layer")
        texts = []
        for one in asked.texts:
            if not isinstance(one, str):
                raise BadRequest("Word vectors have no token ids: give texts.", param="input")
            texts.append(one)
        # "sif" takes out the main direction of the texts that come together: those of this request
        group = (asked.pooling, None) if asked.pooling != "sif" else object()
        cost = sum(len(model.words(text)) for text in texts)
        return EmbedReady(cost=cost, group=group, read=texts, count=len(texts), dimensions=asked.dimensions)

    def run(self, opened: Opened, prepared: Sequence[EmbedReady]) -> list[Embedded]:
        vectors = _vectors(opened, prepared)
        found, first = [], 0
        for one in prepared:
            own = vectors[first : first + one.count]
            first += one.count
            found.append(Embedded(vectors=own if one.dimensions is None else _cut(opened, own, one.dimensions), tokens=one.cost))
        return found

    def warm_up(self, opened: Opened) -> None:
        for text in ("A short text.", "A text of some more words, so that a second length is known too. " * 4):
            self.run(opened, [self.prepare(opened, EmbedAsked(texts=[text]))])


def _vectors(opened: Opened, prepared: Sequence[EmbedReady]) -> NDArray[np.float32]:
    asked = prepared[0].group
    pooling, layer = asked if isinstance(asked, tuple) else ("sif", None)
    if isinstance(opened.content, WordModel):
        return opened.content.embed([text for one in prepared for text in one.read if isinstance(text, str)], pooling=pooling)  # type: ignore[union-attr]
    reads = [one.read for one in prepared if isinstance(one.read, TextBatches)]
    joined = reads[0] if len(reads) == 1 else TextBatches.joined(reads)
    return opened.language_model.embed_read(joined, pooling=pooling, layer=layer)


def _unframed(opened: Opened, ids: Ids) -> list[int]:
    """Token ids without the special tokens around them, where the client has put them there: they are put there anyway."""
    model = opened.language_model
    size = model.tokenizer.size
    if not all(0 <= number < size for number in ids):
        raise BadRequest(f"A token id is out of range: those of '{opened.name}' are 0 to {size - 1}.", param="input")
    framed = model.abilities.frame([])
    place = model.tokenizer.format.single.index("A")
    before, after = framed[:place], framed[place:]
    listed = list(ids)
    if framed and len(listed) >= len(framed) and listed[:place] == before and listed[len(listed) - len(after) :] == after:
        return listed[place : len(listed) - len(after)]
    return listed


def _cut(opened: Opened, vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """The first dimensions; of unit length again, where the whole vectors are (Matryoshka, arXiv:2205.13147)."""
    cut = np.ascontiguousarray(vectors[:, :dimensions])
    sentence = opened.content.sentence if not isinstance(opened.content, WordModel) and hasattr(opened.content, "sentence") else None
    return Normalise().apply(cut) if sentence is not None and any(isinstance(one, Normalise) for one in sentence.transforms[-1:]) else cut


OPERATION = Embed()
