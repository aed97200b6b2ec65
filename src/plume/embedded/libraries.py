"""Real English from the libraries that plume stands on: the manuals of NumPy, SciPy, scikit-learn and PyTorch as their source files carry them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.embedded.docstrings import Docstring, docstrings, package_folder
from plume.embedded.markup import plain
from plume.embedded.material import by_chance, text_key
from plume.embedded.numpydoc import Passage, passages

# Of torch the folders that are written for users; the rest is large and has little prose.
_TORCH = (
    "_tensor_docs.py",
    "_torch_docs.py",
    "autograd",
    "distributed",
    "distributions",
    "fft",
    "func",
    "linalg",
    "nn",
    "optim",
    "profiler",
    "special",
    "utils",
)
SOURCES: tuple[tuple[str, ...], ...] = (("numpy",), ("scipy",), ("sklearn",), ("torch", *_TORCH))
LIBRARIES = "NumPy, SciPy, scikit-learn and PyTorch"
_TEST_SHARE = 0.3  # of the entries of each part of a library, at most


@dataclass(frozen=True, kw_only=True)
class LibraryEntry:
    """What is said about one function, class or module."""

    module: str
    name: str
    parameters: frozenset[str]
    passages: tuple[Passage, ...]

    @property
    def subject(self) -> str:
        """The part of the library: scipy.signal, torch.nn."""
        return ".".join(self.module.split(".")[:2])


def entries() -> Iterator[LibraryEntry]:
    """All that holds a sentence of prose, in the order of the files' names."""
    for package, *folders in SOURCES:
        for one in (*docstrings(package, *folders), *_texts(package)):
            found, explained = passages(one.text)
            if found:
                yield LibraryEntry(module=one.module, name=one.name, parameters=one.arguments | explained, passages=tuple(found))


def test_modules(found: Sequence[LibraryEntry]) -> set[str]:
    """The files that are kept for testing: whole ones, so that no text is on both sides, and some of every part of a library that has several."""
    sizes = Counter((entry.subject, entry.module) for entry in found)
    whole = Counter(entry.subject for entry in found)
    taken: Counter[str] = Counter()
    chosen: set[str] = set()
    for subject, module in by_chance(sizes, lambda pair: pair[1]):
        if taken[subject] + sizes[subject, module] <= _TEST_SHARE * whole[subject]:
            taken[subject] += sizes[subject, module]
            chosen.add(module)
    return chosen


def _texts(package: str) -> Iterator[Docstring]:
    """scikit-learn tells about each of its data sets in a text file."""
    root = package_folder(package)
    for path in sorted(Path(root, "datasets", "descr").glob("*.rst")):
        module = f"{package}.datasets.descr.{path.stem}"
        yield Docstring(module=module, name=path.stem, arguments=frozenset(), text=path.read_text(encoding="utf-8"))


def documents(found: Sequence[LibraryEntry]) -> Iterator[list[str]]:
    """Sentences without mark-up, a document an entry. A paragraph that many docstrings share is kept once."""
    seen: set[str] = set()
    for entry in found:
        lines: list[str] = []
        for passage in entry.passages:
            sentences = [plain(sentence) for sentence in passage.sentences]
            if (key := text_key(" ".join(sentences))) not in seen:
                seen.add(key)
                lines += sentences
        if lines:
            yield lines
