"""Studies: from options or a file, and back; what cannot be meant is refused with a word that helps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plume.comparing.cells import CellKind
from plume.comparing.entrants.lineup import entrants
from plume.comparing.entrants.pretrained import SCRATCH
from plume.comparing.measuring.records import parent_of
from plume.comparing.planning.grid import grid
from plume.comparing.results import Control
from plume.comparing.study import Study, Tokenizing, make_study, make_task, parse_task, refuse_within
from plume.comparing.study_file import read_study_file, write_study_file
from plume.core.errors import PlumeError
from plume.core.part import part_from_json, replace
from plume.model.recipe import Recipe
from plume.recipes import _catalog as catalog
from plume.text.tokenizers import WordPiece

NER = "Paris B-LOC\nis O\n\nAnn B-PER\nsmiles O\n\n"
POS = "Paris NOUN\nis VERB\n\nAnn NOUN\nsmiles VERB\n\n"
TABLE = "text\tlabel\ngood\tyes\nbad\tno\n"
SQUAD = '{"data": [{"title": "x", "paragraphs": [{"context": "A b.", "qas": []}]}]}'


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("ner.conll", NER), ("pos.txt", POS), ("topic.tsv", TABLE), ("squad.json", SQUAD), ("plain.txt", "a\nb\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "corpus.txt").write_text("One.\nTwo.\n", encoding="utf-8")
    return tmp_path


def made(files: Path, **others: Any) -> Study:
    task = make_task(name="ner", train=str(files / "ner.conll"), scored=str(files / "ner.conll"))
    usual: dict[str, Any] = {"corpus": [files / "corpus.txt"], "tasks": [task], "recipes": ["bert", "gpt2"], "budget": "90s"}
    return make_study(**(usual | others))


def test_a_task_is_its_name_or_what_its_file_looks_like(files: Path) -> None:
    for name, file, kind in (
        ("ner", "ner.conll", "ner"), ("names", "ner.conll", "ner"), ("words", "pos.txt", "pos"), ("topic", "topic.tsv", "classification"),
        ("questions", "squad.json", "qa"), ("paraphrase", "topic.tsv", "paraphrase"),
    ):  # fmt: skip
        assert parse_task(f"{name}={files / file},{files / file}").kind == kind
    assert parse_task(f"x:nli={files / 'topic.tsv'},{files / 'topic.tsv'}").kind == "nli"


def test_of_three_files_the_middle_one_chooses_and_the_last_one_scores(files: Path) -> None:
    two = parse_task(f"ner={files / 'ner.conll'},{files / 'pos.txt'}")
    assert (Path(two.train).name, two.dev, Path(two.scored).name) == ("ner.conll", None, "pos.txt")
    three = parse_task(f"ner={files / 'ner.conll'},{files / 'pos.txt'},{files / 'topic.tsv'}")
    assert three.dev is not None and (Path(three.dev).name, Path(three.scored).name) == ("pos.txt", "topic.tsv")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ner", "is no task with its files"),
        ("ner={0}/ner.conll", "is no task with its files"),
        ("ner={0}/ner.conll,{0}/nothing", "no such file"),
        ("x:nerr={0}/ner.conll,{0}/ner.conll", "did you mean"),
        ("x={0}/plain.txt,{0}/plain.txt", "Say what it is"),
        ("a b={0}/ner.conll,{0}/ner.conll", "cannot be called"),
    ],
)
def test_a_task_that_cannot_be_meant(files: Path, text: str, says: str) -> None:
    with pytest.raises(PlumeError, match=says):
        parse_task(text.format(files))


def test_a_study_is_the_same_after_it_was_written_down(files: Path) -> None:
    task = make_task(
        name="topic",
        train=str(files / "topic.tsv"),
        dev=str(files / "topic.tsv"),
        scored=str(files / "topic.tsv"),
        text=("text",),
        label="label",
    )
    study = made(
        files, tasks=[task], budget="5e6tokens", seeds=2, size="mini", tokenizer="own", overrides=["training.length=64"],
        tune=["epochs=3", "budget=20s"], threads=2, title='A "study" of 句子',
    )  # fmt: skip
    folder = files / "study"
    folder.mkdir()
    (folder / "study.toml").write_text(write_study_file(study, beside=folder), encoding="utf-8")
    assert read_study_file(folder / "study.toml") == study
    assert read_study_file(folder / "study.toml", seeds=5).seeds == 5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seed = 3", "no setting 'seed'; did you mean"),
        ("seeds = 'three'", "a whole number"),
        ("corpus = ['corpus.txt']\nrecipes = [1]", "a list of texts in quotes"),
        ("corpus = 'x", "no readable TOML"),
        ("[tasks.ner]\ntrain = 'ner.conll'", "the training file and the test file"),
        ("[tasks.ner]\ntrain = 'ner.conll'\ntest = 'none'", "no such file"),
        ("[tune]\nepoch = 3", "no setting of tuning: did you mean epochs"),
    ],
)
def test_a_file_that_is_wrong_says_where(files: Path, text: str, says: str) -> None:
    whole = text if "corpus" in text else f"corpus = ['corpus.txt']\nrecipes = ['bert']\n{text}"
    if "[tasks" not in text:
        whole += f"\n[tasks.ner]\ntrain = '{files / 'ner.conll'}'\ntest = '{files / 'ner.conll'}'\n"
    (files / "study.toml").write_text(whole, encoding="utf-8")
    with pytest.raises(PlumeError, match=says):
        read_study_file(files / "study.toml")


def test_controls_are_always_in(files: Path) -> None:
    found = {one.name: one for one in entrants(made(files))}
    assert list(found) == ["bert", "gpt2", SCRATCH, "fasttext", "tfidf"]
    assert found[SCRATCH].recipe == "bert/tiny" and found[SCRATCH].control is Control.SCRATCH and found[SCRATCH].budget == "1steps"
    assert found["fasttext"].control is Control.STATIC and found["fasttext"].budget == "90s"
    own = {one.name: one for one in entrants(made(files, recipes=["word2vec", "gpt2"]))}
    assert (
        list(own) == ["word2vec", "gpt2", SCRATCH, "tfidf"]
        and own["word2vec"].control is Control.STATIC
        and own[SCRATCH].recipe == "gpt2/tiny"
    )
    assert next(one for one in entrants(made(files, budget="1e14flops")) if one.static).budget is None  # they count no FLOPs
    assert (
        found["tfidf"].control is Control.TFIDF
        and not found["tfidf"].cells(0)
        and found["tfidf"].tune(made(files, tune=["epochs=3"])) == ()
    )
    assert [one.name for one in entrants(made(files, tfidf=False))] == ["bert", "gpt2", SCRATCH, "fasttext"]
    assert [one.name for one in entrants(made(files, recipes=["tfidf", "bert"]))] == ["tfidf", "bert", SCRATCH, "fasttext"]


def test_what_plain_text_cannot_train_is_no_control(files: Path) -> None:
    found = {one.name: getattr(one, "recipe", "") for one in entrants(made(files, recipes=["cove", "gpt2"]))}
    assert found[SCRATCH] == "gpt2/tiny"
    assert {one.name: getattr(one, "recipe", "") for one in entrants(made(files, recipes=["cove"]))}[SCRATCH] == "cove/tiny"


def test_a_recipe_differs_from_its_parent_as_both_are_in_the_study(files: Path) -> None:
    study = made(files, recipes=["roberta"], overrides=["training.length=64"])
    paths = {one.path for one in parent_of(entrants(study)[0].declared, study)[1]}
    assert paths and not any(path.startswith(("training.length", "tokenizer")) for path in paths)
    own = made(files, recipes=["roberta"], tokenizer="own")
    assert any(one.path.startswith("tokenizer") for one in parent_of(entrants(own)[0].declared, own)[1])


def test_files_that_are_gone(files: Path) -> None:
    study = made(files)
    (files / "topic.tsv").unlink()
    Path(study.corpus[0]).unlink()
    with pytest.raises(PlumeError, match="which the study reads, is missing"):
        study.fingerprint()


def test_pieces_of_words_are_cut_alike(files: Path) -> None:
    shared = [one for one in entrants(made(files, recipes=["bert", "roberta", "t5", "xlnet", "elmo"])) if isinstance(one.declared, Recipe)]
    cut = {one.name: one.declared.tokenizer for one in shared if isinstance(one.declared, Recipe)}
    pieces = {name: spec for name, spec in cut.items() if name != "elmo"}
    assert len(set(pieces.values())) == 1 and pieces["t5"] == WordPiece(vocabulary=16000, lowercase=False)  # cased: names are to be found
    assert not isinstance(cut["elmo"], WordPiece)
    topic = make_task(name="topic", train=str(files / "topic.tsv"), scored=str(files / "topic.tsv"))
    lower = entrants(made(files, tasks=[topic]))[0].declared
    assert isinstance(lower, Recipe) and lower.tokenizer == WordPiece(vocabulary=16000, lowercase=True)
    own = entrants(made(files, recipes=["roberta"], tokenizer="own"))[0].declared
    assert isinstance(own, Recipe) and not isinstance(own.tokenizer, WordPiece)
    assert made(files).tokenizer is Tokenizing.SHARED


def test_runs_are_interleaved(files: Path) -> None:
    study = made(files, seeds=2)
    cells = grid(study, entrants(study))
    first = [cell for cell in cells if cell.seed == 0 and not cell.alone]
    assert cells[: len(first)] == first  # a whole study with one seed comes first
    timed, names = [cell.entrant for cell in cells if cell.alone], [one.name for one in entrants(study)]
    assert timed == [*names, *names[::-1]] and all(cell.alone for cell in cells[-len(timed) :])
    order = [[cell.entrant for cell in cells if cell.kind is CellKind.TUNE and cell.seed == seed] for seed in range(2)]
    assert sorted(order[0]) == sorted(order[1]) and order[0][0] != order[1][0]  # no model is always the first
    assert [cell.key for cell in cells if cell.kind is CellKind.PRETRAIN and cell.entrant == SCRATCH] == ["pretrain-scratch-0"]
    keys = [cell.key for cell in cells]
    assert len(set(keys)) == len(keys) and all(keys.index(key) < keys.index(cell.key) for cell in cells for key in cell.needs)
    assert next(cell for cell in cells if cell.key == "tune-scratch-1-ner").needs == ("pretrain-scratch-0",)
    assert not any(cell.kind is CellKind.PROBE and cell.entrant == SCRATCH for cell in cells)


def test_what_a_study_cannot_be(files: Path) -> None:
    for changed, says in (
        ({"recipes": []}, "families to compare"), ({"tasks": []}, "something to be measured by"), ({"corpus": []}, "text to pre-train on"),
        ({"recipes": ["bert", "bert"]}, "is there twice"), ({"seeds": 0}, "at least one seed"), ({"tokenizer": "mine"}, "shared or own"),
        ({"corpus": [files / "none.txt"]}, "no corpus at"),
        ({"budget": "50steps"}, "not a step of another"), ({"tune": ["epochs=0"]}, "more than 0"),
        ({"sed": 3}, "did you mean seeds"), ({"tune": ["epochs=many"]}, "a number is expected"),
    ):  # fmt: skip
        with pytest.raises(PlumeError, match=says):
            made(files, **changed)
    with pytest.raises(PlumeError, match="gpt2 is a network"):
        entrants(made(files, static="gpt2"))
    with pytest.raises(PlumeError, match="has no size 'huge'"):
        entrants(made(files, size="huge"))


def test_a_setting_is_for_the_networks_that_have_it(files: Path) -> None:
    mixed = entrants(made(files, recipes=["elmo", "bert"], overrides=["network.feed_forward=64", "training.batch=8"]))
    assert [one.overrides[-2:] for one in mixed[:2]] == [("training.batch=8",), ("network.feed_forward=64", "training.batch=8")]
    with pytest.raises(PlumeError, match="has no part 'feedforward'; did you mean feed_forward"):
        entrants(made(files, overrides=["network.feedforward=64"]))


def test_recipe_files_are_known_by_their_stem_and_what_they_hold(files: Path) -> None:
    own = files / "mine.json"
    own.write_text(json.dumps(catalog.recipe("bert/tiny").to_json()), encoding="utf-8")
    study = made(files, recipes=[str(own), "gpt2"])
    assert [one.name for one in entrants(study)][:2] == ["mine", "gpt2"]
    before = study.fingerprint()
    own.write_text(json.dumps(catalog.recipe("bert/mini").to_json()), encoding="utf-8")
    assert {path for path, digest in study.fingerprint().items() if before[path] != digest} == {str(own)}
    text = write_study_file(study, beside=files)
    (files / "study.toml").write_text(text, encoding="utf-8")
    assert read_study_file(files / "study.toml") == study


def test_threads_are_the_files_own(files: Path) -> None:
    text = write_study_file(made(files, threads=7), beside=files)
    (files / "study.toml").write_text(text, encoding="utf-8")
    assert read_study_file(files / "study.toml").threads == 7
    assert made(files).threads >= 1


def test_names_of_tasks_in_any_script(files: Path) -> None:
    task = make_task(name="主题", kind="classification", train=str(files / "topic.tsv"), scored=str(files / "topic.tsv"))
    study = made(files, tasks=[task])
    (files / "study.toml").write_text(write_study_file(study, beside=files), encoding="utf-8")
    assert read_study_file(files / "study.toml") == study


def test_what_is_measured_on_is_no_part_of_the_corpus(files: Path) -> None:
    with pytest.raises(PlumeError, match="is part of the corpus"):
        made(files, corpus=[files])
    study = made(files, corpus=[files / "corpus.txt"])
    refuse_within(study, files / "study")
    (files / "texts").mkdir()
    with pytest.raises(PlumeError, match="lies within the corpus"):
        refuse_within(made(files, corpus=[files / "texts"]), files / "texts" / "study")


def test_a_margin_is_read_and_written_and_studies_from_before_have_one(files: Path) -> None:
    study = made(files, threads=1)
    assert study.margin == 1.0 and "margin" not in write_study_file(study, beside=files)
    wide = replace(study, margin=2.5)
    (files / "study.toml").write_text(write_study_file(wide, beside=files), encoding="utf-8")
    assert read_study_file(files / "study.toml").margin == 2.5
    before = study.to_json()
    del before["margin"]
    assert part_from_json(before) == study
    with pytest.raises(PlumeError, match="from 0 to 100, not -1"):
        replace(study, margin=-1.0)
