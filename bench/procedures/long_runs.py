"""Does one long run without a space cost linear time? Seconds of `doctor` and of encoding for doubling sizes, and the ratios.

    python bench/procedures/long_runs.py [--kilobytes 100 200 400 800] [--chinese FILE]

Each text is one line of nothing but the run, behind a few ordinary sentences. CPU time of this process; a ratio of 2 is linear, 4 is
quadratic. Before this was mended, doctor took 5.8, 21 and 93 seconds for 100, 200 and 400 KB of letters. --chinese gives the Chinese run
real characters; without it they are drawn.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import random
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from plume.data.corpus import Corpus
from plume.data.doctor import examine
from plume.data.store import build_stores
from plume.data.train_tokenizer import train_tokenizer
from plume.text.format import BERT, GPT
from plume.text.tokenizers import ByteLevelBPE, Unigram, WordPiece
from plume.text.words import Words

PROSE = "The old dog walks over quiet hills. Rain falls in spring. A small boat waits by the harbour.\n" * 40
SPECS = {
    "WordPiece": (WordPiece(vocabulary=4000), BERT),
    "byte level": (ByteLevelBPE(vocabulary=4000), GPT),
    "Unigram": (Unigram(vocabulary=4000), BERT),
}


def kinds(chinese: str) -> dict[str, Callable[[int], str]]:
    draw = random.Random(0)
    return {
        "letters": lambda size: "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=size)),
        "base64": lambda size: base64.b64encode(draw.randbytes(size))[:size].decode(),
        "a Chinese run": lambda size: (chinese * (size // len(chinese) + 1))[:size],
        "one character": lambda size: "a" * size,
        "combining marks": lambda size: "e" + "\u0301" * size,
        "spaces": lambda size: "a" + " " * size + "b",
        "blank lines": lambda size: "a" + "\r \r" * (size // 3) + "b",
        "punctuation": lambda size: "".join(draw.choices(".,;:!?-()'\"", k=size)),
    }


def steps(path: Path) -> dict[str, float]:
    """CPU seconds of each step on this corpus, nothing cached."""
    took = {}

    def timed(name: str, run: Callable[[], object]) -> object:
        began = time.process_time()
        made = run()
        took[name] = time.process_time() - began
        return made

    timed("doctor", lambda: examine(path))
    for name, (spec, form) in SPECS.items():
        corpus = Corpus(path)
        tokenizer = timed(f"train {name}", lambda: train_tokenizer(corpus, spec, form))  # noqa: B023 - called at once
        with tempfile.TemporaryDirectory() as cache:
            timed(f"encode {name}", lambda: build_stores(corpus, tokenizer, words=Words.JIEBA, cache=Path(cache), workers=1))  # type: ignore[arg-type]  # noqa: B023
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kilobytes", nargs="+", type=int, default=[100, 200, 400, 800])
    parser.add_argument("--chinese", type=Path)
    given = parser.parse_args()
    real = "".join(re.findall(r"[\u4e00-\u9fff]+", given.chinese.read_text(encoding="utf-8"))) if given.chinese else ""
    drawn = "".join(map(chr, range(0x4E00, 0x5200)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.txt"
        for kind, make in kinds(real or drawn).items():
            found = []
            for size in given.kilobytes:
                path.write_text(PROSE + make(1000 * size) + "\n", encoding="utf-8", newline="")
                found.append(steps(path))
            for step in found[0]:
                times = [one[step] for one in found]
                ratios = [after / max(before, 1e-3) for before, after in itertools.pairwise(times)]
                shown = " ".join(f"{value:8.2f} s" for value in times)
                print(f"{kind:16} {step:18} {shown}   ratios {' '.join(f'{ratio:.1f}' for ratio in ratios)}", flush=True)


if __name__ == "__main__":
    main()
