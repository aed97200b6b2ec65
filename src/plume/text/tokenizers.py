"""Tokenizers as parts: what to train, with what vocabulary. The work is done by the compiled `tokenizers` library.

Training twice on the same text gives the same file, byte for byte. When the text is too small for the vocabulary asked, the
vocabulary is smaller. All of `texts` is held in memory: `plume.data.train_tokenizer` passes at most 64 MB.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.text.alphabet import CharacterSet, choose_alphabet, thin_unspaced
from plume.text.format import Format

LEAST_COUNT = 2  # a pair of pieces seen once is not worth a place in the vocabulary
LONGEST_WORD = 1_000  # characters, or bytes, of a word that a trainer is given: its time grows with the square of a word
UNSPACED = 1_500_000  # characters of text without spaces that BPE and Unigram train on: 450 MB of memory, 25 s on two cores


@dataclass(frozen=True, kw_only=True)
class TokenizerSpec(Part):
    """Base of the tokenizers. `vocabulary` counts the special tokens too."""

    vocabulary: int
    reads_all: ClassVar[bool] = False  # must it see the whole corpus? Most are as good after a sample

    def train(self, texts: Iterator[str], *, format: Format) -> Tokenizer:
        """A tokenizer of this kind that has seen the texts."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is trained")


@dataclass(frozen=True, kw_only=True)
class WordPiece(TokenizerSpec):
    """BERT's: words and punctuation by spaces, each Chinese character a word, longest known piece first (arXiv:1810.04805, §3).

    >>> from plume.text.format import BERT
    >>> made = WordPiece(vocabulary=60).train(iter(["low lower lowest", "低 lower lowest"] * 3), format=BERT)
    >>> made.encode("lowest低").tokens
    ['[CLS]', 'lowest', '低', '[SEP]']
    """

    vocabulary: int = 30522
    lowercase: bool = True

    def train(self, texts: Iterator[str], *, format: Format) -> Tokenizer:
        unknown = format.unknown or "[UNK]"
        tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
        bert_style(tokenizer, lowercase=self.lowercase)
        kept, alphabet = _alphabet(list(texts), tokenizer, vocabulary=self.vocabulary)
        atoms = sorted((*alphabet.alone, *alphabet.joined)) + [f"##{character}" for character in alphabet.joined]
        first = _first_tokens(format, unknown, atoms, self)
        trainer = trainers.WordPieceTrainer(
            vocab_size=self.vocabulary, min_frequency=LEAST_COUNT, special_tokens=first, show_progress=False
        )
        trained = _train(tokenizer, kept, trainer)
        tokenizer.model = models.WordPiece(vocab=trained["vocab"], unk_token=unknown, max_input_chars_per_word=100)
        tokenizer.decoder = decoders.WordPiece(prefix="##")
        return finish(tokenizer, format, also=unknown)


@dataclass(frozen=True, kw_only=True)
class BPE(TokenizerSpec):
    """The first GPT's: byte pairs within words, the end of a word marked `</w>` (Radford et al. 2018, §4.1)."""

    vocabulary: int = 40478
    lowercase: bool = True

    def train(self, texts: Iterator[str], *, format: Format) -> Tokenizer:
        unknown = format.unknown or "<unk>"
        tokenizer = Tokenizer(models.BPE(unk_token=unknown, end_of_word_suffix="</w>"))
        bert_style(tokenizer, lowercase=self.lowercase)
        kept, alphabet = _alphabet(list(texts), tokenizer, vocabulary=self.vocabulary)
        atoms = [*alphabet.joined, *sorted(f"{character}</w>" for character in (*alphabet.alone, *alphabet.joined))]
        first = _first_tokens(format, unknown, atoms, self)
        trainer = trainers.BpeTrainer(
            # The trainer also gives lone characters a form without </w>, which no text can use: room for them, then out with them.
            vocab_size=self.vocabulary + len(alphabet.alone),
            min_frequency=LEAST_COUNT,
            special_tokens=first,
            end_of_word_suffix="</w>",
            show_progress=False,
        )
        trained = _train(tokenizer, kept, trainer)
        tokens = [token for token in sorted(trained["vocab"], key=trained["vocab"].__getitem__) if token not in set(alphabet.alone)]
        tokenizer.model = models.BPE(
            vocab={token: number for number, token in enumerate(tokens)},
            merges=[tuple(pair) for pair in trained["merges"]],
            unk_token=unknown,
            end_of_word_suffix="</w>",
        )
        tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")
        return finish(tokenizer, format, also=unknown)


@dataclass(frozen=True, kw_only=True)
class ByteLevelBPE(TokenizerSpec):
    """GPT-2's and RoBERTa's: byte pairs over UTF-8, so that nothing is unknown (Radford et al. 2019, §2.2).

    >>> from plume.text.format import GPT
    >>> made = ByteLevelBPE(vocabulary=300).train(iter(["the cat, the hat"] * 9), format=GPT)
    >>> made.decode(made.encode("the 猫").ids)
    'the 猫'
    """

    vocabulary: int = 50257

    def train(self, texts: Iterator[str], *, format: Format) -> Tokenizer:
        bytes_ = sorted(pre_tokenizers.ByteLevel.alphabet())
        first = _first_tokens(format, None, bytes_, self)
        tokenizer = Tokenizer(models.BPE())
        byte_level_style(tokenizer)
        trainer = trainers.BpeTrainer(
            vocab_size=self.vocabulary,
            min_frequency=LEAST_COUNT,
            special_tokens=first,
            initial_alphabet=bytes_,
            show_progress=False,
        )
        trained = _train(tokenizer, thin_unspaced(list(texts), limit=UNSPACED), trainer)
        tokenizer.model = models.BPE(vocab=trained["vocab"], merges=[tuple(pair) for pair in trained["merges"]])
        return finish(tokenizer, format)


@dataclass(frozen=True, kw_only=True)
class Unigram(TokenizerSpec):
    """SentencePiece's, used by ALBERT, T5 and XLNet: the likeliest pieces; a space is the sign ▁ (arXiv:1804.10959, §3.2)."""

    vocabulary: int = 30000

    def train(self, texts: Iterator[str], *, format: Format) -> Tokenizer:
        unknown = format.unknown or "<unk>"
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.Sequence(
            [
                normalizers.NFKC(),
                normalizers.Replace(Regex(r"\s+"), " "),
                normalizers.Strip(),
            ]
        )
        spaces = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
        # No piece crosses from Han to another script or holds punctuation, as in SentencePiece; only while training: the pieces see to it.
        runs = pre_tokenizers.Split(Regex(r"\p{Han}+"), "isolated")
        signs = pre_tokenizers.Split(Regex(r"[\p{P}<>|$+=^~`]"), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([spaces, runs, signs])
        kept, _ = _alphabet(thin_unspaced(list(texts), limit=UNSPACED), tokenizer, vocabulary=self.vocabulary, forms=1)
        specials = _first_tokens(format, unknown, [], self)
        trainer = trainers.UnigramTrainer(
            vocab_size=self.vocabulary, special_tokens=specials, unk_token=unknown, max_piece_length=16, show_progress=False
        )
        trained = _train(tokenizer, kept, trainer)
        scores = {piece: score for piece, score in trained["vocab"] if piece not in set(specials)}
        tokenizer.model = models.Unigram(
            [(piece, 0.0) for piece in specials] + _settled(scores),
            unk_id=specials.index(unknown),
        )
        tokenizer.pre_tokenizer = spaces
        tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
        return finish(tokenizer, format, also=unknown)


def bert_style(tokenizer: Tokenizer, *, lowercase: bool) -> None:
    """BERT's reading of text: Chinese characters and punctuation stand alone; accents go with the capitals."""
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()


def byte_level_style(tokenizer: Tokenizer) -> None:
    """GPT-2's reading of text: a word carries the space before it."""
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()


def finish(tokenizer: Tokenizer, format: Format, *, also: str | None = None) -> Tokenizer:
    """Register the special tokens and the wrapping of one and two texts, so that the file means the same to other libraries."""
    specials = dict.fromkeys((*format.specials(), also) if also else format.specials())
    spaced = isinstance(
        tokenizer.pre_tokenizer, pre_tokenizers.ByteLevel
    )  # where a space is part of the piece after it, a mask takes it in
    marks = [AddedToken(token, special=True, normalized=False, lstrip=spaced and token == format.mask) for token in specials]
    tokenizer.add_special_tokens(marks)
    wrap = _wrapping(tokenizer, format)
    if isinstance(tokenizer.pre_tokenizer, pre_tokenizers.ByteLevel):
        trim = processors.ByteLevel(trim_offsets=True)  # the space before a word is no part of its place in the text
        wrap = trim if wrap is None else processors.Sequence([trim, wrap])
    if wrap is not None:
        tokenizer.post_processor = wrap
    return tokenizer


def _wrapping(tokenizer: Tokenizer, format: Format) -> Any:
    if format.single == ("A",) and format.pair == ("A", "B"):
        return None
    alone = format.single_segments or (0,) * len(format.single)
    segments = format.segments or (0,) * len(format.pair)
    sign = {"A": "$A", "B": "$B"}
    return processors.TemplateProcessing(
        single=[f"{sign.get(item, item)}:{segment}" for item, segment in zip(format.single, alone, strict=True)],
        pair=[f"{sign.get(item, item)}:{segment}" for item, segment in zip(format.pair, segments, strict=True)],
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in format.specials()],
    )


def _alphabet(texts: list[str], tokenizer: Tokenizer, *, vocabulary: int, forms: int = 2) -> tuple[Iterable[str], CharacterSet]:
    """The texts without their rarest characters, and the characters that stay."""
    normalizer, cutter = tokenizer.normalizer, tokenizer.pre_tokenizer
    alphabet = choose_alphabet(
        texts,
        vocabulary=vocabulary,
        normalize=normalizer.normalize_str,
        words=lambda text: len(cutter.pre_tokenize_str(normalizer.normalize_str(text))),
        forms=forms,
    )
    return (text.translate(alphabet.rare) if alphabet.rare else text for text in texts), alphabet


def _first_tokens(format: Format, unknown: str | None, atoms: Sequence[str], spec: TokenizerSpec) -> list[str]:
    """Special tokens and single characters in the order of their ids: handed to a trainer as tokens that exist already."""
    specials = dict.fromkeys((*format.specials(), unknown) if unknown else format.specials())
    first = [*specials, *(atom for atom in atoms if atom not in specials)]
    if len(first) > spec.vocabulary:
        raise PlumeError(
            f"{type(spec).__name__}(vocabulary={spec.vocabulary}) is too small: {len(specials)} special tokens and {len(atoms)} single "
            f"characters come first. Set vocabulary to at least {len(first)}; a few thousand are usual."
        )
    return first


def _settled(scores: dict[str, float]) -> list[tuple[str, float]]:
    """Unigram scores without what a hash table's order left in them, best first.

    Sums differ in the last bits, so six digits are kept. And characters that no likely piece holds get the lowest score plus 0, 1, 2 …
    ten-thousandths, in any order: here they all get the lowest. Ties are ordered by the piece.
    """
    lowest = min(scores.values(), default=0.0)

    def settled(piece: str, score: float) -> float:
        steps = (score - lowest) * 1e4
        return round(lowest if len(piece) == 1 and abs(steps - round(steps)) < 1e-5 else score, 6)

    found = [(piece, settled(piece, score)) for piece, score in scores.items()]
    return sorted(found, key=lambda item: (-item[1], item[0]))


def _train(tokenizer: Tokenizer, texts: Iterable[str], trainer: Any) -> dict[str, Any]:
    """The trained model as plain data: the tokenizer object itself now takes single characters for special tokens, and is not kept."""
    apprentice = Tokenizer.from_str(tokenizer.to_str())
    apprentice.pre_tokenizer = pre_tokenizers.Sequence([apprentice.pre_tokenizer, pre_tokenizers.FixedLength(LONGEST_WORD)])
    apprentice.train_from_iterator(texts, trainer)
    model: dict[str, Any] = json.loads(apprentice.to_str())["model"]
    return model
