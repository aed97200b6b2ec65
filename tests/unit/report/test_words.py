"""Both languages say the same things, and only what is said somewhere is written down."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

import plume.report
from plume.comparing.results import Control, Origin, Status, Verdict
from plume.core.errors import PlumeError
from plume.report.words import ALL, Wording
from plume.report.words_charts import WORDS as CHARTS
from plume.report.words_findings import WORDS as FINDINGS
from plume.report.words_page import WORDS as PAGE
from plume.report.words_records import WORDS as RECORDS


def placeholders(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)


def test_both_languages_have_every_text_with_the_same_placeholders() -> None:
    for key, texts in ALL.items():
        english, chinese = texts
        assert english and chinese, key
        counted = {"number"} if key.endswith("_one") else set()
        assert set(placeholders(english)) | counted == set(placeholders(chinese)) | counted, key


def test_chinese_is_chinese() -> None:
    latin = {"study.toml", "{name}（{note}）"}
    for key, (_, chinese) in ALL.items():
        bare = re.sub(r"\{\w+\}", "", chinese)
        assert re.search(r"[一-鿿，。；（）]", bare) or chinese in latin, key
        assert not re.search(r"[一-鿿][,;:?]", bare), f"{key}: a Western mark after a Chinese sign"


def test_a_key_stands_in_one_place() -> None:
    assert len(ALL) == len(PAGE) + len(FINDINGS) + len(CHARTS) + len(RECORDS)


def test_every_text_is_used() -> None:
    folder = Path(plume.report.__file__).parent
    code = "\n".join(path.read_text() for path in folder.rglob("*.py") if not path.name.startswith("words_"))
    made = r"kind_|machine_|origin_|measuring_|status_|verdict_|control_(scratch|static|tfidf|direct)|paid_|(speed|making)_(title|axis)"
    unused = [key for key in ALL if f'"{key.removesuffix("_one")}"' not in code and not re.match(made, key)]
    assert unused == []


@pytest.mark.parametrize("kind", [Control, Origin, Status, Verdict])
def test_every_word_of_the_records_is_there(kind: type[Control | Origin | Status | Verdict]) -> None:
    told = {Status.CANNOT: "not supported", Verdict.SAME: "not significant"}  # the records keep the words of earlier versions
    for member in kind:
        assert Wording("en").of(member) == told.get(member, member.value)
        assert Wording("zh").of(member) != member.value


def test_lists() -> None:
    assert Wording("en").list([]) == "" and Wording("en").list(["a"]) == "a"
    assert Wording("en").list(["a", "b"]) == "a and b"
    assert Wording("zh").list(["a", "b", "c"]) == "a、b 和 c"


def test_one_thing_in_english() -> None:
    assert Wording("en").count("seeds_count", 1) == "one seed"
    assert Wording("en").count("seeds_count", 1200) == "1,200 seeds"


def test_an_unknown_language_says_what_there_is() -> None:
    with pytest.raises(PlumeError, match=r"does not speak 'fr'.*en, zh"):
        Wording("fr")
