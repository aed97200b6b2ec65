"""Which files a corpus is made of: those named, and in folders those that by their endings hold what is wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from plume.core.errors import PlumeError
from plume.data.documents import JSONL, TEXT, suffix
from plume.data.pair_files import PairFile

FORMATS = "UTF-8 text (.txt, .text, .md) or JSONL with a 'text' field (.jsonl), each optionally .gz"
PAIR_FORMATS = (
    "pairs: TSV with the two sides in the first two columns (.tsv), JSONL with 'source' and 'target' (.jsonl), or two files of as many "
    "lines that differ in their ending only, which names the language (train.en and train.de), each optionally .gz"
)
TSV = ".tsv"
_LANGUAGE = re.compile(r"\.[a-z]{2,3}([_-][A-Za-z]{2,8})?")


def find_text_files(given: Sequence[Path]) -> tuple[Path, ...]:
    """The files named, and those of text in the folders named."""
    files = tuple(file for path in given for file in _found(path, FORMATS, lambda file: suffix(file) in TEXT + JSONL))
    for file in files:
        if suffix(file) == TSV:
            raise PlumeError(
                f"{file} is a table with tabs, which plume reads as pairs, and this recipe trains on text. Give {FORMATS}; or use a recipe "
                "that trains on pairs (transformer, xlm)."
            )
    return files


def find_pair_files(given: Sequence[Path]) -> tuple[PairFile, ...]:
    """Tables and JSONL files as they are; files that differ in their ending only, two by two."""
    files = [file for path in given for file in _found(path, PAIR_FORMATS, _may_hold_pairs)]
    sides = [file for file in files if _is_side(file)]
    alone = {file for file in sides if sum(_stem(other) == _stem(file) for other in sides) == 1}
    for file in sides:
        twins = [other for other in sides if _stem(other) == _stem(file)]
        if len(twins) > 2:
            raise PlumeError(f"{', '.join(str(twin) for twin in twins)} differ in their ending only: name the two that belong together.")
    if lost := sorted(alone):
        raise PlumeError(
            f"{lost[0]} is one side of a pair of files, by its ending {suffix(lost[0])}, and the other side is not there: "
            f"give both, as --corpus {_stem(lost[0])}.en --corpus {_stem(lost[0])}.de, or one file of pairs."
        )
    found = [PairFile(files=(file,)) for file in files if file not in sides]
    for number, file in enumerate(sides):
        if other := next((other for other in sides[number + 1 :] if _stem(other) == _stem(file)), None):
            found.append(PairFile(files=(file, other), languages=(suffix(file)[1:], suffix(other)[1:])))
    return tuple(found)


def _is_side(file: Path) -> bool:
    return suffix(file) not in (*TEXT, *JSONL, TSV, ".json") and _LANGUAGE.fullmatch(suffix(file)) is not None


def _may_hold_pairs(file: Path) -> bool:
    return suffix(file) in (*JSONL, TSV) or _is_side(file)


def _stem(file: Path) -> Path:
    return file.with_name(Path(file.name.removesuffix(".gz")).stem)


def _found(path: Path, formats: str, wanted: Callable[[Path], bool]) -> list[Path]:
    if path.is_dir():
        return _found_in(path, formats, wanted)
    if not path.exists():
        raise PlumeError(f"{path} does not exist: a corpus is a file or folder of {formats}.")
    if not path.is_file():
        raise PlumeError(f"{path} is not a regular file. plume reads a corpus several times: save it to a file first.")
    return [path]


def _found_in(folder: Path, formats: str, wanted: Callable[[Path], bool]) -> list[Path]:
    """Files by their endings; empty ones are left out, as they may be mere markers."""
    found = [file for file in _visible(folder) if wanted(file) and file.stat().st_size > 0]
    if not found:
        held = ", ".join(sorted(item.name for item in folder.iterdir())[:10]) or "nothing"
        raise PlumeError(f"{folder} holds no corpus files: looked for {formats}; found {held}.")
    return found


def _visible(folder: Path) -> Iterable[Path]:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts):
            yield file
