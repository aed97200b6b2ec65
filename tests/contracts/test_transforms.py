"""Every transform of sentence vectors: fitted in pieces, saved and loaded, and a matrix product where it says so."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plume.vectors.transforms
from plume.core.errors import PlumeError
from plume.core.part_fields import required
from plume.vectors import transform as transform_module
from plume.vectors.sentence import SentenceVectors
from plume.vectors.transform import Transform, VectorRows

FOLDER = Path(plume.vectors.transforms.__file__).parent
FILES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
WIDTH = 12


def made(file: str) -> Transform:
    module = importlib.import_module(f"plume.vectors.transforms.{file}")
    (kind,) = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    return kind(**dict.fromkeys(required(kind), 5))


def rows(count: int = 300, seed: int = 0) -> Any:
    chance = np.random.default_rng(seed)
    return (chance.normal(size=(count, WIDTH)) @ chance.normal(size=(WIDTH, WIDTH)) + 3).astype(np.float32)


@pytest.mark.parametrize("file", FILES)
def test_it_is_fitted_applied_saved_and_loaded(file: str, tmp_path: Path) -> None:
    sentence = SentenceVectors(transforms=(made(file), made(file))).fit(rows())
    sentence.save(tmp_path)
    again = SentenceVectors.read(tmp_path)
    assert again == sentence
    other = rows(seed=1)
    found = sentence.finish(other)
    assert found.dtype == np.float32 and found.flags.c_contiguous
    assert found.shape == (300, sentence.width(WIDTH))
    np.testing.assert_array_equal(again.finish(other), found)
    alone = np.concatenate([sentence.finish(other[place : place + 1]) for place in range(20)])
    np.testing.assert_allclose(found[:20], alone, atol=2e-5)
    assert sentence.finish(other[:0]).shape == (0, sentence.width(WIDTH))


@pytest.mark.parametrize("file", FILES)
def test_linear_is_what_it_applies(file: str) -> None:
    fitted = made(file).fit(rows())
    affine = fitted.linear(WIDTH)
    if affine is None:
        assert file in ("flow", "normalise")
        return
    other = rows(seed=1)
    np.testing.assert_allclose(other @ affine.weight + affine.bias, fitted.apply(other), atol=1e-4)


@pytest.mark.parametrize("file", FILES)
def test_pieces_fit_like_the_whole(file: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Vectors on disk are read a few at a time, and the fit is the same but for rounding."""
    np.save(tmp_path / "rows.npy", rows())
    whole = made(file).fit(rows())
    monkeypatch.setattr(transform_module.VectorRows.pieces, "__defaults__", (64,))
    pieces = list(VectorRows(rows()).pieces())
    assert [len(piece) for piece in pieces] == [64, 64, 64, 64, 44]
    parted = made(file).fit(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    if file != "flow":  # which sees its batches in another order
        for name, array in whole.arrays.items():
            np.testing.assert_allclose(np.abs(array), np.abs(parted.arrays[name]), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("file", FILES)
def test_a_vector_that_is_not_finite_is_refused(file: str) -> None:
    broken = rows()
    broken[7, 3] = np.nan
    with pytest.raises(PlumeError, match="Vector 7 of 300 is not finite"):
        made(file).fit(rows()).apply(broken)
    if made(file).learns:
        with pytest.raises(PlumeError, match="Vector 7 of 300 is not finite"):
            made(file).fit(broken)
        with pytest.raises(PlumeError, match="there are none"):
            made(file).fit(broken[:0])
