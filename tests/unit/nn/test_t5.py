"""Bucketed distances against transformers' T5 and MPNet, in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import MPNetConfig, MPNetModel, T5Config
from transformers.models.t5.modeling_t5 import T5Attention

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.nn.attention import Attention, LayerCache, Sight
from plume.nn.positions.t5 import Buckets, LearnedAndBuckets, bucket_of
from plume.nn.stack import Sharing, Transformer
from plume.nn.visibility import AttentionMask, mask_of

ROWS, TIME, WIDTH, HEADS, HEAD = 2, 40, 16, 4, 6
SIZES: dict[str, Any] = {"width": WIDTH, "heads": HEADS, "head_width": HEAD, "depth": 3}


def close(ours: Tensor | None, theirs: Tensor | None) -> None:
    assert ours is not None
    assert theirs is not None
    assert float((ours - theirs).detach().abs().max()) < 1e-9


def sight_of(positions: Any, mask: AttentionMask, *, time: int = TIME) -> Sight:
    position = torch.arange(time)[None]
    return Sight(mask=mask, positions=positions, query_position=position, key_position=position)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("buckets", "reach"), [(32, 128), (8, 20), (64, 512)])
def test_buckets_are_those_of_transformers(causal: bool, buckets: int, reach: int) -> None:
    distance = torch.arange(-1200, 1201)
    theirs = T5Attention._relative_position_bucket(distance, bidirectional=not causal, num_buckets=buckets, max_distance=reach)
    assert torch.equal(bucket_of(distance, buckets=buckets, reach=reach, causal=causal), theirs)
    lookup = Buckets(buckets=buckets, distance=reach).build(**SIZES, causal=causal).lookup
    assert torch.equal(lookup[distance.clamp(-reach, reach) + reach], theirs)


@pytest.fixture(params=[False, True], ids=["encoder", "decoder"])
def pair(request: pytest.FixtureRequest) -> tuple[Attention, Any, T5Attention, bool]:
    torch.manual_seed(0)
    config = T5Config(
        d_model=WIDTH, d_kv=HEAD, num_heads=HEADS, dropout_rate=0.0, is_decoder=request.param,
        relative_attention_num_buckets=8, relative_attention_max_distance=20, attn_implementation="eager",
    )  # fmt: skip
    theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double()
    ours = Attention(width=WIDTH, heads=HEADS, head_width=HEAD, drop=0.0, attention_drop=0.0, bias=False, scaled=False).double()
    positions = Buckets(buckets=8, distance=20).build(**SIZES, causal=request.param).double()
    for mine, yours in ((ours.query, theirs.q), (ours.key, theirs.k), (ours.value, theirs.v), (ours.output, theirs.o)):
        mine.weight.data.copy_(yours.weight)
    positions.table.weight.data.copy_(theirs.relative_attention_bias.weight)
    return ours, positions, theirs, request.param


def test_attention_is_that_of_transformers(pair: Any, values: Any) -> None:
    """With padding in the encoder, left to right in the decoder; forward, backward, and the fused kernel."""
    ours, positions, theirs, causal = pair
    value = values(ROWS, TIME)
    order = Order.CAUSAL if causal else Order.FULL
    mask = mask_of(Batch(tokens=value[..., 0], order=order, length=None if causal else torch.tensor([TIME, 25])))
    dense = mask.dense(TIME, TIME, value.device)
    expected = theirs(value, mask=torch.zeros(dense.shape, dtype=torch.float64).masked_fill(~dense, float("-inf")))[0]
    found = ours(value, queries=None, sight=sight_of(positions, mask), layer=0)
    close(found, expected)
    with torch.no_grad():
        close(ours(value, queries=None, sight=sight_of(positions, mask), layer=0), expected)
    weight = torch.linspace(-1, 1, expected.numel(), dtype=torch.float64).view_as(expected)
    (found * weight).sum().backward()
    (expected * weight).sum().backward()
    close(positions.table.weight.grad, theirs.relative_attention_bias.weight.grad)
    close(ours.query.weight.grad, theirs.q.weight.grad)


@pytest.mark.parametrize("pair", [True], indirect=True, ids=["decoder"])
def test_one_step_with_a_cache_is_the_same(pair: Any, values: Any) -> None:
    ours, positions, _, _ = pair
    value, cache = values(ROWS, TIME), LayerCache()
    whole = ours(value, queries=None, sight=sight_of(positions, AttentionMask(causal=True)), layer=0)
    with torch.no_grad():
        ours(value[:, :-1], queries=None, sight=sight_of(positions, AttentionMask(causal=True), time=TIME - 1), layer=0, cache=cache)
        step = sight_of(positions, AttentionMask())
        step.query_position = step.query_position[:, -1:]
        close(ours(value[:, -1:], queries=None, sight=step, layer=0, cache=cache), whole[:, -1:])


def test_all_blocks_share_one_table_and_one_lookup(stack_of: Any, values: Any) -> None:
    """Also where blocks are recomputed for their gradient, and where the last one reads some positions."""
    found = []
    for checkpointing in (False, True):
        torch.manual_seed(0)
        positions = Buckets(buckets=8, distance=20).build(width=16, heads=4, head_width=4, depth=3).double()
        assert sum(parameter.numel() for parameter in positions.parameters()) == 8 * 4
        calls = []
        positions.table.register_forward_hook(lambda *_, calls=calls: calls.append(1))
        stack = stack_of().train()
        stack.checkpointing = checkpointing
        read = torch.tensor([[5, 0], [39, 7]])
        stack(values(ROWS, TIME), sight=sight_of(positions, AttentionMask()), read=read).last.square().sum().backward()
        assert len(calls) == 2  # for all blocks together, and for the positions read in the last
        found.append(positions.table.weight.grad)
    close(*found)


def test_mpnet_has_both_kinds() -> None:
    torch.manual_seed(0)
    config = MPNetConfig(
        vocab_size=30, hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=HEADS, intermediate_size=20, max_position_embeddings=44,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, layer_norm_eps=1e-5, attn_implementation="eager", initializer_range=0.5,
    )  # fmt: skip
    theirs = MPNetModel(config, add_pooling_layer=False).double()
    part = Transformer(width=WIDTH, depth=2, heads=HEADS, feed_forward=20, dropout=0.0, attention_dropout=0.0, epsilon=1e-5)
    stack = part.build(embedding_width=WIDTH, sharing=Sharing.NONE).double()
    scheme = LearnedAndBuckets(longest=42, offset=2)  # MPNet's buckets are T5's, 32 up to 128
    positions = scheme.build(width=WIDTH, heads=HEADS, head_width=WIDTH // HEADS, depth=2).double()
    positions.table.weight.data.copy_(theirs.encoder.relative_attention_bias.weight)
    positions.absolute.table.weight.data.copy_(theirs.embeddings.position_embeddings.weight)
    for layer, yours in enumerate(theirs.encoder.layer):
        block, attention = stack.block(layer), yours.attention.attn
        names = ((block.attention.query, attention.q), (block.attention.key, attention.k), (block.attention.value, attention.v),
                 (block.attention.output, attention.o), (block.attention_norm, yours.attention.LayerNorm),
                 (block.feed_forward.inner, yours.intermediate.dense), (block.feed_forward.output, yours.output.dense),
                 (block.feed_forward_norm, yours.output.LayerNorm))  # fmt: skip
        for mine, other in names:
            mine.load_state_dict(other.state_dict())
    tokens = torch.randint(2, 30, (ROWS, TIME))
    expected = theirs(tokens).last_hidden_state
    at_input = positions.at_input(torch.arange(TIME)[None], None)
    value = theirs.embeddings.LayerNorm(theirs.embeddings.word_embeddings(tokens) + at_input)
    found = stack(value, sight=sight_of(positions, AttentionMask())).last
    close(found, expected)
    expected.square().sum().backward()
    theirs_gradient = theirs.embeddings.position_embeddings.weight.grad
    found.pow(2).sum().backward()
    close(positions.table.weight.grad, theirs.encoder.relative_attention_bias.weight.grad)
    close(positions.absolute.table.weight.grad, theirs_gradient)


def test_impossible_buckets_are_refused() -> None:
    for wrong in ({"buckets": 7}, {"buckets": 32, "distance": 16}):
        with pytest.raises(PlumeError, match="cannot be"):
            Buckets(**wrong)
