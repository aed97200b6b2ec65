"""plume compare as a user runs it: a small study of real runs; the same numbers twice, and after kills; and what is refused."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import plume
from plume.cli import main
from plume.core.machine import cores
from plume.train.metrics import read_metrics

Start = Callable[..., Any]
BUDGET = 6000  # tokens
SMALL = (
    "network.width=32", "network.depth=1", "network.feed_forward=64", "embedding.width=32", "training.batch=8", "training.length=32",
    "tokenizer=WordPiece(vocabulary=400)",
)  # fmt: skip
# A study that waits for its end when all is done: however late the signal comes, it is not over.
UNFINISHED = "from plume.cli import compare; compare._finish = lambda *given, **more: signal.pause()"
NAMES = ("Ann", "Bob", "Carla", "David", "Eva", "Fritz")
PLACES = ("Paris", "Rome", "Oslo", "Lima", "Cairo", "Quito")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, tagged names and labelled sentences, out of a few words."""
    folder = tmp_path_factory.mktemp("data")
    draw = random.Random(0)

    def sentence() -> tuple[str, str, str, str]:
        return (
            draw.choice(NAMES),
            draw.choice(("lives in", "comes from", "loves", "hates")),
            draw.choice(PLACES),
            draw.choice(("now", "again")),
        )

    documents = ["\n".join(" ".join(sentence()) + "." for _ in range(6)) for _ in range(60)]
    (folder / "corpus.txt").write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    for name, count in (("train", 60), ("test", 40)):
        tagged, labelled = [], ["text\tlabel"]
        for _ in range(count):
            who, does, where, when = sentence()
            verbs = "".join(f"{word} O\n" for word in does.split())
            tagged.append(f"{who} B-PER\n{verbs}{where} B-LOC\n{when} O\n")
            labelled.append(f"{who} {does} {where} {when}\t{'feeling' if does in ('loves', 'hates') else 'fact'}")
        (folder / f"names.{name}").write_text("\n".join(tagged) + "\n", encoding="utf-8")
        (folder / f"kind.{name}.tsv").write_text("\n".join(labelled) + "\n", encoding="utf-8")
    return folder


def command(files: Path, out: Path, *more: str) -> list[str]:
    tasks = [f"names={files}/names.train,{files}/names.test", f"kind={files}/kind.train.tsv,{files}/kind.test.tsv"]
    return [
        "compare", "--corpus", str(files / "corpus.txt"), *(word for task in tasks for word in ("--task", task)), "--recipes", "bert,gpt2",
        "--budget", f"{BUDGET}tokens", "--seeds", "2", "--threads", "1", "--tune", "epochs=2", "--out", str(out), "-q",
        *(word for setting in SMALL for word in ("--set", setting)), *more,
    ]  # fmt: skip


def finish(process: Any) -> None:
    _, errors = process.communicate()
    assert process.returncode == 0, errors


def results(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "results.json").read_text(encoding="utf-8")))


def figures(folder: Path) -> dict[str, Any]:
    """All that may not change from one run to the next: everything but times, memory and paths."""
    found = results(folder)
    scores = {(one["model"], one["task"], one["seed"]): (one["scores"], one["steps"], one["curve"]) for one in found["scores"]}
    runs = {
        (one["model"], one["seed"]): (one["tokens"], one["steps"], [(point["tokens"], point["loss"]) for point in one["curve"]])
        for one in found["pretraining"]
    }
    return {"scores": scores, "runs": runs, "comparisons": found["comparisons"], "probes": found["probes"]}


@pytest.fixture(scope="module")
def whole(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("studies") / "whole"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["plume", *command(files, out)])
        with pytest.raises(SystemExit) as left:
            main()
    assert not left.value.code
    return out


def test_every_cell_is_there_with_controls_and_a_report(whole: Path) -> None:
    found = results(whole)
    assert [model["name"] for model in found["models"]] == ["bert", "gpt2", "scratch", "fasttext", "tfidf"]
    assert [model["control"] for model in found["models"]] == [None, None, "no pre-training", "static vectors", "TF-IDF + linear"]
    assert {one["status"] for one in found["scores"]} == {"done"} and len(found["scores"]) == 5 * 2 * 2
    assert {one["status"] for one in found["pretraining"]} == {"done"} and len(found["pretraining"]) == 3 * 2
    assert len(found["comparisons"]) == 2 * 10 and found["recommendation"]["model"] in [model["name"] for model in found["models"]]
    page, text = (whole / "report.html").read_text(encoding="utf-8"), (whole / "report.md").read_text(encoding="utf-8")
    mean = sum(one["main"] for one in found["scores"] if (one["model"], one["task"]) == ("gpt2", "names")) / 2
    assert f"{100 * mean:.1f}" in page and f"{100 * mean:.1f}" in text
    assert (whole / "scores.csv").read_text().count("\n") == 1 + 20
    for one in found["scores"]:
        assert one["main"] == one["scores"][{"names": "f1", "kind": "accuracy"}[one["task"]]]
        assert (one["speed"] is not None) == (one["seed"] == 0)
    for one in found["pretraining"]:
        assert one["stuck"] == (one["curve"][-1]["loss"] >= 0.97 * one["trivial"]), one["model"]


def test_the_budget_is_the_same_for_all(whole: Path) -> None:
    """A run ends with the step that reaches it: at most a step more. Word vectors train for their epochs, unless the budget is one of time."""
    for one in results(whole)["pretraining"]:
        assert one["tokens"] >= BUDGET and (one["model"] == "fasttext" or one["tokens"] <= BUDGET * 1.05), one["model"]


def test_the_overhead_is_counted(whole: Path) -> None:
    costs = results(whole)["costs"]
    states = [json.loads(path.read_text()) for path in (whole / "state").glob("*-*.json")]
    for what in ("pretraining", "tuning", "evaluating"):
        assert costs[what] == pytest.approx(sum(state["seconds"].get(what, 0.0) for state in states)) and costs[what] > 0
    assert costs["total"] <= costs["offered"] <= cores() * costs["total"]
    assert costs["overhead"] == pytest.approx(costs["offered"] - costs["pretraining"] - costs["tuning"] - costs["evaluating"])
    assert costs["overhead"] > 0


def test_the_commands_of_the_report_give_the_same_models(whole: Path, files: Path, start: Start, tmp_path: Path) -> None:
    """Every cell is an ordinary run."""
    written = results(whole)["commands"]["pretrain-gpt2-1"]
    words = written.split()
    assert words[:4] == ["OMP_NUM_THREADS=1", "plume", "pretrain", "gpt2/tiny"]
    again = shlex.split(written)[2:]
    again[again.index("--out") + 1] = str(tmp_path / "again")
    finish(start([*again, "-q"]))
    first, second = whole / "models" / "gpt2" / "1" / "model.safetensors", tmp_path / "again" / "model.safetensors"
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed(whole: Path, files: Path, tmp_path: Path, start: Start) -> None:
    out = tmp_path / "killed"
    for ended in (2, 9, 17):  # cells: in the midst of pre-training, of tuning, and of the second seed
        process = start(command(files, out, *(["--resume"] if (out / "study.json").exists() else [])), first=UNFINISHED)
        process.wait_until(lambda: len(list(out.glob("state/*-*.json"))) >= ended)  # noqa: B023
        time.sleep(random.uniform(0, 1))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    finish(start(command(files, out, "--resume")))
    assert figures(out) == figures(whole)


@pytest.mark.parametrize(("send", "signal_number"), [(os.killpg, signal.SIGINT), (os.killpg, signal.SIGTERM), (os.kill, signal.SIGTERM)])
def test_told_to_stop_it_saves_the_running_cell(
    files: Path, tmp_path: Path, start: Start, send: Callable[[int, int], None], signal_number: signal.Signals
) -> None:
    """Ctrl-C goes to the whole group of processes, as a terminal sends it; SIGTERM too, from a scheduler, or to the one that was named."""
    out = tmp_path / "out"
    words = command(files, out)
    words[words.index("--budget") + 1] = "1e12tokens"  # it does not end by itself
    words[words.index("--recipes") + 1] = "bert"
    del words[words.index("--task") : words.index("--task") + 2]
    process = start([*words, "--yes", "--no-probes"], new_group=True)
    first = out / "models" / "bert" / "0"
    process.wait_until(lambda: len(read_metrics(first)) > 0)
    send(process.pid, signal_number)
    _, errors = process.communicate()
    assert process.returncode == 128 + signal_number and "Traceback" not in errors, errors
    assert f"plume compare {out} --resume" in errors
    assert not list((out / "state").glob("pretrain-bert-*.json"))
    saved = json.loads(next(first.glob("train/checkpoint-*/state.json")).read_text())["spent"]
    assert saved["steps"] > 0
    part = json.loads((out / "state" / "pretrain-bert-0.part").read_text())
    assert part["pretraining"] >= saved["seconds"] > 0, "the time of this sitting is not lost"


def test_a_finished_study_runs_nothing_again(whole: Path, start: Start) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("model.safetensors")}
    finish(start(["compare", str(whole), "--language", "zh", "-q"]))
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("model.safetensors")} == before
    assert "推荐" in (whole / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_run_made_again_gives_the_same_figures(whole: Path, tmp_path: Path, start: Start) -> None:
    out = tmp_path / "again"
    shutil.copytree(whole, out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("model.safetensors")}
    finish(start(["compare", str(out), "--again", "gpt2:1", "-q"]))
    anew = {path.relative_to(out).parts[1:3] for path, then in before.items() if path.stat().st_mtime_ns != then}
    assert anew == {("gpt2", "1")} and figures(out) == figures(whole)


def test_bad_input_is_refused_before_anything_is_spent(files: Path, tmp_path: Path, plume: Callable[..., Any], whole: Path) -> None:
    out = tmp_path / "out"
    broken = tmp_path / "broken.tsv"
    broken.write_text("text\tlabel\none\tyes\ntwo\tno\tmore\n", encoding="utf-8")
    usual = command(files, out)
    for words, says in (
        ([*usual, "--task", f"other:classification={broken},{broken}"], "broken.tsv, line 3"),
        ([word.replace(f"{BUDGET}tokens", "20tokens") for word in usual], "buys no step of bert"),
        (command(files, whole, "--seeds", "3"), "holds another study (other seeds)"),
        (command(files, whole), "resume it with --resume"),
        (command(files, files), "holds no study"),
        ([word.replace("bert,gpt2", "bert,gtp2") for word in usual], "did you mean"),
        ([*usual, "--language", "fr"], "does not speak 'fr'"),
        ([*usual, "--engine", "slurm"], "no engine 'slurm'"),
        (["compare", str(whole), "--again", "gtp2:1"], "no model 'gtp2': did you mean gpt2?"),
        (["compare", str(whole), "--again", "gpt2:2"], "one of the study's seeds"),
    ):
        result = plume(*words)
        assert result.code == 2 and says in result.err and "Traceback" not in result.err, result.err
    assert not out.exists()


@pytest.mark.slow
def test_what_a_model_cannot_do_is_said_and_does_not_stop_the_others(files: Path, tmp_path: Path, start: Start) -> None:
    out, pairs = tmp_path / "out", tmp_path / "pairs.jsonl"
    pairs.write_text("".join(json.dumps({"source": f"{name} smiles", "target": name}) + "\n" for name in NAMES * 4), encoding="utf-8")
    words = command(files, out, "--task", f"write:text-to-text={pairs},{pairs}")
    words[words.index("--recipes") + 1] = "gpt2,cove"
    words[words.index("--seeds") + 1] = "1"
    finish(start(words))
    found = results(out)
    cells = {(one["model"], one["task"]): (one["status"], one["reason"]) for one in found["scores"]}
    assert cells["fasttext", "write"] == ("cannot", "word vectors cannot write a text")
    assert cells["cove", "names"][0] == "cannot" and "pairs" in cells["cove", "names"][1]
    assert cells["gpt2", "write"][0] == cells["fasttext", "names"][0] == "done"


@pytest.mark.slow
def test_from_python_with_a_recipe_of_ones_own_and_other_kinds_of_task(files: Path, tmp_path: Path) -> None:
    """Answers in a text and scores of pairs; a recipe file beside a family."""
    own, questions, near = tmp_path / "mine.py", tmp_path / "questions.json", tmp_path / "near.tsv"
    own.write_text("import plume\n\nRECIPE = plume.recipe('nezha/tiny')\n", encoding="utf-8")
    asked = [
        {"context": f"{who} lives in {where} now.", "qas": [{"id": who + where, "question": f"Where does {who} live?", "answers": [found]}]}
        for who in NAMES for where in PLACES for found in [{"text": where, "answer_start": len(f"{who} lives in ")}]
    ]  # fmt: skip
    questions.write_text(json.dumps({"version": "1.1", "data": [{"title": "homes", "paragraphs": asked}]}), encoding="utf-8")
    pairs = [f"{one} smiles\t{other} smiles\t{0.5 + 4 * (one == other)}" for one in NAMES for other in NAMES]
    near.write_text("\n".join(["sentence1\tsentence2\tscore", *pairs]) + "\n", encoding="utf-8")
    study: dict[str, Any] = {
        "corpus": files / "corpus.txt", "tasks": [f"qa={questions},{questions}", f"near:similarity={near},{near}"], "recipes": [str(own), "gpt2"],
        "budget": "4000tokens", "out": tmp_path / "out", "quiet": True, "seeds": 1, "threads": 1, "tune": ["epochs=1"], "overrides": SMALL,
    }  # fmt: skip
    found = plume.compare(**study, language="zh")
    cells = {(one.model, one.task): one for one in found.scores}
    assert {model for model, _ in cells} == {"mine", "gpt2", "scratch", "fasttext", "tfidf"}
    skipped = cells.pop(("tfidf", "qa"))
    assert skipped.status == "cannot" and "cannot find an answer" in skipped.reason
    assert {one.status for one in cells.values()} == {"done"}, [(key, one.reason) for key, one in cells.items()]
    metrics = {one.name: one.metric for one in found.tasks}
    assert metrics == {"qa": "f1", "near": "spearman"} and all(one.scores[metrics[one.task]] == one.main for one in cells.values())
    assert found.recommendation is not None and found.recommendation.model in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert plume.compare(**study, resume=True).scores == found.scores, "nothing is run again"


@pytest.mark.slow
def test_on_ray_with_two_workers_the_table_is_the_same(files: Path, whole: Path, tmp_path: Path, start: Start, ray_address: str) -> None:
    finish(start(command(files, tmp_path / "ray", "--engine", "ray", "--address", ray_address)))
    assert figures(tmp_path / "ray") == figures(whole)


def test_ray_that_is_not_there(files: Path, tmp_path: Path, plume: Callable[..., Any]) -> None:
    pytest.importorskip("ray")
    result = plume(*command(files, tmp_path / "out"), "--engine", "ray", "--address", "127.0.0.1:1")
    assert result.code == 2 and "No Ray answers" in result.err and "ray start --head" in result.err
