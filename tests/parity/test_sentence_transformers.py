"""sentence-transformers' folders in and out, against the package itself: the same vectors to 1e-6."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import plume
from plume.api import export_sentence_transformers
from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.nn.pooling import FIRST, LAST, MAX, MEAN, Pooling
from plume.sentences.static_distillation import distil_static
from plume.vectors.dense import Dense
from plume.vectors.sentence import SentenceVectors, Similarity
from plume.vectors.transforms.centre import Centre
from plume.vectors.transforms.cut import Cut
from plume.vectors.transforms.flow import Flow
from plume.vectors.transforms.normalise import Normalise
from plume.vectors.transforms.principal_components import PrincipalComponents
from plume.vectors.transforms.whiten import Whiten

library = pytest.importorskip("sentence_transformers")
from sentence_transformers.sentence_transformer import modules as models  # noqa: E402

TEXTS = ["The cat finds a wooden box near the river.", "我们喜欢苹果。", "My sister paints.", "", "Two apples after the storm " * 20]


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def bert(miniature: Any, built: Any, tokenizer_for: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Hugging Face directory."""
    folder = tmp_path_factory.mktemp("bert")
    recipe = miniature("bert", length=32)
    tokenizer = tokenizer_for(recipe)
    LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer).save(folder / "plume")
    plume.export_hf(folder / "plume", out=folder / "hf")
    return folder


def theirs(folder: Path, texts: list[str] = TEXTS) -> np.ndarray:
    return library.SentenceTransformer(str(folder), device="cpu").encode(texts)


def old_form(folder: Path) -> None:
    """As 5.2 and earlier wrote it."""
    config = json.loads((folder / "1_Pooling" / "config.json").read_text())
    modes = config.pop("pooling_mode")
    old = {"cls": "cls_token", "max": "max_tokens", "mean": "mean_tokens", "lasttoken": "lasttoken", "weightedmean": "weightedmean_tokens"}
    config["word_embedding_dimension"] = config.pop("embedding_dimension")
    config |= {f"pooling_mode_{name}": mode in ([modes] if isinstance(modes, str) else modes) for mode, name in old.items()}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))
    modules = json.loads((folder / "modules.json").read_text())
    for module in modules:
        module["type"] = f"sentence_transformers.models.{module['type'].rpartition('.')[2]}"
    (folder / "modules.json").write_text(json.dumps(modules))


@pytest.mark.parametrize("form", ["6.2", "5.2"])
@pytest.mark.parametrize("modes", ["mean", "cls", "weightedmean", "lasttoken", ("cls", "max", "mean")])
def test_a_folder_of_theirs_gives_the_same_vectors(bert: Path, modes: Any, form: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    body = models.Transformer(str(bert / "hf"), max_seq_length=24)
    pooling = models.Pooling(body.get_embedding_dimension(), pooling_mode=modes)
    width = pooling.get_embedding_dimension()
    dense = [models.Dense(width, 7), models.Dense(7, 5, activation_function=torch.nn.Identity(), bias=False)]
    made = library.SentenceTransformer(modules=[body, pooling, *dense, models.Normalize()], device="cpu", similarity_fn_name="dot")
    made.save(str(tmp_path / "st"))
    if form == "5.2":
        old_form(tmp_path / "st")
    expected = theirs(tmp_path / "st")
    model = plume.import_hf(tmp_path / "st", out=tmp_path / "model")
    assert model.sentence.longest == 24 and model.sentence.similarity is Similarity.DOT and model.width == 5
    np.testing.assert_allclose(plume.load(tmp_path / "model").embed(TEXTS), expected, atol=1e-6)


SENTENCES = [
    SentenceVectors(),
    SentenceVectors(pooling=Pooling(tokens=(FIRST, MAX, MEAN, LAST)), transforms=(Normalise(),), similarity=Similarity.EUCLIDEAN),
    SentenceVectors(transforms=(Whiten(dimensions=6), Normalise()), prompt="query: ", longest=20),
    SentenceVectors(transforms=(Centre(), PrincipalComponents(), Cut(dimensions=5), Normalise(), Cut(dimensions=3))),
    SentenceVectors(
        pooling=Pooling(tokens=(FIRST,)),
        transforms=(Dense(tanh=True).with_arrays({"weight": np.full((32, 4), 0.1, np.float32), "bias": np.ones(4, np.float32)}), Centre()),
    ),
]


@pytest.mark.parametrize("number", range(len(SENTENCES)))
def test_a_folder_of_ours_gives_the_same_vectors(bert: Path, number: int, tmp_path: Path) -> None:
    model = LanguageModel.load(bert / "plume")
    declared = SENTENCES[number]
    corpus = [f"{text} {word}" for text in TEXTS for word in ("the", "cat", "苹果", "storm", "river", "box", "two", "more")]
    pooling = declared.pooling or Pooling()
    fitted = declared.fit(model.embed([declared.prompt + text for text in corpus], pooling=pooling))
    LanguageModel(model.model, model.tokenizer, fitted).save(tmp_path / "model")
    expected = plume.load(tmp_path / "model").embed(TEXTS)
    export_sentence_transformers(tmp_path / "model", out=tmp_path / "st")
    # Untrained vectors hardly differ from their mean, so centring scales the rounding of the two bodies up: by as much as this noise.
    raw = model.embed([declared.prompt + text for text in TEXTS], pooling=pooling)
    noise = np.random.default_rng(0).normal(size=raw.shape).astype(np.float32) * 3e-7 * np.abs(raw).max()
    close = 1e-6 + np.abs(fitted.finish(raw + noise) - fitted.finish(raw)).max() * any(one.learns for one in fitted.transforms)
    np.testing.assert_allclose(theirs(tmp_path / "st"), expected, atol=close)
    assert library.SentenceTransformer(str(tmp_path / "st"), device="cpu").similarity_fn_name == fitted.similarity.value
    again = plume.import_hf(tmp_path / "st", out=tmp_path / "back")
    np.testing.assert_allclose(again.embed(TEXTS), expected, atol=close)


def test_what_they_cannot_hold_is_refused(bert: Path, tmp_path: Path) -> None:
    model = LanguageModel.load(bert / "plume")
    rows = model.embed([f"the cat {number}" for number in range(20)])
    for sentence, said in (
        (SentenceVectors(pooling=Pooling(layers=(1, -1))), "a list of layers cannot be exported"),
        (SentenceVectors(transforms=(Flow(),)).fit(rows), "Flow is not linear"),
        (SentenceVectors(pooling=Pooling(tokens=(MEAN, FIRST))), "in this order"),
    ):
        LanguageModel(model.model, model.tokenizer, sentence).save(tmp_path / "model")
        with pytest.raises(PlumeError, match=said):
            export_sentence_transformers(tmp_path / "model", out=tmp_path / "st")
        assert not (tmp_path / "st").exists()


def test_what_we_cannot_read_is_refused(bert: Path, tmp_path: Path) -> None:
    body = models.Transformer(str(bert / "hf"))
    pooling = models.Pooling(body.get_embedding_dimension(), pooling_mode="mean_sqrt_len_tokens")
    library.SentenceTransformer(modules=[body, pooling], device="cpu").save(str(tmp_path / "st"))
    with pytest.raises(PlumeError, match="no pooling 'mean_sqrt_len_tokens'"):
        plume.import_hf(tmp_path / "st", out=tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_static_vectors_distilled_from_an_encoder(bert: Path, tmp_path: Path) -> None:
    """Every token alone, reduced, weighted by counts; a StaticEmbedding gives the same vectors."""
    lines = ["the cat finds a box", "two apples near the river", "我们喜欢苹果"] * 5
    (tmp_path / "corpus.txt").write_text("\n".join(lines), encoding="utf-8")
    static = distil_static(bert / "plume", [str(tmp_path / "corpus.txt")], tmp_path / "static", dimensions=8, smoothing=0.01)
    encoder = LanguageModel.load(bert / "plume")
    specials = set(encoder.tokenizer.special_ids.tolist())
    ids = encoder.tokenizer.encode(lines)
    counts = np.bincount([number for row in ids for number in row], minlength=encoder.tokenizer.size)
    plain = [number for number in range(encoder.tokenizer.size) if number not in specials]
    framed = torch.tensor([encoder.abilities.frame([number]) for number in plain])
    with torch.inference_mode():
        alone = encoder.model.encode(Batch(tokens=framed)).last.mean(1).numpy().astype(np.float64)
    reduced = (
        alone @ np.linalg.svd(alone - alone.mean(0), full_matrices=False)[2][:8].T
        - alone.mean(0) @ np.linalg.svd(alone - alone.mean(0), full_matrices=False)[2][:8].T
    )
    table = dict(zip(plain, reduced * (0.01 / (0.01 + counts[plain] / counts.sum()))[:, None], strict=True))
    expected = np.stack([np.mean([table[number] for number in row if number in table], 0) for row in ids[:3]])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = static.embed(lines[:3])
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)  # directions have no sign
    export_sentence_transformers(tmp_path / "static", out=tmp_path / "st")
    np.testing.assert_allclose(theirs(tmp_path / "st", lines[:3]), found, atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "roberta", "t5"])  # WordPiece, bytes, SentencePiece
def test_a_static_embedding_is_imported(family: str, miniature: Any, tokenizer_for: Any, tmp_path: Path) -> None:
    """Unknown tokens have a row as all others; what stands behind it, the prompt and a length to which texts are cut are kept."""
    import tokenizers

    backend = tokenizers.Tokenizer.from_str(tokenizer_for(miniature(family)).backend.to_str())
    torch.manual_seed(0)
    table = torch.randn(backend.get_vocab_size() + 3, 8)  # padded to a round number, as some are
    static = models.StaticEmbedding(backend, embedding_weights=table)
    dense = models.Dense(8, 6, activation_function=torch.nn.Tanh())
    library.SentenceTransformer(modules=[static, dense, models.Normalize()], device="cpu").save(str(tmp_path / "st"))
    made = plume.import_hf(tmp_path / "st", out=tmp_path / "model")
    texts = [*TEXTS, "zebra ☃ quixotic ﷽"]
    np.testing.assert_allclose(made.embed(texts), theirs(tmp_path / "st", texts), atol=1e-6)
    assert plume.load(tmp_path / "model").width == 6
    backend.enable_truncation(5)
    library.SentenceTransformer(
        modules=[models.StaticEmbedding(backend, embedding_weights=table)], prompts={"q": "two "}, default_prompt_name="q", device="cpu"
    ).save(str(tmp_path / "cut"))
    plume.import_hf(tmp_path / "cut", out=tmp_path / "short")
    np.testing.assert_allclose(plume.load(tmp_path / "short").embed(texts), theirs(tmp_path / "cut", texts), atol=1e-6)


def test_static_vectors_there_and_back(bert: Path, tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("the cat finds a box\ntwo apples near the river\n", encoding="utf-8")
    static = distil_static(bert / "plume", [str(tmp_path / "corpus.txt")], tmp_path / "static", dimensions=8)
    export_sentence_transformers(tmp_path / "static", out=tmp_path / "st")
    again = plume.import_hf(tmp_path / "st", out=tmp_path / "again")
    np.testing.assert_allclose(again.embed(TEXTS), static.embed(TEXTS), atol=1e-6)
    with pytest.raises(PlumeError, match="exists already"):
        plume.import_hf(tmp_path / "st", out=tmp_path / "again")
