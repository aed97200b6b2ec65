"""A document for each film of MetaQA, written from its triples: synthetic language whose links and facts are known exactly.

    python bench/_metaqa.py --data FOLDER --out FOLDER [--changed 300] [--seed 1]

`--data` holds metaqa/kb and metaqa/1-hop … 3-hop. Written are kb/ (a knowledge base whose ids are those of entities.tsv), docs.jsonl (id, title,
text, mentions; linked to kb/), questions/HOPS-hop.PART.jsonl (question, topic, topic_id, answers, answer_ids, type, path), and with `--changed N`
docs.changed.jsonl, where N films that one director made have passed their directors round, with changed.jsonl (film, its director before and
after, and a question). `documents`, `MetaData.questions`, `changed` and `build_kb` give the same to other benchmarks.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from plume.core.files import write_atomic
from plume.kb.building import Sources, build
from plume.kb.linked import beside
from plume.kb.store import KnowledgeBase
from plume.kb.used import KnowledgeUsed

DIRECTED = 0
PHRASES = {  # relation: what is said of the film, with its name or without; {} is a list of names
    0: ("{film} was directed by {}", "the director of {film} is {}", "{} directed {film}"),
    1: ("{film} was written by {}", "the screenplay is by {}", "{} wrote {film}"),
    2: ("{film} stars {}", "the cast includes {}", "{} acted in {film}"),
    3: ("it was released in {}", "{film} came out in {}", "the film is from {}"),
    4: ("it is in {}", "the language of {film} is {}", "{film} was shot in {}"),
    5: ("it is described as {}", "viewers tag {film} as {}", "it is known for {}"),
    6: ("it is a film of the genre {}", "the genre of {film} is {}", "{film} falls under {}"),
    7: ("its votes are {}", "viewers call its number of votes {}"),
    8: ("it is rated {}", "viewers think it is {}"),
}
RELATION_OF = {
    "director": 0, "writer": 1, "actor": 2, "year": 3, "language": 4, "tags": 5, "tag": 5, "genre": 6, "imdbvotes": 7, "imdbrating": 8,
}  # fmt: skip
Step = tuple[int, bool]  # a relation, and whether it is followed from its object to its subject


@dataclass(frozen=True, kw_only=True)
class MetaQuestion:
    """A question without the brackets around its topic; `start` is where the topic stands."""

    question: str
    topic: str
    start: int
    answers: tuple[str, ...]
    type: str
    path: tuple[Step, ...]


@dataclass(frozen=True)
class MetaData:
    """The files as they are."""

    folder: Path  # metaqa

    @cached_property
    def entities(self) -> list[str]:
        """Names, by id."""
        return [line.split("\t")[1] for line in _lines(self.folder / "kb" / "entities.tsv")]

    @cached_property
    def ids(self) -> dict[str, int]:
        """By name: each is there once, as it is written."""
        return {name: number for number, name in enumerate(self.entities)}

    @cached_property
    def triples(self) -> list[tuple[int, int, int]]:
        """In the order of the file."""
        return [tuple(map(int, line.split())) for line in _lines(self.folder / "kb" / "triples.tsv")]  # type: ignore[misc]

    @cached_property
    def films(self) -> dict[int, dict[int, list[int]]]:
        """Objects of each film, by relation."""
        found: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for film, relation, value in self.triples:
            found[film][relation].append(value)
        return {film: dict(sorted(facts.items())) for film, facts in sorted(found.items())}

    def questions(self, hops: int, part: str) -> list[MetaQuestion]:
        """Of `train` or `dev`."""
        return [_question(line) for line in _lines(self.folder / f"{hops}-hop" / f"{part}.txt")]


def documents(data: MetaData, *, directors: Mapping[int, Sequence[int]] | None = None, seed: int = 1) -> Iterator[dict[str, Any]]:
    """One a film; `directors` are other ones than the triples say. Which words are used for which fact follows from seed, film and relation."""
    for film, facts in data.films.items():
        told = facts | {DIRECTED: list(directors[film])} if directors and film in directors else facts
        yield {"id": film, "title": data.entities[film], **_document(data, film, told, seed)}


def changed(data: MetaData, count: int, *, seed: int = 1) -> dict[int, list[int]]:
    """So many films with one director each, all of them different, and the director of the next among them."""
    generator = np.random.default_rng(seed)
    single = [film for film, facts in data.films.items() if len(facts.get(DIRECTED, ())) == 1]
    chosen: dict[int, int] = {}
    for film in generator.permutation(single).tolist():
        if (director := data.films[film][DIRECTED][0]) not in chosen.values() and len(chosen) < count:
            chosen[film] = director
    films = list(chosen)
    return {film: [chosen[following]] for film, following in zip(films, films[1:] + films[:1], strict=True)}


def write_jsonl(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """A line each."""

    def write(target: Path) -> None:
        with target.open("w", encoding="utf-8") as handle:
            handle.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)

    write_atomic(path, write)


def build_kb(data: MetaData, out: Path) -> KnowledgeBase:
    """Ids are those of entities.tsv; it is opened if it is there."""
    kb = data.folder / "kb"
    if out.exists():
        return KnowledgeBase.open(out)
    return build([kb / "triples.tsv"], out, sources=Sources(entities=kb / "entities.tsv", relations=kb / "relations.tsv"))


def write_all(data: MetaData, out: Path, *, films: int = 0, seed: int = 1) -> None:
    """Everything that the top of this file names."""
    out.mkdir(parents=True, exist_ok=True)
    used = KnowledgeUsed.of(build_kb(data, out / "kb"))
    _write_documents(out / "docs.jsonl", documents(data, seed=seed), used)
    (out / "questions").mkdir(exist_ok=True)
    for hops in (1, 2, 3):
        for part in ("train", "dev"):
            asked = data.questions(hops, part)
            write_jsonl(out / "questions" / f"{hops}-hop.{part}.jsonl", (_record(data, one) for one in asked))
    if films:
        directors = changed(data, films, seed=seed)
        _write_documents(out / "docs.changed.jsonl", documents(data, directors=directors, seed=seed), used)
        write_jsonl(out / "changed.jsonl", (_change(data, film, new) for film, new in directors.items()))


def _write_documents(path: Path, records: Iterable[Mapping[str, Any]], used: KnowledgeUsed) -> None:
    write_jsonl(path, records)
    used.write(beside(path))


def _document(data: MetaData, film: int, facts: Mapping[int, Sequence[int]], seed: int) -> dict[str, Any]:
    text, mentions = "", []
    for number, (relation, values) in enumerate(facts.items()):
        phrase = _phrase(relation, zlib.crc32(f"{seed} {film} {relation}".encode()), named=number == 0)
        for place, piece in enumerate(_pieces(phrase)):
            if piece == "{film}":
                text = _named(data, film, text, mentions)
            elif piece == "{}":
                for turn, value in enumerate(values):
                    text = _named(data, value, text + ("" if turn == 0 else " and " if turn == len(values) - 1 else ", "), mentions)
            else:
                text += piece[:1].upper() + piece[1:] if place == 0 else piece
        text += ". "
    return {"text": text.rstrip(), "mentions": mentions}


def _named(data: MetaData, entity: int, text: str, mentions: list[dict[str, int]]) -> str:
    name = data.entities[entity]
    mentions.append({"start": len(text), "end": len(text) + len(name), "id": entity})
    return text + name


def _phrase(relation: int, draw: int, *, named: bool) -> str:
    """The first sentence names the film."""
    fitting = [one for one in PHRASES[relation] if "{film}" in one] if named else PHRASES[relation]
    return fitting[draw % len(fitting)] if fitting else f"{{film}}: {PHRASES[relation][0]}"


def _pieces(phrase: str) -> list[str]:
    marked = phrase.replace("{film}", "\0{film}\0").replace("{}", "\0{}\0")
    return [piece for piece in marked.split("\0") if piece]


def _question(line: str) -> MetaQuestion:
    asked, answers, kind = line.split("\t")
    start, end = asked.index("["), asked.rindex("]")
    return MetaQuestion(
        question=asked[:start] + asked[start + 1 : end] + asked[end + 1 :],
        topic=asked[start + 1 : end],
        start=start,
        answers=tuple(answers.split("|")),
        type=kind,
        path=path_of(kind),
    )


def path_of(kind: str) -> tuple[Step, ...]:
    """
    >>> path_of("movie_to_actor_to_movie")
    ((2, False), (2, True))
    """
    ends = kind.split("_to_")
    return tuple((RELATION_OF[after], False) if before == "movie" else (RELATION_OF[before], True) for before, after in pairwise(ends))


def _record(data: MetaData, one: MetaQuestion) -> dict[str, Any]:
    ids = [data.ids[name] for name in one.answers if name in data.ids]
    return {
        "question": one.question, "topic": one.topic, "topic_id": data.ids.get(one.topic), "start": one.start, "answers": list(one.answers),
        "answer_ids": ids, "type": one.type, "path": [list(step) for step in one.path],
    }  # fmt: skip


def _change(data: MetaData, film: int, new: Sequence[int]) -> dict[str, Any]:
    before, after = ([data.entities[one] for one in some] for some in (data.films[film][DIRECTED], new))
    question = f"who directed the film {data.entities[film]}"
    return {"id": film, "title": data.entities[film], "question": question, "answers": before, "changed_answers": after}


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main() -> None:
    """Write everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--changed", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    write_all(MetaData(given.data / "metaqa"), given.out, films=given.changed, seed=given.seed)


if __name__ == "__main__":
    main()
