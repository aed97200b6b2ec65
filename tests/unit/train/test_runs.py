"""Short real runs: a run that is cut in two ends as one that was not, and parts of a batch add up to the batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from plume import api
from plume.core.errors import PlumeError
from plume.core.files import read_json
from plume.model.checkpoint import read_weights
from plume.train.checkpoint import checkpoints
from plume.train.loop import Loop

SMALL = (
    "network.width=32", "network.depth=2", "network.heads=2", "network.feed_forward=64", "network.dropout=0.1", "embedding.width=32",
    "training.length=32", "training.batch=8",
)  # fmt: skip
VOCABULARY = {"bert": 160, "electra": 160, "gpt2": 320}


@pytest.fixture(scope="module")
def pretrain(corpus: Any) -> Any:
    def run(family: str, out: Path, budget: str, **options: Any) -> Any:
        overrides = (*SMALL, f"tokenizer.vocabulary={VOCABULARY[family]}", *options.pop("overrides", ()))
        options = {"log_every": 1, "quiet": True} | options
        return api.pretrain(f"{family}/tiny", corpus=corpus.files, out=out, budget=budget, overrides=overrides, **options)

    return run


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return read_weights(folder / "model.safetensors")


@pytest.mark.parametrize("family", ["bert", "electra", "gpt2"])
def test_a_run_cut_in_two_ends_bit_equal(family: str, pretrain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after step 5 of 9: what was done since the checkpoint of step 4 is done again, to the same bits."""
    pretrain(family, tmp_path / "whole", "9steps", seed=3)

    def killed(*_: Any) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        report = Loop._report
        patch.setattr(Loop, "_report", lambda loop, spent, *rest: killed() if spent.steps == 6 else report(loop, spent, *rest))
        with pytest.raises(RuntimeError, match="killed"):
            pretrain(family, tmp_path / "cut", "9steps", seed=3, save_every="4steps", workers=2)
    assert [path.name for path in checkpoints(tmp_path / "cut")] == ["checkpoint-000000004"]
    api.resume(tmp_path / "cut", quiet=True)
    whole, cut = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert whole.keys() == cut.keys()
    assert all(torch.equal(whole[name], cut[name]) for name in whole)
    steps = [line for line in map(str.strip, (tmp_path / "cut" / "train" / "metrics.jsonl").read_text().splitlines()) if '"rate"' in line]
    assert len(steps) == 9


def test_a_larger_budget_goes_on(pretrain: Any, tmp_path: Path) -> None:
    pretrain("bert", tmp_path / "run", "3steps")
    first = weights(tmp_path / "run")
    api.resume(tmp_path / "run", budget="5steps", quiet=True)
    state = read_json(checkpoints(tmp_path / "run")[-1] / "state.json", "")
    assert state["spent"]["steps"] == 5
    assert any(not torch.equal(value, weights(tmp_path / "run")[name]) for name, value in first.items())


def test_accumulated_parts_add_up_to_the_batch(pretrain: Any, tmp_path: Path) -> None:
    """Without dropout, four parts of two rows give the gradient of eight rows."""
    still = ("network.dropout=0.0", "training.epsilon=1e-3")
    pretrain("bert", tmp_path / "one", "3steps", overrides=still)
    pretrain("bert", tmp_path / "four", "3steps", overrides=still, accumulate=4)
    one, four = weights(tmp_path / "one"), weights(tmp_path / "four")
    assert max(float((one[name] - four[name]).abs().max()) for name in one) < 1e-5
    states = [read_json(checkpoints(tmp_path / name)[-1] / "state.json", "")["spent"] for name in ("one", "four")]
    assert states[0]["tokens"] == states[1]["tokens"]


def test_recomputing_changes_no_step(pretrain: Any, tmp_path: Path) -> None:
    pretrain("bert", tmp_path / "plain", "3steps")
    pretrain("bert", tmp_path / "recomputed", "3steps", recompute=True)
    plain, recomputed = weights(tmp_path / "plain"), weights(tmp_path / "recomputed")
    assert max(float((plain[name] - recomputed[name]).abs().max()) for name in plain) < 1e-6


def test_a_step_budget_of_tokens_ends_when_they_are_seen(pretrain: Any, tmp_path: Path) -> None:
    pretrain("gpt2", tmp_path / "run", "600tokens")
    spent = read_json(checkpoints(tmp_path / "run")[-1] / "state.json", "")["spent"]
    assert 600 <= spent["tokens"] < 600 + 8 * 32
    assert (tmp_path / "run" / "card.md").read_text(encoding="utf-8").startswith("# gpt2/tiny")


def test_a_batch_that_does_not_divide_is_refused(pretrain: Any, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="does not divide into 3 accumulated parts"):
        pretrain("bert", tmp_path / "run", "3steps", accumulate=3)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_holds_something_is_refused(pretrain: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(PlumeError, match="exists already"):
        pretrain("bert", tmp_path, "3steps")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_one_short_document_is_a_corpus(pretrain: Any, tmp_path: Path, corpus: Any) -> None:
    (tmp_path / "corpus.txt").write_text("\n".join(f"The cat finds box {number} near the river." for number in range(30)))
    api.pretrain("bert/tiny", corpus=tmp_path / "corpus.txt", out=tmp_path / "run", budget="1steps", overrides=SMALL, quiet=True)


def test_a_run_that_diverges_leaves_its_last_good_weights(pretrain: Any, tmp_path: Path) -> None:
    wild = ("training.peak=1e35", "training.schedule=Constant()", "training.clip=0.0")
    with pytest.raises(PlumeError, match="training has diverged"):
        pretrain("bert", tmp_path / "run", "20steps", overrides=wild, save_every="1steps", log_every=10)
    assert all(bool(value.isfinite().all()) for value in weights(tmp_path / "run").values())
