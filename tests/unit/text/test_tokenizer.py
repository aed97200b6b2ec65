import json

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertTokenizer, GPT2Tokenizer

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.text.format import BERT, GPT, ROBERTA
from plume.text.pieces import Joined, group_chinese_words
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import BPE, ByteLevelBPE, Unigram, WordPiece
from plume.text.words import Words

SAMPLES = [
    "The quick café: unbelieved!",
    "我来到北京清华大学, believing 它。",
    "tabs\tand\u00a0odd\u200bspaces\u3000here",
    "CJK扩展㐀and𠀀 and Ünïcödé",
    "a" * 150 + " the fox",
    "",
    "[MASK] the [SEP]",
]


@pytest.fixture(scope="module")
def wordpiece(texts) -> Tokenizer:
    return Tokenizer(WordPiece(vocabulary=400).train(iter(texts), format=BERT), format=BERT)


@pytest.fixture(scope="module")
def byte_level(texts) -> Tokenizer:
    return Tokenizer(ByteLevelBPE(vocabulary=500).train(iter(texts), format=ROBERTA), format=ROBERTA)


@pytest.fixture(scope="module")
def unigram(texts) -> Tokenizer:
    return Tokenizer(Unigram(vocabulary=300).train(iter(texts), format=ROBERTA), format=ROBERTA)


def words_of(tokenizer: Tokenizer, text: str, words: Words = Words.SPACES) -> list[str]:
    """The stretches of the text that word starts make of it."""
    pieces = tokenizer.encode_pieces([text], words=words)[0]
    first = np.flatnonzero(pieces.word_start)
    last = np.append(first[1:], len(pieces.ids)) - 1
    return [text[start:end].strip() for start, end in zip(pieces.start[first], pieces.end[last], strict=True)]


class TestRoles:
    def test_ids_of_the_roles(self, wordpiece, byte_level):
        assert (wordpiece.pad, wordpiece.unknown, wordpiece.begin, wordpiece.separator, wordpiece.mask) == (0, 1, 2, 3, 4)
        assert (byte_level.begin, byte_level.pad, byte_level.separator, byte_level.unknown, byte_level.mask) == (0, 1, 2, 3, 4)
        assert wordpiece.special_ids.tolist() == [0, 1, 2, 3, 4]

    def test_an_unknown_word_is_text_unless_its_token_has_a_second_role(self, wordpiece, texts):
        assert wordpiece.structural_ids.tolist() == [0, 2, 3, 4]
        form = replace(GPT, unknown="<|endoftext|>")
        gpt = Tokenizer(ByteLevelBPE(vocabulary=300).train(iter(texts), format=form), format=form)
        assert gpt.unknown in gpt.structural_ids

    def test_a_family_without_a_mask_has_none(self, texts):
        gpt = Tokenizer(ByteLevelBPE(vocabulary=300).train(iter(texts), format=GPT), format=GPT)
        assert (gpt.pad, gpt.separator, gpt.mask, gpt.begin, gpt.unknown) == (0, 0, None, None, None)

    @pytest.mark.parametrize("spec", [BPE(vocabulary=400), Unigram(vocabulary=300)])
    def test_a_model_that_needs_an_unknown_token_has_one_although_the_family_names_none(self, spec, texts):
        gpt = Tokenizer(spec.train(iter(texts), format=GPT), format=GPT)
        assert gpt.unknown == gpt.id("<unk>") == 1

    def test_token_and_id(self, wordpiece):
        assert wordpiece.token(wordpiece.id("the")) == "the"
        assert wordpiece.id("no such token") is None
        with pytest.raises(PlumeError, match=rf"no token with id 999999.*0 to {wordpiece.size - 1}"):
            wordpiece.token(999_999)


class TestLoading:
    def test_save_and_load(self, wordpiece, tmp_path):
        wordpiece.save(tmp_path)
        for path in (tmp_path, tmp_path / "tokenizer.json", str(tmp_path)):
            loaded = Tokenizer.load(path, format=BERT)
            assert loaded.fingerprint == wordpiece.fingerprint
            assert loaded.encode(SAMPLES) == wordpiece.encode(SAMPLES)
        assert [file.name for file in tmp_path.iterdir()] == ["tokenizer.json"]

    def test_fingerprints_differ(self, wordpiece, texts):
        other = Tokenizer(WordPiece(vocabulary=150).train(iter(texts), format=BERT), format=BERT)
        assert other.fingerprint != wordpiece.fingerprint

    @pytest.mark.parametrize("lowercase", [True, False])
    @pytest.mark.parametrize("ending", ["\n", "\r\n"])
    def test_vocab_txt_equals_transformers(self, lowercase, ending, texts, tmp_path):
        trained = WordPiece(vocabulary=400, lowercase=lowercase).train(iter(texts), format=BERT).get_vocab()
        lines = sorted(trained, key=trained.__getitem__)
        (tmp_path / "vocab.txt").write_bytes("".join(line + ending for line in lines).encode())
        theirs = BertTokenizer(vocab=trained, do_lower_case=lowercase)
        for path in (tmp_path, tmp_path / "vocab.txt"):
            ours = Tokenizer.load(path, format=BERT)
            assert ours.size == len(lines)
            assert ours.encode(SAMPLES, allow_special=True) == [theirs.encode(text, add_special_tokens=False) for text in SAMPLES]
            wrapped = ours.backend.encode("the fox", "北京")
            assert wrapped.ids == theirs("the fox", "北京")["input_ids"]
            assert wrapped.type_ids == theirs("the fox", "北京", return_token_type_ids=True)["token_type_ids"]

    def test_tokenizer_config_beats_the_guess_about_capitals(self, texts, tmp_path):
        trained = WordPiece(vocabulary=400).train(iter(texts), format=BERT).get_vocab()
        (tmp_path / "vocab.txt").write_text("\n".join(sorted(trained, key=trained.__getitem__)), encoding="utf-8")
        assert Tokenizer.load(tmp_path, format=BERT).encode(["The"]) == [[trained["the"]]]
        (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
        assert Tokenizer.load(tmp_path, format=BERT).encode(["The"]) != [[trained["the"]]]

    def test_vocab_json_and_merges_equal_transformers(self, texts, tmp_path):
        model = json.loads(ByteLevelBPE(vocabulary=500).train(iter(texts), format=GPT).to_str())["model"]
        (tmp_path / "vocab.json").write_text(json.dumps(model["vocab"]))
        merges = [" ".join(pair) for pair in model["merges"]]
        (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
        ours = Tokenizer.load(tmp_path, format=GPT)
        theirs = GPT2Tokenizer(vocab=model["vocab"], merges=[tuple(pair) for pair in model["merges"]])
        assert ours.encode(SAMPLES) == [theirs.encode(text) for text in SAMPLES]

    def test_truncation_and_padding_in_the_file_are_switched_off(self, wordpiece, tmp_path):
        backend = tokenizers.Tokenizer.from_str(wordpiece.backend.to_str())
        backend.enable_truncation(4)
        backend.enable_padding(length=32)
        backend.save(str(tmp_path / "tokenizer.json"))
        loaded = Tokenizer.load(tmp_path, format=BERT)
        assert loaded.encode(SAMPLES) == wordpiece.encode(SAMPLES)
        assert loaded.fingerprint == wordpiece.fingerprint

    def test_specials_that_a_file_has_as_plain_tokens_become_special(self, texts, tmp_path):
        plain = tokenizers.Tokenizer(
            tokenizers.models.WordPiece(vocab={t: i for i, t in enumerate([*BERT.specials(), "a"])}, unk_token="[UNK]")
        )
        plain.save(str(tmp_path / "tokenizer.json"))
        loaded = Tokenizer.load(tmp_path, format=BERT)
        assert loaded.special_ids.tolist() == [0, 1, 2, 3, 4]
        assert loaded.size == 6


class TestErrors:
    def test_a_missing_special_token_is_named_with_what_was_found(self, byte_level, tmp_path):
        byte_level.save(tmp_path)
        with pytest.raises(
            PlumeError, match=r"\[PAD\] or \[UNK\] or \[CLS\] or \[SEP\] or \[MASK\].*found: <s>, <pad>, </s>, <unk>, <mask>"
        ):
            Tokenizer.load(tmp_path, format=BERT)

    def test_vocab_txt_without_the_mask(self, tmp_path):
        (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n")
        with pytest.raises(PlumeError, match=r"no token \[MASK\],"):
            Tokenizer.load(tmp_path, format=BERT)

    def test_files_that_are_no_tokenizer(self, tmp_path):
        with pytest.raises(PlumeError, match="does not exist"):
            Tokenizer.load(tmp_path / "nothing", format=BERT)
        with pytest.raises(PlumeError, match=r"holds no tokenizer.*found nothing"):
            Tokenizer.load(tmp_path, format=BERT)
        (tmp_path / "tokenizer.json").write_text('{"version": "1.0"}')
        with pytest.raises(PlumeError, match=r"tokenizer\.json is not a tokenizer file"):
            Tokenizer.load(tmp_path, format=BERT)
        (tmp_path / "x.txt").write_text("no special tokens\nhere\n")
        with pytest.raises(PlumeError, match=r"no line \[UNK\]"):
            Tokenizer.load(tmp_path / "x.txt", format=BERT)
        (tmp_path / "x.txt").write_bytes(b"[UNK]\n\xff\xfe\n")
        with pytest.raises(PlumeError, match="not UTF-8"):
            Tokenizer.load(tmp_path / "x.txt", format=BERT)

    def test_sentencepiece_says_how_to_convert(self, tmp_path):
        (tmp_path / "spiece.model").write_bytes(b"\x0a\x0e")
        with pytest.raises(PlumeError, match=r"save_pretrained.*writes a tokenizer\.json"):
            Tokenizer.load(tmp_path, format=BERT)


class TestEncoding:
    def test_special_tokens_written_in_text_are_plain_text_unless_allowed(self, wordpiece, byte_level):
        for tokenizer, text in ((wordpiece, "the [MASK] fox"), (byte_level, "the <mask> fox")):
            assert tokenizer.mask not in tokenizer.encode([text])[0]
            assert tokenizer.encode([text], allow_special=True)[0].count(tokenizer.mask) == 1
        pieces = wordpiece.encode_pieces(["the [MASK][MASK] fox"], allow_special=True)[0]
        assert pieces.word_start.all()
        assert pieces.start.tolist() == [0, 4, 10, 17]

    @pytest.mark.parametrize("name", ["wordpiece", "byte_level", "unigram"])
    def test_offsets_point_at_the_original_characters(self, name, request):
        tokenizer = request.getfixturevalue(name)
        text = "Ünbelieved 𠀀 café,  北京大学 the fox"
        pieces = tokenizer.encode_pieces([text])[0]
        for number, start, end in zip(pieces.ids, pieces.start, pieces.end, strict=True):
            if (plain := tokenizer.token(number).strip("Ġ▁#")) in ("the", "大", "京", "fox", ","):
                assert text[start:end] == plain
        assert text[pieces.end[-1] - 1] == "x"
        joined = "".join(text[start:end] for start, end in dict.fromkeys(zip(pieces.start.tolist(), pieces.end.tolist(), strict=True)))
        assert joined.replace(" ", "") == text.replace(" ", "")

    @settings(max_examples=60, deadline=None)
    @given(text=st.text(alphabet="the foxbl .,'é北京大学清华🦉\n　", max_size=40))
    def test_pieces_agree_with_plain_encoding_and_lie_within_the_text(self, text, wordpiece, byte_level, unigram):
        for tokenizer in (wordpiece, byte_level, unigram):
            for words in Words:
                pieces = tokenizer.encode_pieces([text, "the fox"], words=words)[0]
                assert pieces.ids.tolist() == tokenizer.encode([text])[0]
                assert (pieces.start >= 0).all()
                assert (pieces.end <= len(text)).all()
                assert (pieces.start <= pieces.end).all()
                assert pieces.word_start[:1].all()

    def test_half_a_surrogate_pair_does_not_stop_it(self, byte_level):
        assert byte_level.encode(["a\ud800b"]) == byte_level.encode(["a\ufffdb"])
        assert len(byte_level.encode_pieces(["a\ud800b"])[0].ids) == 5

    def test_many_texts_at_once_are_the_same_as_one_by_one(self, wordpiece):
        together = wordpiece.encode_pieces(SAMPLES, words=Words.JIEBA)
        for text, pieces in zip(SAMPLES, together, strict=True):
            alone = wordpiece.encode_pieces([text], words=Words.JIEBA)[0]
            for field in ("ids", "word_start", "start", "end"):
                assert getattr(pieces, field).tolist() == getattr(alone, field).tolist()


class TestWordStarts:
    def test_pieces_of_an_english_word_stay_together(self, wordpiece, byte_level, unigram):
        for tokenizer in (wordpiece, byte_level):
            assert words_of(tokenizer, "The unbelieved fox, zzyzx!") == ["The", "unbelieved", "fox", ",", "zzyzx", "!"]
        assert words_of(unigram, "The unbelieved fox zzyzx") == ["The", "unbelieved", "fox", "zzyzx"]
        assert len(wordpiece.encode(["unbelieved zzyzx"])[0]) > 4

    def test_by_spaces_each_chinese_character_is_a_word(self, wordpiece):
        assert words_of(wordpiece, "我在北京 the fox 学") == ["我", "在", "北", "京", "the", "fox", "学"]

    def test_chinese_pieces_are_words_and_a_latin_word_begins_after_them(self, byte_level):
        assert words_of(byte_level, "北京大学thezz清华大学") == ["北京大学", "thezz", "清华大学"]

    def test_bytes_of_one_character_are_one_word(self, byte_level):
        pieces = byte_level.encode_pieces(["龘龘"])[0]
        assert len(pieces.ids) == 6
        assert pieces.word_start.tolist() == [True, False, False, True, False, False]

    def test_jieba_groups_chinese_words_and_leaves_english_alone(self, wordpiece):
        text = "我来到北京清华大学, the unbelieved 大学生 fox在公园散步。"
        expected = ["我", "来到", "北京", "清华大学", ",", "the", "unbelieved", "大学生", "fox", "在", "公园", "散步", "。"]
        assert words_of(wordpiece, text, Words.JIEBA) == expected

    def test_jieba_words_with_latin_letters_are_one_word(self, wordpiece):
        assert words_of(wordpiece, "买了T恤，A股大涨", Words.JIEBA) == ["买", "了", "T恤", "，", "A股", "大涨"]
        assert words_of(wordpiece, "买了T恤", Words.SPACES) == ["买", "了", "T", "恤"]

    def test_the_first_token_begins_a_word_even_if_what_was_before_it_is_lost(self):
        one, places = np.array([7]), np.array([0, 1])
        joined = Joined(
            ids=one, word_start=one > 0, start=np.array([1]), end=np.array([2]), token_bounds=places, character_bounds=2 * places
        )
        assert group_chinese_words(joined, ["北京"]).tolist() == [True]

    def test_jieba_with_pieces_that_span_characters(self, byte_level, unigram):
        for tokenizer in (byte_level, unigram):
            assert words_of(tokenizer, "学习清华大学", Words.JIEBA) == ["学习", "清华大学"]


class TestDecoding:
    def test_chinese_comes_back_without_spaces(self, wordpiece, texts):
        for text in ("我来到北京清华大学，学习语言。", "the fox 在 北京 the dog。"):
            assert wordpiece.decode(wordpiece.encode([text])[0]).replace("在 北", "在北") == text.replace("在 北", "在北")
        gpt = Tokenizer(BPE(vocabulary=400).train(iter(texts), format=GPT), format=GPT)
        assert gpt.decode(gpt.encode(["北京大学，the fox."])[0]) == "北京大学，the fox."

    def test_spaces_that_a_byte_level_text_has_are_kept(self, byte_level):
        text = "北 京 , the  fox ."
        assert byte_level.decode(byte_level.encode([text])[0]) == text

    def test_special_tokens_are_left_out_unless_asked_for(self, wordpiece):
        ids = [wordpiece.begin, *wordpiece.encode(["the fox"])[0], wordpiece.separator]
        assert wordpiece.decode(np.array(ids)) == "the fox"
        assert wordpiece.decode(ids, skip_special=False) == "[CLS] the fox [SEP]"

    @settings(max_examples=60, deadline=None)
    @given(text=st.text(max_size=60))
    def test_byte_level_gives_any_text_back(self, text, byte_level):
        assert byte_level.decode(byte_level.encode([text])[0]) == text


def test_formats_with_other_tokens_work_too(texts):
    form = replace(BERT, pad="<pad>", unknown="<unk>", order=("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "<extra>"))
    tokenizer = Tokenizer(Unigram(vocabulary=200).train(iter(texts), format=form), format=form)
    assert tokenizer.id("<extra>") == 5
    assert 5 in tokenizer.special_ids
