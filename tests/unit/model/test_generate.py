"""Generation against transformers, against an exhaustive search, and against its own promises."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor
from transformers.generation.logits_process import RepetitionPenaltyLogitsProcessor, TopKLogitsWarper, TopPLogitsWarper

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.hf.export import config_of
from plume.model.checkpoint import state_of
from plume.model.networks.model import Model
from plume.model.use.generate import write
from plume.model.use.joint_writer import JointWriter
from plume.model.use.rows import rows
from plume.model.use.sampling import Sampling
from plume.model.use.searching import Wanted
from plume.model.use.writers import CausalWriter
from plume.recipes import _catalog as catalog

STOP = 0


@pytest.fixture(scope="module")
def gpt2(miniature: Any, built: Any) -> Any:
    """GPT-2 with random weights, over a vocabulary of any size."""
    recipe = miniature("gpt2")
    recipe = replace(recipe, network=replace(recipe.network, feed_forward=4 * recipe.network.width))
    return lambda vocabulary, seed=5: built(recipe, vocabulary=vocabulary, seed=seed).eval()


def counterpart(model: Model, vocabulary: int) -> Any:
    """transformers' GPT-2 with the same weights."""
    bridge = catalog.bridge(model.recipe)
    assert bridge is not None
    config = transformers.AutoConfig.for_model(**config_of(model.recipe, bridge, vocabulary=vocabulary))
    theirs = transformers.GPT2LMHeadModel(config).double()
    theirs.load_state_dict(bridge.keys.revert(state_of(model)), strict=False)
    theirs.tie_weights()
    return theirs.eval()


def gone_on(model: Model, prompt: list[int], *, room: int, stop: int, sampling: Sampling, before: Sequence[int] = ()) -> list[int]:
    writer = CausalWriter(model, model.head("causal_lm"), rows([prompt]))
    return [token for _, token in write(writer, lines=[Wanted(room=room, before=before)], stop=stop, sampling=sampling)]


def written(model: Model, prompt: list[int], *, room: int, **sampling: Any) -> list[int]:
    return gone_on(model, prompt, room=room, stop=STOP, sampling=Sampling(**sampling))


@pytest.mark.parametrize("seed", range(3))
def test_greedy_is_transformers_greedy(gpt2: Any, seed: int) -> None:
    """Up to any token that ends the text: each token of the endless text is made the stop in turn."""
    model, prompt = gpt2(12, seed), [4, 3, 7]
    theirs = counterpart(model, 12)

    def expected(stop: int) -> list[int]:
        found = theirs.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=20, eos_token_id=stop, pad_token_id=stop)
        return [token for token in found[0, 3:].tolist() if token != stop]

    endless = max((expected(stop) for stop in range(12)), key=len)
    assert len(endless) == 20
    for stop in {*endless[:4], *endless[-2:]}:
        ours = gone_on(model, prompt, room=20, stop=stop, sampling=Sampling(greedy=True))
        assert ours == expected(stop) == endless[: endless.index(stop)]


@torch.inference_mode()
def test_rows_of_unlike_length_are_transformers_rows_padded_on_the_left(gpt2: Any) -> None:
    model, prompts = gpt2(30), [[4, 3, 7, 9, 2, 8], [5], [11, 12, 6]]
    width = max(map(len, prompts))
    padded = torch.tensor([[0] * (width - len(one)) + one for one in prompts])
    seen = torch.tensor([[0] * (width - len(one)) + [1] * len(one) for one in prompts])
    theirs = counterpart(model, 30).generate(
        padded, attention_mask=seen, do_sample=False, max_new_tokens=15, min_new_tokens=15, eos_token_id=None, pad_token_id=0
    )
    writer = JointWriter(model, model.head("causal_lm"), rows(prompts))
    ours: list[list[int]] = [[], [], []]
    for number, token in write(writer, lines=[Wanted(room=15)] * 3, stop=-1, sampling=Sampling(greedy=True)):
        ours[number].append(token)
    assert ours == theirs[:, width:].tolist()


def test_a_step_with_the_cache_is_a_pass_over_the_whole(gpt2: Any) -> None:
    model = gpt2(30)
    tokens = torch.randint(0, 30, (3, 17), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        whole = model.encode(Batch(tokens=tokens, order=Order.CAUSAL)).last
        cache = model.new_cache()
        parts = [model.encode(Batch(tokens=part, order=Order.CAUSAL), cache=cache).last for part in tokens.split([5, 1, 1, 6, 1, 3], dim=1)]
    assert float((torch.cat(parts, dim=1) - whole).abs().max()) < 1e-12


def log_scores(model: Model, tokens: list[int]) -> Tensor:
    with torch.no_grad():
        return (
            model.head("causal_lm").logits(model.encode(Batch(tokens=torch.tensor([tokens]), order=Order.CAUSAL)).last[0]).log_softmax(-1)
        )


def best_by_trying_all(model: Model, prompt: list[int], *, room: int, vocabulary: int) -> list[int]:
    """The highest mean log-probability of all texts that stop within the room or fill it."""
    best, found = -float("inf"), []
    for length in range(room + 1):
        for text in itertools.product(range(1, vocabulary), repeat=length):
            whole = [*text, STOP] if length < room else list(text)
            scores = log_scores(model, prompt + whole)[len(prompt) - 1 : -1]
            mean = float(scores.gather(1, torch.tensor(whole)[:, None]).mean())
            if mean > best:
                best, found = mean, list(text)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_wide_enough_beams_find_the_best_text_there_is(gpt2: Any, seed: int) -> None:
    model = gpt2(4, seed)
    assert written(model, [2, 1], room=3, beams=64) == best_by_trying_all(model, [2, 1], room=3, vocabulary=4)


@pytest.mark.parametrize("seed", range(4))
def test_narrow_beams_are_transformers_beams(gpt2: Any, seed: int) -> None:
    model = gpt2(9, seed)
    theirs = counterpart(model, 9)
    found = theirs.generate(
        torch.tensor([[2, 1, 5]]), do_sample=False, num_beams=3, max_new_tokens=8, eos_token_id=STOP, pad_token_id=STOP, length_penalty=1.0
    )
    assert written(model, [2, 1, 5], room=8, beams=3) == [token for token in found[0, 3:].tolist() if token != STOP]


def some_scores() -> Tensor:
    return torch.randn(50, 40, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 2


@pytest.mark.parametrize("top_k", [1, 3, 39, 40, 100])
def test_top_k_keeps_what_transformers_keeps(top_k: int) -> None:
    ours, theirs = Sampling(top_k=top_k).narrow(some_scores()), TopKLogitsWarper(top_k)(None, some_scores())
    assert torch.equal(ours, theirs)
    assert (ours.isfinite().sum(1) == min(top_k, 40)).all()


@pytest.mark.parametrize("top_p", [0.01, 0.3, 0.9, 0.999])
def test_top_p_keeps_what_transformers_keeps(top_p: float) -> None:
    ours, theirs = Sampling(top_p=top_p).narrow(some_scores()), TopPLogitsWarper(top_p)(None, some_scores())
    assert torch.equal(ours, theirs)
    kept = some_scores().softmax(-1).masked_fill(ours == -float("inf"), 0.0).sum(1)
    assert (kept >= top_p).all()
    assert (ours == -float("inf")).any()


def test_everything_together_is_transformers_order() -> None:
    scores = some_scores()
    expected = TopPLogitsWarper(0.8)(None, TopKLogitsWarper(9)(None, scores / 0.7))
    assert torch.equal(Sampling(temperature=0.7, top_k=9, top_p=0.8).narrow(scores), expected)


@pytest.mark.parametrize("penalty", [1.2, 0.7])
def test_what_was_said_is_penalised_as_in_transformers(penalty: float) -> None:
    scores = 3 * torch.randn(2, 30, generator=torch.Generator().manual_seed(2))
    seen = [[4, 7, 4, 29], [1, 2, 3, 0]]
    theirs = RepetitionPenaltyLogitsProcessor(penalty)(torch.tensor(seen), scores.clone())
    assert torch.equal(Sampling(repetition_penalty=penalty).penalised(scores, seen), theirs)
    # Where scores are positive, that is the paper's division (§4.1).
    positive = scores.abs()
    expected = positive.clone()
    expected[0, [4, 7, 29]] /= penalty
    expected[1, [0, 1, 2, 3]] /= penalty
    assert torch.equal(Sampling(repetition_penalty=penalty).penalised(positive, seen), expected)


@pytest.mark.parametrize("seed", range(3))
def test_penalised_text_is_transformers_text(gpt2: Any, seed: int) -> None:
    """The prompt counts as said too."""
    model, prompt = gpt2(12, seed), [4, 3, 7]
    given = {"do_sample": False, "max_new_tokens": 12, "eos_token_id": STOP, "pad_token_id": STOP}
    found = counterpart(model, 12).generate(torch.tensor([prompt]), repetition_penalty=3.0, **given)
    ours = gone_on(model, prompt, room=12, stop=STOP, sampling=Sampling(repetition_penalty=3.0, greedy=True), before=prompt)
    assert ours == [token for token in found[0, 3:].tolist() if token != STOP]
    assert ours != written(model, prompt, room=12, greedy=True)


def test_each_beam_is_penalised_for_its_own_text(gpt2: Any) -> None:
    """Where what was said is made impossible, no beam says anything twice."""
    model = gpt2(20, 1)
    for prompt in ([4, 3, 7], [9]):
        found = gone_on(model, prompt, room=9, stop=STOP, sampling=Sampling(repetition_penalty=1e6, beams=3), before=prompt)
        assert len({*prompt, *found}) == len(prompt) + len(found) > len(prompt) + 3


def test_samples_follow_the_model(gpt2: Any, assert_shares: Any) -> None:
    model = gpt2(6)
    expected = log_scores(model, [3, 1])[-1].exp().numpy()
    drawn = [(written(model, [3, 1], room=1, seed=seed) or [STOP])[0] for seed in range(600)]
    assert_shares([drawn.count(token) for token in range(6)], expected)


def test_the_seed_decides_the_sample(gpt2: Any) -> None:
    model = gpt2(30)
    texts = [written(model, [3, 1], room=12, seed=seed) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    torch.manual_seed(99)  # the state around it does not matter
    assert written(model, [3, 1], room=12, seed=1) == texts[0]


def test_a_narrow_choice_is_greedy(gpt2: Any) -> None:
    model = gpt2(30)
    greedy = written(model, [3, 1], room=10, greedy=True)
    assert written(model, [3, 1], room=10, top_k=1) == greedy
    assert written(model, [3, 1], room=10, top_p=1e-9) == greedy
    assert written(model, [3, 1], room=10, temperature=1e-6) == greedy


@pytest.mark.parametrize("sampling", [{"greedy": True}, {"beams": 3}, {"seed": 4}])
def test_never_more_than_the_room_and_never_the_stop(gpt2: Any, sampling: dict[str, Any]) -> None:
    for seed in range(6):
        text = written(gpt2(5, seed), [1], room=6, **sampling)
        assert len(text) <= 6
        assert STOP not in text
    assert written(gpt2(5), [1], room=0, **sampling) == []


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": 0.0}, {"temperature": -1.0}, {"top_p": 0.0}, {"top_p": 1.1}, {"top_k": -1}, {"beams": 0}, {"repetition_penalty": 0.0}],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(PlumeError):
        Sampling(**wrong)
