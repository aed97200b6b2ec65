"""Tokenizers with fewer tokens: text that needs none that went is cut as before, all other text is still cut."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.text.fewer_tokens import choose_tokens, with_tokens
from plume.text.format import BERT, GPT, ROBERTA
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import BPE, ByteLevelBPE, Unigram, WordPiece
from plume.text.word_level import WordLevel

ENGLISH = ("the old captain believes the unbeliever", "lowest lower low prices in the café", "a believer unfastens an umbrella, carefully")
CHINESE = ("北京大学研究语言模型。", "我们在公园学习自然语言", "清华大学和北京大学")
T5 = replace(ROBERTA, sentinels=5)
SPECS = {
    "wordpiece": (WordPiece(vocabulary=300), BERT),
    "bpe": (BPE(vocabulary=300), ROBERTA),
    "bytes": (ByteLevelBPE(vocabulary=420), GPT),
    "unigram": (Unigram(vocabulary=140), T5),
    "words": (WordLevel(vocabulary=200), BERT),
}
every_kind = pytest.mark.parametrize("kind", SPECS)
_made: dict[str, Tokenizer] = {}


def whole(kind: str) -> Tokenizer:
    if kind not in _made:
        spec, format = SPECS[kind]
        _made[kind] = Tokenizer(spec.train(iter([*ENGLISH, *CHINESE] * 6), format=format), format=format)
    return _made[kind]


def counted(tokenizer: Tokenizer, texts: Sequence[str]) -> np.ndarray:
    ids = [number for row in tokenizer.encode(texts) for number in row]
    return np.bincount(np.array(ids, np.int64), minlength=tokenizer.size)


def tokens(tokenizer: Tokenizer, text: str) -> list[str]:
    return [tokenizer.token(number) for number in tokenizer.encode([text])[0]]


WORDS = sorted({word for line in ENGLISH for word in line.replace(",", " ,").split()} | set(CHINESE) | set("".join(CHINESE)))
some_text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@every_kind
@settings(max_examples=60)
@given(corpus=st.lists(some_text, min_size=1, max_size=3), text=some_text)
def test_what_needs_no_lost_token_is_cut_alike(kind: str, corpus: list[str], text: str) -> None:
    before = whole(kind)
    kept = choose_tokens(before, counted(before, corpus))
    after = with_tokens(before, kept)
    assert after.size == len(kept)
    assert [after.token(number) for number in range(after.size)] == [before.token(int(number)) for number in kept]
    for line in (*corpus, text):
        if set(before.encode([line])[0]) <= set(kept.tolist()):
            assert tokens(after, line) == tokens(before, line)
        elif kind != "words":
            assert before.unknown in before.encode([line])[0] or after.unknown not in after.encode([line])[0]
            assert after.decode(after.encode([line])[0]) == before.decode(before.encode([line])[0])


@every_kind
@settings(max_examples=60)
@given(text=st.text(max_size=30))
def test_any_text_is_still_cut(kind: str, text: str) -> None:
    before = whole(kind)
    after = with_tokens(before, choose_tokens(before, counted(before, ENGLISH[:1])))
    assert max(after.encode([text])[0], default=0) < after.size
    if kind == "bytes":
        assert after.decode(after.encode([text])[0]) == before.decode(before.encode([text])[0])
    elif kind != "words" and before.unknown not in before.encode([text])[0]:
        assert after.unknown not in after.encode([text])[0]


@every_kind
def test_special_tokens_and_wrapping_stay(kind: str) -> None:
    before = whole(kind)
    after = with_tokens(before, choose_tokens(before, counted(before, CHINESE[:1])))
    assert after.size < before.size
    assert [after.token(number) for number in after.special_ids] == [before.token(number) for number in before.special_ids]
    for role in ("pad", "separator", "begin", "mask", "unknown"):
        ids = getattr(before, role), getattr(after, role)
        assert ids == (None, None) or before.token(ids[0]) == after.token(ids[1])
    wrapped = after.backend.encode(CHINESE[0], CHINESE[0]), before.backend.encode(CHINESE[0], CHINESE[0])
    assert wrapped[0].tokens == wrapped[1].tokens
    assert wrapped[0].ids == [after.id(token) for token in wrapped[0].tokens]


@pytest.mark.parametrize("processor", ["BertProcessing", "RobertaProcessing"])
def test_processors_that_name_ids_are_renumbered(processor: str) -> None:
    before = whole("wordpiece")
    backend = tokenizers.Tokenizer.from_str(before.backend.to_str())
    backend.post_processor = getattr(tokenizers.processors, processor)(("[SEP]", before.separator), ("[CLS]", before.begin))
    given_one = Tokenizer(backend, format=BERT)
    after = with_tokens(given_one, choose_tokens(given_one, counted(given_one, ENGLISH[:1])))
    assert after.backend.encode(ENGLISH[0]).tokens[0] == "[CLS]"
    assert after.backend.encode(ENGLISH[0]).ids[0] == after.begin


def test_a_share_or_a_number_keeps_the_most_frequent() -> None:
    before = whole("wordpiece")
    counts = counted(before, [*ENGLISH, *ENGLISH, CHINESE[0]])
    all_used = choose_tokens(before, counts, characters=False)
    must = set(choose_tokens(before, np.eye(1, before.size, before.pad, dtype=np.int64)[0], characters=False).tolist())
    fewer = choose_tokens(before, counts, characters=False, most=len(must) + 5)
    assert set(fewer) <= set(all_used)
    assert len(fewer) == len(must) + 5
    lost = set(all_used.tolist()) - set(fewer.tolist())
    assert min(counts[list(set(fewer.tolist()) - must)]) >= max(counts[list(lost)])
    twice = choose_tokens(before, counts, at_least=2, characters=False)
    assert all(counts[number] >= 2 for number in set(twice.tolist()) - must)
    with pytest.raises(PlumeError, match=r"too few.*characters=false"):
        choose_tokens(before, counts, most=3)
    with pytest.raises(PlumeError, match="nothing would be left"):
        choose_tokens(before, np.zeros_like(counts))


def test_forms_of_a_character_that_no_text_can_have_go() -> None:
    """BERT's Chinese vocabulary has ##京 beside 京, though every Chinese character is a word of its own."""
    file = json.loads(whole("wordpiece").backend.to_str())
    size = len(file["model"]["vocab"])
    file["model"]["vocab"] |= {"##京": size, "##€": size + 1, "É": size + 2, "[unused1]": size + 3, "##ß": size + 4, "ßx": size + 5}
    before = Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(file)), format=BERT)
    kept = choose_tokens(before, counted(before, ENGLISH[:1]))
    stays = {before.token(int(number)) for number in kept}
    assert not stays & {"##京", "É", "[unused1]"}
    assert {"京", "##ß", "ßx", "##€"} <= stays  # ß has no token at the start of a word: nothing else could stand for ßx


def test_merges_with_several_ways_to_a_token() -> None:
    """As the library merges, by rank and from the left; the other way to a token may go."""
    vocabulary = {token: number for number, token in enumerate(["<|endoftext|>", "a", "b", "c", "ab", "bc", "abc", "aa", "aab"])}
    model = tokenizers.models.BPE(vocab=vocabulary, merges=[("b", "c"), ("a", "b"), ("a", "bc"), ("ab", "c"), ("a", "a"), ("a", "ab")])
    before = Tokenizer(tokenizers.Tokenizer(model), format=GPT)
    for text in ("abc", "aab", "aaab", "abab", "aabc", "cabc"):
        ids = set(before.encode([text])[0])
        kept = choose_tokens(before, counted(before, [text]))
        after = with_tokens(before, kept)
        assert tokens(after, text) == tokens(before, text), text
        assert ids <= set(kept.tolist())
    after = with_tokens(before, choose_tokens(before, counted(before, ["abc"])))
    assert after.id("ab") is None


def test_words_that_were_added_go_when_unused() -> None:
    backend = tokenizers.Tokenizer.from_str(whole("unigram").backend.to_str())
    backend.add_tokens(["lighthouse", "mountaineer"])
    before = Tokenizer(backend, format=T5)
    after = with_tokens(before, choose_tokens(before, counted(before, ["the lighthouse"])))
    assert after.id("lighthouse") == after.size - 1
    assert after.id("mountaineer") is None
    assert tokens(after, "the lighthouse") == tokens(before, "the lighthouse")
    assert set(before.format.sentinel_tokens()) <= set(after.tokens())
