"""Facts: ranks against plain loops, baselines by hand, files with mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plume
from plume.core.errors import PlumeError
from plume.prompting.facts.probing import LESS_PRIOR, MODEL, NO_SUBJECT, UNTRAINED
from plume.prompting.facts.ranks import by_chance, by_frequency, rank_scores, ranks_of
from plume.prompting.facts.reading import RelationFact, read_facts, read_relations
from plume.tuning.zero_shot.cloze import Cloze

FACTS = "subject\trelation\tobject\n" + "".join(
    f"{subject}\t{relation}\t{thing}\n"
    for relation, thing, subject in (
        ("finds", "a wooden box", "the cat"), ("finds", "the letter", "my sister"), ("finds", "the letter", "the old captain"),
        ("finds", "some bread", "the cat"), ("paints", "the lighthouse", "her teacher"), ("paints", "two apples", "my sister"),
        ("alone", "home", "the cat"),
    )
)  # fmt: skip
TEMPLATES = "finds\t[X] finds [Y] near the river.\nfinds\tat home [X] finds [Y].\npaints\t[X] paints [Y].\nalone\t[X] is [Y].\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("facts")
    (folder / "facts.tsv").write_text(FACTS, encoding="utf-8")
    (folder / "templates.tsv").write_text(TEMPLATES, encoding="utf-8")
    return folder / "facts.tsv", folder / "templates.tsv"


def test_ranks_and_baselines_by_hand() -> None:
    candidates = ["a", "b", "c", "d"]
    known = [
        RelationFact("s", "r", "a"),
        RelationFact("s", "r", "b"),
        RelationFact("t", "r", "b"),
        RelationFact("u", "r", "c"),
        RelationFact("v", "r", "d"),
    ]
    scores = np.array([[0.3, 0.9, 0.1, 0.3], [0.5, 0.5, 0.1, 0.0]])
    # For s, b is right as well and is left out; a and d are level, so a is between first and second.
    assert ranks_of(scores, known[0:3:2], candidates, known).tolist() == [1.5, 1.5]
    assert rank_scores(np.array([1.5, 1.0])).p1 == 0.5
    counted = by_frequency(known, candidates, known)
    assert counted[2].tolist() == [1, 1, 1, 1] and counted[3].tolist() == [1, 2, 0, 1], "a fact does not vote for itself"
    chance = by_chance(known[:1], candidates, known)
    assert chance.p1 == pytest.approx(1 / 3) and chance.mrr == pytest.approx((1 + 1 / 2 + 1 / 3) / 3) and chance.p10 == 1
    more = [*known, *(RelationFact("s", "r", thing) for thing in "efg")]
    assert by_chance(known[:1], candidates, more) == chance, "what is right and no candidate is not among those that are ranked"


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_scores_are_those_of_the_clozes(family: str, body_of: Any, files: tuple[Path, Path], tmp_path: Path) -> None:
    body = body_of(family)
    templates = files[1]
    if family == "gpt2":
        (tmp_path / "early.tsv").write_text("finds\t[Y] is what [X] finds.\n", encoding="utf-8")
        with pytest.raises(PlumeError, match="reads left to right"):
            plume.probe_facts(body, files[0], templates=tmp_path / "early.tsv")
    made = plume.probe_facts(body, files[0], templates=templates, untrained=True, out=tmp_path / "deep" / "out.json")
    assert json.loads((tmp_path / "deep" / "out.json").read_text(encoding="utf-8")) == json.loads(json.dumps(made))
    finds, paints = made["relations"]  # "alone" has one object
    assert (finds["facts"], finds["candidates"], paints["candidates"], made["left_out"]) == (4, 3, 2, ["alone"])
    can = plume.load(body).abilities
    things = ["the letter", "a wooden box", "some bread"]  # by frequency
    both = [Cloze(can, said, things) for said in ("{text} finds ___ near the river.", "at home {text} finds ___.")]
    table, prior = (np.mean([cloze.scores(some) for cloze in both], axis=0) for some in (["the cat", "my sister"], [""]))
    for row, fact in ((0, 0), (1, 1)):
        right = things.index(finds["answers"][fact]["object"])
        against = [score for place, score in enumerate(table[row]) if place != right and not (row == 0 and place == 2)]
        assert finds["answers"][fact]["rank"] == 1 + sum(score > table[row, right] for score in against)
        assert finds["answers"][fact]["likeliest"][0] == things[int(table[row].argmax())]
    assert set(finds["scores"]) >= {MODEL, LESS_PRIOR, NO_SUBJECT, UNTRAINED} and prior.shape == (1, 3)
    assert made["mean"][MODEL]["mrr"] == pytest.approx(np.mean([one["scores"][MODEL]["mrr"] for one in made["relations"]]))
    fewer = plume.probe_facts(body, files[0], templates=templates, candidates=2, rows=2)["relations"][0]
    assert (fewer["facts"], fewer["candidates"]) == (2, 2)


@pytest.mark.parametrize(
    ("facts", "templates", "said"),
    [
        ("a\tb\n", TEMPLATES, "line 1: a fact is a subject"),
        ("", TEMPLATES, "empty|holds no fact"),
        ('{"subject": "a", "relation": "b"}\n', TEMPLATES, "'object' is not one"),
        ('{"subject": \n', TEMPLATES, "line 1: this is no JSON"),
        (FACTS, "finds [X] [Y]\n", "line 1: a relation and its template"),
        (FACTS, "finds\t[X] finds it\n", r"needs \[X\] for the subject and \[Y\]"),
        (FACTS, "finds\t[X] finds [Y] ___\n", "has a blank of its own"),
        (FACTS, "eats\t[X] eats [Y]\n", "no template for any relation of the facts: finds, paints"),
        ("a\talone\tb\n", TEMPLATES, "one right and one wrong"),
        ("a\tfinds\thome\nb\tfinds\t☃\n", TEMPLATES, "no relation has two objects that this model's vocabulary can write"),
    ],
)
def test_files_with_mistakes(facts: str, templates: str, said: str, body_of: Any, tmp_path: Path) -> None:
    for name, text in (("facts", facts), ("templates", templates)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(PlumeError, match=said):
        plume.probe_facts(body_of("bert"), tmp_path / "facts", templates=tmp_path / "templates")


def test_a_fact_that_can_only_be_right_is_not_asked(body_of: Any, files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("a\tpaints\tthe letter\na\tpaints\thome\nb\tpaints\thome\n", encoding="utf-8")
    made = plume.probe_facts(body_of("bert"), tmp_path / "facts.tsv", templates=files[1])["relations"][0]
    assert [one["subject"] for one in made["answers"]] == ["b"] and made["facts"] == 1


def test_both_forms_of_a_file_are_the_same_facts(tmp_path: Path) -> None:
    rows = [dict(zip(("subject", "relation", "object"), line.split("\t"), strict=True)) for line in FACTS.splitlines()[1:]]
    (tmp_path / "a.tsv").write_text(FACTS + FACTS.splitlines()[1] + "\n\n", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert read_facts(tmp_path / "a.tsv") == read_facts(tmp_path / "a.jsonl") and len(rows) == 7
    (tmp_path / "t.tsv").write_text("# said by hand\n" + TEMPLATES, encoding="utf-8")
    assert len(read_relations(tmp_path / "t.tsv")["finds"]) == 2
