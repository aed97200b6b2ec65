"""What bert-as-service answers: vectors of texts, or of their tokens, pooled as its options say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.model.use.language_model import LanguageModel
from plume.model.use.text_batches import TextBatches
from plume.nn.pooling import FIRST, LAST, MAX, MEAN, Pooling
from plume.serve.bert_settings import BertServiceSettings, BertStrategy
from plume.serve.errors import BadRequest, TooLarge
from plume.serve.models.opened import Opened
from plume.serve.operations._bert_heads import FIRST_OF_LAST, answered, asked_of, pooled_first, pooler_of, task_of
from plume.serve.operations._bert_rows import Given, as_text, read_given
from plume.serve.operations._operation import Operation, Prepared, parted
from plume.serve.operations._states import token_states, word_states
from plume.serve.operations.predict import PredictReady
from plume.static.model import WordModel

Floats = NDArray[np.float32]
_POOLED = {
    BertStrategy.REDUCE_MEAN: (MEAN,), BertStrategy.REDUCE_MAX: (MAX,), BertStrategy.REDUCE_MEAN_MAX: (MEAN, MAX),
    BertStrategy.CLS_TOKEN: (FIRST,), BertStrategy.SEP_TOKEN: (LAST,),
}  # fmt: skip
_MOST = 1 << 28  # numbers of one answer: a gigabyte


@dataclass(frozen=True, kw_only=True)
class EncodeAsked:
    """Texts, or lists of tokens, and how they are pooled."""

    texts: Sequence[Given]
    how: BertServiceSettings


@dataclass(frozen=True, kw_only=True)
class EncodeReady(Prepared):
    """Read by a network; or left as texts, for word vectors."""

    read: TextBatches | list[str]
    how: BertServiceSettings
    count: int  # of texts
    asked: PredictReady | None = None  # what a tuned model's task is asked


@dataclass(frozen=True, kw_only=True)
class EncodedTexts:
    """[N, D], or [N, T, D] with zeros behind the shorter texts; and the tokens that were read."""

    vectors: Floats
    tokens: list[list[str]]


class Encode(Operation[EncodeAsked, EncodeReady, EncodedTexts]):
    """Any network, the model below a tuned one, and word vectors, whose words are their tokens."""

    name = "encode"
    field = "texts"
    parallel = True

    def able(self, opened: Opened) -> bool:
        return opened.has(lambda one: one.language_model) or opened.has(lambda one: one.words)

    def characters(self, asked: EncodeAsked) -> int:
        return sum(len(one) if isinstance(one, str) else sum(map(len, one)) for one in asked.texts)

    def check(self, opened: Opened, how: BertServiceSettings) -> None:
        """Refuse what this model cannot answer, whatever the texts are."""
        match how.pooling_strategy:
            case BertStrategy.CLS_POOLED:
                pooler_of(opened)
            case BertStrategy.CLASSIFICATION | BertStrategy.REGRESSION:
                task_of(opened, how.pooling_strategy)
            case _ if not isinstance(opened.content, WordModel):
                chosen_layers(opened.language_model, how.pooling_layer)

    def prepare(self, opened: Opened, asked: EncodeAsked) -> EncodeReady:
        how, count = asked.how, len(asked.texts)
        self.check(opened, how)
        if isinstance(opened.content, WordModel):
            texts = [as_text(one) for one in asked.texts]
            return EncodeReady(cost=sum(map(len, texts)) // 4 + 1, group=how, read=texts, how=how, count=count)
        model = opened.language_model
        if how.pooling_strategy in (BertStrategy.CLASSIFICATION, BertStrategy.REGRESSION):
            read = read_given(model, asked.texts, longest=opened.tuned.declared.length)
            questions = asked_of(opened, how.pooling_strategy, asked.texts)
            return EncodeReady(cost=read.tokens, group=how, read=read, how=how, count=count, asked=questions)
        read = read_given(model, asked.texts, longest=how.max_seq_len)
        if how.pooling_strategy is BertStrategy.NONE:
            longest = max((len(one.tokens) for one in read.framed), default=0)
            size = count * _length(model, how, longest) * model.model.width * len(how.pooling_layer)
            if size > _MOST:
                raise TooLarge(f"{size:,} numbers would be answered; {_MOST:,} are the limit: send fewer texts at once.", param="texts")
        return EncodeReady(cost=read.tokens, group=how, read=read, how=how, count=count)

    def run(self, opened: Opened, prepared: Sequence[EncodeReady]) -> list[EncodedTexts]:
        how = prepared[0].how
        if isinstance(opened.content, WordModel):
            return [self._words(opened.content, one) for one in prepared]
        reads = [one.read for one in prepared if isinstance(one.read, TextBatches)]
        joined = reads[0] if len(reads) == 1 else TextBatches.joined(reads)
        questions = [one.asked for one in prepared if one.asked is not None]
        vectors = answered(opened, questions) if questions else self._vectors(opened, joined, how)
        sizes = [one.count for one in prepared]
        shown = [[joined.spelled(number) for number in row.tokens] if how.show_tokens_to_client else [] for row in joined.framed]
        return [
            EncodedTexts(vectors=_stacked(own, how, opened.language_model), tokens=tokens if how.show_tokens_to_client else [])
            for own, tokens in zip(parted(vectors, sizes), parted(shown, sizes), strict=True)
        ]

    def _vectors(self, opened: Opened, read: TextBatches, how: BertServiceSettings) -> Sequence[Floats]:
        """Of each text: [D], or, without pooling, [T, D]."""
        model = opened.language_model
        if how.pooling_strategy is BertStrategy.CLS_POOLED:
            return list(pooled_first(pooler_of(opened), model.embed_read(read, pooling=FIRST_OF_LAST)))
        layers = chosen_layers(model, how.pooling_layer)
        if how.pooling_strategy is not BertStrategy.NONE and not how.mask_cls_sep:
            return list(model.embed_read(read, pooling=Pooling(tokens=_POOLED[how.pooling_strategy], layers=layers, joined=True)))
        states = [np.concatenate(own, axis=1) for own in token_states(model, read, layers)]
        return [_pooled(one, _inside(model, row.tokens, how), how) for one, row in zip(states, read.framed, strict=True)]

    def _words(self, model: WordModel, one: EncodeReady) -> EncodedTexts:
        assert isinstance(one.read, list), "word vectors read no batches"
        read = [word_states(model, text) for text in one.read]
        longest = one.how.max_seq_len
        vectors = [_pooled(states[:longest], np.ones(len(states[:longest]), np.bool_), one.how) for _, states in read]
        return EncodedTexts(vectors=_stacked(vectors, one.how, None), tokens=[words[:longest] for words, _ in read])


def chosen_layers(model: LanguageModel, layers: Sequence[int]) -> tuple[int, ...]:
    """As plume counts them, which has the embeddings as layer 0; bert-as-service begins above them."""
    depth = model.recipe.network.depth
    for layer in layers:
        if not -depth <= layer < depth:
            last = f"-1 is the last, {-depth} the first" if depth > 1 else "-1 is the only one"
            raise BadRequest(f"There is no layer {layer}: {model.recipe.name} has {depth}, of which {last} (--pooling-layer).")
    return tuple(layer if layer < 0 else layer + 1 for layer in layers)


def _inside(model: LanguageModel, tokens: Sequence[int], how: BertServiceSettings) -> NDArray[np.bool_]:
    """Which tokens count: all, or all but the special ones, if there are others."""
    plain = ~np.isin(np.array(tokens), model.tokenizer.structural_ids)
    return plain if how.mask_cls_sep and plain.any() else np.ones(len(tokens), np.bool_)


def _pooled(states: Floats, inside: NDArray[np.bool_], how: BertServiceSettings) -> Floats:
    """[T, D] to [D], or, without pooling, to the same with zeros for what does not count."""
    match how.pooling_strategy:
        case BertStrategy.NONE:
            return np.where(inside[:, None], states, np.float32(0))
        case BertStrategy.CLS_TOKEN:
            return states[0]
        case BertStrategy.SEP_TOKEN:
            return states[-1]
    parts = {MEAN: states[inside].mean(0), MAX: states[inside].max(0)}
    return np.concatenate([parts[one] for one in _POOLED[how.pooling_strategy]])


def _stacked(vectors: Sequence[Floats], how: BertServiceSettings, model: LanguageModel | None) -> Floats:
    """One array of a request's."""
    if how.pooling_strategy is not BertStrategy.NONE:
        return np.stack(vectors)
    length = _length(model, how, max(map(len, vectors)))
    made = np.zeros((len(vectors), length, vectors[0].shape[1]), np.float32)
    for row, states in zip(made, vectors, strict=True):
        row[: len(states)] = states
    return made


def _length(model: LanguageModel | None, how: BertServiceSettings, longest: int) -> int:
    """Of what is answered for tokens: always the same, unless neither the server nor the model has a limit."""
    positions = None if model is None else model.recipe.positions.longest
    if how.fixed_embed_length and positions is not None:
        return positions
    if how.max_seq_len is None:
        return longest
    return how.max_seq_len if positions is None else min(how.max_seq_len, positions)


OPERATION = Encode()
