"""Tuning, prediction and measurement on the command line; and what users get wrong."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import plume as library
from plume.model.checkpoint import save_model
from plume.tuning.options import start_from_options

Run = Callable[..., Any]
PEOPLE, PLACES = ("the old captain", "my sister", "老师"), ("the lighthouse", "图书馆")


def sentences(count: int, seed: int) -> list[tuple[str, str]]:
    """A person sees a place, as text and in columns."""
    source, made = random.Random(seed), []
    for _ in range(count):
        person, place = source.choice(PEOPLE).split(), source.choice(PLACES).split()
        tags = ["B-PER", *["I-PER"] * (len(person) - 1), "O", "B-LOC", *["I-LOC"] * (len(place) - 1)]
        words = [*person, "finds", *place]
        made.append((" ".join(words), "\n".join(f"{word} {tag}" for word, tag in zip(words, tags, strict=True))))
    return made


def table(count: int, seed: int) -> str:
    source = random.Random(seed)
    rows = [(f"{text} {'gladly' if good else 'never'}", "yes" if good else "no") for (text, _) in sentences(count, seed)
            for good in [source.random() < 0.5]]  # fmt: skip
    return "text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, miniature: Run, tokenizer_for: Run) -> Path:
    """A small BERT that knows nothing yet, and files to tune it on."""
    made = tmp_path_factory.mktemp("tune")
    recipe = miniature("bert")
    tokenizer = tokenizer_for(recipe)
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    model.initialise(0)
    save_model(made / "bert", model, tokenizer)
    for name, count in (("train", 60), ("dev", 20), ("test", 20)):
        columns = [one for _, one in sentences(count, seed=count + len(name))]
        (made / f"{name}.conll").write_text("\n\n".join(columns) + "\n", encoding="utf-8")
        (made / f"{name}.tsv").write_text(table(count, seed=count + len(name)), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def ner(folder: Path) -> Path:
    made = start_from_options(
        folder / "bert", task="ner", train=folder / "train.conll", dev=folder / "dev.conll", out=folder / "ner", epochs=2, quiet=True
    )
    return made.folder


@pytest.fixture(scope="module")
def topic(folder: Path) -> Path:
    made = start_from_options(
        folder / "bert",
        task="classification",
        train=folder / "train.tsv",
        dev=folder / "dev.tsv",
        out=folder / "topic",
        epochs=2,
        quiet=True,
    )
    return made.folder


def refused(result: Any, *words: str) -> None:
    assert result.code == 2, result
    assert result.err.startswith("plume: ") and "Traceback" not in result.err
    for word in words:
        assert word in result.err, f"'{word}' is not in: {result.err}"


def test_tuned_asked_and_measured(plume: Run, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "ner"
    made = plume(
        "tune", folder / "bert", "--task", "ner", "--train", folder / "train.conll", "--dev", folder / "dev.conll", "--out", out,
        "--epochs", 2, "--crf", "--freeze", 1, "--set", "layer_decay=0.9", "--set", "schedule=SlantedTriangular()", "--seed", 3,
    )  # fmt: skip
    assert made.code == 0, made.err
    best = json.loads((out / "train" / "best.json").read_text())["scores"]
    assert f"{best['f1']:.4f}" in made.out
    assert f"plume predict {out}" in made.out and f"plume eval {out}" in made.out
    assert "train.conll: 60 examples" in made.err

    asked = plume("predict", out, "my sister finds the lighthouse", "老师 finds 图书馆")
    records = [json.loads(line) for line in asked.out.splitlines()]
    assert records == [
        {"text": text} | found
        for text, found in zip(
            ("my sister finds the lighthouse", "老师 finds 图书馆"),
            library.load(out).predict(["my sister finds the lighthouse", "老师 finds 图书馆"]),
            strict=True,
        )
    ]
    assert records[1]["tags"] and asked.err == ""

    told = plume("eval", out, "--data", folder / "test.conll", "--predictions", tmp_path / "told.jsonl", "--json")
    assert told.code == 0, told.err
    measured = json.loads(told.out)
    assert measured["scores"] == pytest.approx(library.load(out).evaluate(folder / "test.conll").scores)
    lines = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text(encoding="utf-8").splitlines()]
    right = [tag == gold for one in lines for tag, gold in zip(one["tags"], one["gold"], strict=True)]
    assert sum(right) / len(right) == pytest.approx(measured["scores"]["accuracy"])
    shown = plume("eval", out, "--data", folder / "test.conll")
    assert f"{measured['scores']['f1/PER']:.4f}" in shown.out and "20 examples" in shown.err
    refused(plume("eval", out, "--data", folder / "test.conll", "--predictions", tmp_path / "told.jsonl"), "exists already")


def test_several_tasks_on_one_body(plume: Run, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "both"
    made = plume(
        "tune", folder / "bert", "--task", f"ner={folder}/train.conll,{folder}/dev.conll",
        "--task", f"topic:classification={folder}/train.tsv,{folder}/dev.tsv", "--out", out, "--epochs", 1,
    )  # fmt: skip
    assert made.code == 0, made.err
    assert "ner.f1" in made.out and "topic.accuracy" in made.out
    refused(plume("predict", out, "my sister finds"), "ner, topic", "--task")
    found = json.loads(plume("predict", out, "my sister finds", "--task", "topic").out)
    assert found["label"] in ("yes", "no")
    assert plume("eval", out, "--data", folder / "dev.tsv", "--task", "topic").code == 0


@pytest.mark.parametrize(
    "mode", [("features", "--place", "both"), ("probe", "--layer", 1), ("adapters", "--rank", 2), ("full", "--from-scratch")]
)
def test_modes(mode: tuple[object, ...], plume: Run, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = plume(
        "tune", folder / "bert", "--task", "classification", "--train", folder / "train.tsv", "--dev", folder / "dev.tsv", "--out", out,
        "--epochs", 0.2, "--text", "text", "--label", "label", "--mode", *mode,
    )  # fmt: skip
    assert made.code == 0, made.err
    assert f"mode {mode[0]}" in made.err
    assert json.loads(plume("predict", out, "my sister").out)["label"] in ("yes", "no")


def test_a_file_to_a_file(plume: Run, folder: Path, topic: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    said = plume("predict", topic, folder / "test.tsv", "--out", out)
    assert (said.code, said.out) == (0, "")
    assert "test.tsv: 20 examples" in said.err and f"20 answers → {out}" in said.err
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    rows = [line.split("\t") for line in (folder / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    assert [one["text"] for one in records] == [text for text, _ in rows]
    assert [one["line"] for one in records] == list(range(2, 22))
    assert plume("predict", topic, folder / "test.tsv").out == out.read_text(encoding="utf-8")
    refused(plume("predict", topic, folder / "test.tsv", "--out", out), "--resume", "--overwrite")
    whole = out.read_bytes()
    out.write_bytes(whole[:1234])
    assert plume("predict", topic, folder / "test.tsv", "--out", out, "--resume").code == 0
    assert out.read_bytes() == whole
    assert plume("predict", topic, folder / "dev.tsv", "--out", out, "--overwrite", "-q").err == ""


def test_plain_lines_and_pairs(plume: Run, folder: Path, topic: Path, tmp_path: Path) -> None:
    plain = tmp_path / "in.txt"
    plain.write_text("my sister finds\r\n\n老师\n", encoding="utf-8")
    said = plume("predict", topic, plain)
    assert [json.loads(line)["line"] for line in said.out.splitlines()] == [1, 3]
    assert "1 left out: blank line" in said.err
    refused(plume("predict", topic, "--pair", "one", "two"), "one text")
    pairs = "a\tb\tlabel\n" + "".join(f"{a}\t{b}\t{n % 2}\n" for n, ((a, _), (b, _)) in enumerate(zip(sentences(20, 1), sentences(20, 2))))  # noqa: B905
    (tmp_path / "pairs.tsv").write_text(pairs, encoding="utf-8")
    made = plume(
        "tune", folder / "bert", "--task", "paraphrase", "--train", tmp_path / "pairs.tsv", "--out", tmp_path / "m", "--epochs", 0.1
    )
    assert made.code == 0, made.err
    by_tab, by_option = plume("predict", tmp_path / "m", "one\ttwo"), plume("predict", tmp_path / "m", "--pair", "one", "two")
    assert by_tab.out == by_option.out
    assert json.loads(by_tab.out)["texts"] == ["one", "two"]
    refused(plume("predict", tmp_path / "m", "one"), "a pair of texts")


def test_a_very_long_text(plume: Run, ner: Path, topic: Path, tmp_path: Path) -> None:
    """Tagging reads it in windows; a classifier reads its beginning, and says so."""
    text = "my sister finds the lighthouse " * 3300
    path = tmp_path / "long.txt"
    path.write_text(text + "\nshort\n", encoding="utf-8")
    tagged = json.loads(plume("predict", ner, path).out.splitlines()[0])
    assert len(tagged["tags"]) == len(text.split())
    assert "cut" not in tagged
    said = plume("predict", topic, path)
    assert "1 texts cut to" in said.err
    assert [json.loads(line).get("cut") for line in said.out.splitlines()] == [True, None]


def test_without_tuning(plume: Run, folder: Path, tmp_path: Path) -> None:
    model = folder / "bert"
    refused(plume("predict", model, "my sister"), "not fine-tuned", "It can embed, fill", "plume tune", "zero-shot")
    found = json.loads(plume("predict", model, "my sister", "--task", "zero-shot", "--labels", "letter,bread").out)
    assert found["label"] in ("letter", "bread")
    from_file = plume("predict", model, folder / "test.tsv", "--task", "zero-shot", "--labels", "letter,bread", "--text", "text")
    assert len(from_file.out.splitlines()) == 20
    refused(plume("predict", model, "my sister", "--task", "zero-shot"), "--labels")
    refused(plume("predict", model, "a ___", "--task", "language-modelling", "--labels", "a,b"), "no use for --labels")
    told = plume("eval", model, "--data", folder / "test.tsv", "--task", "zero-shot", "--labels", "yes=gladly,no=never", "--json")
    assert set(json.loads(told.out)["scores"]) >= {"accuracy", "macro_f1"}
    ways = ("--task", "zero-shot", "--labels", "letter,bread", "--way", "cloze")
    scores = [
        json.loads(plume("predict", model, "my sister", *ways, *more).out)["scores"] for more in ((), ("--each",), ("--no-calibrate",))
    ]
    assert [sum(one.values()) == pytest.approx(1.0, abs=1e-5) for one in scores] == [True, False, True]
    assert scores[0] != scores[2]
    refused(plume("predict", model, "my sister", *ways[:4], "--way", "entailment"), "does not judge entailment")
    refused(plume("predict", model, "my sister", *ways[:4], "--way", "guess"), "choose entailment or cloze")
    refused(plume("predict", model, "a ___", "--task", "language-modelling", "--each"), "no use for --each")
    by_eval = ("eval", model, "--data", folder / "test.tsv", "--task", "zero-shot", "--labels", "yes=gladly,no=never")
    assert plume(*by_eval, "--way", "cloze", "--each", "--no-calibrate").code == 0
    refused(plume(*by_eval, "--way", "entailment"), "does not judge entailment")
    refused(plume("eval", model, "--data", folder / "test.tsv"), "not fine-tuned")


def test_the_tasks_are_listed(plume: Run) -> None:
    listed = plume("tasks").out
    for word in ("ner", "classification", "zero-shot", "masked-lm", "accuracy"):
        assert word in listed
    assert "plume tune MODEL --task qa" in plume("tasks", "qa").out
    refused(plume("tasks", "nre"), "did you mean ner")


BAD = {
    "unseen label": ("classification", "train.tsv", "text\tlabel\nmy sister\tyes\n老师\tmaybe\n", ("dev, line 3", "maybe")),
    "unseen entity": ("ner", "train.conll", "my B-PER\n\nsister B-ORG\n", ("dev, line 3", "ORG", "LOC, PER")),
    "wrong number of columns": ("classification", "train.tsv", "text\tlabel\na\tb\tyes\n", ("dev, line 2", "3 columns where 2")),
    "row of a column file": ("ner", "train.conll", "my B-PER\nsister\n", ("dev, line 2",)),
    "empty": ("classification", "train.tsv", "", ("dev", "empty")),
    "empty columns": ("ner", "train.conll", "", ("dev", "empty")),
    "blank": ("ner", "train.conll", "\n\n\n", ("dev",)),
    "missing": ("ner", "train.conll", None, ("dev",)),
    "unknown task": ("nre", "train.conll", "my B-PER\n", ("did you mean ner",)),
    "no tuning": ("zero-shot", "train.tsv", "text\tlabel\n", ("needs no tuning",)),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_data(kind: str, plume: Run, folder: Path, tmp_path: Path) -> None:
    task, train, content, words = BAD[kind]
    dev, out = tmp_path / "dev", tmp_path / "out"
    if content is not None:
        dev.write_text(content, encoding="utf-8")
    refused(plume("tune", folder / "bert", "--task", task, "--train", folder / train, "--dev", dev, "--out", out), *words)
    assert not out.exists()


def test_a_task_that_the_model_cannot_do(plume: Run, folder: Path, tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    train.write_text("".join(json.dumps({"text": text, "summary": text[:8]}) + "\n" for text, _ in sentences(20, 1)), encoding="utf-8")
    refused(
        plume("tune", folder / "bert", "--task", "summarisation", "--train", train, "--out", tmp_path / "out"),
        "cannot write a text",
        "bart",
    )
    assert not (tmp_path / "out").exists()


def test_tags_that_break_bio_are_mended_and_counted(plume: Run, folder: Path, tmp_path: Path) -> None:
    dev, out = tmp_path / "dev.conll", tmp_path / "out"
    dev.write_text("my I-PER\nsister I-PER\nfinds O\n", encoding="utf-8")
    made = plume("tune", folder / "bert", "--task", "ner", "--train", folder / "train.conll", "--dev", dev, "--out", out, "--epochs", 0.1)
    assert made.code == 0, made.err
    said = "1 corrected: tags that break the scheme (first: dev.conll, sentence of line 1)"
    assert said in made.err and said in (out / "card.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--mode", "fulll"), ("full, features",)),
        (("--set", "layer_dcay=0.9"), ("layer_decay", "did you mean")),
        (("--mode", "probe", "--freeze", "1"), ("--mode full",)),
        (("--layer", "1", "--mode", "full"), ("--mode probe",)),
        (("--length", "4000"), ("--length 4000",)),
        (("--precision", "fp23"), ("fp32",)),
        (("--task", "ner"), ("Several tasks",)),
        (("--task-set", "crff=true"), ("crf",)),
        (("--accumulate", "0"), ("--accumulate is at least 1",)),
        (("--epochs", "0"), ("--epochs is more than 0",)),
    ],
)
def test_bad_options(arguments: tuple[str, ...], words: tuple[str, ...], plume: Run, folder: Path, tmp_path: Path) -> None:
    common = ("tune", folder / "bert", "--task", "ner", "--train", folder / "train.conll", "--dev", folder / "dev.conll")
    refused(plume(*common, "--out", tmp_path / "out", *arguments), *words)
    assert not (tmp_path / "out").exists()


def test_what_users_get_wrong(plume: Run, folder: Path, ner: Path, tmp_path: Path) -> None:
    common = ("tune", folder / "bert", "--task", "ner", "--train", folder / "train.conll")
    refused(plume(*common, "--out", ner), "exists already", "plume tune --resume")
    refused(plume("tune", folder / "bert", "--task", "ner"), "--out")
    refused(plume("tune", tmp_path / "none", *common[2:], "--out", tmp_path / "x"), "none")
    refused(plume("tune", "--resume", folder / "bert"), "run.json")
    refused(plume("tune", folder / "bert", "--resume", ner), "--resume")
    refused(plume("tune", "--resume", ner, "--rate", "0.1"), "no other option")
    refused(plume("predict", ner, tmp_path / "none.txt"), "no file", "none.txt")
    refused(plume("predict", ner, "a text", "--out", tmp_path / "x"), "--out")
    refused(plume("predict", ner, "a text", folder / "dev.conll"), "not a file")
    refused(plume("predict", ner, ""), "empty")
    refused(plume("predict", ner), "No input")
    refused(plume("predict", ner, "a", "--task", "classification"), "tuned for ner")
    refused(plume("predict", ner, "a", "--task", "nre"), "did you mean ner")
    known = plume("predict", ner, "a", "--task", "nre").err.partition("Known:")[2]
    assert known.strip(" .\n").split(", ").count("ner") == 1
    refused(plume("predict", ner, "a", "--labels", "a,b"), "zero-shot")
    refused(plume("predict", ner, "a", "--each"), "zero-shot")
    refused(plume("eval", ner, "--data", folder / "dev.conll", "--way", "cloze"), "zero-shot")
    refused(plume("predict", ner, "--pair", "a", "b"), "one text")
    refused(plume("predict", ner, "--question", "a"), "--context")
    refused(plume("predict", tmp_path / "none", "a"), "does not exist")
    refused(plume("eval", ner), "--data")
    refused(plume("eval", ner, "--similarity", folder / "dev.tsv"), "--data")
    refused(plume("eval", ner, "--data", folder / "dev.conll", "--analogy", folder / "dev.tsv"), "one or the other")
    refused(plume("eval", ner, "--data", tmp_path / "none.conll"), "none.conll")
    refused(plume("eval", ner, "--data", folder / "dev.conll", "--labels", "a,b"), "zero-shot")
    assert not (tmp_path / "x").exists()


# A file of few answers to a chunk, and a run that waits before the last chunk for its end: however late the signal comes, the run is not over.
FEW = "from plume.tuning import stream; stream.write_answers.__kwdefaults__['chunk'] = 64"
HELD = f"""{FEW}
append = stream._append
def held(out, records, *, at):
    while at > 30_000:
        signal.pause()
    return append(out, records, at=at)
stream._append = held
"""


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def test_killed_while_predicting(start: Run, folder: Path, topic: Path, tmp_path: Path) -> None:
    """kill -9 at a random moment; what --resume makes of it is the file of an undisturbed run, byte for byte."""
    big, whole, broken = tmp_path / "big.txt", tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    big.write_text("\n".join(text if n % 9 else "" for n, (text, _) in enumerate(sentences(1_000, 5))) + "\n", encoding="utf-8")
    undisturbed = start(["predict", str(topic), str(big), "--out", str(whole)], first=FEW)
    victim = start(["predict", str(topic), str(big), "--out", str(broken)], first=HELD)
    moment = random.randrange(30_000)
    victim.wait_until(lambda: size(broken) > moment)
    victim.send_signal(signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL, "it must be killed before it ends by itself"
    assert undisturbed.wait() == 0, undisturbed.communicate()[1]
    left = broken.read_bytes()
    assert 0 < len(left) < size(whole)

    resumed = start(["predict", str(topic), str(big), "--out", str(broken), "--resume"], first=FEW)
    _, err = resumed.communicate()
    assert resumed.returncode == 0, err
    assert f"after {left.count(10):,} that were there" in err
    assert broken.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_told_to_stop_while_predicting(name: str, start: Run, folder: Path, topic: Path, tmp_path: Path) -> None:
    big, out = tmp_path / "big.txt", tmp_path / "out.jsonl"
    big.write_text("\n".join(text for text, _ in sentences(1_000, 5)) + "\n", encoding="utf-8")
    process = start(["predict", str(topic), str(big), "--out", str(out)], first=HELD)
    process.wait_until(lambda: size(out) > 15_000)
    process.send_signal(getattr(signal, name))
    _, err = process.communicate()
    assert process.returncode == 128 + getattr(signal, name)
    assert f"stopped by {name}" in err and "--resume" in err and "Traceback" not in err
    content = out.read_bytes()
    assert content.endswith(b"\n")
    assert [json.loads(line)["line"] for line in content.splitlines()] == list(range(1, content.count(b"\n") + 1))


def test_told_to_stop_while_tuning(start: Run, plume: Run, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start([
        "tune", str(folder / "bert"), "--task", "ner", "--train", str(folder / "train.conll"), "--dev", str(folder / "dev.conll"),
        "--out", str(out), "--budget", "1000000steps", "--patience", "1000000", "--save-every", "10000000steps",
    ])  # fmt: skip
    process.wait_until(lambda: size(out / "train" / "metrics.jsonl") > 0)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM, err
    assert f"plume tune --resume {out}" in err and "Traceback" not in err
    assert json.loads(plume("predict", out, "my sister").out)["tags"], "what was best so far can be used"
    assert list((out / "train").glob("checkpoint-*"))
