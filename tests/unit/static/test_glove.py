"""GloVe: the update against an oracle in glove.c's order, learning, resume."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.static import glove as module
from plume.static.recipe import GloVe
from plume.static.text import Vocabulary, WordText


def zipf_text(words: int = 40, length: int = 4000, seed: int = 0) -> tuple[Vocabulary, WordText]:
    """Words that come in pairs: 2n and 2n + 1 stand side by side."""
    generator = np.random.default_rng(seed)
    pairs = np.minimum(generator.geometric(0.15, length // 2) - 1, words // 2 - 1)
    ids = np.stack([2 * pairs, 2 * pairs + 1], 1).ravel()
    counts = np.bincount(ids, minlength=words)
    order = np.argsort(-counts, kind="stable")
    vocabulary = Vocabulary(words=tuple(f"w{place}" for place in order), counts=counts[order])
    return vocabulary, WordText(ids=np.argsort(order).astype(np.int32)[ids], start=np.arange(0, length + 1, 10))


def prepared(tmp_path: Path, seed: int = 1, **settings):
    vocabulary, text = zipf_text()
    trainer = GloVe(**({"dimension": 20, "window": 4} | settings)).trainer(vocabulary, seed=seed, threads=1)
    trainer.prepare(text, tmp_path, lambda share: None)
    return trainer, text


def oracle_epoch(arrays: dict[str, np.ndarray], entries: np.ndarray, rate: float) -> float:
    """glove.c: each side's step from the old values of the other, then the squares grow; biases' steps without the rate."""
    loss = 0.0
    for (word, context, _, _), (_, _, log, weight) in zip(entries.tolist(), entries.view(np.float32).tolist(), strict=True):
        difference = arrays["word"][word] @ arrays["context"][context] + arrays["word_bias"][word] + arrays["context_bias"][context] - log
        slope = weight * difference
        loss += 0.5 * slope * difference
        steps = {
            "word": np.clip(slope * arrays["context"][context], -100, 100) * rate,
            "context": np.clip(slope * arrays["word"][word], -100, 100) * rate,
        }
        for name, place in (("word", word), ("context", context)):
            arrays[name][place] -= steps[name] / np.sqrt(arrays[f"{name}_squares"][place])
            arrays[f"{name}_squares"][place] += steps[name] ** 2
            arrays[f"{name}_bias"][place] -= slope / np.sqrt(arrays[f"{name}_bias_squares"][place])
            arrays[f"{name}_bias_squares"][place] += slope**2
    return loss


def test_two_epochs_are_those_of_glove_c(tmp_path: Path) -> None:
    trainer, text = prepared(tmp_path, x_max=10.0)
    arrays = {name: array.astype(np.float64) for name, array in trainer.arrays.items()}
    for epoch in range(2):
        piece = trainer.train(text, epoch=epoch, piece=0, progress=0, progress_after=1)
        assert piece.loss == pytest.approx(oracle_epoch(arrays, np.array(trainer._entries), 0.05), rel=1e-4)
    assert piece.count == len(trainer._entries) and piece.words == len(text.ids)
    for name, array in arrays.items():
        np.testing.assert_allclose(trainer.arrays[name], array, rtol=2e-4, atol=2e-5, err_msg=name)
    np.testing.assert_allclose(trainer.vectors()["word"], arrays["word"] + arrays["context"], atol=1e-4)


def test_first_values(tmp_path: Path) -> None:
    trainer, _ = prepared(tmp_path)
    assert all((trainer.arrays[f"{name}_squares"] == 1).all() for name in ("word", "context", "word_bias", "context_bias"))
    bound = 0.5 / 21
    for name in ("word", "context", "word_bias", "context_bias"):
        assert 0.8 * bound < np.abs(trainer.arrays[name]).max() <= bound
    assert not (trainer.arrays["word"] == trainer.arrays["context"]).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_it_learns_more_than_frequencies(tmp_path: Path, threads: int) -> None:
    trainer, text = prepared(tmp_path, x_max=10.0)
    trainer.threads = threads
    held_out = zipf_text(length=1000, seed=7)
    index = np.array([trainer.vocabulary.index[word] for word in held_out[0].words], np.int32)
    other = WordText(ids=index[held_out[1].ids], start=held_out[1].start)
    for epoch in range(40):
        trainer.train(text, epoch=epoch, piece=0, progress=0, progress_after=1)
    measured = trainer.loss(other)
    assert measured.loss < 0.7 * measured.baseline


def test_a_resumed_run_ends_bit_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PIECE", 8_000)
    whole, text = prepared(tmp_path / "whole")
    assert whole.pieces > 1
    steps = [divmod(step, whole.pieces) for step in range(2 * whole.pieces)]
    for epoch, piece in steps:
        whole.train(text, epoch=epoch, piece=piece, progress=0, progress_after=1)
    first, _ = prepared(tmp_path / "first")
    for epoch, piece in steps[:3]:
        first.train(text, epoch=epoch, piece=piece, progress=0, progress_after=1)
    second, _ = prepared(tmp_path / "second")
    for name, array in second.arrays.items():
        array[...] = first.arrays[name]
    for epoch, piece in steps[3:]:
        second.train(text, epoch=epoch, piece=piece, progress=0, progress_after=1)
    assert all((array == second.arrays[name]).all() for name, array in whole.arrays.items())


def test_a_text_without_pairs_is_told(tmp_path: Path) -> None:
    vocabulary, _ = zipf_text()
    lonely = WordText(ids=np.arange(5, dtype=np.int32), start=np.arange(6))
    trainer = GloVe(dimension=4).trainer(vocabulary, seed=1, threads=1)
    with pytest.raises(PlumeError, match="no two words"):
        trainer.prepare(lonely, tmp_path, lambda share: None)
    with pytest.raises(PlumeError, match="prepare"):
        trainer.train(lonely, epoch=0, piece=0, progress=0, progress_after=1)
