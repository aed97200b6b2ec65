import json
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from plume.core.errors import PlumeError
from plume.core.part import part_from_json, replace
from plume.text.alphabet import count_characters, thin_unspaced
from plume.text.format import BERT, GPT, ROBERTA, Format
from plume.text.tokenizers import BPE, ByteLevelBPE, TokenizerSpec, Unigram, WordPiece

ALBERT = replace(BERT, pad="<pad>", unknown="<unk>")
CASES: list[tuple[TokenizerSpec, Format]] = [
    (WordPiece(vocabulary=400), BERT),
    (BPE(vocabulary=400), GPT),
    (ByteLevelBPE(vocabulary=500), ROBERTA),
    (Unigram(vocabulary=200), ALBERT),
]
NAMES = [type(spec).__name__ for spec, _ in CASES]


def vocabulary(tokenizer) -> list[str]:
    found = tokenizer.get_vocab(with_added_tokens=True)
    assert sorted(found.values()) == list(range(len(found)))
    return sorted(found, key=found.__getitem__)


@pytest.mark.parametrize(("spec", "form"), CASES, ids=NAMES)
def test_special_tokens_have_the_first_ids(spec, form, texts):
    tokens = vocabulary(spec.train(iter(texts), format=form))
    assert tuple(tokens[: len(form.specials())]) == form.specials()


@pytest.mark.parametrize(("spec", "form"), CASES, ids=NAMES)
def test_the_vocabulary_is_never_larger_than_asked_and_smaller_if_the_text_is_small(spec, form, texts):
    assert len(vocabulary(spec.train(iter(texts), format=form))) <= spec.vocabulary
    large = replace(spec, vocabulary=50_000)
    assert 30 < len(vocabulary(large.train(iter(texts), format=form))) < 5_000


def test_training_twice_gives_the_same_file(texts, tmp_path):
    """In two processes, because the library's hash tables are ordered anew in each."""
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    script = f"""
import hashlib, json
from plume.text.format import BERT, GPT, ROBERTA
from plume.text.tokenizers import *
texts = json.load(open({str(tmp_path / "texts.json")!r}))
specs = (WordPiece(vocabulary=300), BPE(vocabulary=300), ByteLevelBPE(vocabulary=400), Unigram(vocabulary=150))
for spec, form in zip(specs, (BERT, GPT, ROBERTA, BERT)):
    print(hashlib.sha256(spec.train(iter(texts), format=form).to_str().encode()).hexdigest())
"""
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout for _ in range(3)]
    assert runs[0].count("\n") == 4
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize(("spec", "form"), CASES, ids=NAMES)
def test_the_file_wraps_texts_in_transformers_as_the_format_says(spec, form, texts, tmp_path):
    made = spec.train(iter(texts), format=form)
    made.save(str(tmp_path / "tokenizer.json"))
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))

    def spelled(pattern):
        sides = {"A": "the fox", "B": "北京"}
        return [
            token for item in pattern for token in (made.encode(sides[item], add_special_tokens=False).tokens if item in sides else [item])
        ]

    single, pair = theirs("the fox"), theirs("the fox", "北京", return_token_type_ids=True)
    assert theirs.convert_ids_to_tokens(single["input_ids"]) == spelled(form.single)
    assert theirs.convert_ids_to_tokens(pair["input_ids"]) == spelled(form.pair)
    segments = pair["token_type_ids"]
    if form.segments:
        assert segments == sorted(segments)
        assert segments[0] == 0
        assert segments[-1] == 1
        assert sum(segments) == len(made.encode("北京", add_special_tokens=False).ids) + 1
    elif form is ROBERTA:
        assert set(segments) == {0}


def test_wordpiece_splits_chinese_by_character_and_english_in_pieces(texts):
    made = WordPiece(vocabulary=400).train(iter(texts), format=BERT)
    assert made.encode("北京大学", add_special_tokens=False).tokens == ["北", "京", "大", "学"]
    assert made.encode("Unbelieving", add_special_tokens=False).tokens[0].startswith("un")
    assert made.encode("Unbelieving", add_special_tokens=False).tokens[1].startswith("##")
    assert made.encode("café", add_special_tokens=False).ids == made.encode("CAFE", add_special_tokens=False).ids


def test_cased_wordpiece_keeps_capitals_and_accents(texts):
    made = WordPiece(vocabulary=500, lowercase=False).train(iter(texts), format=BERT)
    assert made.encode("The café", add_special_tokens=False).ids != made.encode("the cafe", add_special_tokens=False).ids
    assert "[UNK]" not in made.encode("The café", add_special_tokens=False).tokens


def test_every_kept_character_can_begin_and_continue_a_word(texts):
    made = WordPiece(vocabulary=400).train(iter(texts), format=BERT)
    assert "[UNK]" not in made.encode("zbzvq qqq xjx", add_special_tokens=False).tokens


def test_gpt_bpe_marks_word_ends_and_spends_one_place_on_a_chinese_character(texts):
    made = BPE(vocabulary=400).train(iter(texts), format=GPT)
    tokens = vocabulary(made)
    assert made.encode("the 北京").tokens == ["the</w>", "北</w>", "京</w>"]
    assert "北" not in tokens
    assert made.encode("🦉").tokens == ["<unk>"]


def test_byte_level_loses_nothing_and_begins_a_word_with_its_space(texts):
    made = ByteLevelBPE(vocabulary=500).train(iter(texts), format=GPT)
    strange = "Ünïcode 🦉 \t 龘  two  spaces\n"
    assert made.decode(made.encode(strange).ids) == strange
    assert made.encode("over the dog").tokens[-1].startswith("Ġ")


def test_byte_level_learns_chinese_words(texts):
    made = ByteLevelBPE(vocabulary=500).train(iter(texts), format=GPT)
    assert len(made.encode("北京大学").ids) <= 2  # twelve bytes


def test_unigram_pieces_stay_within_a_script_and_apart_from_punctuation(texts):
    tokens = vocabulary(Unigram(vocabulary=300).train(iter([f"{text} x{text}" for text in texts]), format=ALBERT))
    pieces = tokens[len(ALBERT.specials()) :]
    assert any(len(piece) > 1 for piece in pieces)
    for piece in pieces:
        body = piece.replace("▁", "")
        assert not (any("一" <= sign <= "龥" for sign in body) and any("a" <= sign <= "z" for sign in body)), piece
        assert len(body) == 1 or not any(sign in "，。.,!;:'" for sign in body), piece


def test_the_alphabet_takes_at_most_four_fifths_of_the_vocabulary_and_drops_the_rarest():
    common, rare = "天地玄黄宇宙洪荒日月盈昃辰宿列张", "龘靐齉"
    texts = [common * 50, rare * 2]
    all_kept = WordPiece(vocabulary=24).train(iter(texts), format=BERT)  # 19 of 24 places: all of them
    assert "[UNK]" not in all_kept.encode(common + rare, add_special_tokens=False).tokens
    bounded = WordPiece(vocabulary=21).train(iter(texts), format=BERT)  # 16 of 21 places
    assert bounded.encode(common, add_special_tokens=False).tokens == list(common)
    assert bounded.encode(rare, add_special_tokens=False).tokens == ["[UNK]"] * 3


def test_characters_that_are_one_in_ten_thousand_are_left_out_when_places_are_scarce():
    texts = ["天地" * 50_000, "龘"]
    assert "龘" not in WordPiece(vocabulary=10).train(iter(texts), format=BERT).get_vocab()  # a quarter of 10 places is always free: 2
    assert "龘" in WordPiece(vocabulary=20).train(iter(texts), format=BERT).get_vocab()


def test_a_vocabulary_smaller_than_the_alphabet_is_refused_with_the_size_needed(texts):
    with pytest.raises(PlumeError, match=r"ByteLevelBPE\(vocabulary=100\) is too small.*at least 257"):
        ByteLevelBPE(vocabulary=100).train(iter(texts), format=GPT)


def test_thinning_keeps_spaced_text_whole_and_bounds_the_rest():
    chinese, english = ["天地玄黄宇宙洪荒"] * 100, ["some english words"] * 10
    kept = thin_unspaced(chinese + english, limit=400)
    assert kept.count(english[0]) == 10
    assert kept.count(chinese[0]) == 50
    assert thin_unspaced(["x" * 1000] * 10, limit=5000) == ["x" * 1000] * 5


def test_characters_are_counted_over_batches():
    counts = count_characters(["ab" * 400_000, "b中" * 400_000, "b\ud800"])
    assert counts[ord("a")] == 400_000
    assert counts[ord("b")] == 800_001
    assert counts[ord("中")] == 400_000


def test_specs_are_parts():
    assert part_from_json(WordPiece(vocabulary=7).to_json()) == WordPiece(vocabulary=7)
    assert "torch" not in subprocess.run(
        [sys.executable, "-c", "import sys, plume.text.tokenizer, plume.data.store; print([m for m in sys.modules if m == 'torch'])"],
        capture_output=True, text=True, check=True, cwd=Path("/"),
    ).stdout  # fmt: skip
