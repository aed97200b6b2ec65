"""The store: what goes in comes out, ids stay, edits are whole, and what is wrong with a file is said with its line."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.kb.building import Literals, Sources, build
from plume.kb.names import normalised
from plume.kb.store import Edit, KnowledgeBase, Triple
from plume.kb.used import KnowledgeUsed

FILMS = "Inception\tdirected by\tChristopher Nolan\nInception\tyear\t2010\nHeat\tdirected by\tMichael Mann\nHeat\tyear\t1995\n"


def made(folder: Path, text: str, name: str = "kb", *, file: str = "triples.tsv", **options: object) -> KnowledgeBase:
    (folder / file).write_text(text, encoding="utf-8")
    return build([folder / file], folder / name, **options)  # type: ignore[arg-type]


def test_triples_come_once_and_sorted(tmp_path: Path) -> None:
    kb = made(tmp_path, FILMS + "Heat\tyear\t1995\n")
    assert kb.count == 4 and len(kb) == 6 and kb.relations == ("directed by", "year")
    assert kb.triples().tolist() == sorted(kb.triples().tolist()) and kb.triples().dtype == np.int32
    assert kb.facts("Heat") == [Triple(3, 0, 4), Triple(3, 1, 5)] and kb.facts_about("1995") == [Triple(3, 1, 5)]
    assert kb.follow(3, 0) == [4] and kb.follow(4, 0, inverse=True) == [3]


def test_files_of_every_format_say_the_same(tmp_path: Path) -> None:
    bars = made(tmp_path, "甲 ||| 作者 ||| 乙\n甲 ||| 年 ||| 1995\n", "a", file="a.txt", literals=Literals.LEAVES)
    lines = made(
        tmp_path,
        '{"subject": "甲", "predicate": "作者", "object": "乙", "literal": true}\n{"s": "甲", "p": "年", "o": 1995, "literal": true}\n',
        "b",
        file="b.jsonl",
    )
    assert bars.fingerprint == lines.fingerprint
    assert bars.literals.tolist() == [False, True, True] and bars.candidates("乙") == []


def test_ntriples_take_their_labels(tmp_path: Path) -> None:
    text = """# a comment
<http://e.org/Q1> <http://e.org/by> <http://e.org/Jane_Doe> .
<http://e.org/Q1> <http://e.org/title> "A \\"new\\" caf\\u00e9"@en .
<http://e.org/Q1> <http://www.w3.org/2000/01/rdf-schema#label> "The Book"@en .
<http://e.org/Q1> <http://www.w3.org/2004/02/skos/core#altLabel> "Book One" .
"""
    kb = made(tmp_path, text, file="t.nt")
    assert [kb.said(fact) for fact in kb.facts("http://e.org/Q1")] == [
        ("The Book", "by", "Jane Doe"),
        ("The Book", "title", 'A "new" café'),
    ]
    assert kb.id_of("book one") == kb.id_of("The Book") == 0 and kb.is_literal(2)


def test_labels_in_other_languages_are_other_names(tmp_path: Path) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    text = f"""<http://e.org/Q1> {label} "Dream of the Red Chamber"@en .
<http://e.org/Q1> {label} "红楼梦"@zh .
<http://e.org/Q1> <http://e.org/by> <http://e.org/Q2> .
"""
    kb = made(tmp_path, text, file="t.nt")
    assert kb.id_of("红楼梦") == kb.id_of("Dream of the Red Chamber") == 0 and kb.name_of(0) == "Dream of the Red Chamber"


def test_a_broken_first_line_of_ntriples_is_read_as_such(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=r"t\.nt, line 1 is no triple as N-Triples writes them"):
        made(tmp_path, "<http://e.org/Q1> <http://e.org/by> Q2\n", file="t.nt")


def test_the_fingerprint_is_of_the_content(tmp_path: Path) -> None:
    kb = made(tmp_path, FILMS)
    lines = FILMS.splitlines(keepends=True)
    before, again = kb.fingerprint, made(tmp_path, "".join(reversed(lines)), "again")
    assert again.fingerprint == before and again.vocabulary() != kb.vocabulary()
    kb.add([Edit(subject="Heat", relation="directed by", object="Christopher Nolan")])
    assert kb.fingerprint != before
    kb.remove([Edit(subject="heat", relation="Directed By", object="christopher nolan")])
    assert kb.fingerprint == before and kb.revision == 2


def test_an_edited_one_is_as_if_built_so(tmp_path: Path) -> None:
    kb = made(tmp_path, FILMS)
    used = KnowledgeUsed.of(kb)
    kb.triples()
    kb.add([Edit(subject="Inception", relation="starred", object="Tom Hardy")], new=True)
    built = made(tmp_path, FILMS + "Inception\tstarred\tTom Hardy\n", "built")
    assert kb.fingerprint == built.fingerprint and kb.triples().tolist() == built.triples().tolist()
    assert used.numbers_alike(kb) and kb.id_of("Tom Hardy") == 6
    with pytest.raises(PlumeError, match=r"linked\.jsonl was made with the knowledge base"):
        used.require_numbers(made(tmp_path, "Heat\tyear\t1995\n", "other"), "linked.jsonl")


def test_edits_are_whole_or_not_at_all(tmp_path: Path) -> None:
    kb = made(tmp_path, FILMS)
    before = kb.fingerprint
    for edits in (
        [Edit(subject="Heat", relation="year", object="2010"), Edit(subject="Hat", relation="year", object="2010")],
        [Edit(subject=3, relation="year", object=99)],
    ):
        with pytest.raises(PlumeError, match=r"no entity"):
            kb.add(edits)
    with pytest.raises(PlumeError, match="does not say 'Heat', 'year', '2010': it has nothing there"):
        kb.remove([Edit(subject="Heat", relation="year", object="1995"), Edit(subject="Heat", relation="year", object="2010")])
    with pytest.raises(PlumeError, match="no relation 'yaer'; it has year"):
        kb.add([Edit(subject="Heat", relation="yaer", object="2010")])
    assert kb.fingerprint == before and kb.count == 4 and len(kb.triples()) == 4


def test_ids_follow_a_file_of_names(tmp_path: Path) -> None:
    (tmp_path / "entities.tsv").write_text("7\tHeat\n5\tMichael Mann\n", encoding="utf-8")
    (tmp_path / "relations.tsv").write_text("0\tdirected by\n", encoding="utf-8")
    sources = Sources(entities=tmp_path / "entities.tsv", relations=tmp_path / "relations.tsv")
    kb = made(tmp_path, "7\t0\t5\n", sources=sources)
    assert kb.entities == ["Heat", "Michael Mann"] and kb.id_of("5") == 1
    with pytest.raises(PlumeError, match=r"triples\.tsv, line 2: the entity '9' is named nowhere"):
        made(tmp_path, "7\t0\t5\n9\t0\t5\n", "other", sources=sources)
    assert not (tmp_path / "other").exists()


def test_other_names_of_values_are_no_names(tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text("1995\tninety-five\nHeat\tthe film\n", encoding="utf-8")
    kb = made(tmp_path, FILMS, literals=Literals.LEAVES, sources=Sources(aliases=tmp_path / "names.tsv"))
    assert kb.candidates("ninety-five") == [] and [one.entity for one in kb.candidates("the film")] == [3]


def test_an_entity_comes_before_a_value_of_its_name(tmp_path: Path) -> None:
    lines = (
        '{"subject": "Q1", "relation": "year", "object": "Heat", "literal": true}\n{"subject": "Q2", "relation": "year", "object": "Q1"}\n'
    )
    (tmp_path / "entities.tsv").write_text("Q1\tMann\nQ2\tHeat\n", encoding="utf-8")
    (tmp_path / "names.tsv").write_text("Heat\tthe film\n", encoding="utf-8")
    sources = Sources(entities=tmp_path / "entities.tsv", aliases=tmp_path / "names.tsv")
    assert [one.entity for one in made(tmp_path, lines, file="t.jsonl", sources=sources).candidates("the film")] == [1]


def test_a_value_that_was_removed_comes_back(tmp_path: Path) -> None:
    kb = made(tmp_path, FILMS, literals=Literals.LEAVES)
    before, edit = kb.fingerprint, Edit(subject="Heat", relation="year", object="1995")
    kb.remove([edit])
    assert kb.add([edit], new=True) == 1
    assert kb.fingerprint == before and len(kb) == 6 and kb.is_literal(5)


def test_what_is_added_is_found_by_the_names_that_building_gives(tmp_path: Path) -> None:
    kb = made(tmp_path, FILMS)
    kb.add([Edit(subject="Mercury (planet)", relation="year", object="方正 HR580 plus")], new=True)
    assert [one.entity for one in kb.candidates("mercury")] == [6] and [one.entity for one in kb.candidates("方正hr580 plus")] == [7]
    for relation in ("", "  "):
        with pytest.raises(PlumeError, match="A relation needs a name"):
            kb.add([Edit(subject="Heat", relation=relation, object="1995")], new=True)
    assert kb.relations == ("directed by", "year")


def test_aliases_have_weights(tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text("Inception\tthe film\t3\nHeat\tthe film\t1\n", encoding="utf-8")
    kb = made(tmp_path, FILMS, sources=Sources(aliases=tmp_path / "names.tsv"))
    assert [(one.entity, one.prior) for one in kb.candidates("The Film")] == [(0, 0.75), (3, 0.25)]
    with pytest.raises(PlumeError, match="may be several"):
        kb.id_of("the film")
    (tmp_path / "names.tsv").write_text("Heat\tthe film\tno\n", encoding="utf-8")
    with pytest.raises(PlumeError, match=r"names\.tsv, line 1: 'no' is no weight"):
        made(tmp_path, FILMS, "b", sources=Sources(aliases=tmp_path / "names.tsv"))
    (tmp_path / "names.tsv").write_text("Hat\tthe film\n", encoding="utf-8")
    with pytest.raises(PlumeError, match=r"names\.tsv, line 1: no triple names 'Hat'"):
        made(tmp_path, FILMS, "c", sources=Sources(aliases=tmp_path / "names.tsv"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\tb\tc\na\tb\n", "line 2: 2 fields"),
        ("a\tb\tc\n\na\t\tc\n", "line 3: the relation is empty"),
        ("a ||| b ||| c\na ||| b\n", "line 2: 2 fields"),
        ('{"subject": "a", "relation": "b", "object": "c"}\n{"subject": "a"}\n', 'line 2: the field "relation" is missing'),
        ('{"subject": "a", "relation": "b", "object": "c"}\n{"subject"\n', "line 2 is not readable JSON"),
        ('{"subject": "a", "relation": "b", "object": "c"}\n5\n', "line 2 is JSON, but no object"),
        ('{"subject": "a", "relation": "b", "object": "c"}\n["subject", "relation"]\n', "line 2 is JSON, but no object"),
        ("<a> <b> <c> .\n<a> <b>\n", "line 2 is no triple as N-Triples writes them"),
        ("\n\n", "holds no triple"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PlumeError, match=said):
        made(tmp_path, text)
    assert not (tmp_path / "kb").exists()


def test_what_is_no_knowledge_base_is_said(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="is no knowledge base"):
        KnowledgeBase.open(tmp_path)
    kb = made(tmp_path, FILMS)
    with pytest.raises(PlumeError, match="is there already"):
        made(tmp_path, FILMS)
    kb.close()
    with sqlite3.connect(tmp_path / "kb" / "kb.sqlite") as database:
        database.execute("UPDATE meta SET value = '2' WHERE key = 'format'")
    with pytest.raises(PlumeError, match=r"written by a newer plume \(format 2"):
        KnowledgeBase.open(tmp_path / "kb")
    (tmp_path / "kb" / "kb.sqlite").write_bytes(b"no database at all, but long enough to be one" * 99)
    with pytest.raises(PlumeError, match="is damaged"):
        KnowledgeBase.open(tmp_path / "kb")


def test_what_is_near_is_named(tmp_path: Path) -> None:
    kb = made(tmp_path, FILMS)
    with pytest.raises(PlumeError, match="names no entity 'Incepton'; near it are: inception"):
        kb.id_of("Incepton")
    assert normalised("【甲】") == "甲"
