"""CoNLL files as they come: four columns of English, characters with tabs, BMES, Weibo's digits, CoNLL-U; and what is wrong with them."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plume.core.errors import PlumeError
from plume.core.part import part_from_json
from plume.readers.conll import Conll, find_conll, join_words, looks_like_conll, read_conll
from plume.readers.example import Example, Reading
from plume.readers.schemes import Scheme, in_characters, spans_of

ENGLISH = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
German JJ I-NP I-MISC
call NN I-NP O
. . O O

Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER
London NNP I-NP I-LOC
Paris NNP I-NP B-LOC
"""
WEIBO = "科0\tO\n技1\tO\n6\u0030\tO\n～0\tO\n小0\tB-PER.NAM\n明1\tI-PER.NAM\nm33\tO\n\ufffd\ufffd0\tO\n\n口0\tI-PER.NOM\n腔1\tO\n"
CONLL_U = """# sent_id = 1
# a comment of any kind
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\tv\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tp\t_\t1\tobj\t_\t_
2.1\tfuimos\tir\tVERB\tv\t_\t_\t_\t_\t_
3\t10 000\t10000\tNUM\tn\t_\t1\tobj\t_\t_

# text = #
1\t#\t#\tSYM\ts\t_\t0\troot\t_\t_
"""


def write(tmp_path: Path, text: str, name: str = "train.conll") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


def read(
    tmp_path: Path, text: str, *, labelled: bool = True, plain: bool = False, column: int = -1, conll: Conll | None = None
) -> tuple[list[Example], Reading, Conll]:
    path = write(tmp_path, text)
    conll = conll or find_conll(path, plain=plain, column=column)
    reading = Reading(file=path)
    return list(read_conll(path, reading, labelled=labelled, conll=conll)), reading, conll


def entities(example: Example) -> list[tuple[str, str]]:
    (text,) = example.texts
    return [(text[span.start : span.end], span.label) for span in in_characters(spans_of(example.answer), example.words or ())]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", [" ", "\t", "   "])
def test_english_in_iob1(tmp_path: Path, end: str, separator: str) -> None:
    examples, reading, conll = read(tmp_path, ENGLISH.replace(" ", separator).replace("\n", end))
    assert conll == Conll(scheme=Scheme.IOB1)
    assert [example.texts for example in examples] == [("EU rejects German call .",), ("Peter Blackburn London Paris",)]
    assert [example.line for example in examples] == [3, 9]
    assert examples[0].answer == ("B-ORG", "O", "B-MISC", "O", "O")
    assert entities(examples[1]) == [("Peter Blackburn", "PER"), ("London", "LOC"), ("Paris", "LOC")]
    assert (reading.read, reading.mended, reading.skipped) == (2, {}, {})
    kind = "tabs" if separator == "\t" else "spaces"
    assert reading.format == f"CoNLL, columns separated by {kind}, word in column 1 of 4, tag in column 4, IOB1 tags"


@pytest.mark.parametrize("column", [2, -3])
def test_parts_of_speech_in_another_column(tmp_path: Path, column: int) -> None:
    examples, _, conll = read(tmp_path, ENGLISH, plain=True, column=column)
    assert conll.scheme is Scheme.PLAIN
    assert examples[0].answer == ("NNP", "VBZ", "JJ", "NN", ".")


def test_characters_with_digits_and_wide_spaces(tmp_path: Path) -> None:
    """No space between digits of one number; U+3000 and U+00A0 are characters of the text, not separators."""
    examples, _, conll = read(tmp_path, "2 O\n0 O\n年 O\n\u3000 O\n北 B-LOC\n京 I-LOC\n\u00a0 O\n。 O\n")
    assert conll == Conll(scheme=Scheme.BIO, characters=True)
    assert examples[0].texts == ("20年\u3000北京\u00a0。",)
    assert entities(examples[0]) == [("北京", "LOC")]


def test_bmes(tmp_path: Path) -> None:
    examples, reading, conll = read(tmp_path, "北 B-LOC\n京 M-LOC\n市 E-LOC\n我 S-PER\n\n工 M-TITLE\n人 E-TITLE\n")
    assert conll.scheme is Scheme.BIOES
    assert examples[0].answer == ("B-LOC", "I-LOC", "I-LOC", "B-PER")
    assert examples[1].answer == ("B-TITLE", "I-TITLE")
    assert reading.mended == {"tags that break the scheme": 1}
    assert reading.where == {"tags that break the scheme": "train.conll, sentence of line 6"}


def test_letters_alone_are_segmentation(tmp_path: Path) -> None:
    examples, _, conll = read(tmp_path, "共\tB\n同\tE\n的\tS\n新\tB\n世\tM\n纪\tE\n")
    assert conll.scheme is Scheme.BIOES
    assert entities(examples[0]) == [("共同", "W"), ("的", "W"), ("新世纪", "W")]


def test_weibo(tmp_path: Path) -> None:
    examples, reading, conll = read(tmp_path, WEIBO)
    assert conll == Conll(scheme=Scheme.BIO, characters=True, marked=True)
    assert [example.texts[0] for example in examples] == ["科技6～小明m\ufffd\ufffd", "口腔"]
    assert entities(examples[0]) == [("小明", "PER.NAM")]
    assert reading.mended == {"tags that break the scheme": 1}
    assert "digits behind each character" in reading.format
    later, _, _ = read(tmp_path, "小\n明\n", labelled=False, conll=conll)  # to be predicted, without digits
    assert later[0].texts == ("小明",)


def test_one_word_without_a_digit_is_not_weibo(tmp_path: Path) -> None:
    examples, _, conll = read(tmp_path, "A1\tO\nB2\tO\nx\tO\n")
    assert not conll.marked
    assert examples[0].texts == ("A1 B2 x",)


def test_conll_u(tmp_path: Path) -> None:
    examples, reading, _ = read(tmp_path, CONLL_U, plain=True)
    assert [(example.texts[0], example.answer, example.line) for example in examples] == [
        ("vamos nos 10 000", ("VERB", "PRON", "NUM"), 4),
        ("#", ("SYM",), 10),
    ]
    assert "word in column 2 of 10, tag in column 4" in reading.format
    examples, _, _ = read(tmp_path, CONLL_U, plain=True, column=5)
    assert examples[0].answer == ("v", "p", "n")


@pytest.mark.parametrize("text", ["# O\ntag B-X\n", "#\tO\ntag\tB-X\n", "# id = 7\n# O\ntag B-X\n", "# any remark\n#\tO\ntag\tB-X\n"])
def test_a_hash_may_be_a_word(tmp_path: Path, text: str) -> None:
    examples, _, _ = read(tmp_path, text)
    assert [example.texts[0] for example in examples] == ["# tag"]


def test_words_to_be_predicted(tmp_path: Path) -> None:
    examples, reading, _ = read(tmp_path, "Peter\nsleeps\n\nEU\n", labelled=False, conll=Conll(scheme=Scheme.BIO))
    assert [(example.texts[0], example.answer, example.words) for example in examples] == [
        ("Peter sleeps", None, ((0, 5), (6, 12))),
        ("EU", None, ((0, 2),)),
    ]
    assert reading.format == "CoNLL, words only"
    examples, _, _ = read(tmp_path, ENGLISH, labelled=False, conll=Conll(scheme=Scheme.BIO))
    assert examples[1].texts == ("Peter Blackburn London Paris",)


def test_a_later_file_may_be_written_otherwise(tmp_path: Path) -> None:
    """Trained on two columns with a space; the test file has four, with tabs."""
    _, _, conll = read(tmp_path, "EU I-ORG\nrejects O\n")
    examples, _, _ = read(tmp_path, ENGLISH.replace(" ", "\t"), conll=conll)
    assert entities(examples[0]) == [("EU", "ORG"), ("German", "MISC")]


def test_lines_without_a_word_are_counted(tmp_path: Path) -> None:
    for separator in " ", "\t":
        examples, reading, _ = read(tmp_path, "我|O\n|O\n你|O\n\n|O\n".replace("|", separator))
        assert [example.texts[0] for example in examples] == ["我你"]
        assert reading.mended == {"a line without a word is passed over": 2}
        assert reading.where["a line without a word is passed over"] == "train.conll, line 2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("EU B-ORG\nrejects\n", r"line 2: found 1 column, expected 2"),
        ("EU\tB-ORG\nrejects\tVBZ\tO\n", r"line 2: found 3 columns, expected 2, .* tabs"),
        ("EU\nrejects\n", r"line 1: found one column \('EU'\), expected a word and its tag"),
        ("EU B-ORG\nrejects O\n\nGerman B_MISC\n", r"line 4: 'B_MISC' is no tag: write B-MISC"),
        ("EU B-ORG\nrejects 0\n", r"line 2: '0' is no tag: .*letter O"),
        ("EU B-ORG\nrejects VBZ\n", r"line 2: 'VBZ' is no tag\. Tags look like B-PER, .*another column.*--task pos"),
        ("EU NNP\nrejects VBZ\n", r"line 1: 'NNP' is no tag"),
        ("EU\tB-ORG\tx\nrejects\t\tx\n", r"line 1: 'x' is no tag"),
        ("EU B-ORG\nrejects I\n", r"line 2: 'I' has no type"),
        ("-DOCSTART- -X- O O\n\n\n", r"holds no tagged word"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PlumeError, match=message):
        read(tmp_path, text)


@pytest.mark.parametrize("column", [0, 1, 5, -4])
def test_a_column_that_is_not_there(tmp_path: Path, column: int) -> None:
    with pytest.raises(PlumeError, match=rf"line 3: no tag in column {column}: there are 4"):
        read(tmp_path, ENGLISH, column=column)


def test_an_empty_tag(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="line 2: the tag, in column 2, is empty"):
        read(tmp_path, "EU\tNNP\tO\nrejects\t\tO\n", plain=True, column=2)


def test_a_file_of_hashes(tmp_path: Path) -> None:
    examples, _, _ = read(tmp_path, "# O\n\n# B-X\n")
    assert [example.answer for example in examples] == [("O",), ("B-X",)]


def test_a_wrong_tag_in_a_later_file(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="line 2: 'PER-B' is no tag: write B-PER"):
        read(tmp_path, "EU B-ORG\nPeter PER-B\n", conll=Conll(scheme=Scheme.BIO))


def test_kept_as_json() -> None:
    conll = Conll(scheme=Scheme.IOB1, column=4, marked=True)
    assert part_from_json(conll.to_json()) == conll


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "train.conll.gz"
    path.write_bytes(gzip.compress(ENGLISH.encode()))
    assert find_conll(path, plain=False).scheme is Scheme.IOB1
    assert looks_like_conll(path)


def test_reading_is_lazy(tmp_path: Path) -> None:
    """The first sentence is there before a mistake far behind is met."""
    path = write(tmp_path, "EU B-ORG\n\n" * 3 + "broken\n")
    examples = read_conll(path, Reading(file=path), labelled=True, conll=Conll(scheme=Scheme.BIO))
    assert next(examples).texts == ("EU",)
    with pytest.raises(PlumeError, match="line 7"):
        list(examples)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ENGLISH, True),
        (WEIBO, True),
        (CONLL_U, True),
        ("EU B-ORG\nrejects O\n", True),
        ("EU NNP\nrejects VBZ\n\nGerman JJ\n", True),
        ("Peter\nsleeps\n.\n\nEU\nrejects\nit\n", True),
        ("Peter\nsleeps\n\nEU\n", False),
        ("小\n明\n来\n\n北\n京\n大\n学\n", True),
        ("你好\n\n谢谢\n\n再见\n", False),
        ("你好\n谢谢\n\n再见\n好的\n", False),
        ("小\n明\n来\n了\n\n今天早上北京下了很大的雨\n好\n", False),
        ("小明在北京大学读书\n我们喜欢自然语言\n\n今天早上下雨\n", False),
        ("Peter sleeps\n\nEU rejects German call\n", False),
        ("a good film\t1\na bad one\t0\n\nhm\t0\n", False),
        ("好\t1\n坏\t0\n", False),
        ('{"text": "a"}\n', False),
        ('["a"]\n\n["b"]\n', False),
        ("[ O\nEU B-ORG\n", True),
        ("共同 创造 美好\n新 世纪\n", False),
    ],
)
def test_telling_conll_from_other_text(tmp_path: Path, text: str, expected: bool) -> None:
    assert looks_like_conll(write(tmp_path, text, "train.txt")) is expected


@pytest.mark.parametrize(("name", "expected"), [("a.txt", False), ("a.bmes", True), ("a.conll.gz", True), ("a.CONLL03", True)])
def test_words_alone_are_told_by_the_name(tmp_path: Path, name: str, expected: bool) -> None:
    text = "你好\n\n谢谢\n\n再见\n".encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert looks_like_conll(path) is expected


@pytest.mark.parametrize(
    ("words", "characters", "text"),
    [
        (["EU", "rejects", "."], False, "EU rejects ."),
        (["北京", "大学", "，", "カフェ", "（", "です"], False, "北京大学，カフェ（です"),
        (["在", "2008", "年"], False, "在 2008 年"),
        (["한국", "사람"], False, "한국 사람"),
        (["２", "０", "8", "%", "N", "B", "A"], True, "２０8%NBA"),
        (["看", "NBA", "live", "5", "了"], True, "看NBA live5了"),
    ],
)
def test_spaces_where_a_writer_puts_them(words: list[str], characters: bool, text: str) -> None:
    assert join_words(words, characters=characters)[0] == text


WORDS = st.lists(
    st.text(st.characters(exclude_characters=" \t\n\r\0", exclude_categories=("Cs",)), min_size=1, max_size=4), min_size=1, max_size=8
)


@given(WORDS, st.booleans())
def test_words_stand_where_it_is_said(words: list[str], characters: bool) -> None:
    text, places = join_words(words, characters=characters)
    assert [text[start:end] for start, end in places] == words
    between = [text[end:start] for (_, end), (start, _) in itertools.pairwise(places)]
    assert set(between) <= {"", " "}
    assert (places[0][0], places[-1][1]) == (0, len(text))


@given(st.lists(WORDS, min_size=1, max_size=4))
def test_any_words_come_through_a_file(tmp_path_factory: pytest.TempPathFactory, sentences: list[list[str]]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.conll"
    path.write_bytes("\n".join("".join(f"{word}\tO\n" for word in words) for words in sentences).encode())
    if any(words[0].startswith(("\ufeff", "-DOCSTART-")) for words in sentences):
        return
    conll = Conll(scheme=Scheme.BIO)
    examples = read_conll(path, Reading(file=path), labelled=True, conll=conll)
    assert [[one.texts[0][start:end] for start, end in one.words or ()] for one in examples] == sentences
