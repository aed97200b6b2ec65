"""DPR's encoders come in from transformers with the same vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import plume
from plume.core.batch import Batch
from plume.core.errors import PlumeError

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "finds", "a", "letter", "near", "river", "##s", "who", "?")


def written(folder: Path, kind: str, **changes: Any) -> Any:
    transformers = pytest.importorskip("transformers")
    config = transformers.DPRConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=24,
        **changes,
    )
    torch.manual_seed(3)
    model = getattr(transformers, kind)(config).eval()
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return model


@pytest.mark.parametrize("kind", ["DPRContextEncoder", "DPRQuestionEncoder"])
def test_the_same_vectors(kind: str, tmp_path: Path) -> None:
    theirs = written(tmp_path / "theirs", kind).double()
    ours = plume.import_hf(tmp_path / "theirs", out=tmp_path / "ours")
    assert not hasattr(ours, "tasks") and ours.sentence.similarity.value == "dot"  # type: ignore[union-attr]
    tokens = torch.tensor([[2, 5, 6, 7, 8, 9, 3], [2, 13, 7, 8, 14, 3, 0]])
    length = torch.tensor([7, 6])
    with torch.no_grad():
        expected = theirs(tokens, attention_mask=(torch.arange(7) < length[:, None]).long()).pooler_output
        found = ours.model.double().encode(Batch(tokens=tokens, length=length)).last[:, 0]  # type: ignore[union-attr]
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-9)
    again = plume.load(tmp_path / "ours")
    vector = again.embed(["the cat finds a letter"])
    np.testing.assert_allclose(vector[0], expected[0].numpy(), atol=1e-5)


def test_a_projection_and_a_reader_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "wide", "DPRContextEncoder", projection_dim=16)
    with pytest.raises(PlumeError, match="projects its vectors to 16 dimensions"):
        plume.import_hf(tmp_path / "wide", out=tmp_path / "out")
    written(tmp_path / "reader", "DPRContextEncoder")
    config = json.loads((tmp_path / "reader/config.json").read_text())
    (tmp_path / "reader/config.json").write_text(json.dumps(config | {"architectures": ["DPRReader"]}))
    with pytest.raises(PlumeError, match="holds a reader of DPR"):
        plume.import_hf(tmp_path / "reader", out=tmp_path / "out")
