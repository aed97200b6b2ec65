import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plume.text.alphabet import count_characters
from plume.text.languages import count_words, han_mask, has_han, is_han, language_mix, mix_of_counts
from plume.text.tidy import tidy_spaces


def test_letters_are_counted_by_script():
    mix = language_mix("Größe 3 大学，Привет! 㐀𠀀〇")
    assert (mix.han, mix.latin, mix.other) == (5, 5, 6)
    assert mix.share(mix.han) == 5 / 16


@settings(deadline=None)
@given(st.text(max_size=50))
def test_counting_code_points_gives_the_same_mix(text):
    assert mix_of_counts(count_characters([text])) == language_mix(text)


@settings(deadline=None)
@given(st.characters(codec="utf-8"))
def test_han_over_arrays_and_strings_agree(character):
    assert bool(han_mask(np.array([ord(character)]))[0]) == is_han(character) == has_han(character)


@pytest.mark.parametrize(("text", "words"), [("", 0), ("two words", 2), ("don't 3.5", 4), ("我爱你", 3), ("我love你 ok", 4), ("…！", 0)])
def test_words(text, words):
    assert count_words(text) == words


@pytest.mark.parametrize(
    ("spaced", "tidy"),
    [
        ("我 爱 北 京 。", "我爱北京。"),
        ("我 用 python 编 程 ， 你 呢 ？", "我用 python 编程，你呢？"),
        ("他 说 ： “ 好 。 ” 完", "他说：“好。”完"),
        ("he said “ yes ” and left", "he said “ yes ” and left"),
        ("it doesn ' t matter , they ' re ( almost ) done .", "it doesn't matter, they're (almost) done."),
        ("plain text stays", "plain text stays"),
    ],
)
def test_spaces_nobody_writes_are_taken_out(spaced, tidy):
    assert tidy_spaces(spaced) == tidy
