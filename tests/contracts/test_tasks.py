"""Every family takes every task that makes sense for it: it learns, predicts, is saved and loaded, and a text's answer is its own."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import plume
from plume.core.errors import PlumeError
from plume.recipes import _catalog as catalog
from plume.tuning.options import start_from_options
from plume.tuning.tuned import TunedModel

FAMILIES = catalog.networks()
ENCODERS = ("bert", "roberta", "albert", "electra", "xlnet", "gpt2", "elmo", "t5")
WARM, COLD = ("sunny", "warm", "苹果"), ("rainy", "cold", "旧房子")


def lines(source: random.Random, count: int) -> list[tuple[str, str]]:
    """A text is about warm things or cold ones."""
    made = []
    for _ in range(count):
        label = source.choice(("warm", "cold"))
        words = [source.choice(("the cat", "my sister", "a letter", "我们喜欢")) for _ in range(source.randint(1, 4))]
        words.insert(source.randrange(len(words) + 1), source.choice(WARM if label == "warm" else COLD))
        made.append((" ".join(words), label))
    return made


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same warm and cold texts in the formats of several tasks."""
    folder, source = tmp_path_factory.mktemp("files"), random.Random(5)
    texts = lines(source, 48)
    (folder / "classification.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in texts), encoding="utf-8")
    pairs = [(one[0], other[0], "1" if one[1] == other[1] else "0") for one, other in zip(texts, reversed(texts), strict=True)]
    (folder / "pairs.tsv").write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")
    (folder / "scores.tsv").write_text("".join(f"{a}\t{b}\t{4 * int(c) + 0.5}\n" for a, b, c in pairs), encoding="utf-8")
    spans = []
    for text, label in texts:
        word = next(word for word in WARM + COLD if word in text)
        start = text.index(word)
        spans.append({"text": text, "entities": [{"start": start, "end": start + len(word), "label": label}]})
    (folder / "ner.jsonl").write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in spans), encoding="utf-8")
    asked = [
        {
            "question": f"what is {label}?",
            "context": text,
            "answers": {"text": [one["text"][e["start"] : e["end"]]], "answer_start": [e["start"]]},
        }
        for (text, label), one in zip(texts, spans, strict=True)
        for e in one["entities"]
    ]
    (folder / "qa.jsonl").write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in asked), encoding="utf-8")
    hops = [
        {
            "question": f"what is {label} of A?",
            "answer": one["text"][e["start"] : e["end"]],
            "context": {"A": "A is B.", "B": f"B is {text}."},
        }
        for (text, label), one in zip(texts[:8], spans, strict=False)
        for e in one["entities"]
    ]
    (folder / "hops.jsonl").write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in hops), encoding="utf-8")
    choices = [{"context": text, "choices": ["it is warm", "it is cold"], "answer": int(label == "cold")} for text, label in texts]
    (folder / "choices.jsonl").write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in choices), encoding="utf-8")
    return folder


TASKS = {
    "classification": ("classification.tsv", "the cat warm"),
    "paraphrase": ("pairs.tsv", ("the cat warm", "cold letter")),
    "similarity": ("scores.tsv", ("the cat warm", "cold letter")),
    "ner": ("ner.jsonl", "the cat warm 苹果"),
    "qa": ("qa.jsonl", {"question": "what is warm?", "context": "the cat sunny a letter"}),
    "multiple-choice": ("choices.jsonl", {"context": "the cat sunny", "choices": ["it is warm", "it is cold"]}),
}


def tune(base: Path, files: Path, out: Path, task: str, **options: Any) -> TunedModel:
    file = str(files / TASKS[task][0])
    options = {"epochs": 2.0, "measurements": 1, "batch": 8, "rate": 3e-3, "quiet": True} | options
    start_from_options(base, task=task, train=file, dev=file, out=out, **options)
    return plume.load(out)


def same(one: Any, other: Any) -> bool:
    """Equal but for the last digits of scores: other batches round otherwise."""
    if isinstance(one, float):
        return one == pytest.approx(other, abs=2e-5)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_classifies(family: str, base: Any, files: Path, tmp_path: Path) -> None:
    tuned = tune(base(family), files, tmp_path / "out", "classification")
    texts = ["the cat warm", "cold my sister a letter 我们喜欢 the cat", "旧房子", ""]
    if tuned.body.recipe.languages:  # both of which are in the training texts: nothing says what an empty one is
        with pytest.raises(PlumeError, match="text 4: cannot tell which language '' is in: say one of en, zh"):
            tuned.predict(texts)
        texts.pop()
    together = tuned.predict(texts)
    assert all(same(tuned.predict(text)[0], answer) for text, answer in zip(texts, together, strict=True))
    assert all(sum(answer["scores"].values()) == pytest.approx(1, abs=1e-4) for answer in together)
    tuned.save(tmp_path / "again")
    again = plume.load(tmp_path / "again")
    assert all(torch.equal(a, b) for a, b in zip(tuned.model.parameters(), again.model.parameters(), strict=True))
    assert again.predict(texts) == together


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("family", ENCODERS)
def test_tasks(family: str, task: str, base: Any, files: Path, tmp_path: Path) -> None:
    tuned = tune(base(family), files, tmp_path / "out", task)
    item = TASKS[task][1]
    (answer,) = tuned.predict([item])
    again = tuned.predict([item, item])
    assert same(again[0], answer) and same(again[1], answer)
    if task == "ner":
        assert tuned.predict(["", " "]) == [{"entities": [], "tags": []}] * 2


LOOPS = {  # tasks that ask several times
    "multihop": ("hops.jsonl", {}, {"question": "what is warm of A?", "context": {"A": "A is B.", "B": "B is the cat sunny."}}),
    "qa": ("qa.jsonl", {"long": "recall", "answer": "head", "length": 24}, ("what is warm?", " ".join(["the cat sunny a letter"] * 8))),
}


@pytest.mark.parametrize("task", LOOPS)
@pytest.mark.parametrize("family", ["xlnet", "gpt2", "elmo", "t5"])
def test_loops(family: str, task: str, base: Any, files: Path, tmp_path: Path) -> None:
    name, options, item = LOOPS[task]
    file = str(files / name)
    start_from_options(
        base(family), task=task, train=file, dev=file, out=tmp_path / "out", epochs=0.5, measurements=1, quiet=True, **options
    )
    tuned = plume.load(tmp_path / "out")
    (answer,) = tuned.predict([item])
    assert all(same(one, answer) for one in tuned.predict([item, item]))


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A family of word vectors, trained for an instant."""
    made: dict[str, Path] = {}
    text = tmp_path_factory.mktemp("text") / "text.txt"
    text.write_text("\n".join(line for line, _ in lines(random.Random(1), 300)) + "\n", encoding="utf-8")

    def make(family: str) -> Path:
        if family not in made:
            folder = tmp_path_factory.mktemp("words") / family
            plume.pretrain(f"{family}/tiny", corpus=text, out=folder, overrides=["least=1", "epochs=2"], quiet=True, threads=1)
            made[family] = folder
        return made[family]

    return make


@pytest.mark.parametrize("task", ["classification", "ner", "paraphrase", "qa"])
@pytest.mark.parametrize("family", sorted(set(catalog.families()) - set(catalog.networks())))
def test_word_vectors_are_features(family: str, task: str, words: Any, files: Path, tmp_path: Path) -> None:
    tuned = tune(words(family), files, tmp_path / "out", task, mode="features")
    item = TASKS[task][1]
    assert same(tuned.predict([item])[0], plume.load(tmp_path / "out").predict([item, item])[1])


@pytest.mark.parametrize("mode", ["features", "probe", "adapters"])
@pytest.mark.parametrize("family", ["bert", "xlnet", "gpt2", "t5", "elmo", "ulmfit"])
@pytest.mark.parametrize("task", ["classification", "ner"])
def test_modes(family: str, mode: str, task: str, base: Any, files: Path, tmp_path: Path) -> None:
    if mode == "adapters" and family in ("elmo", "ulmfit"):
        with pytest.raises(plume.PlumeError, match="Recurrent"):
            tune(base(family), files, tmp_path / "out", task, mode=mode)
        return
    tuned = tune(base(family), files, tmp_path / "out", task, mode=mode, epochs=1.0)
    before = dict(plume.load(base(family)).model.named_parameters())
    after = dict(tuned.model.body.named_parameters())
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert bool(changed) == (mode == "adapters")
    assert all(name.endswith(("query.weight", "value.weight")) for name in changed)
