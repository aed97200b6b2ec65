"""Long texts cost time in proportion to their length: what is slow on long words never sees one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plume.text import tokenizers as module
from plume.text import words
from plume.text.alphabet import thin_unspaced
from plume.text.format import BERT, GPT
from plume.text.long_text import long_runs, parts, without_long_runs
from plume.text.tidy import tidy_spaces


@given(st.text(alphabet="ab e\u0301天 ", max_size=80), st.integers(2, 30))
def test_parts_lose_nothing_and_keep_to_the_bound(text, longest):
    found = list(parts(text, longest=longest))
    assert "".join(found) == text
    assert all(len(part) <= longest for part in found)


def test_parts_end_before_a_space_and_keep_accents():
    assert list(parts("ab cd ef gh", longest=6)) == ["ab cd", " ef gh"]
    assert list(parts("ne\u0301" * 3, longest=5)) == ["ne\u0301n", "e\u0301ne\u0301"]


@given(st.lists(st.sampled_from(["x" * 400, "天" * 30, " ", "y" * 999, "Qm9+" * 200]), max_size=12))
def test_runs_are_those_that_a_pattern_finds(pieces):
    text = "".join(pieces)
    assert list(long_runs(text)) == [match.span() for match in re.finditer(r"[^\s天]{1000,}", text)]


class Counted(str):
    """Counts the characters that are looked at through slices; compiled searches go on from there and never go back."""

    looked_at = 0

    def __getitem__(self, key):
        found = super().__getitem__(key)
        Counted.looked_at += len(found)
        return found


@pytest.mark.parametrize("unit", ["x", "天", "天地 ", "some words ", " "])
def test_looking_for_runs_looks_at_each_character_about_once(unit):
    text = Counted(unit * (50_000 // len(unit)))
    Counted.looked_at = 0
    list(long_runs(text))
    assert Counted.looked_at <= 1.1 * len(text)


@pytest.mark.parametrize("kind", ["WordPiece", "BPE", "ByteLevelBPE", "Unigram"])
def test_no_trainer_is_given_a_long_word(kind, monkeypatch):
    """Their time grows with the square of a word; ordinary words come whole."""
    seen = []

    class Apprentice:
        def __init__(self, made):
            self.made = made

        def __getattr__(self, name):
            return getattr(self.made, name)

        def train_from_iterator(self, texts, trainer):
            for text in texts:
                normal = self.made.normalizer.normalize_str(text) if self.made.normalizer else text
                seen.extend(word for word, _ in self.pre_tokenizer.pre_tokenize_str(normal))
            self.made.train_from_iterator(iter(["the cat"] * 9), trainer)

    class Library:
        def __call__(self, model):
            return tokenizers(model)

        def from_str(self, text):
            return Apprentice(tokenizers.from_str(text))

    tokenizers = module.Tokenizer
    monkeypatch.setattr(module, "Tokenizer", Library())
    texts = ["an ordinary sentence", "x" * 5_000, "天地玄黄" * 1_000, "e\u0301" * 2_000, "a" + " " * 5_000 + "b", "." * 5_000]
    getattr(module, kind)(vocabulary=600).train(iter(texts), format=GPT if kind == "ByteLevelBPE" else BERT)
    assert max(map(len, seen)) <= module.LONGEST_WORD
    assert any("ordinary" in word for word in seen)


def test_endless_runs_are_left_out_of_training_unless_there_is_nothing_else():
    run = "Qm9+" * 400
    assert thin_unspaced(["some text", f"see {run} there", run], limit=100) == ["some text", "see   there"]
    assert without_long_runs(run) == " "
    assert thin_unspaced([run], limit=10_000) == [run]


def test_jieba_s_model_is_given_short_runs(monkeypatch):
    given = []
    cutter = words._Cutter({"天": 5}, 10, lambda run: given.append(len(run)) or [run])
    assert "".join(cutter.cut("地" * 1_700)) == "地" * 1_700
    assert max(given) <= 500


def test_patterns_pass_over_a_run_once():
    """Each of these took the square of the length: at this size minutes, not milliseconds."""
    assert tidy_spaces("a" + " " * 400_000 + "b") == "a" + " " * 400_000 + "b"
    assert len(words.chinese_word_starts("x" * 400_000 + " 北京")) == 400_003
