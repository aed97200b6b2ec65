"""A student of sentence vectors: its losses against plain torch, what its directory embeds, how it goes on, what is refused; static vectors."""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.stats import spearmanr
from sklearn.decomposition import PCA

import plume
from plume.api import export_sentence_transformers
from plume.compressing.compress import resume
from plume.compressing.distilling import sentence_vectors
from plume.compressing.distilling.sentence_vectors import METHOD, VectorSettings, teacher_vectors
from plume.compressing.lineage import read_lineage
from plume.compressing.options import compress_from_options
from plume.core.errors import PlumeError
from plume.core.files import read_json
from plume.core.part import part_from_json, replace
from plume.data.loader import Cursor
from plume.model.checkpoint import load_model, read_weights, save_model, save_weights
from plume.nn.pooling import Pooling
from plume.sentences.grouping import Grouped
from plume.sentences.layer import PooledLayer
from plume.sentences.losses import CosineGap, SquaredDistance
from plume.sentences.rows import CONTRAST, lay_out, texts_as_embedded
from plume.sentences.training import contrast_model, reader_of
from plume.static.model import WordModel
from plume.train import loop as loops
from plume.train.budget import Budget
from plume.train.checkpoint import checkpoints
from plume.train.device import to_device
from plume.train.metrics import read_metrics
from plume.tuning.options import start_from_options
from plume.tuning.tuned import coder_for
from plume.vectors.sentence import SentenceVectors
from plume.vectors.transforms.normalise import Normalise

WHO, DOES, WHAT = (
    ("the cat", "my sister", "the sailor", "我们"),
    ("finds", "paints", "喜欢"),
    ("a letter", "苹果", "the river", "some bread", "it"),
)
TEXTS = [f"{who} {does} {what}" for who in WHO for does in DOES for what in WHAT]
UNIT = SentenceVectors(pooling=Pooling(), transforms=(Normalise(),))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    (folder / "text.txt").write_text("\n".join([*TEXTS, TEXTS[0]]) + "\n", encoding="utf-8")
    pairs = list(itertools.pairwise(random.Random(1).sample(TEXTS, 30)))
    scored = [f"{a}\t{b}\t{len({*a.split()} & {*b.split()}) + 0.5}\n" for a, b in pairs]
    (folder / "pairs.tsv").write_text("".join(scored), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, miniature: Any, tokenizer_for: Any) -> Callable[..., Path]:
    """A directory with a family's miniature that says how it makes sentence vectors, or does not."""

    def make(family: str = "bert", *, how: SentenceVectors | None = UNIT, seed: int = 1, **options: Any) -> Path:
        recipe = miniature(family, **options)
        tokenizer = tokenizer_for(recipe)
        model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
        model.initialise(seed)
        model.spell(tokenizer.tokens())
        folder = tmp_path_factory.mktemp("base") / family
        save_model(folder, model, tokenizer)
        if how is not None:
            how.save(folder)
        return folder

    return make


def small(source: Path, files: Path, out: Path, **options: Any) -> Any:
    given = {"text": files / "text.txt", "batch": 12, "rate": 3e-3, "budget": "4steps", "length": 24, "quiet": True} | options
    return plume.compress(source, method="vectors", out=out, **given)


@pytest.mark.parametrize("normalised", [False, True])
def test_losses_are_those_of_plain_torch(normalised: bool, built: Any, tokenizer_for: Any, miniature: Any) -> None:
    recipe = miniature("bert")
    tokenizer = tokenizer_for(recipe)
    source = built(recipe, vocabulary=tokenizer.size)
    taught = np.random.default_rng(0).normal(size=(len(TEXTS), 48)).astype(np.float32)
    groups, _ = lay_out(
        Grouped(texts=[(one,) for one in TEXTS], score=[1.0] * len(TEXTS)), texts_as_embedded(coder_for(source, tokenizer, length=24))
    )
    for loss in (SquaredDistance(normalised=normalised), CosineGap()):
        settings = VectorSettings(
            model="m", teacher="t", method=replace(METHOD, loss=loss), text=("t",), budget=Budget.parse("1steps"), dropout=0.0,
            training=replace(recipe.training, batch=8, length=24), dense=PooledLayer(tanh=False, kept=True, width=48),
        )  # fmt: skip
        model = contrast_model(settings, source, tokenizer).double().eval()
        (batch,) = reader_of(settings, replace(groups, taught=taught), source, tokenizer).step(Cursor(), [slice(None)])
        assert {name: loss.count for name, loss in model.losses(on_cpu(batch)).items()} == model.counts(batch)
        batch = on_cpu(batch)
        found = model.losses(batch)[CONTRAST]
        own = F.linear(model.vectors(batch), model.layer.dense.weight, model.layer.dense.bias)
        theirs = torch.from_numpy(taught[batch.labels[CONTRAST].index.numpy()]).double()  # texts are numbered as they come
        if isinstance(loss, CosineGap):
            expected = (1 - F.cosine_similarity(own, theirs)).mean()
        elif normalised:
            expected = F.mse_loss(F.normalize(own), F.normalize(theirs)) * 48
        else:
            expected = F.mse_loss(own, theirs) / theirs.pow(2).mean()
        assert found.total.dtype == torch.float64
        assert torch.allclose(found.total / found.count, expected, rtol=1e-9)


def on_cpu(batch: Any) -> Any:
    return to_device(batch, torch.device("cpu"))


def test_half_of_the_layers_learn_and_their_directory_embeds(base: Any, files: Path, tmp_path: Path) -> None:
    teacher = base(depth=4)
    model = small(teacher, files, tmp_path / "half", epochs=20.0, budget=None)
    expected, found = plume.load(teacher).embed(TEXTS), plume.load(tmp_path / "half").embed(TEXTS)
    raw = plume.load(tmp_path / "half" / "train" / "student")
    before = Normalise().apply(raw.embed(TEXTS, pooling="mean"))
    np.testing.assert_array_equal(found, model.embed(TEXTS))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert ((found - expected) ** 2).sum(1).mean() < 0.2 * ((before - expected) ** 2).sum(1).mean(), "nearer to the teacher than it began"
    assert load_model(tmp_path / "half")[0].recipe.transformer.depth == 2
    lineage, card = read_lineage(tmp_path / "half"), (tmp_path / "half" / "card.md").read_text(encoding="utf-8")
    assert lineage is not None and lineage.steps[0].method == "vectors" and lineage.origin == ("bert",)
    assert "arXiv:2004.09813" in card and "## Made small" in card
    losses = [line["loss/contrast"] for line in read_metrics(tmp_path / "half") if "loss/contrast" in line]
    assert losses[-1] < losses[0]


def test_a_narrow_student_has_the_vectors_that_pca_leaves(base: Any, miniature: Any, files: Path, tmp_path: Path) -> None:
    """Where it has learned all there is, its cosines are those of the teacher's vectors cut by scikit-learn."""
    teacher, narrow = base(width=32), base(width=16, depth=1, how=None, seed=5)
    small(teacher, files, tmp_path / "out", student=str(narrow), budget="1steps")
    settings = part_from_json(read_json(tmp_path / "out" / "train" / "run.json", "the run"))
    assert isinstance(settings, VectorSettings) and settings.cut == 16 and settings.dense is None
    whole = teacher_vectors(teacher, TEXTS)
    np.testing.assert_array_equal(whole, plume.load(teacher).embed(TEXTS))
    found, expected = settings.taught(TEXTS), PCA(16, svd_solver="full").fit_transform(whole)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-5)
    assert plume.load(tmp_path / "out").embed(TEXTS).shape == (len(TEXTS), 16)


def test_with_a_dense_layer_it_has_the_teachers_dimensions(base: Any, files: Path, tmp_path: Path) -> None:
    SentenceTransformer = pytest.importorskip("sentence_transformers").SentenceTransformer

    teacher, narrow = base(width=32), base(width=16, how=None, seed=5)
    model = small(teacher, files, tmp_path / "out", student=str(narrow), settings=["dense=true"], epochs=20.0, budget=None)
    expected, found = plume.load(teacher).embed(TEXTS), model.embed(TEXTS)
    assert found.shape == expected.shape and model.width == 32
    assert (found * expected).sum(1).mean() > 0.8
    export_sentence_transformers(tmp_path / "out", out=tmp_path / "exported")
    theirs = SentenceTransformer(str(tmp_path / "exported"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(theirs, found, atol=2e-5)


def test_a_wider_student_gets_the_layer_by_itself(base: Any, files: Path, tmp_path: Path) -> None:
    teacher, wide = base(width=16), base(width=32)
    model = small(teacher, files, tmp_path / "out", student=str(wide))
    assert model.width == 16
    assert "nothing gets smaller" in (tmp_path / "out" / "card.md").read_text(encoding="utf-8")
    with pytest.raises(PlumeError, match="leave out dense=false"):
        small(teacher, files, tmp_path / "no", student=str(wide), settings=["dense=false"])
    assert not (tmp_path / "no").exists()


def test_dev_pairs_choose_by_spearman_and_measure_both(base: Any, files: Path, tmp_path: Path) -> None:
    teacher = base(depth=2)
    made = compress_from_options(
        teacher, method="vectors", out=tmp_path / "out", text=files / "text.txt", dev=files / "pairs.tsv", budget="6steps", batch=12, quiet=True,
        settings=["distance=cosine"],
    )  # fmt: skip
    assert made.before is not None and made.after is not None
    for folder, figures in ((teacher, made.before), (tmp_path / "out", made.after)):
        assert figures.scores["vectors.spearman"] == pytest.approx(_spearman(folder, files / "pairs.tsv"), abs=1e-6)
    curve = [line["held_out/spearman"] for line in read_metrics(tmp_path / "out") if "held_out/spearman" in line]
    assert made.after.scores["vectors.spearman"] == pytest.approx(max(curve), abs=1e-5)


def _spearman(folder: Path, pairs: Path) -> float:
    rows = [line.split("\t") for line in pairs.read_text(encoding="utf-8").splitlines()]
    left, right = (Normalise().apply(plume.load(folder).embed([row[side] for row in rows])) for side in (0, 1))
    return float(spearmanr([float(row[2]) for row in rows], (left * right).sum(1)).statistic)


def test_the_teachers_own_way_is_obeyed_and_its_vectors_are_computed_once(
    base: Any, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUME_CACHE", str(tmp_path / "cache"))
    how = SentenceVectors(pooling=Pooling(layers=(0, -1)), prompt="it is: ", longest=16)
    teacher, loaded = base(depth=2, how=how), []
    load = sentence_vectors.load
    monkeypatch.setattr(sentence_vectors, "load", lambda *given, **more: loaded.append(more) or load(*given, **more))
    for name in ("one", "two"):
        model = small(teacher, files, tmp_path / name, seed=len(name))
        assert model.sentence.prompt == "it is: " and model.sentence.longest == 16 and model.sentence.transforms == ()
    assert sum("device" in more for more in loaded) == 1, "it embeds in the first run alone"
    (kept,) = (tmp_path / "cache" / "sentence-vectors").iterdir()
    np.testing.assert_array_equal(np.load(kept), plume.load(teacher).embed(TEXTS))


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(base: Any, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    teacher, narrow = base(width=32), base(width=16, how=None, seed=5)
    for number, given in enumerate(({"student": str(narrow)}, {"student": str(narrow), "settings": ["dense=true"]})):
        options = {"method": "vectors", "text": files / "text.txt", "budget": "6steps", "batch": 12, "quiet": True} | given
        compress_from_options(teacher, out=tmp_path / f"whole{number}", **options)
        step, calls = loops.Loop._step, []

        def stopping(self: Any, *rest: Any, calls: Any = calls, step: Any = step, **more: Any) -> Any:
            calls.append(1)
            if len(calls) == 3:
                rest[2].append("SIGINT")
            return step(self, *rest, **more)

        monkeypatch.setattr(loops.Loop, "_step", stopping)
        assert compress_from_options(teacher, out=tmp_path / f"broken{number}", **options).stopped_by == "SIGINT"
        monkeypatch.setattr(loops.Loop, "_step", step)
        assert resume(tmp_path / f"broken{number}", quiet=True).stopped_by is None
        folders = [tmp_path / f"{name}{number}" for name in ("whole", "broken")]
        for file in ("model.safetensors", "optimiser.safetensors"):
            mine, theirs = (read_weights(checkpoints(folder)[-1] / file) for folder in folders)
            assert mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)
        one, other = (plume.load(folder).embed(TEXTS) for folder in folders)
        np.testing.assert_array_equal(one, other)


def test_another_teacher_is_not_gone_on_with(base: Any, files: Path, tmp_path: Path) -> None:
    copy = tmp_path / "teacher"
    shutil.copytree(base(), copy)
    small(copy, files, tmp_path / "out")
    save_weights(copy / "model.safetensors", {name: value + 1 for name, value in read_weights(copy / "model.safetensors").items()})
    with pytest.raises(PlumeError, match="have changed"):
        resume(tmp_path / "out", quiet=True)


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "t5", "xlnet", "electra", "glm"])
def test_families_teach_their_half_and_a_student_of_another_vocabulary(family: str, base: Any, files: Path, tmp_path: Path) -> None:
    teacher = base(family, how=None)
    for name, options in (("half", {}), ("other", {"student": str(base("elmo", how=None))})):
        model = small(teacher, files, tmp_path / name, budget="2steps", **options)
        assert np.isfinite(plume.load(tmp_path / name).embed(TEXTS)).all() and model.width <= plume.load(teacher).width


def test_a_tuned_model_teaches_with_its_body(base: Any, files: Path, tmp_path: Path) -> None:
    rows = "".join(f"{text}\t{'cat' if 'cat' in text else 'other'}\n" for text in TEXTS)
    (tmp_path / "train.tsv").write_text(rows, encoding="utf-8")
    start_from_options(base(), task="classification", train=str(tmp_path / "train.tsv"), out=tmp_path / "tuned", epochs=1.0, quiet=True)
    model = small(tmp_path / "tuned", files, tmp_path / "out", dev=files / "pairs.tsv")
    assert model.embed(TEXTS).shape == plume.load(tmp_path / "tuned").embed(TEXTS).shape
    plume.compress(tmp_path / "tuned", method="static", out=tmp_path / "static", text=files / "text.txt", quiet=True)
    assert isinstance(plume.load(tmp_path / "static"), WordModel)
    start_from_options(Path("tfidf"), task="classification", train=str(tmp_path / "train.tsv"), out=tmp_path / "linear", quiet=True)
    with pytest.raises(PlumeError, match="no model below to embed with"):
        small(tmp_path / "linear", files, tmp_path / "no")


def test_what_does_not_fit_is_refused_and_leaves_nothing(base: Any, files: Path, tmp_path: Path) -> None:
    teacher, out = base(width=32), tmp_path / "no"
    with pytest.raises(PlumeError, match="--text FILE"):
        small(teacher, files, out, text=None)
    with pytest.raises(PlumeError, match="not --train"):
        small(teacher, files, out, train=files / "pairs.tsv")
    with pytest.raises(PlumeError, match="leave out --control"):
        small(teacher, files, out, control=True)
    with pytest.raises(PlumeError, match="needs a score for each pair"):
        small(teacher, files, out, dev=files / "text.txt")
    few = tmp_path / "few.txt"
    few.write_text("\n".join(TEXTS[:8]) + "\n", encoding="utf-8")
    with pytest.raises(PlumeError, match="give more text, or --set dense=true"):
        small(teacher, files, out, text=few, student=str(base(width=16, how=None)))
    assert not out.exists()


def test_static_vectors_by_compress_and_as_a_teacher(base: Any, files: Path, tmp_path: Path) -> None:
    source = base(width=32)
    made = compress_from_options(
        source,
        method="static",
        out=tmp_path / "static",
        text=files / "text.txt",
        dev=files / "pairs.tsv",
        settings=["dimensions=16"],
        quiet=True,
    )
    assert made.after is not None and "vectors.spearman" in made.after.scores
    model = plume.load(tmp_path / "static")
    assert isinstance(model, WordModel) and model.embed(TEXTS).shape == (len(TEXTS), 16)
    assert "static: `" in (tmp_path / "static" / "card.md").read_text(encoding="utf-8")
    with pytest.raises(PlumeError, match="--text FILE"):
        plume.compress(source, method="static", out=tmp_path / "no", quiet=True)
    with pytest.raises(PlumeError, match="name one that is trained with --student DIRECTORY"):
        small(tmp_path / "static", files, tmp_path / "no")
    assert not (tmp_path / "no").exists()
    student = small(tmp_path / "static", files, tmp_path / "out", student=str(base(width=16, how=None)))
    assert student.width == 16
