import random
from collections.abc import Callable
from pathlib import Path

import pytest

from plume.data.corpus import Corpus
from plume.text.format import BERT, GPT
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import ByteLevelBPE, WordPiece

_TEXT = "the cat dog believes unbelievable river walks slowly over old stone bridges while rain falls softly on green hills"
_WORDS = _TEXT.split()
_CHINESE = ["我们", "北京", "大学", "研究", "语言", "模型", "今天", "天气", "学习", "公园", "散步", "计算机"]


def sentence(draw: random.Random) -> str:
    if draw.random() < 0.3:
        return "".join(draw.choices(_CHINESE, k=draw.randint(3, 8))) + "。"
    return " ".join(draw.choices(_WORDS, k=draw.randint(4, 12))).capitalize() + "."


def document(draw: random.Random, *, sentences: int) -> list[str]:
    """Paragraphs of one to three sentences, some mixed."""
    left, paragraphs = sentences, []
    while left > 0:
        size = min(left, draw.randint(1, 3))
        paragraphs.append(" ".join(sentence(draw) for _ in range(size)))
        left -= size
    return paragraphs


@pytest.fixture
def write(tmp_path) -> Callable[[list[list[str]]], Corpus]:
    """Documents to a corpus in a file of its own."""

    def make(documents: list[list[str]], name: str = "corpus.txt") -> Corpus:
        path: Path = tmp_path / name
        path.write_text("\n\n".join("\n".join(paragraphs) for paragraphs in documents) + "\n", encoding="utf-8")
        return Corpus(path)

    return make


@pytest.fixture(scope="session")
def sample() -> list[list[str]]:
    draw = random.Random(5)
    return [document(draw, sentences=draw.randint(1, 20)) for _ in range(250)]


@pytest.fixture(scope="session")
def wordpiece(sample) -> Tokenizer:
    return Tokenizer(WordPiece(vocabulary=120).train((line for document in sample for line in document), format=BERT), format=BERT)


@pytest.fixture(scope="session")
def byte_level(sample) -> Tokenizer:
    return Tokenizer(ByteLevelBPE(vocabulary=400).train((line for document in sample for line in document), format=GPT), format=GPT)
