"""A text as blocks of some dozens of tokens, cut where it hurts least (CogLTX §2.2 and its appendix)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.text.pieces import Joined
from plume.text.sentences import sentence_starts
from plume.tuning.rows.rows import Array

LONGEST = 63  # tokens
A_BLOCK = 4.0  # what every block costs, so that there are few
LINE, SENTENCE, COMMA, WORD, INSIDE = 0.0, 1.0, 2.0, 8.0, 50.0  # what a cut costs there; inside a word only where nothing else is left
_COMMAS = [ord(sign) for sign in ",;:，、；："]


def cut_costs(text: str, cut: Joined, first: int, last: int, base: int) -> NDArray[np.float64]:
    """[tokens] what it costs to end a block before each of the tokens `first` to `last` of a text that begins at character `base`."""
    start, end = cut.start[first:last] - base, cut.end[first:last] - base
    cost = np.where(cut.word_start[first:last], WORD, INSIDE)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    before = np.maximum.accumulate(end)[:-1]  # of each token but the first: where the one before ends
    cost[1:][np.isin(codes[np.maximum(before - 1, 0)], _COMMAS)] = COMMA
    begins = np.array(sentence_starts(text))
    sentence = np.searchsorted(begins, start, side="right")  # a sentence begins with the space before it
    cost[1:][sentence[1:] > sentence[:-1]] = SENTENCE
    lines = np.cumsum((codes == ord("\n")) | (codes == ord("\r")))
    lines = np.append(lines, lines[-1:])
    cost[1:][lines[start[1:]] > lines[start[:-1]]] = LINE
    return cost


def cheapest(cost: Sequence[float], longest: int = LONGEST) -> list[int]:
    """Where blocks of at most `longest` tokens begin, and the last one ends, so that all cuts and blocks together cost least.

    `cost[i]` is that of a cut before token i. One pass with a queue of the best last cuts, so the time grows as the text does.

    >>> cheapest([0, 8, 8, 1, 8, 8], longest=4)
    [0, 3, 6]
    """
    if longest < 1:
        raise PlumeError("A block has a token at least.")
    size = len(cost)
    best, back = [0.0] * (size + 1), [0] * (size + 1)
    queue: deque[int] = deque([0])  # cuts within reach, the cheapest first
    for place in range(1, size + 1):
        while queue[0] < place - longest:
            queue.popleft()
        back[place] = queue[0]
        best[place] = best[queue[0]] + A_BLOCK + (cost[place] if place < size else 0.0)
        while queue and best[queue[-1]] > best[place]:
            queue.pop()
        queue.append(place)
    found = [size]
    while found[-1]:
        found.append(back[found[-1]])
    return found[::-1]


def blocks_of(texts: Sequence[str], cut: Joined, longest: int = LONGEST) -> tuple[Array, Array]:
    """[K + 1] the first token of each block of all texts, and where the last ends; [texts + 1] the blocks of each. A text without tokens has none."""
    begins, counts = [0], [0]
    for number, text in enumerate(texts):
        first, last = cut.token_bounds[number : number + 2].tolist()
        if first < last:
            found = cheapest(cut_costs(text, cut, first, last, int(cut.character_bounds[number])).tolist(), longest)
            begins += [first + place for place in found[1:]]
        counts.append(len(begins) - 1)
    return np.array(begins), np.array(counts)
