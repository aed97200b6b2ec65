"""TF-IDF + linear: against scikit-learn's own vectorizer, on every kind of task it can do, saved and loaded, and what it refuses."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import plume
from plume.core.errors import PlumeError
from plume.heads.sentence_classification import Choice, MultiLabelClassification, SentenceClassification, SentenceRegression
from plume.readers.example import Example
from plume.tuning.linear.learning import _tokenizer
from plume.tuning.linear.model import LinearModel, LinearReader, is_linear, linear_coder
from plume.tuning.linear.recipe import TermRecipe
from plume.tuning.linear.solving import solve
from plume.tuning.linear.terms import Terms, paired, rarity, weighted
from plume.tuning.loaded import load_tuned
from plume.tuning.options import named

TEXTS = ["The cat sat on the mat.", "A dog sat here, a dog!", "the mat of the dog", "cats and dogs", "nothing else 12"]


def test_the_features_are_scikit_learns() -> None:
    """Words and pairs of words, characters of words with a space on either side, each of length 1."""
    tokenizer = _tokenizer(TEXTS)
    task = named("classification")
    questions, _ = task.questions([Example(texts=(text,)) for text in TEXTS], linear_coder(tokenizer))
    head = SentenceClassification()
    reader = LinearReader.of(TermRecipe(), tokenizer, head, questions)
    found = reader(questions)
    words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"\w+|[^\w\s]").fit(TEXTS)
    letters = TfidfVectorizer(sublinear_tf=True, ngram_range=(2, 5), analyzer="char_wb", preprocessor=lambda text: text.lower())
    spaced = [" ".join(word for word in words.build_tokenizer()(text) if len(word) > 1) for text in TEXTS]
    letters = letters.fit(spaced)
    columns = [found[:, reader.terms.column[name]].toarray()[:, 0] for name in words.get_feature_names_out()]
    assert np.allclose(np.stack(columns, 1), words.transform(TEXTS).toarray(), atol=1e-6)
    columns = [found[:, reader.terms.column["\t" + name]].toarray()[:, 0] for name in letters.get_feature_names_out()]
    assert np.allclose(np.stack(columns, 1), letters.transform(spaced).toarray(), atol=1e-6)
    assert found.shape[1] == len(words.get_feature_names_out()) + len(letters.get_feature_names_out())


def test_a_pair_is_what_both_have_and_what_one_has() -> None:
    terms = Terms(["a", "b", "\tc"])
    counts = terms.counts([["a", "b"], ["b"], ["\tc"]])
    assert counts.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 1]] and terms.words == 2
    rare = rarity(counts)
    assert rare[0] == pytest.approx(np.log(4 / 2) + 1) and rare[1] == pytest.approx(np.log(4 / 3) + 1)
    first, second = weighted(counts[:1], rare, 2), weighted(counts[1:2], rare, 2)
    made = paired(first, second, 2).toarray()[0]
    a, b = first.toarray()[0][:2]
    assert made[:3] == pytest.approx([0, b, 0]) and made[3:6] == pytest.approx([a, 0, 0]) and made[6:9] == pytest.approx([0, 1 - b, 0])
    assert made[9:] == pytest.approx([b, 0, b / (a + 1)])


def test_each_head_has_its_own_way_to_be_solved() -> None:
    draw = np.random.default_rng(0)
    from scipy.sparse import csr_matrix

    features = csr_matrix(draw.normal(size=(60, 4)).astype(np.float32))
    dense, rows = features.toarray(), np.arange(61)
    number = solve(SentenceRegression(), features, dense[:, 1] * 3 + 1, rows, classes=0, strength=1e6)
    assert number.weight[:, 0] == pytest.approx([0, 3, 0, 0], abs=1e-3) and number.bias[0] == pytest.approx(1, abs=1e-3)
    three = solve(SentenceClassification(), features, dense[:, :3].argmax(1), rows, classes=4, strength=100.0)
    assert (three(features).argmax(1) == dense[:, :3].argmax(1)).mean() > 0.9 and three.bias[3] == -30
    several = solve(MultiLabelClassification(), features, (dense[:, :2] > 0).astype(int), rows, classes=2, strength=100.0)
    assert ((several(features) > 0) == (dense[:, :2] > 0)).mean() > 0.9
    groups = np.arange(0, 61, 3)
    right = dense[:, 2].reshape(-1, 3).argmax(1)
    choice = solve(Choice(), features, right, groups, classes=0, strength=100.0)
    assert (choice(features).reshape(-1, 3).argmax(1) == right).mean() > 0.9


def _write(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def _files(folder: Path) -> dict[str, str]:
    draw = random.Random(0)
    names, verbs = ["Ann", "Bob", "Carla", "Eva"], {"warm": "sunny", "cold": "rainy"}
    labelled, pairs, near, tagged, several, choices, han = [], [], [], [], [], [], []
    for _ in range(60):
        who, other, label = draw.choice(names), draw.choice(names), draw.choice(list(verbs))
        labelled.append(f"{who} says it is {verbs[label]}\t{label}")
        pairs.append(f"{who} sleeps\t{other} sleeps\t{'yes' if who == other else 'no'}")
        near.append(f"{who} sleeps\t{other} sleeps\t{5.0 if who == other else 1.0}")
        tagged.append(f"{who} B-PER\nmet O\n{other} B-PER\n. O\n")
        several.append(json.dumps({"text": f"{verbs[label]} {who}", "labels": [label, *(["ann"] if who == "Ann" else [])]}))
        context = {"context": f"{who} is here", "choices": [f"{who} came", "nobody came"]}
        place = draw.randrange(2)
        choices.append(json.dumps(context | {"choices": context["choices"][:: 1 - 2 * place], "answer": place}))
        han.append(
            f"{draw.choice('我你他她')} {draw.choice('爱在去看')} {'北京' if label == 'warm' else '上海'}{' 吧' * draw.randrange(2)}"
        )
    return {
        "classification": _write(folder / "a.tsv", ["text\tlabel", *labelled]),
        "paraphrase": _write(folder / "b.tsv", ["sentence1\tsentence2\tlabel", *pairs]),
        "similarity": _write(folder / "c.tsv", ["sentence1\tsentence2\tscore", *near]),
        "ner": _write(folder / "d.conll", tagged),
        "multi-label": _write(folder / "e.jsonl", several),
        "multiple-choice": _write(folder / "f.jsonl", choices),
        "segmentation": _write(folder / "g.txt", han),
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return _files(tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize("task", ["classification", "paraphrase", "similarity", "ner", "multi-label", "multiple-choice", "segmentation"])
def test_every_task_that_it_can_do(files: dict[str, str], task: str, tmp_path: Path) -> None:
    made = plume.tune("tfidf", task=task, train=files[task], out=tmp_path / "one", quiet=True)
    assert isinstance(made, LinearModel) and is_linear(tmp_path / "one")
    measured = made.evaluate(files[task])
    assert measured.scores["pearson" if task == "similarity" else made.task().metric] > 0.9
    examples = [Example(texts=one.texts, words=one.words) for one in measured.examples[:4]]
    alone = [made.answers(made.task(), [one])[0][0] for one in examples]
    assert alone == made.answers(made.task(), examples)[0]
    made.save(tmp_path / "copy")
    assert load_tuned(tmp_path / "copy").answers(made.task(), examples) == made.answers(made.task(), examples)
    plume.tune("tfidf", task=task, train=files[task], out=tmp_path / "two", quiet=True)
    for name in ("model.safetensors", "terms.json", "tokenizer.json", "task.json", "card.md"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_several_tasks_and_words_never_seen(files: dict[str, str], tmp_path: Path) -> None:
    made = plume.tune("tfidf", task=[f"topic:classification={files['classification']}", f"ner={files['ner']}"], out=tmp_path / "out")
    assert made.predict("Zoë thinks it is SUNNY", task="topic")[0]["label"] == "warm"
    assert made.predict(["Zoë met Quentin.", ""], task="ner")[1]["entities"] == []


@pytest.mark.parametrize(
    ("task", "options", "said"),
    [
        ("classification", {"mode": "adapters"}, "--mode is for models that learn step by step"),
        ("classification", {"epochs": 3}, "--epochs is for models"),
        ("classification", {"from_scratch": True}, "--from-scratch is for models"),
        ("classification", {"metric": "bleu"}, "'bleu' is not measured here"),
        ("ner", {"crf": True}, "without --crf"),
    ],
)
def test_what_is_refused(files: dict[str, str], task: str, options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=said):
        plume.tune("tfidf", task=task, train=files[task], out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_nothing_is_below_it(files: dict[str, str], tmp_path: Path) -> None:
    made = plume.tune("tfidf", task="classification", train=files["classification"], out=tmp_path / "out")
    with pytest.raises(PlumeError, match="no model below"):
        made.embed("text")
    with pytest.raises(PlumeError, match="leave out --language"):
        made.predict("text", language="en")
    with pytest.raises(PlumeError, match="plume tune tfidf"):
        plume.tune(tmp_path / "out", task="classification", train=files["classification"], out=tmp_path / "again")
    with pytest.raises(PlumeError, match="no counterpart in transformers"):
        plume.export_hf(tmp_path / "out", out=tmp_path / "hf")
    with pytest.raises(PlumeError, match="strengths"):
        TermRecipe(strengths=())
