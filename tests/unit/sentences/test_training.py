"""The contrastive network and its run: vectors as `embed` gives them, views that differ by dropout alone, batches in parts, what is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import plume
from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.loader import Cursor
from plume.model.checkpoint import save_model
from plume.model.use.language_model import LanguageModel
from plume.model.use.writing import answering, writer_for
from plume.nn.pooling import FIRST, LAST_MAX_MEAN, Pooling
from plume.sentences.grouping import Grouped
from plume.sentences.method import method
from plume.sentences.options import start_from_options
from plume.sentences.rows import CONTRAST, TOKENS, lay_out, lay_out_written, texts_as_embedded
from plume.sentences.settings import SentenceSettings, pooling_for, token_head, writing_recipe
from plume.sentences.training import contrast_model, reader_of
from plume.train.budget import Budget
from plume.train.device import to_device
from plume.tuning.tuned import coder_for, reading_order
from plume.vectors.sentence import SentenceVectors

TEXTS = [
    "the cat finds a letter",
    "my sister paints the lighthouse in the morning",
    "我们喜欢苹果",
    "two apples",
    "some bread near the river",
    "her",
]
PAIRS = Grouped(texts=list(zip(TEXTS, TEXTS[1:] + TEXTS[:1], strict=True)), score=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0])


@pytest.fixture(scope="module")
def built(miniature: Any, tokenizer_for: Any) -> Callable[..., tuple[Any, Any]]:
    def make(family: str) -> tuple[Any, Any]:
        recipe = miniature(family)
        tokenizer = tokenizer_for(recipe)
        model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
        model.initialise(3)
        model.spell(tokenizer.tokens())
        return model.eval(), tokenizer

    return make


def settings(name: str, **options: Any) -> SentenceSettings:
    training = plume.recipe("bert/tiny").training
    given = {"dropout": 0.0 if name != "simcse" else 0.1, "training": replace(training, batch=6, length=64)} | options
    return SentenceSettings(model="m", method=method(name), text=("t",), budget=Budget.parse("1steps"), **given)


def batch_of(made: SentenceSettings, source: Any, tokenizer: Any, groups: Grouped = PAIRS) -> Batch:
    coder = texts_as_embedded(coder_for(source, tokenizer, length=64))
    rows, _ = (lay_out_written if made.method.views.writes else lay_out)(groups, coder)
    (batch,) = reader_of(made, rows, source, tokenizer).step(Cursor(), [slice(None)])
    return to_device(batch, torch.device("cpu"))


@pytest.mark.parametrize("family", ["bert", "gpt2", "elmo", "ulmfit", "t5", "roberta", "xlnet", "skip-thought", "deepmoji"])
@pytest.mark.parametrize("pooling", [None, Pooling(tokens=(FIRST,)), Pooling(layers=(0, -1)), LAST_MAX_MEAN])
def test_what_is_trained_is_what_embed_gives(family: str, pooling: Pooling | None, built: Any) -> None:
    source, tokenizer = built(family)
    if pooling is not None and pooling.layers == (0, -1) and family in ("ulmfit", "deepmoji", "skip-thought"):
        pytest.skip("layers of several widths")
    made = settings("ranking", vectors=SentenceVectors(pooling=pooling))
    model = contrast_model(made, source, tokenizer).eval()
    batch = batch_of(made, source, tokenizer)
    order = batch.labels[CONTRAST].index[:6].tolist()  # texts are numbered as they first come
    expected = LanguageModel(source, tokenizer, made.vectors).embed([TEXTS[number] for number in order])
    with torch.no_grad():
        found = model.vectors(batch)[:6].numpy()
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize("name", ["ranking", "cosent", "simbert"])
def test_a_batch_in_parts_has_the_gradient_of_the_whole(name: str, built: Any) -> None:
    """GradCache: the negatives are the whole batch's; with and without parts the same numbers, and memory of one part."""
    source, tokenizer = built("bert")
    found = []
    for parts in (1, 3):
        pooling = Pooling(tokens=(FIRST,)) if name == "simbert" else None
        made = settings(name, parts=parts, vectors=SentenceVectors(pooling=pooling))
        model = contrast_model(made, source, tokenizer).double().train()
        batch = batch_of(made, source, tokenizer)
        batch = replace(
            batch, labels=batch.labels | {CONTRAST: replace(batch.labels[CONTRAST], value=batch.labels[CONTRAST].value.double())}
        )
        scale = {key: torch.tensor(1.0 / max(count, 1)) for key, count in model.counts(batch).items() if key in (CONTRAST, TOKENS)}
        total, _ = model(batch, scale)
        total.backward()
        found.append((total.item(), {key: one.grad for key, one in model.named_parameters() if one.grad is not None}))
    (one, gradients), (other, again) = found
    assert one == pytest.approx(other, rel=1e-12) and gradients.keys() == again.keys()
    for key, gradient in gradients.items():
        np.testing.assert_allclose(gradient.numpy(), again[key].numpy(), atol=1e-12, err_msg=key)


def test_parts_draw_the_same_dropout_twice(built: Any) -> None:
    """A part is read again for its gradient: with other dropout it would be the gradient of another loss. Held against finite differences."""
    source, tokenizer = built("bert")
    made = settings("simcse", parts=2)
    model = contrast_model(made, source, tokenizer).double().train()
    groups = Grouped(texts=[(text, text) for text in TEXTS], score=[1.0] * 6)
    batch = batch_of(made, source, tokenizer, groups)
    bias = model.body.stack.blocks[-1].feed_forward.output.bias

    def loss() -> torch.Tensor:
        torch.manual_seed(5)
        return model.losses(batch)[CONTRAST].total

    loss().backward()
    step = 1e-6
    with torch.no_grad():
        bias[3] += step
    up = loss().item()
    with torch.no_grad():
        bias[3] -= 2 * step
    down = loss().item()
    assert bias.grad[3].item() == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-8)


def test_two_views_of_a_text_differ_by_dropout_alone(built: Any) -> None:
    source, tokenizer = built("bert")
    made = settings("simcse")
    groups = Grouped(texts=[(text, text) for text in TEXTS], score=[1.0] * 6)
    batch = batch_of(made, source, tokenizer, groups)
    assert torch.equal(batch.tokens[:6], batch.tokens[6:]) and torch.equal(
        batch.labels[CONTRAST].index[:6], batch.labels[CONTRAST].index[6:]
    )
    model = contrast_model(made, source, tokenizer)
    with torch.no_grad():
        first, second = model.train()._read(batch)[0].view(2, 6, -1)
        same, too = model.eval()._read(batch)[0].view(2, 6, -1)
    assert not torch.allclose(first, second, atol=1e-3) and torch.allclose(same, too, atol=1e-6)


@pytest.mark.parametrize(("name", "options"), [("simcse", {"dropout": 0.0}), ("cosent", {"dropout": 1.0}), ("cosent", {"parts": 7})])
def test_settings_that_cannot_work_are_refused(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(PlumeError, match=r"dropout|parts"):
        settings(name, **options)


def test_simbert_rows_show_the_first_text_alone_to_its_first_token(built: Any) -> None:
    """[CLS] a [SEP] b [SEP] and swapped: what CLS says of a does not depend on b; b is asked for token by token, its end included."""
    source, tokenizer = built("bert")
    made = settings("simbert", vectors=SentenceVectors(pooling=Pooling(tokens=(FIRST,))))
    batch = batch_of(made, source, tokenizer)
    begin, end = tokenizer.begin, tokenizer.separator
    asked = batch.labels[TOKENS]
    for row in range(12):
        tokens = batch.tokens[row][: batch.length[row] if batch.length is not None else None].tolist()
        first = tokens.index(end)
        assert (
            tokens[0] == begin
            and tokens[-1] == end
            and batch.segment[row][: len(tokens)].tolist() == [0] * (first + 1) + [1] * (len(tokens) - first - 1)
        )
        mine = asked.index // batch.tokens.shape[1] == row
        assert (asked.index[mine] % batch.tokens.shape[1]).tolist() == list(range(first, len(tokens) - 1))
        assert asked.value[mine].tolist() == tokens[first + 1 :]
    partner = [[batch.tokens[(row + 6) % 12].tolist(), batch.tokens[row].tolist()] for row in range(12)]
    for swapped, row in partner:  # row r + n has r's texts the other way round
        cut = row.index(end)
        assert row[1:cut] == swapped[swapped.index(end) + 1 :][: cut - 1]
    model = contrast_model(made, source, tokenizer).eval()
    alone = LanguageModel(source, tokenizer).embed([TEXTS[n] for n in batch.labels[CONTRAST].index], pooling="first")
    with torch.no_grad():
        np.testing.assert_allclose(model.vectors(batch).numpy(), alone, atol=2e-5)


@pytest.mark.parametrize("family", ["bert", "albert", "unilm"])
def test_what_is_written_token_by_token_is_what_one_pass_scores(family: str, built: Any) -> None:
    """The writer's cache against the rows of training, whose places before the second text's tokens are asked for them."""
    source, tokenizer = built(family)
    source.recipe = writing_recipe(source.recipe, method("simbert"))
    source._head_names["text_after_text"] = token_head(source.recipe).name  # type: ignore[union-attr]
    made = settings("simbert", vectors=SentenceVectors(pooling=Pooling(tokens=(FIRST,))))
    short = ["the cat", "two apples", "苹果", "her"]  # none is cut
    batch = batch_of(made, source, tokenizer, Grouped(texts=list(zip(short, short[1:] + short[:1], strict=True)), score=[1.0] * 4))
    head = source.head("text_after_text")
    with torch.no_grad():
        scores = head.log_probabilities(source.encode(replace(batch, labels={}))).double()
    asked, time = batch.labels[TOKENS], batch.tokens.shape[1]
    can = LanguageModel(source, tokenizer).abilities
    for row in range(8):
        places = (asked.index[asked.index // time == row] % time).tolist()
        text = batch.labels[CONTRAST].index[row]
        with torch.inference_mode():
            writer = writer_for(can, [answering(can, short[text], [], room=9)])
            found = [writer.first()]
            for token in asked.value[asked.index // time == row].tolist()[:-1]:
                found.append(writer.go_on(torch.tensor([token])))
        np.testing.assert_allclose(torch.cat(found).double().numpy(), scores[row, places].numpy(), atol=1e-4)


def test_pooling_is_the_first_token_only_where_that_has_learned_something(built: Any) -> None:
    source, tokenizer = built("bert")
    order = reading_order(source, tokenizer)
    first = Pooling(tokens=(FIRST,))
    assert pooling_for(method("simcse"), source, order, asked=None, before=None) is None  # narrow: as the family pools, the mean
    assert pooling_for(method("simcse"), source, order, asked=None, before=SentenceVectors(pooling=first)) == first
    assert pooling_for(method("simbert"), source, order, asked=None, before=None) == first
    assert settings("simcse", vectors=SentenceVectors(pooling=first)).layer is not None and settings("simcse").layer is None
    with pytest.raises(PlumeError, match="leave out --pooling"):
        pooling_for(method("simbert"), source, order, asked=Pooling(), before=None)


@pytest.fixture
def folder(built: Any, tmp_path: Path) -> Path:
    model, tokenizer = built("bert")
    save_model(tmp_path / "base", model, tokenizer)
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\t{score}\n" for (a, b), score in zip(PAIRS.texts, PAIRS.score, strict=True)))
    return tmp_path


def test_dev_chooses_the_weights_and_without_it_the_last_are_kept(folder: Path) -> None:
    given = {"method": "cosent", "text": folder / "pairs.tsv", "batch": 3, "budget": "10steps", "rate": 3e-3, "quiet": True}
    made = start_from_options(folder / "base", out=folder / "dev", dev=folder / "pairs.tsv", **given)
    lines = [json.loads(line) for line in (folder / "dev/train/metrics.jsonl").read_text().splitlines()]
    curve = [line["held_out/spearman"] for line in lines if "held_out/spearman" in line]
    assert made.scores["spearman"] == max(curve) and len(curve) == 10
    model = plume.load(folder / "dev")
    one, other = (model.embed([pair[place] for pair in PAIRS.texts]) for place in (0, 1))
    cosine = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    from scipy.stats import spearmanr

    assert spearmanr(cosine, PAIRS.score)[0] == pytest.approx(max(curve))
    start_from_options(folder / "base", out=folder / "last", **given)
    last = load_file(folder / "last/train/checkpoint-000000010/model.safetensors")
    kept = load_file(folder / "last/model.safetensors")
    assert all(torch.equal(value, last[f"body.{name}"]) for name, value in kept.items())
    assert "The last of the run" in (folder / "last/card.md").read_text()


@pytest.mark.parametrize(("name", "kept"), [("simbert", True), ("simcse-supervised", True), ("simcse", False)])
def test_a_layer_is_kept_as_a_transform_or_dropped(name: str, kept: bool, folder: Path) -> None:
    out = folder / "out"
    start_from_options(
        folder / "base", out=out, method=name, text=folder / "pairs.tsv", pooling="cls", budget="3steps", rate=1e-2, quiet=True, batch=2
    )  # fmt: skip
    state = load_file(out / "train/checkpoint-000000003/model.safetensors")
    model = plume.load(out)
    first = model.embed(TEXTS, pooling="first")
    made = first @ state["layer.dense.weight"].numpy().T + state["layer.dense.bias"].numpy()
    expected = (made if name == "simbert" else np.tanh(made)) if kept else first
    np.testing.assert_allclose(model.embed(TEXTS), expected, atol=1e-5)
    assert len(model.sentence.transforms) == int(kept)


def test_training_with_matryoshka_knows_the_width(folder: Path) -> None:
    given = {"method": "ranking", "text": folder / "pairs.tsv", "budget": "2steps", "quiet": True}
    start_from_options(folder / "base", out=folder / "cut", dimensions="16,8", **given)
    assert "dimensions=(32, 16, 8)" in (folder / "cut/card.md").read_text()
    with pytest.raises(PlumeError, match="this model's vectors have 32"):
        start_from_options(folder / "base", out=folder / "wide", dimensions=[64], **given)


def test_what_a_method_needs_is_said_before_anything_is_loaded(folder: Path) -> None:
    (folder / "bare.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS.texts))
    with pytest.raises(PlumeError, match=r"cosent needs a score for each pair: bare\.tsv has none"):
        start_from_options(folder / "nowhere", method="cosent", text=folder / "bare.tsv", out=folder / "out", quiet=True)
