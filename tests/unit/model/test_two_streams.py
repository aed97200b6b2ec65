"""Two streams: what a query knows, what it must not, and that writing, scoring and filling go by it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from plume.core.batch import Batch, Order, Target
from plume.core.part import replace
from plume.model.networks.model import Model
from plume.model.networks.two_streams import TwoStreamModel
from plume.model.use.language_model import LanguageModel
from plume.model.use.rows import rows
from plume.model.use.writers import QueryWriter

FAMILIES = ["xlnet", "mpnet"]
TIME, MASK = 9, 4
RANK = torch.tensor([[0, 2, 0, 1, 0, 3, 0, 0, 0]])
READ = torch.tensor([[1, 3, 5]])
both = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture
def model_of(miniature: Any, built: Any) -> Any:
    return lambda family: built(miniature(family)).eval()


def batch(tokens: Tensor, *, read: Tensor = READ, rank: Tensor = RANK, **more: Any) -> Batch:
    rows = len(tokens)
    read, rank = read.expand(rows, -1), rank.expand(rows, -1)
    return Batch(tokens=tokens, order=Order.RANKED, rank=rank, read=read, query=torch.full_like(read, MASK), **more)


def changed(tokens: Tensor) -> Tensor:
    """Row 0 as it is, row j + 1 with token j changed."""
    many = tokens.repeat(TIME + 1, 1)
    many[torch.arange(TIME) + 1, torch.arange(TIME)] += 1
    return many


@both
def test_a_query_sees_what_comes_before_it_and_never_its_own_token(family: str, model_of: Any) -> None:
    tokens = torch.randint(5, 50, (1, TIME), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        states = model_of(family).encode(batch(changed(tokens))).last
    moved = (states[1:] - states[0]).abs().amax(-1) > 1e-12  # [j, query]
    allowed = RANK[0, :, None] < RANK[0, READ[0]]
    assert torch.equal(moved, allowed)


@both
def test_the_content_stream_does_not_see_the_queries(family: str, model_of: Any) -> None:
    model = model_of(family)
    tokens = torch.randint(5, 50, (2, TIME), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        alone = model.encode(Batch(tokens=tokens, order=Order.RANKED, rank=RANK.expand(2, -1)), keep_layers=True).layers
        beside = model.encode(batch(tokens), keep_layers=True).layers
    for number in range(model.recipe.network.depth):  # of the last block only queries are computed
        assert float((beside[number][:, :TIME] - alone[number]).abs().max()) < 1e-12


@both
def test_a_query_of_a_token_asked_alone_is_the_same(family: str, model_of: Any) -> None:
    model = model_of(family)
    tokens = torch.randint(5, 50, (2, TIME), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        together = model.encode(batch(tokens)).last
        for slot in range(3):
            alone = model.encode(batch(tokens, read=READ[:, slot : slot + 1])).last
            assert float((alone[:, 0] - together[:, slot]).abs().max()) < 1e-12


@both
@pytest.mark.parametrize("gradients", [True, False], ids=["training", "inference"])
def test_places_that_only_fill_up_a_row_do_no_harm(family: str, gradients: bool, model_of: Any) -> None:
    """A row with fewer targets reads place 0 for the others, which may see nothing at all."""
    model = model_of(family).train(gradients)
    tokens = torch.randint(5, 50, (2, TIME), generator=torch.Generator().manual_seed(1))
    read = torch.tensor([[1, 3, 5, 0], [3, 0, 0, 0]])
    made = replace(batch(tokens), read=read, query=torch.full_like(read, MASK))
    slot = torch.tensor([0, 1, 2, 4])
    name = model.recipe.objectives[0].name
    made = replace(made, labels={name: Target(index=torch.tensor([1, 3, 5, 12]), slot=slot, value=torch.tensor([7, 8, 9, 7]))})
    with torch.set_grad_enabled(gradients):
        assert model.encode(made).last.isfinite().all()
        loss = model.losses(made)[name].total
    with torch.no_grad():
        whole = model.encode(batch(tokens)).last
        scores = model.head(name).logits(torch.cat([whole[0], whole[1, 1:2]])).log_softmax(-1)
    assert float(loss.detach()) == pytest.approx(-float(scores[torch.arange(4), torch.tensor([7, 8, 9, 7])].sum()), abs=1e-9)
    if gradients:
        loss.backward()
        assert all(parameter.grad is None or bool(parameter.grad.isfinite().all()) for parameter in model.parameters())


@both
def test_padding_is_not_seen(family: str, model_of: Any) -> None:
    model = model_of(family)
    tokens = torch.randint(5, 50, (1, TIME), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        short = model.encode(batch(tokens[:, :7], rank=RANK[:, :7])).last
        padded = model.encode(batch(tokens, length=torch.tensor([7]))).last
    assert float((short - padded).abs().max()) < 1e-12


def test_xlnets_query_is_one_vector_and_mpnets_what_is_shown(model_of: Any) -> None:
    tokens = torch.randint(5, 50, (1, TIME), generator=torch.Generator().manual_seed(1))
    for family, differs in (("xlnet", False), ("mpnet", True)):
        model = model_of(family)
        with torch.no_grad():
            first = model.encode(batch(tokens)).last
            other = model.encode(replace(batch(tokens), query=READ + 20)).last
        assert bool((first - other).abs().max() > 1e-6) is differs
        assert isinstance(model, TwoStreamModel)
        assert (model.query_start is None) is differs


def test_initial_values_are_those_of_the_seed(miniature: Any) -> None:
    recipe = miniature("xlnet")
    starts = []
    for seed in (1, 1, 2):
        model = recipe.assembly.build(recipe, vocabulary=60)
        model.initialise(seed)
        starts.append(model.query_start.detach().clone())
    assert torch.equal(starts[0], starts[1]) and not torch.equal(starts[0], starts[2])
    assert float(starts[0].std()) == pytest.approx(recipe.network.initial_range, rel=0.5)


def test_mpnets_first_prediction_is_what_a_masked_text_gives(model_of: Any) -> None:
    """It sees the context and all masks, its own too: the content stream with masks in the text does the same (§2.3)."""
    model = model_of("mpnet")
    tokens = torch.randint(5, 50, (1, TIME), generator=torch.Generator().manual_seed(1))
    joined = torch.cat([tokens, torch.full((1, 3), MASK)], dim=1)
    with_copies = Batch(
        tokens=joined,
        order=Order.RANKED,
        rank=torch.cat([RANK, torch.zeros(1, 3, dtype=torch.long)], dim=1),
        until=torch.cat([torch.full((1, TIME), 99), RANK[:, READ[0]]], dim=1),
        position=torch.cat([torch.arange(TIME)[None], READ], dim=1),
        read=READ,
        query=torch.full_like(READ, MASK),
    )
    masked = tokens.clone()
    masked[0, READ[0]] = MASK
    with torch.no_grad():
        queries = model.encode(with_copies).last[0]
        content = model.encode(Batch(tokens=masked)).last[0, READ[0]]
    first = RANK[0, READ[0]] == 1
    assert float((queries - content)[first].abs().max()) < 1e-12
    assert float((queries - content)[~first].abs().min(0).values.max()) > 1e-6


# Writing, scoring, filling


@pytest.fixture
def language_model(miniature: Any, built: Any, tokenizer_for: Any) -> Any:
    def make(family: str) -> LanguageModel:
        recipe = miniature(family)
        tokenizer = tokenizer_for(recipe)
        return LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer)

    return make


def next_scores(model: Model, ids: list[int], mask: int) -> Tensor:
    """[V] by one whole pass: left to right, the query one place behind the text."""
    tokens = torch.tensor([[*ids, mask]])
    read = torch.tensor([[len(ids)]])
    made = Batch(tokens=tokens, order=Order.CAUSAL, read=read, query=torch.full_like(read, mask))
    return model.head("permuted_lm").logits(model.encode(made).last[0, 0]).log_softmax(-1)


def test_writing_with_a_cache_is_writing_without(language_model: Any) -> None:
    found = language_model("xlnet")
    model, mask = found.model, found.tokenizer.mask
    ids = found.tokenizer.encode(["The cat finds a box"])[0]
    with torch.no_grad():
        writer = QueryWriter(model, model.head("permuted_lm"), rows([ids]), mask)
        assert float((writer.first()[0] - next_scores(model, ids, mask)).abs().max()) < 1e-5
        for token in (9, 11, 7):
            ids = [*ids, token]
            assert float((writer.go_on(torch.tensor([token]))[0] - next_scores(model, ids, mask)).abs().max()) < 1e-5


def test_an_xlnet_score_is_the_product_of_what_it_would_write(language_model: Any) -> None:
    found = language_model("xlnet")
    text = "The cat finds a wooden box near the river."
    ids = [found.tokenizer.separator, *found.tokenizer.encode([text])[0]]
    with torch.no_grad():
        expected = sum(float(next_scores(found.model, ids[:place], found.tokenizer.mask)[ids[place]]) for place in range(1, len(ids)))
    score = found.score(text)[0]
    assert score.tokens == len(ids) - 1
    assert score.log_probability == pytest.approx(expected, abs=1e-4)


@both
def test_a_blank_is_filled_from_both_sides_and_not_by_another_blank(language_model: Any, family: str) -> None:
    model = language_model(family)
    mask = model.tokenizer.format.mask
    first = model.fill(f"the {mask} finds a box", top=3)
    assert len(first) == 1 and len(first[0]) == 3
    assert all(mask not in blank.text and blank.token for blank in first[0])
    other = model.fill(f"the {mask} finds a letter", top=3)
    assert [blank.probability for blank in first[0]] != [blank.probability for blank in other[0]]
    assert len(model.fill(f"the {mask} finds ___", top=2)) == 2


def test_mpnet_scores_but_does_not_write(language_model: Any) -> None:
    model = language_model("mpnet")
    assert model.score("the cat finds a box")[0].log_probability < 0
    with pytest.raises(Exception, match="cannot generate"):
        model.generate("the cat")
