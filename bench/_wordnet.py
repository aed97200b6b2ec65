"""WordNet 3.0 as a knowledge base, from its own files (data.noun …, cntlist.rev: Debian's package wordnet-base), and sets annotated with it.

    python bench/_wordnet.py --wordnet /usr/share/wordnet --out FOLDER

Written are triples.tsv, entities.tsv, names.tsv and kb/: an entity for each synset, its pointers as triples, and as names its words with their part
of speech ("bank.n"), weighted by how often SemCor has them in that sense, plus one. Other benchmarks use `WordNet`, `build_kb` and `annotated`.
"""

from __future__ import annotations

import argparse
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from plume.kb.building import Sources, build
from plume.kb.store import KnowledgeBase

FILES = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
TYPES = {"n": 1, "v": 2, "a": 3, "r": 4, "s": 5}
PARTS = {"NOUN": "n", "VERB": "v", "ADJ": "a", "ADV": "r"}
INSTANCE, HEAD = "@i", "&"


@dataclass(frozen=True, kw_only=True)
class Synset:
    """A line of a data file."""

    key: str  # its offset and part of speech, "02084071n"
    kind: str  # n, v, a, r, or s: an adjective near another one
    file: int  # of the lexicographers
    words: tuple[tuple[str, int], ...]  # with the number that tells senses of a word in one file apart
    pointers: tuple[tuple[str, str], ...]  # sign, and the other's key; those between single words too


@dataclass
class WordNet:
    """All of it."""

    folder: Path
    synsets: dict[str, Synset] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in FILES:
            for line in (self.folder / f"data.{name}").read_text(encoding="utf-8").splitlines():
                if not line.startswith("  "):
                    one = _synset(line)
                    self.synsets[one.key] = one

    @cached_property
    def senses(self) -> dict[str, str]:
        """Of each sense key the synset."""
        return {_sense(one, word, number, self.synsets): one.key for one in self.synsets.values() for word, number in one.words}

    @cached_property
    def counts(self) -> dict[tuple[str, str], int]:
        """How often SemCor has a word (with its part of speech) in the sense of a synset."""
        found: dict[tuple[str, str], int] = {}
        for line in (self.folder / "cntlist.rev").read_text(encoding="utf-8").splitlines():
            sense, _, count = line.split()
            if sense in self.senses:
                key = self.senses[sense]
                found[f"{sense.partition('%')[0]}.{key[-1]}", key] = int(count)
        return found

    @cached_property
    def lemmas(self) -> dict[str, list[str]]:
        """Of each word with its part of speech ("bank.n") its synsets."""
        found: dict[str, list[str]] = {}
        for one in self.synsets.values():
            for word, _ in one.words:
                found.setdefault(f"{word.lower()}.{one.key[-1]}", []).append(one.key)
        return found


def _synset(line: str) -> Synset:
    fields = line.split("|")[0].split()
    offset, file, kind, count = fields[0], int(fields[1]), fields[2], int(fields[3], 16)
    words = tuple((fields[4 + 2 * n].split("(")[0], int(fields[5 + 2 * n], 16)) for n in range(count))
    rest = fields[4 + 2 * count :]
    pointers = tuple((rest[1 + 4 * n], rest[2 + 4 * n] + rest[3 + 4 * n]) for n in range(int(rest[0])))
    return Synset(key=offset + ("a" if kind == "s" else kind), kind=kind, file=file, words=words, pointers=pointers)


def _sense(one: Synset, word: str, number: int, synsets: dict[str, Synset]) -> str:
    head = ":"
    if one.kind == "s":
        near = next(synsets[key] for sign, key in one.pointers if sign == HEAD)
        head = f"{near.words[0][0].lower()}:{near.words[0][1]:02d}"
    return f"{word.lower()}%{TYPES[one.kind]}:{one.file:02d}:{number:02d}:{head}"


def build_kb(net: WordNet, out: Path) -> KnowledgeBase:
    """Ids follow the order of the files."""
    out.mkdir(parents=True, exist_ok=True)
    _write(out / "entities.tsv", ((one.key, f"{one.words[0][0].replace('_', ' ')} ({one.key})") for one in net.synsets.values()))
    _write(out / "triples.tsv", ((one.key, sign, other) for one in net.synsets.values() for sign, other in dict.fromkeys(one.pointers)))
    weights = ((key, lemma, str(net.counts.get((lemma, key), 0) + 1)) for lemma, keys in net.lemmas.items() for key in dict.fromkeys(keys))
    _write(out / "names.tsv", weights)
    sources = Sources(entities=out / "entities.tsv", aliases=out / "names.tsv")
    return build([out / "triples.tsv"], out / "kb", sources=sources)


def _write(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Annotated:
    """A sentence, and of its words those whose sense is asked: first character, the one behind the last, word with part of speech, right synsets."""

    text: str
    words: tuple[tuple[int, int, str, tuple[str, ...]], ...]


def annotated(folder: Path, name: str, net: WordNet) -> Iterator[Annotated]:
    """The sentences of one of the sets: semcor-sample, semeval2007."""
    lines = (folder / f"{name}.gold.key.txt").read_text(encoding="utf-8").splitlines()
    gold = {number: tuple(net.senses[key] for key in keys if key in net.senses) for number, *keys in map(str.split, lines)}
    for sentence in ET.parse(folder / f"{name}.data.xml").getroot().iter("sentence"):
        text, words = "", []
        for one in sentence:
            said = (one.text or "").strip()
            text += " " if text else ""
            if one.tag == "instance":
                lemma = f"{one.get('lemma', '').lower().replace(' ', '_')}.{PARTS[one.get('pos', 'NOUN')]}"
                words.append((len(text), len(text) + len(said), lemma, gold[one.get("id", "")]))
            text += said
        yield Annotated(text=text, words=tuple(words))


def main() -> None:
    """The knowledge base alone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    build_kb(WordNet(given.wordnet), given.out).close()


if __name__ == "__main__":
    main()
