"""bench/_metaqa.py: what it writes of films is what the triples say, linked; changed directors are passed round and nothing else moves."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

import plume

BENCH = Path(plume.__file__).parents[2] / "bench" / "_metaqa.py"
FILMS = 12


@pytest.fixture
def bench(tmp_path: Path) -> SimpleNamespace:
    folder = tmp_path / "metaqa"
    (folder / "kb").mkdir(parents=True)
    names = [f"film {number}" for number in range(FILMS)] + [f"director {number}" for number in range(FILMS)] + ["1999", "war"]
    (folder / "kb" / "entities.tsv").write_text("".join(f"{n}\t{name}\n" for n, name in enumerate(names)), encoding="utf-8")
    (folder / "kb" / "relations.tsv").write_text("".join(f"{n}\trelation {n}\n" for n in range(9)), encoding="utf-8")
    triples = [(film, 0, FILMS + film) for film in range(FILMS)] + [(3, 3, 2 * FILMS), (4, 7, 2 * FILMS + 1), (4, 5, 2 * FILMS + 1)]
    (folder / "kb" / "triples.tsv").write_text("".join("\t".join(map(str, one)) + "\n" for one in triples), encoding="utf-8")
    for hops in (1, 2, 3):
        (folder / f"{hops}-hop").mkdir()
        for part in ("train", "dev"):
            (folder / f"{hops}-hop" / f"{part}.txt").write_text(
                "who made [film 3], again\tdirector 3\tmovie_to_director\n", encoding="utf-8"
            )
    module = SimpleNamespace(**runpy.run_path(str(BENCH)))
    module.data = module.MetaData(folder)
    return module


def test_documents_say_the_triples_and_link_them(bench: SimpleNamespace) -> None:
    for document in bench.documents(bench.data):
        named = [document["text"][one["start"] : one["end"]] for one in document["mentions"]]
        assert named == [bench.data.entities[one["id"]] for one in document["mentions"]]
        facts = bench.data.films[document["id"]].values()
        assert {one["id"] for one in document["mentions"]} == {document["id"], *(value for values in facts for value in values)}


def test_directors_are_passed_round(bench: SimpleNamespace) -> None:
    new = bench.changed(bench.data, 5)
    assert len(new) == 5 and all(bench.data.films[film][0] != directors for film, directors in new.items())
    assert sorted(one for directors in new.values() for one in directors) == sorted(bench.data.films[film][0][0] for film in new)
    before, after = list(bench.documents(bench.data)), list(bench.documents(bench.data, directors=new))
    assert {old["id"] for old, other in zip(before, after, strict=True) if old != other} == set(new)


def test_all_is_written_with_the_knowledge_base(bench: SimpleNamespace, tmp_path: Path) -> None:
    bench.write_all(bench.data, tmp_path / "out", films=4)
    asked = bench.data.questions(1, "dev")[0]
    assert asked.question == "who made film 3, again" and asked.path == ((0, False),) and asked.start == 9
    assert bench.path_of("director_to_movie_to_writer") == ((0, True), (1, False))
    assert (tmp_path / "out" / "docs.changed.jsonl.kb.json").exists() and (tmp_path / "out" / "questions" / "3-hop.dev.jsonl").exists()
