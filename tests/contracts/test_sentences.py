"""Every method of training sentence vectors, on every kind of network: it learns, is saved and loaded, embeds, and resumes to the same bits."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

import plume
from plume.core.errors import PlumeError
from plume.sentences.method import method, method_names
from plume.sentences.options import start_from_options
from plume.sentences.training import resume

FAMILIES = ("bert", "gpt2", "elmo", "ulmfit", "t5", "xlnet", "xlm", "electra", "glm")
WRITING = ("bert", "albert", "unilm")  # read both ways, and can write after a text
TEXTS = [
    f"{who} {does} {what}"
    for who in ("the cat", "my sister", "我们")
    for does in ("finds", "paints", "喜欢")
    for what in ("a letter", "苹果")
]


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sentences as single texts, scored pairs, and triples."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "text.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    pairs = list(itertools.pairwise(TEXTS))
    (folder / "scored.tsv").write_text("".join(f"{a}\t{b}\t{i % 5 + 0.5}\n" for i, (a, b) in enumerate(pairs)), encoding="utf-8")
    (folder / "triples.tsv").write_text(
        "anchor\tpositive\tnegative\n" + "".join(f"{a}\t{b}\t{TEXTS[i - 5]}\n" for i, (a, b) in enumerate(pairs)), encoding="utf-8"
    )
    return folder


DATA = {"SameText": "text.txt", "ScoredPairs": "scored.tsv", "PositivePairs": "triples.tsv", "SwappedPairs": "scored.tsv"}


def cases() -> list[Any]:
    found = []
    for name in method_names():
        families = WRITING if method(name).views.writes else FAMILIES
        found += [pytest.param(name, family, id=f"{name}-{family}") for family in families]
    return found


def trained(name: str, model: Path, texts: Path, out: Path, **options: Any) -> Any:
    file = texts / DATA[type(method(name).views).__name__]
    given = {"batch": 6, "budget": "3steps", "length": 16, "quiet": True, "language": "zh" if "xlm" in str(model) else None, "seed": 1}
    return start_from_options(model, method=name, text=file, out=out, **(given | options))


@pytest.mark.parametrize(("name", "family"), cases())
def test_a_method_trains_a_family(name: str, family: str, base: Callable[[str], Path], texts: Path, tmp_path: Path) -> None:
    source, out = base(family), tmp_path / "out"
    made = trained(name, source, texts, out)
    before, after = plume.load(source), plume.load(out)
    assert set(load_file(out / "model.safetensors")) == set(load_file(source / "model.safetensors")), "the model's own layout"
    if not method(name).views.writes:
        assert after.recipe == before.recipe, "dropout is for training alone"
    said = {"language": "zh"} if family == "xlm" else {}
    old, new = before.embed(TEXTS, **said), after.embed(TEXTS, **said)
    assert new.shape == (len(TEXTS), after.width) and np.isfinite(new).all() and not np.allclose(old, new)
    assert made.scores == {} and "no dev file to choose by" in (out / "card.md").read_text(encoding="utf-8")
    assert (out / "sentence.json").exists() and source.name in (out / "card.md").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in (out / "train/metrics.jsonl").read_text().splitlines()]
    assert {"loss/contrast", "loss/alignment", "loss/uniformity"} <= {key for line in lines for key in line}


@pytest.mark.parametrize("name", method_names())
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(name: str, base: Callable[[str], Path], texts: Path, tmp_path: Path) -> None:
    """Stopped by removing what came after the checkpoint of the second step of four."""
    whole, half = tmp_path / "whole", tmp_path / "half"
    options = {"budget": "4steps", "save_every": "1steps", "dev": texts / "scored.tsv"}
    trained(name, base("bert"), texts, whole, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plume.train.loop.Loop._refuse_divergence", _stopping(at=2))
        with pytest.raises(KeyboardInterrupt):
            trained(name, base("bert"), texts, half, **options)
    assert sorted(path.name for path in half.glob("train/checkpoint-*")) == ["checkpoint-000000001"]
    resume(half, quiet=True)
    for file in ("model.safetensors", f"train/checkpoint-{4:09d}/model.safetensors"):
        one, other = load_file(whole / file), load_file(half / file)
        assert all(bool((one[key] == other[key]).all()) for key in one)


def _stopping(*, at: int) -> Callable[..., None]:
    def refuse(loop: Any, spent: Any) -> None:
        if spent.steps >= at:
            raise KeyboardInterrupt

    return refuse


def test_word_vectors_are_refused_with_a_reason(texts: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(TEXTS * 20), encoding="utf-8")
    plume.pretrain("word2vec", corpus=corpus, out=tmp_path / "words", budget="1s", overrides=["dimension=8", "least=1"], quiet=True)
    with pytest.raises(PlumeError, match="the same vector in every text"):
        trained("simcse", tmp_path / "words", texts, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("family", ["gpt2", "t5", "roberta", "xlnet", "electra", "elmo"])
def test_simbert_needs_a_family_that_reads_both_ways_and_tells_two_texts_apart(
    family: str, base: Callable[[str], Path], texts: Path, tmp_path: Path
) -> None:
    with pytest.raises(PlumeError, match="simbert reads a text both ways and writes another"):
        trained("simbert", base(family), texts, tmp_path / "out")


@pytest.mark.parametrize("family", WRITING)
def test_simbert_writes_paraphrases_and_embeds(family: str, base: Callable[[str], Path], texts: Path, tmp_path: Path) -> None:
    trained("simbert", base(family), texts, tmp_path / "out", budget="60steps", rate=3e-3)
    model = plume.load(tmp_path / "out")
    found = plume.sentences.paraphrase(model, TEXTS[0], count=3, max_tokens=12)
    assert 1 <= len(found) <= 3 and all(text and text != TEXTS[0] for text, _ in found)
    assert [cosine for _, cosine in found] == sorted((cosine for _, cosine in found), reverse=True)
    again = plume.load(tmp_path / "out").embed(TEXTS[0])
    np.testing.assert_array_equal(model.embed(TEXTS[0]), again)
    with pytest.raises(PlumeError, match="not trained to write paraphrases"):
        plume.sentences.paraphrase(plume.load(base(family)), TEXTS[0])
