import random
from types import SimpleNamespace

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.data import lexicon as module
from plume.data.corpus import Corpus
from plume.data.lexicon import LexiconEntry, UnitKind, encoded_forms, mark_units, read_lexicon, unit_starts
from plume.data.phrases import Mining, lexicon_for
from plume.data.store import build_stores
from plume.text.words import Words


class TestLexiconFile:
    def test_entries_and_kinds(self, tmp_path):
        (tmp_path / "l.txt").write_text("New York\tentity\n\nby and large\n 北京大学 \tEntity\nby train\tphrase\n", encoding="utf-8")
        found = read_lexicon(tmp_path / "l.txt")
        assert [(entry.text, entry.kind.value) for entry in found] == [
            ("New York", "entity"), ("by and large", "phrase"), ("北京大学", "entity"), ("by train", "phrase"),
        ]  # fmt: skip

    @pytest.mark.parametrize(("text", "match"), [
        ("a b\nc d\tname\n", "line 2: the kind of 'c d' is 'name'"),
        ("a b\n\n\tentity\n", "line 3: a kind without an entry"),
        ("\n\n", "holds no entries"),
    ])  # fmt: skip
    def test_what_is_wrong(self, text, match, tmp_path):
        (tmp_path / "l.txt").write_text(text)
        with pytest.raises(PlumeError, match=match):
            read_lexicon(tmp_path / "l.txt")


def marked_by_loop(tokens, word_start, phrases):
    """Left to right, the longest first."""
    starts, here = list(word_start), 0
    while here < len(tokens):
        best = 0
        for phrase in phrases:
            size = len(phrase)
            fits = here + size < len(tokens) and word_start[here] and word_start[here + size]
            if fits and tuple(tokens[here : here + size]) == tuple(phrase):
                best = max(best, size)
        starts[here + 1 : here + best] = [False] * (best - 1 if best else 0)
        here += max(1, best)
    return starts


class TestMarking:
    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("chunk", [7, 1 << 20])
    def test_as_the_loop_marks(self, seed, chunk, monkeypatch):
        monkeypatch.setattr(module, "CHUNK", chunk)
        source = random.Random(seed)
        tokens = [source.randrange(4) for _ in range(600)] + [5]
        word_start = [source.random() < (1.0, 0.7)[seed % 2] for _ in range(600)] + [True]
        phrases = list({tuple(source.randrange(4) for _ in range(source.randint(2, 5))) for _ in range(25)})
        store = SimpleNamespace(tokens=np.array(tokens, np.uint16), word_start=np.array(word_start), vocabulary=6)
        found = unit_starts(store, phrases)
        assert found.tolist() == marked_by_loop(tokens, word_start, phrases)
        assert (found != store.word_start).sum() > 50

    def test_no_phrases(self):
        store = SimpleNamespace(tokens=np.arange(4, dtype=np.uint16), word_start=np.array([True, False, True, True]), vocabulary=4)
        assert unit_starts(store, []).tolist() == [True, False, True, True]

    @pytest.mark.parametrize("which", ["wordpiece", "byte_level"])
    def test_found_wherever_they_stand(self, which, write, tmp_path, request):
        tokenizer = request.getfixturevalue(which)
        corpus = write(
            [["Old stone bridges, old stone bridges.", "Rain falls over old stone bridges.", "我们研究语言模型。", "研究语言"]] * 120
        )
        store = build_stores(corpus, tokenizer, words=Words.SPACES, cache=tmp_path).train
        entries = [
            LexiconEntry(text="old stone bridges"),
            LexiconEntry(text="stone bridges"),
            LexiconEntry(text="研究语言"),
            LexiconEntry(text="rain", kind=UnitKind.ENTITY),
        ]
        units = mark_units(store, entries, tokenizer)
        first = np.arange(store.sentence_start[0], store.sentence_end[store.document_start[1] - 1])
        cuts = [place for place in first if units["phrase"][place]]
        pieces = [tokenizer.decode(store.tokens[a:b]).strip().lower() for a, b in zip(cuts, [*cuts[1:], first[-1] + 1], strict=True)]
        assert pieces.count("old stone bridges") == {"wordpiece": 3, "byte_level": 2}[which]  # cased: Old is another word
        assert pieces.count("stone bridges") == {"wordpiece": 0, "byte_level": 1}[which]
        if which == "wordpiece":
            assert pieces.count("研究语言") == 2

    def test_a_part_of_a_word_is_no_match(self, wordpiece):
        ids = wordpiece.encode(["believes unbelievable"])[0]
        store = SimpleNamespace(tokens=np.array([*ids, 3]), word_start=np.array([*(i == 0 for i in range(len(ids))), True]), vocabulary=200)
        assert unit_starts(store, [ids[1:3]]).tolist() == store.word_start.tolist()

    def test_phrases_stand_in_for_entities_of_a_script_that_has_none(self, wordpiece, write, tmp_path):
        store = build_stores(write([["研究语言模型 over old stone bridges."]] * 120), wordpiece, words=Words.SPACES, cache=tmp_path).train
        known = [LexiconEntry(text="研究语言"), LexiconEntry(text="over old"), LexiconEntry(text="stone bridges", kind=UnitKind.ENTITY)]
        units = mark_units(store, known, wordpiece)
        alone = {entry.text: unit_starts(store, encoded_forms([entry.text], wordpiece)) for entry in known}
        assert (units["phrase"] == (alone["研究语言"] & alone["over old"])).all()
        assert (units["entity"] == (alone["研究语言"] & alone["stone bridges"])).all()
        assert (units["phrase"] != units["entity"]).any()


def texts_with(phrases, *, seed=0, count=4000, words="abcdefghijklmnopqrstuvwxyz"):
    """Random words, and here and there a phrase."""
    source = random.Random(seed)
    for _ in range(count):
        line = [source.choice(words) for _ in range(8)]
        if source.random() < 0.1:
            line.insert(source.randrange(9), source.choice(phrases))
        yield line


class TestMining:
    def test_planted_phrases_are_found_and_nothing_else(self):
        phrases = ["deep learning", "wisdom of crowds", "New York", "state of the art"]
        found = Mining()(" ".join(line) for line in texts_with(phrases))
        assert {phrase.text: phrase.kind.value for phrase in found} == dict.fromkeys(phrases, "phrase") | {"New York": "entity"}
        assert all(70 < phrase.count < 130 for phrase in found)

    def test_chinese_by_character(self):
        characters = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"
        phrases = ["葡萄", "自然语", "北京大学"]
        found = Mining(chinese_togetherness=4.0)("".join(line) + "。" for line in texts_with(phrases, words=characters))
        assert {phrase.text for phrase in found} == set(phrases)
        assert {phrase.kind for phrase in found} == {UnitKind.PHRASE}

    def test_togetherness_is_the_worst_cut_in_nats(self):
        lines = [f"{a} x y z {a}" for a in "abcdefgh" for _ in range(5)] + [f"{a} x {a}" for a in "abcdefgh"]
        found = {phrase.text: phrase for phrase in Mining(togetherness=0.0, freedom=0.0)(lines)}
        total = 5 * 40 + 3 * 8
        assert found["x y z"].togetherness == pytest.approx(np.log(40 * total / (48 * 40)))  # x | y z; x y | z is higher
        assert found["x y z"].freedom == pytest.approx(np.log(8))
        assert "x y" not in found  # always inside x y z

    def test_punctuation_parts_phrases_and_frees_them(self):
        apart = Mining(togetherness=0.0)(["deep, learning; deep. learning"] * 20)
        assert apart == []
        found = Mining(togetherness=0.0)(["Deep learning. Deep learning."] * 20)
        assert [phrase.text for phrase in found] == ["Deep learning"]
        assert found[0].freedom == pytest.approx(np.log(40))  # every break is a neighbour of its own

    def test_rare_ones_are_not_phrases(self):
        lines = [f"{a} quantum foam {b}" for a, b in ("ab", "cd", "ef", "gh")]
        assert Mining(togetherness=0.0, freedom=0.0)(lines) == []
        assert [phrase.text for phrase in Mining(togetherness=0.0, freedom=0.0, least_count=4)(lines)] == ["quantum foam"]

    def test_chinese_names_are_entities_and_no_phrases(self, tmp_path):
        around = ["来", "去", "看", "说", "有", "是", "也", "不"]
        lines = [f"{one}机器翻译{other}。{other}张三丰{one}，{one}纽约{other}" for one in around for other in around]
        lines += ["".join(random.Random(n).choices("的一了在人我他这中上个和到们你地出得就那", k=60)) for n in range(200)]
        (tmp_path / "c.txt").write_text("\n".join(lines), encoding="utf-8")
        entries = lexicon_for(Corpus(tmp_path / "c.txt"), cache=tmp_path / "cache")
        kinds = {entry.text: entry.kind.value for entry in entries}
        assert kinds["张三丰"] == kinds["纽约"] == "entity"
        assert kinds["机器翻译"] == "phrase" and len(kinds) == len(entries)

    def test_what_was_found_is_kept_for_the_same_text(self, tmp_path, monkeypatch):
        (tmp_path / "c.txt").write_text("\n".join(" ".join(line) for line in texts_with(["deep learning", "New York"])))
        first = lexicon_for(Corpus(tmp_path / "c.txt"), cache=tmp_path / "cache")
        monkeypatch.setattr("plume.data.phrases.Mining", None)
        again = lexicon_for(Corpus(tmp_path / "c.txt"), cache=tmp_path / "cache")
        assert [(entry.text, entry.kind) for entry in again] == [(entry.text, entry.kind) for entry in first] != []
        (tmp_path / "c.txt").write_text("other text. " * 30)
        with pytest.raises(TypeError):
            lexicon_for(Corpus(tmp_path / "c.txt"), cache=tmp_path / "cache")

    def test_the_users_lexicon_comes_before_mining(self, tmp_path):
        (tmp_path / "c.txt").write_text("\n".join(" ".join(line) for line in texts_with(["deep learning", "New York", "by hand"])))
        (tmp_path / "l.txt").write_text("my phrase\n")
        corpus = Corpus(tmp_path / "c.txt")
        assert {entry.text for entry in lexicon_for(corpus)} == {"deep learning", "New York", "by hand"}
        assert [entry.text for entry in lexicon_for(corpus, tmp_path / "l.txt")] == ["my phrase"]
