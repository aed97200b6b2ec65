"""Memory and time of text8's shape (one line, lower case, no punctuation) beside the same words in ordinary lines and documents.

    python bench/procedures/one_line.py CORPUS [--megabytes 100] [--recipes word2vec/tiny gpt2/tiny bert/tiny] [--steps 5]

The words of CORPUS (English text, or JSONL with a 'text' field) are repeated up to the size wanted, once as one line, once with 20 words
a sentence, 5 sentences a line and 20 lines a document. Each is pre-trained in a process of its own, with an empty cache and one worker;
the system says what it took. The two should be alike: text8 must train within the memory that other text takes.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path


def words_of(corpus: Path, size: int) -> Iterator[str]:
    words = re.findall(r"[a-z]+", re.sub(r"\\[nt]", " ", corpus.read_text(encoding="utf-8")).lower())
    for word in itertools.cycle(words):
        size -= len(word) + 1
        if size < 0:
            return
        yield word


def write_both(corpus: Path, size: int, folder: Path) -> dict[str, Path]:
    paths = {"one line": folder / "one_line.txt", "ordinary lines": folder / "lines.txt"}
    with paths["one line"].open("w") as one, paths["ordinary lines"].open("w") as lines:
        words = words_of(corpus, size)
        for number in itertools.count(1):
            sentence = " ".join(itertools.islice(words, 20))
            if not sentence:
                return paths
            one.write(sentence + " ")
            lines.write(sentence.capitalize() + "." + ("\n\n" if number % 100 == 0 else "\n" if number % 5 == 0 else " "))
    return paths


def train(recipe: str, corpus: Path, folder: Path, steps: int) -> tuple[float, float]:
    """Peak memory of the largest process in megabytes, and seconds; measured by a process between, whose only child it is."""
    budget = f"{1000 * steps}tokens" if recipe.startswith(("word2vec", "fasttext", "glove")) else f"{steps}steps"
    command = [sys.executable, "-m", "plume", "pretrain", recipe, "--corpus", str(corpus), "--out", str(folder / "run"), "--budget", budget]
    environment = os.environ | {"PLUME_CACHE": str(folder / "cache"), "PLUME_WORKERS": "1", "OMP_NUM_THREADS": "1"}
    began = time.perf_counter()
    subprocess.run(command, env=environment, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--recipes", nargs="+", default=["word2vec/tiny", "gpt2/tiny", "bert/tiny"])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(*train(given.child, given.corpus, Path(tempfile.mkdtemp(dir=given.corpus.parent)), given.steps))
        return
    with tempfile.TemporaryDirectory() as folder:
        texts = write_both(given.corpus, int(given.megabytes * 1e6), Path(folder))
        for name, path in texts.items():
            for recipe in given.recipes:
                own = [sys.executable, __file__, str(path), "--child", recipe, "--steps", str(given.steps)]
                memory, seconds = map(float, subprocess.run(own, check=True, capture_output=True, text=True).stdout.split()[-2:])
                print(f"{recipe:14} {name:15} {memory:8,.0f} MB {seconds:8.1f} s", flush=True)


if __name__ == "__main__":
    main()
