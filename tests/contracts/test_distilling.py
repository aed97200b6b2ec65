"""Every way to distil × every family that it fits; what does not fit is refused with a sentence. Made models are ordinary ones."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import plume
from plume.core.errors import PlumeError
from plume.recipes import _catalog as catalog
from plume.tuning.options import start_from_options
from plume.tuning.tuned import TunedModel

METHODS = ("distil", "distilbert", "tinybert", "minilm", "patient", "direct", "sequence")
QUICK = ("bert", "electra", "gpt2", "xlnet", "t5", "elmo")  # one of each kind; the others with the slow tests


def slow_but(quick: bool, *given: str) -> Any:
    """A case of a test, with the slow ones unless it is quick."""
    return pytest.param(*given, marks=() if quick else pytest.mark.slow)


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


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same warm and cold texts in the formats of several tasks, and some without an answer."""
    folder, source = tmp_path_factory.mktemp("files"), random.Random(5)
    texts = lines(source, 24)
    (folder / "classification.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in texts), encoding="utf-8")
    pairs = [(one[0], other[0], one[1] == other[1]) for one, other in zip(texts, reversed(texts), strict=True)]
    (folder / "paraphrase.tsv").write_text("".join(f"{a}\t{b}\t{int(c)}\n" for a, b, c in pairs), encoding="utf-8")
    (folder / "similarity.tsv").write_text("".join(f"{a}\t{b}\t{4 * c + 0.5}\n" for a, b, c in pairs), encoding="utf-8")
    labels = [f"{text}\t{label},{'long' if len(text) > 20 else 'short'}\n" for text, label in texts]
    (folder / "multi-label.tsv").write_text("".join(["text\tlabels\n", *labels]), encoding="utf-8")
    spans = []
    for text, label in texts:
        word = next(word for word in WARM + COLD if word in text)
        start = text.index(word)
        spans.append({"text": text, "entities": [{"start": start, "end": start + len(word), "label": label}]})
    (folder / "ner.jsonl").write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in spans), encoding="utf-8")
    asked = [
        {"question": f"what is {e['label']}?", "context": one["text"],
         "answers": {"text": [one["text"][e["start"] : e["end"]]], "answer_start": [e["start"]]}}
        for one in spans for e in one["entities"]
    ]  # fmt: skip
    (folder / "qa.jsonl").write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in asked), encoding="utf-8")
    choices = [{"context": text, "choices": ["it is warm", "it is cold"], "answer": int(label == "cold")} for text, label in texts]
    (folder / "multiple-choice.jsonl").write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in choices), encoding="utf-8")
    written = [{"source": text, "target": f"it is {label}"} for text, label in texts]
    (folder / "text-to-text.jsonl").write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in written), encoding="utf-8")
    (folder / "more.txt").write_text("".join(f"{text}\n" for text, _ in lines(random.Random(6), 12)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def teacher(base: Any, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A family's miniature, tuned for a task for an instant."""
    made: dict[tuple[str, str], Path] = {}

    def make(family: str, task: str = "classification", **options: Any) -> Path:
        key = (family, task + str(sorted(options.items())))
        if key not in made:
            file = next(data.glob(f"{task}.*"))
            out = tmp_path_factory.mktemp("teacher") / f"{family}-{task}"
            given = {"epochs": 1.0, "measurements": 1, "batch": 8, "rate": 3e-3, "quiet": True} | options
            start_from_options(base(family), task=task, train=str(file), dev=str(file), out=out, **given)
            made[key] = out
        return made[key]

    return make


def small(source: Path | list[Path], out: Path, method: str, **options: Any) -> TunedModel:
    given = {"epochs": 1.0, "batch": 8, "rate": 3e-3, "quiet": True} | options
    made = plume.compress(source, method=method, out=out, **given)
    assert isinstance(made, TunedModel)
    return made


@pytest.mark.parametrize(
    ("method", "family"),
    [*(slow_but(family in QUICK, method, family) for method in ("distil", "tinybert") for family in catalog.networks())]
    + [
        slow_but(family in ("bert", "t5"), method, family)
        for method in METHODS
        for family in ("bert", "xlnet", "gpt2", "t5", "palm")
        if method not in ("distil", "tinybert")
    ],
)
def test_every_method_fits_a_family_or_says_why_not(method: str, family: str, teacher: Any, tmp_path: Path) -> None:
    before = plume.load(teacher(family))
    if before.body.recipe.recurrent or family == "albert":
        with pytest.raises(PlumeError, match=r"name a student \(--student bert/tiny, or a model directory\)"):
            small(teacher(family), tmp_path / "out", method)
        assert not (tmp_path / "out").exists()
        return
    if before.body.recipe.transformer.between:  # whose first layer alone has nothing behind what stands between
        with pytest.raises(PlumeError, match="nothing would read what it makes"):
            small(teacher(family), tmp_path / "out", method)
        return
    made = small(teacher(family), tmp_path / "out", method)
    assert made.body.recipe.transformer.depth == 1 < before.body.recipe.transformer.depth
    assert made.predict(["the cat warm", "rainy"]) == plume.load(tmp_path / "out").predict(["the cat warm", "rainy"])
    assert "## Made small" in (tmp_path / "out" / "card.md").read_text(encoding="utf-8")


ITEMS = {
    "paraphrase": ("the cat warm", "cold letter"),
    "similarity": ("the cat warm", "cold letter"),
    "multi-label": "the cat warm",
    "ner": "the cat warm 苹果",
    "qa": {"question": "what is warm?", "context": "the cat sunny a letter"},
    "multiple-choice": {"context": "the cat sunny", "choices": ["it is warm", "it is cold"]},
}


@pytest.mark.parametrize("task", ITEMS)
@pytest.mark.parametrize(
    ("method", "family"),
    [
        ("distil", "bert"),
        ("minilm", "gpt2"),
        slow_but(False, "tinybert", "electra"),
        slow_but(False, "patient", "xlnet"),
        slow_but(False, "distilbert", "t5"),
    ],
)
def test_every_task_is_taught(task: str, method: str, family: str, teacher: Any, tmp_path: Path) -> None:
    made = small(teacher(family, task), tmp_path / "out", method)
    assert len(made.predict([ITEMS[task]])) == 1
    assert (tmp_path / "out" / "lineage.json").exists()


@pytest.mark.parametrize("task", ["classification", "ner", "similarity", "qa"])
@pytest.mark.parametrize("family", ["bert", slow_but(False, "gpt2"), slow_but(False, "t5")])
def test_rows_without_an_answer_are_taught(task: str, family: str, teacher: Any, data: Path, tmp_path: Path) -> None:
    text = {"classification": "more.txt", "ner": "more.txt", "similarity": "similarity.tsv", "qa": "qa.jsonl"}[task]
    for labelling in ("people", "unlabelled", "teacher"):
        out = tmp_path / labelling
        small(teacher(family, task), out, "distil", text=data / text, augment=["masking=1"], settings=[f"labelling={labelling}"])
        lines = [json.loads(line) for line in (out / "train" / "metrics.jsonl").read_text().splitlines()]
        assert any("loss/logits" in line for line in lines)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    (folder / "text.txt").write_text("\n".join(line for line, _ in lines(random.Random(1), 300)) + "\n", encoding="utf-8")
    plume.pretrain(
        "fasttext/tiny", corpus=folder / "text.txt", out=folder / "fasttext", overrides=["least=1", "buckets=500"], quiet=True, threads=1
    )
    return folder / "fasttext"


@pytest.mark.parametrize(
    ("student", "task"),
    [(student, task) for student in ("elmo", "ulmfit", "fasttext") for task in ("classification", "ner")]
    + [("gpt2", "similarity"), ("cove", "classification"), ("skip-thought", "classification")],
)
def test_a_transformer_into_another_family_and_vocabulary(
    student: str, task: str, teacher: Any, base: Any, vectors: Path, data: Path, tmp_path: Path
) -> None:
    folder = vectors if student == "fasttext" else base(student)
    text = [data / "more.txt"] if task != "similarity" else []
    made = small(teacher("bert", task), tmp_path / "out", "distil", student=str(folder), text=text)
    assert made.model.body.recipe.name == student
    with pytest.raises(PlumeError, match=r"different vocabularies|has no layers of blocks"):
        small(teacher("bert", task), tmp_path / "other", "minilm", student=str(folder))
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("task", ["classification", "ner"])
def test_several_teachers_of_any_family(task: str, teacher: Any, tmp_path: Path) -> None:
    teachers = [teacher(family, task, **({"answer": "head"} if family == "t5" else {})) for family in ("bert", "gpt2", "elmo")]
    made = small(teachers, tmp_path / "out", "ensemble", student="bert/tiny")
    assert made.body.recipe.name == "bert" and made.body.recipe.size == "tiny"
    with pytest.raises(PlumeError, match="one teacher computes inside"):
        small(teachers, tmp_path / "other", "tinybert")


def test_several_tasks_into_one_student(teacher: Any, tmp_path: Path) -> None:
    teachers = [teacher("bert", "classification"), teacher("bert", "ner"), teacher("gpt2", "paraphrase")]
    made = small(teachers, tmp_path / "out", "bam")
    assert [task.called for task in made.tasks] == ["classification", "ner", "paraphrase"]
    step = json.loads((tmp_path / "out" / "lineage.json").read_text())["steps"][0]
    assert step["before"]["scores"].keys() == step["after"]["scores"].keys() == {"classification.accuracy", "ner.f1", "paraphrase.accuracy"}
    assert "RISING" in step["settings"] and "FALLING" in step["settings"]


@pytest.mark.parametrize("method", ["distil", "tinybert"])
def test_a_teacher_of_several_tasks_teaches_them_all(method: str, base: Any, data: Path, tmp_path: Path) -> None:
    files = [f"{file.stem}={file},{file}" for file in (data / "classification.tsv", data / "ner.jsonl")]
    given: dict[str, Any] = {"epochs": 1.0, "measurements": 1, "batch": 8, "quiet": True}
    start_from_options(base("bert"), task=files, out=tmp_path / "teacher", **given)
    made = small(tmp_path / "teacher", tmp_path / "out", method)
    assert [task.called for task in made.tasks] == ["classification", "ner"]
    for task, item in (("classification", "the cat warm"), ("ner", "the cat warm 苹果")):
        assert len(made.predict([item], task=task)) == 1


def test_windows_of_teacher_and_student_agree(base: Any, data: Path, tmp_path: Path) -> None:
    """Places are compared within rows: a student has its teacher's length unless it is told another."""
    given: dict[str, Any] = {"epochs": 1.0, "measurements": 1, "batch": 8, "quiet": True, "length": 14}
    file = str(data / "qa.jsonl")
    start_from_options(base("bert"), task="qa", train=file, dev=file, out=tmp_path / "teacher", **given)
    made = small(tmp_path / "teacher", tmp_path / "out", "distil", student="bert/tiny")
    assert made.declared.length == 14
    with pytest.raises(PlumeError, match="the same --length"):
        small(tmp_path / "teacher", tmp_path / "other", "distil", student="bert/tiny", length=20)
