"""Memory: what is kept, that reading in stretches is reading at once, and that what was measured or forgotten does not come back."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from plume.core.batch import Batch, Order, Target
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.memory import Memory
from plume.model.networks.model import Model
from plume.model.use.language_model import LanguageModel

STREAM = torch.randint(5, 60, (2, 40), generator=torch.Generator().manual_seed(3))


@pytest.fixture
def transformer_xl(miniature: Any, built: Any) -> Any:
    def make(length: int) -> Model:
        return built(replace(miniature("transformer-xl"), memory=Memory(length=length))).eval()

    return make


# What is kept


def test_the_last_positions_are_kept_behind_one_another() -> None:
    layers = [torch.arange(6.0).view(1, 6, 1), 10 + torch.arange(6.0).view(1, 6, 1)]
    once = Memory(length=8).after(None, layers)
    assert [layer.flatten().tolist() for layer in once] == [[0, 1, 2, 3, 4, 5], [10, 11, 12, 13, 14, 15]]
    twice = Memory(length=8).after(once, layers)
    assert twice[0].flatten().tolist() == [4, 5, 0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("time", "kept"), [(6, 3), (7, 3), (1, 1)])
def test_of_overlapping_rows_no_more_is_kept_than_the_next_row_lacks(time: int, kept: int) -> None:
    """StreamsWithPairs begins the next row at int(reuse · length): one position more would be the token to predict."""
    layer = torch.arange(float(time)).view(1, time, 1)
    assert Memory(length=9, reuse=0.5).after(None, [layer])[0].flatten().tolist() == list(range(kept))


def test_memory_carries_no_gradient_and_no_view() -> None:
    layer = torch.ones(1, 4, 2, requires_grad=True)
    (kept,) = Memory(length=2).after(None, [layer * 2])
    assert not kept.requires_grad
    assert kept.untyped_storage().size() == 2 * 2 * 4


@pytest.mark.parametrize("wrong", [{"length": 0}, {"reuse": 0.0}, {"reuse": 1.1}])
def test_a_memory_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(PlumeError, match="A memory of"):
        Memory(**wrong)


# Reading in stretches


def stretches(model: Model, size: int, tokens: Tensor = STREAM) -> Tensor:
    """[B, T, D] the whole stream, read `size` tokens at a time."""
    parts = []
    with torch.no_grad(), model.fresh_memory():
        for first in range(0, tokens.shape[1], size):
            batch = Batch(tokens=tokens[:, first : first + size], order=Order.CAUSAL, stream=0, begins=first == 0)
            parts.append(model.encode(batch).last)
    return torch.cat(parts, dim=1)


def test_with_memory_enough_stretches_are_one_long_text(transformer_xl: Any) -> None:
    model = transformer_xl(40)
    with torch.no_grad():
        whole = model.encode(Batch(tokens=STREAM, order=Order.CAUSAL)).last
    for size in (40, 20, 7, 1):
        assert float((stretches(model, size) - whole).abs().max()) < 1e-12, size


def test_a_memory_of_one_stretch_is_exact_for_two_and_then_reaches_further_back(transformer_xl: Any) -> None:
    """Two blocks look back two stretches, through states that were made with the memory before (§3.2)."""
    model, size = transformer_xl(8), 8
    with torch.no_grad():
        whole = model.encode(Batch(tokens=STREAM, order=Order.CAUSAL)).last
    found = stretches(model, size)
    assert float((found - whole)[:, : 2 * size].abs().max()) < 1e-12
    assert float((found - whole)[:, 2 * size :].abs().max()) > 1e-6
    changed = STREAM.clone()
    changed[:, 3] = 59 - changed[:, 3]
    other = stretches(model, size, changed)
    moved = (other - found).abs().amax((0, 2)) > 1e-12
    assert moved[3:].nonzero().flatten().tolist() == list(range(3 * size - 3)), "stretch 3 sees it through the states of stretch 2"
    assert not moved[:3].any()


def test_streams_do_not_mix_and_a_beginning_forgets(transformer_xl: Any) -> None:
    model = transformer_xl(8)
    first, second = STREAM[:1, :8], STREAM[1:, :8]
    with torch.no_grad():
        fresh = model.encode(Batch(tokens=second, order=Order.CAUSAL)).last
        model.encode(Batch(tokens=first, order=Order.CAUSAL, stream=0))
        assert torch.equal(model.encode(Batch(tokens=second, order=Order.CAUSAL, stream=1)).last, fresh)
        assert not torch.equal(model.encode(Batch(tokens=second, order=Order.CAUSAL, stream=0)).last, fresh)
        assert torch.equal(model.encode(Batch(tokens=second, order=Order.CAUSAL, stream=0, begins=True)).last, fresh)
        assert torch.equal(model.encode(Batch(tokens=second, order=Order.CAUSAL)).last, fresh), "no stream, no memory"


def test_measuring_leaves_the_runs_memory_alone(transformer_xl: Any) -> None:
    model = transformer_xl(8)
    with torch.no_grad():
        model.encode(Batch(tokens=STREAM[:, :8], order=Order.CAUSAL, stream=0))
        before = model.memories[0]
        with model.fresh_memory():
            assert model.memories == {}
            model.encode(Batch(tokens=STREAM[:, 8:16], order=Order.CAUSAL, stream=0))
        assert model.memories[0] is before


@pytest.mark.parametrize("family", ["transformer-xl", "xlnet"])
def test_flops_count_the_memory(family: str, miniature: Any, built: Any, reader_for: Any, batch_of: Any, on_cpu: Any) -> None:
    reader = reader_for(miniature(family))
    model = built(miniature(family), vocabulary=reader.tokenizer.size).train()
    flops = []
    for step in range(3):
        batch = on_cpu(batch_of(reader, step))
        flops.append(model.flops(batch))
        with FlopCounterMode(display=False) as counter:
            torch.stack([loss.total for loss in model.losses(batch).values()]).sum().backward()
        assert counter.get_total_flops() == flops[-1], f"step {step}"
    assert flops[0] < flops[1]


def test_gradients_stop_at_the_memory(transformer_xl: Any) -> None:
    """The second stretch alone, with the first as constants, has the same gradient."""
    model = transformer_xl(8)
    losses = []
    for stretch in (STREAM[:, :9], STREAM[:, 8:17]):
        target = Target(index=torch.arange(16), value=stretch[:, 1:].flatten(), whole=True)
        batch = Batch(tokens=stretch[:, :-1], order=Order.CAUSAL, stream=0, labels={"causal_lm": target})
        losses.append(model.losses(batch)["causal_lm"].total)
    losses[1].backward()
    together = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    with torch.no_grad():
        model.encode(Batch(tokens=STREAM[:, :8], order=Order.CAUSAL, stream=0, begins=True))
    model.losses(batch)["causal_lm"].total.backward()
    alone = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert len(together) == len(alone) > 10
    assert all(float((one - other).abs().max()) < 1e-12 for one, other in zip(together, alone, strict=True))


# Scoring and writing


@pytest.fixture
def language_model(miniature: Any, built: Any, tokenizer_for: Any) -> Any:
    def make(family: str, length: int) -> LanguageModel:
        recipe = miniature(family)
        recipe = replace(recipe, memory=replace(recipe.memory, length=length))
        tokenizer = tokenizer_for(recipe)
        return LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer)

    return make


LONG = " ".join(["The cat finds a wooden box near the river. My sister paints two apples at home."] * 24)


def test_a_long_text_is_scored_as_if_read_at_once(language_model: Any) -> None:
    model = language_model("transformer-xl", 2000)
    ids = [model.tokenizer.separator, *model.tokenizer.encode([LONG])[0]]
    assert len(ids) > 3 * 128
    with torch.no_grad():
        states = model.model.encode(Batch(tokens=torch.tensor([ids[:-1]]), order=Order.CAUSAL)).last[0]
        scores = model.model.head("causal_lm").logits(states).log_softmax(-1).gather(1, torch.tensor(ids[1:])[:, None])
    found = model.score(LONG)[0]
    assert found.tokens == len(ids) - 1
    assert found.log_probability == pytest.approx(float(scores.sum()), rel=1e-6)


@pytest.mark.parametrize("family", ["transformer-xl", "xlnet"])
def test_a_model_may_look_back_further_than_in_training(language_model: Any, family: str) -> None:
    """With a memory for all of it, a text read in stretches scores as with one that was always so long; XLNet's rows are then kept whole."""
    short, long = language_model(family, 32), language_model(family, 2000)
    wanted = short.score(LONG, memory=2000)[0].log_probability
    assert wanted == pytest.approx(long.score(LONG)[0].log_probability, rel=1e-9)
    assert wanted != pytest.approx(short.score(LONG)[0].log_probability, rel=1e-6)
    assert short.model.memory == short.recipe.memory


def test_memory_is_for_families_that_have_one(language_model: Any, miniature: Any, built: Any, tokenizer_for: Any) -> None:
    recipe = miniature("gpt2")
    model = LanguageModel(built(recipe, vocabulary=tokenizer_for(recipe).size), tokenizer_for(recipe))
    with pytest.raises(PlumeError, match="gpt2 has no memory to lengthen"):
        model.score("The cat.", memory=100)


def test_a_sliding_window_of_the_same_reach_gives_nearly_the_same(language_model: Any) -> None:
    """A window that slides by one token sees as far as the memory; it is what memory replaces (§3.2), token by token."""
    model = language_model("transformer-xl", 128)
    ids = [model.tokenizer.separator, *model.tokenizer.encode([LONG])[0]][:330]
    head = model.model.head("causal_lm")
    total = 0.0
    with torch.no_grad():
        for place in range(1, len(ids)):
            window = torch.tensor([ids[max(0, place - 192) : place]])  # a memory of 128, and on average half a stretch
            total += float(
                head.logits(model.model.encode(Batch(tokens=window, order=Order.CAUSAL)).last[0, -1]).log_softmax(-1)[ids[place]]
            )
    text = model.tokenizer.decode(ids[1:])
    assert [model.tokenizer.separator, *model.tokenizer.encode([text])[0]] == ids
    found = model.score(text)[0].log_probability
    assert found == pytest.approx(total, rel=0.01)
    assert found != pytest.approx(total, rel=1e-6), "the two see different text, and should differ somewhere"


@pytest.mark.parametrize("family", ["transformer-xl", "xlnet"])
def test_scoring_leaves_no_memory(language_model: Any, family: str) -> None:
    model = language_model(family, 64)
    first = model.score(LONG)[0]
    assert model.model.memories == {}
    assert model.score(LONG)[0] == first


@pytest.mark.parametrize("family", ["transformer-xl", "xlnet"])
def test_writing_beyond_the_memory_goes_on(language_model: Any, family: str) -> None:
    """The cache keeps a memory's length, so that a text may be as long as one likes."""
    model = language_model(family, 16)
    written = model.generate("The cat", max_tokens=60, greedy=True)
    assert written.startswith("The cat") or written.startswith("the cat")
    assert len(model.tokenizer.encode([written])[0]) > 30
