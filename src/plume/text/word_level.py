"""Whole words as tokens, for word vectors and recurrent models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from plume.core.errors import PlumeError
from plume.text.format import Format
from plume.text.tokenizers import TokenizerSpec, finish
from plume.text.words import Words, space_chinese_words


@dataclass(frozen=True, kw_only=True)
class WordLevel(TokenizerSpec):
    """The most frequent words, by falling count; all others are unknown. Words are told apart by spaces, punctuation stands alone.

    Chinese is cut in words by jieba, or in characters (`chinese=SPACES`). That jieba has to cut is written in the file as a normaliser that
    leaves Chinese characters together.

    >>> from plume.text.format import BERT
    >>> made = WordLevel(vocabulary=9, least=2).train(iter(["the cat, the 北京大学", "a cat, 北京大学"]), format=BERT)
    >>> sorted(made.get_vocab(), key=made.get_vocab().get)[5:]
    [',', 'cat', 'the', '北京大学']
    """

    vocabulary: int = 100_000
    least: int = 1  # how often a word must occur
    lowercase: bool = False
    chinese: Words = Words.JIEBA
    reads_all: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.least < 1 or self.vocabulary < 1:
            raise PlumeError(f"WordLevel(vocabulary={self.vocabulary}, least={self.least}): both are 1 or more.")

    def train(self, texts: Iterator[str], *, format: Format) -> Tokenizer:
        unknown = format.unknown or "<unk>"
        specials = list(dict.fromkeys((*format.specials(), unknown)))
        if len(specials) >= self.vocabulary:
            raise PlumeError(f"WordLevel(vocabulary={self.vocabulary}) has no room for words: {len(specials)} special tokens come first.")
        tokenizer = Tokenizer(models.WordLevel(vocab={}, unk_token=unknown))
        by_jieba = self.chinese is Words.JIEBA
        tokenizer.normalizer = normalizers.BertNormalizer(
            clean_text=True, handle_chinese_chars=not by_jieba, strip_accents=False, lowercase=self.lowercase
        )
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordLevelTrainer(
            vocab_size=self.vocabulary, min_frequency=self.least, special_tokens=specials, show_progress=False
        )
        tokenizer.train_from_iterator((space_chinese_words(text)[0] for text in texts) if by_jieba else texts, trainer)
        if tokenizer.get_vocab_size() == len(specials):
            raise PlumeError(f"No word occurs {self.least} times in this text: lower the least count, or give more text.")
        return finish(tokenizer, format, also=unknown)
