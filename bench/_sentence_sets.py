"""What bench/sentence_quality.py measures on: pairs with scores, by set; texts to fit to and to learn from."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.metrics.scores import number_scores
from plume.sentences.reading import read_sentences
from plume.text.sentences import split_sentences
from plume.vectors.sts import read_pairs
from plume.vectors.transforms.normalise import Normalise

ENGLISH = {
    "STS12": "sts12-16/2012.*.tsv", "STS13": "sts12-16/2013.*.tsv", "STS14": "sts12-16/2014.*.tsv", "STS-B": "stsb/sts-dev.csv",
    "SICK-R": "sick/SICK_trial.txt",
}  # fmt: skip
CHINESE = {"STS-B": "stsb_zh/sts-b-dev.txt", "LCQMC": "lcqmc/dev.txt", "BQ": "bq_corpus/dev.tsv", "AFQMC": "afqmc/dev.txt"}


class Sets:
    """The pairs of some sets, every text once. The files of a set are joined in one list, as SBERT and SimCSE do."""

    def __init__(self, data: Path, files: dict[str, str], *, most: int) -> None:
        self.sets = {name: [one for path in sorted(data.glob(glob)) for one in read_pairs(path)][:most] for name, glob in files.items()}
        self.texts = list(dict.fromkeys(text for some in self.sets.values() for one in some for text in one.texts))
        self._place = {text: number for number, text in enumerate(self.texts)}

    def scores(self, vectors: NDArray[np.float32]) -> dict[str, float]:
        """Spearman's correlation × 100 of each set; `vectors` are those of `texts`, in their order."""
        unit = Normalise().apply(vectors).astype(np.float64)
        found = {}
        for name, some in self.sets.items():
            left, right = ([self._place[one.texts[side]] for one in some] for side in (0, 1))
            cosine = (unit[left] * unit[right]).sum(1)
            found[name] = 100 * number_scores([float(one.answer) for one in some], cosine.tolist())["spearman"]
        return found


@dataclass(frozen=True, kw_only=True)
class Language:
    """Where a language's data are, below --data."""

    name: str
    measured: dict[str, str]
    scored: str  # the pairs that supervised training reads
    training: tuple[str, ...]  # files whose texts transforms are fitted to: none of them is measured on
    corpus: str  # running text: pre-training, SimCSE, word vectors

    def training_texts(self, data: Path, most: int) -> list[str]:
        """Distinct, in random order."""
        found = (text for file in self.training for row in read_sentences([data / file]).rows for text in row.texts)
        return _some(found, most)

    def sentences(self, data: Path, most: int) -> list[str]:
        """Of the running text."""
        found = []
        with (data / self.corpus).open(encoding="utf-8") as handle:
            for line in handle:
                found += [one for one in split_sentences(json.loads(line)["text"]) if 20 <= len(one.encode()) <= 300]
                if len(found) > 20 * most:
                    break
        return _some(found, most)


LANGUAGES = (
    Language(
        name="English", measured=ENGLISH, scored="stsb/sts-train.csv", training=("stsb/sts-train.csv",), corpus="wikinews_en/train.jsonl"
    ),
    Language(
        name="Chinese", measured=CHINESE, scored="stsb_zh/sts-b-train.txt",
        training=("stsb_zh/sts-b-train.txt", "lcqmc/train.txt", "bq_corpus/train.tsv", "afqmc/train.txt"), corpus="zhwiki_large/train.jsonl",
    ),
)  # fmt: skip


def _some(texts: object, most: int) -> list[str]:
    listed = list(dict.fromkeys(texts))  # type: ignore[call-overload]
    random.Random(0).shuffle(listed)
    return listed[:most]
