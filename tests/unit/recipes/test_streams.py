"""What is special about CTRL, MPNet, XLNet, Transformer-XL and NEZHA, in the batches that their training reads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plume.cli import main
from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.core.seeds import Draws
from plume.data.collate import gather
from plume.data.loader import Cursor
from plume.model.checkpoint import save_model
from plume.model.memory import Memory
from plume.model.use.language_model import LanguageModel
from plume.model.use.writers import CausalWriter
from plume.nn.positions.relative import Relative
from plume.noise.rows import Alphabet, Rows
from plume.objectives.backward_lm import backward_lm
from plume.recipes import _catalog as catalog


@pytest.fixture
def language_model(miniature: Any, built: Any, tokenizer_for: Any) -> Any:
    def make(family: str) -> LanguageModel:
        recipe = miniature(family)
        tokenizer = tokenizer_for(recipe)
        return LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer)

    return make


# CTRL


def test_every_row_of_ctrl_begins_with_its_documents_code(miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature("ctrl"))
    codes = {reader.tokenizer.id(f"<|{name}|>"): name for name in reader.store.labels}
    seen = set()
    for step in range(len(reader.plan(0)[1])):
        batch = reader.batch(Cursor(step=step))
        assert set(batch.tokens[:, 0].tolist()) <= codes.keys()
        assert not np.isin(batch.tokens[:, 1:], list(codes)).any()
        seen |= set(batch.tokens[:, 0].tolist())
        labels = batch.labels["causal_lm"]
        first = np.flatnonzero(labels.index % batch.tokens.shape[1] == 0)
        assert (labels.value[first] == batch.tokens[:, 1]).all(), "the code itself predicts the first token"
    assert seen == codes.keys() and len(codes) >= 2


def test_a_code_stands_before_the_prompt(language_model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = language_model("ctrl")
    prompts = []

    class Spy(CausalWriter):
        def __init__(self, network: Any, head: Any, prompt: Batch, **options: Any) -> None:
            super().__init__(network, head, prompt, **options)
            prompts.append((self.prompt.tolist(), self.first()))

    monkeypatch.setattr("plume.model.use.writing.CausalWriter", Spy)
    ids = model.tokenizer.encode(["the cat"])[0]
    for code in ("Books", "Wiki"):
        assert model.generate("the cat", code=code, max_tokens=3).lower().startswith("the cat"), "the code is not part of the text"
        assert prompts[-1][0] == [[model.tokenizer.id(f"<|{code}|>"), *ids]]
    assert float((prompts[0][1] - prompts[1][1]).abs().max()) > 1e-3, "the code tells"
    with pytest.raises(PlumeError, match=r"Unknown control code 'Nowhere': Known: Books, News, Wiki\..*labels of the corpus"):
        model.generate("the cat", code="Nowhere")


def test_the_command_line_takes_a_code(
    language_model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    model = language_model("ctrl")
    model.model.float()
    save_model(tmp_path / "ctrl", model.model, model.tokenizer)
    for given, left, said in (("News", 0, ""), ("Nowhere", 2, "Unknown control code 'Nowhere'")):
        monkeypatch.setattr(sys, "argv", ["plume", "generate", str(tmp_path / "ctrl"), "the cat", "--code", given, "--max-tokens", "4"])
        with pytest.raises(SystemExit) as end:
            main()
        assert (end.value.code or 0) == left
        out, err = capfd.readouterr()
        assert said in err and (left or "the cat" in out.lower())


# MPNet


def test_mpnet_hides_fifteen_in_a_hundred_and_shows_where(miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature("mpnet"))
    mask = reader.tokenizer.mask
    hidden = text = masks = copies = 0
    for step in range(len(reader.plan(0)[1])):
        batch = reader.batch(Cursor(step=step))
        length = np.full(len(batch.tokens), batch.tokens.shape[1]) if batch.length is None else batch.length
        labels = batch.labels["masked_permuted_lm"]
        time = batch.tokens.shape[1]
        row, place = labels.index // time, labels.index % time
        assert (batch.tokens[row, place] == labels.value).all(), "the content stream shows the token itself"
        for number in range(len(batch.tokens)):
            places = place[row == number]
            own = length[number] - len(places)
            behind = batch.position[number, own : length[number]]
            assert sorted(behind.tolist()) == sorted(places.tolist()), "the copies stand where the hidden tokens do"
            assert sorted(batch.rank[number, places].tolist()) == list(range(1, len(places) + 1))
            shown = batch.tokens[number, own : length[number]]
            masks, copies = masks + int((shown == mask).sum()), copies + len(shown)
            text += int(own)
        hidden += len(place)
        assert batch.tokens.shape[1] <= reader.length
    assert hidden / text == pytest.approx(0.15, abs=0.02)
    assert masks / copies == pytest.approx(0.8, abs=0.05)


# XLNet


def test_an_xlnet_row_is_memory_pair_and_class_token(miniature: Any, reader_for: Any, batch_of: Any) -> None:
    recipe = miniature("xlnet")
    reader = reader_for(recipe)
    separator, begin = reader.tokenizer.separator, reader.tokenizer.begin
    before = None
    for step in range(len(reader.plan(0)[1])):
        batch = batch_of(reader, step)
        assert (batch.stream, batch.begins) == (0, step == 0)
        assert batch.tokens.shape == (8, recipe.training.length) and batch.length is None, "rows are always full"
        assert (batch.tokens[:, -1] == begin).all() and (batch.tokens[:, -2] == separator).all()
        assert (batch.segment[:, -1] == 2).all() and (np.diff(batch.segment, axis=1) >= 0).all()
        half = recipe.training.length // 2
        assert (batch.segment[:, :half] == 0).all()
        if before is not None:  # what the memory holds ends where this row begins
            plan, batches = reader.plan(0)
            assert (plan.start[batches[step], 0] == plan.end[batches[step - 1], 0]).all()
            assert (reader.store.tokens[plan.start[batches[step], 0]] == batch.tokens[:, 0]).all()
        before = batch
        first, second = batch.rank[:, :half], batch.rank[:, half:]
        assert (first.max(1) < second.min(1)).all(), "what goes into memory has seen nothing of the rest"


def test_xlnet_predicts_one_in_six() -> None:
    noise = catalog.recipe("xlnet").noise
    assert noise.select.share == pytest.approx(1 / 6)
    rows = Rows(
        tokens=np.full((64, 512), 9), length=np.full(64, 512), special=np.zeros((64, 512), bool), word_start=np.ones((64, 512), bool)
    )
    aim = noise(rows, Draws(seed=0, epoch=0, index=np.arange(64)), Alphabet(size=60, mask=6))
    assert (aim.where.sum(1) == 85).all(), "85 of 512, as the authors' --num_predict says"
    assert (aim.shown == 9).all(), "nothing is masked"


@pytest.mark.parametrize("size", ["tiny", "mini", "small", "base", "large"])
def test_memories_fit_the_rows(size: str) -> None:
    xlnet, transformer_xl = catalog.recipe(f"xlnet/{size}"), catalog.recipe(f"transformer-xl/{size}")
    assert xlnet.memory == Memory(length=xlnet.training.length * 3 // 4, reuse=0.5)
    assert transformer_xl.memory == Memory(length=transformer_xl.training.length)
    for recipe in (xlnet, transformer_xl):
        assert isinstance(recipe.positions, Relative)
        assert recipe.positions.dropout == recipe.network.dropout


def test_transformer_xl_rows_go_on_where_the_last_ended(miniature: Any, reader_for: Any, batch_of: Any) -> None:
    reader = reader_for(miniature("transformer-xl"))
    last = None
    for step in range(len(reader.plan(0)[1])):
        batch = batch_of(reader, step)
        if last is not None:
            assert (batch.tokens[:, 0] == last).all(), "the token that was to be predicted last is the first to be read"
        last = batch.labels["causal_lm"].value.reshape(len(batch.tokens), -1)[:, -1]


def test_memory_without_streams_is_refused() -> None:
    with pytest.raises(PlumeError, match="memory needs rows that go on from batch to batch"):
        replace(catalog.recipe("gpt2/tiny"), memory=Memory(length=8))


# NEZHA


def test_nezha_knows_distances_only(miniature: Any, built: Any) -> None:
    """The same words further along the row are the same to it; beyond the clip all distances are alike."""
    recipe = miniature("nezha")
    model = built(replace(recipe, positions=replace(recipe.positions, clip=3))).eval()
    assert not [name for name, _ in model.named_parameters() if "position" in name]
    tokens = torch.randint(5, 60, (1, 8), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        here = model.encode(Batch(tokens=tokens)).last
        there = model.encode(Batch(tokens=tokens, position=torch.arange(8)[None] + 40)).last
        spread = model.encode(Batch(tokens=tokens[:, :2], position=torch.tensor([[0, 3]]))).last
        further = model.encode(Batch(tokens=tokens[:, :2], position=torch.tensor([[0, 30]]))).last
        nearer = model.encode(Batch(tokens=tokens[:, :2], position=torch.tensor([[0, 2]]))).last
    assert float((here - there).abs().max()) < 1e-12
    assert float((spread - further).abs().max()) < 1e-12
    assert float((spread - nearer).abs().max()) > 1e-6


def test_nezha_hides_whole_words(miniature: Any, reader_for: Any) -> None:
    reader = reader_for(miniature("nezha"))
    halves = 0
    for step in range(4):
        plan, batches = reader.plan(0)
        batch = reader.batch(Cursor(step=step))
        rows = gather(reader.store, plan, batches[step], reader.frame, reader.special)
        asked = np.zeros(rows.tokens.size, bool)
        asked[batch.labels["masked_lm"].index] = True
        asked = asked.reshape(rows.tokens.shape)
        inside = ~rows.word_start[:, 1:] & ~rows.special[:, :-1]  # a piece that goes on with the word before it
        assert (asked[:, 1:][inside] == asked[:, :-1][inside]).all()
        halves += int(inside.sum())
    assert halves > 20


# Right to left


def test_right_to_left_is_left_to_right_turned_round(miniature: Any, reader_for: Any, built: Any, on_cpu: Any) -> None:
    recipe = replace(miniature("gpt2"), objectives=(backward_lm(),))
    reader = reader_for(recipe)
    batch = reader.batch(Cursor())
    assert batch.order is Order.RANKED
    labels = batch.labels["backward_lm"]
    time = batch.tokens.shape[1]
    row, place = labels.index // time, labels.index % time
    later = place > 0
    assert (labels.value[later] == batch.tokens[row[later], place[later] - 1]).all(), "each token predicts the one before it"
    model = built(recipe, vocabulary=reader.tokenizer.size).eval()
    many = on_cpu(replace(batch, tokens=np.repeat(batch.tokens[:1], 3, 0), rank=np.repeat(batch.rank[:1], 3, 0), labels={}, length=None))
    many.tokens[1, 5] = (many.tokens[1, 5] + 1) % 50
    with torch.no_grad():
        states = model.encode(many).last
    moved = (states[1] - states[0]).abs().amax(-1) > 1e-12
    assert moved.nonzero().flatten().tolist() == list(range(6))
