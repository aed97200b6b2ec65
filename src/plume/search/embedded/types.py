"""Types of index, as strings of faiss' factory: their names here, what they need, how far one can look in them.

`RFlat` or `Refine(…)` at the end (re-rank what a coarse type finds) costs no second copy here, and is exact: the vectors are in the index's own
file. PQ is trained without polysemous codes (`np`), which take minutes and find nothing more.
"""

from __future__ import annotations

import re

from plume.core.errors import PlumeError

FLAT = "Flat"
NAMES = {
    "flat": FLAT, "hnsw": "HNSW32", "ivf": "IVF{lists},Flat", "lsh": "LSH", "sq": "SQ8", "pq": "PQ{codes}np", "ivf-sq": "IVF{lists},SQ8",
    "ivfadc": "IVF{lists},PQ{codes}np", "ivfadc-refine": "IVF{lists},PQ{codes}np,RFlat",
}  # fmt: skip
POSSIBLE = f"give auto, {', '.join(NAMES)}, or a factory string like HNSW32, IVF256,PQ48 or PCA64,SQ8,RFlat"
REFINED = (8, 32, 128)  # times as many are found by a coarse type as are wanted, then compared exactly
_PQ = re.compile(r"(?<!O)(PQ\d+(?:x8)?)(?=,|$)")
_REFINE = re.compile(r",(?:RFlat|Refine\(.*\))$")
_LOSSY = re.compile(r"PQ|SQ|LSH|RaBitQ|PCA|OPQ|ITQ|RQ|ZnLattice|RR|L2norm")
# faiss makes these, and then dies of them or does not search.
_NEVER = {
    r"HNSW[01](?!\d)": "a graph needs at least two neighbours",
    r"(?:IVF|PQ|PCA)0(?!\d)": "nothing can be put into nothing",
    r"NSG|NNDescent": "it takes its vectors all at once, and no more of them later",
    r"IDMap": "passages have numbers already",
    r"\+": "it re-ranks by itself: write RFlat",
    r"IVF.*(?:RQ|LSQ)\w*fs": "it cannot be told how many lists to look at",
    r"_direct": "it takes whole numbers up to 255",
}


def factory(type: str, *, dimension: int, rows: int) -> str:
    """The factory string of a type, given by name or as one.

    >>> factory("ivfadc", dimension=384, rows=100_000), factory("IVF256,PQ48", dimension=384, rows=10)
    ('IVF1264,PQ48np', 'IVF256,PQ48np')
    """
    lists = max(1, int(4 * rows**0.5))
    codes = next((count for count in (48, 32, 24, 16, 12, 8, 6, 4, 3, 2) if dimension % count == 0 and dimension >= 4 * count), 1)
    known = NAMES.get(type.lower())
    return known.format(lists=lists, codes=codes) if known else _PQ.sub(r"\1np", type)


def check(string: str) -> None:
    """Refuse what faiss would make and could not search."""
    for pattern, why in _NEVER.items():
        if found := re.search(pattern, coarse(string)[0]):
            raise PlumeError(f"--type {string} cannot be searched ({found[0]}: {why}): {POSSIBLE}.")


def coarse(string: str) -> tuple[str, bool]:
    """Without the re-ranking at its end, and whether there was one.

    >>> coarse("IVF256,PQ48,RFlat"), coarse("SQ8,Refine(SQfp16)"), coarse("HNSW32")
    (('IVF256,PQ48', True), ('SQ8', True), ('HNSW32', False))
    """
    rest = _REFINE.sub("", string)
    return rest, rest != string


def least(string: str) -> int:
    """Vectors without which it cannot be trained.

    >>> least("IVF1024,PQ48np"), least("PQ48np"), least("PQ8x12"), least("HNSW32")
    (1024, 256, 4096, 1)
    """
    lists = re.search(r"IVF(\d+)", string)
    bits = [int(found) for found in re.findall(r"(?:PQ|LSQ|RQ)\d+(?:x\d+)?x(\d+)", string)]
    codes = 1 << max(bits, default=8) if re.search("PQ|LSQ|RQ", string) else 1
    return max(int(lists[1]) if lists else 1, codes)


def is_exact(string: str) -> bool:
    """Are the scores it gives those of the vectors themselves?"""
    return not _LOSSY.search(string)


def counts_bits(string: str) -> bool:
    """LSH knows only distances, and not those of the vectors; they order normalised vectors as products do."""
    return "LSH" in string


def efforts(string: str) -> list[int]:
    """Lists or neighbours to look at, from few to many; one where a type has nothing to choose.

    >>> efforts("IVF64,Flat"), efforts("SQ8")
    ([1, 2, 4, 8, 16, 32, 64], [1])
    """
    if lists := re.search(r"IVF(\d+)", string):
        return [1 << power for power in range(20) if 1 << power <= int(lists[1])]
    return [16, 32, 64, 128, 256, 512] if "HNSW" in string else [1]


def refinements(string: str) -> tuple[int, ...]:
    """How many times as many to find as are wanted, and to compare exactly: of types that are re-ranked."""
    return REFINED if coarse(string)[1] else (1,)
