"""What must hold for every network that reads token by token."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from plume.core.batch import Batch, Order, Target
from plume.core.errors import PlumeError
from plume.core.part import replace as with_parts
from plume.data.layouts.layout import Blocks
from plume.data.layouts.streams import Streams
from plume.data.loader import Cursor
from plume.heads.cnn_softmax import CNNSoftmax
from plume.model.assembly import AttentionalDecoder, BothWays, NeighbourDecoders, OneNetwork
from plume.model.networks.bilm import BiLM
from plume.model.use.language_model import LanguageModel
from plume.nn.characters import CharacterCNN
from plume.nn.positions.learned import Learned
from plume.nn.recurrent.layer import RecurrentCell
from plume.objectives.bidirectional_lm import bidirectional_lm
from plume.objectives.causal_lm import causal_lm
from plume.objectives.masked_lm import masked_lm
from plume.recipes import _catalog as catalog

TIME, VOCABULARY = 7, 60
LEFT = torch.ones(TIME, TIME, dtype=torch.bool).tril()
ALL = torch.ones(TIME, TIME, dtype=torch.bool)


def tokens_each_changed() -> torch.Tensor:
    tokens = torch.randint(5, VOCABULARY - 1, (1, TIME), generator=torch.Generator().manual_seed(1)).repeat(TIME + 1, 1)
    tokens[torch.arange(TIME) + 1, torch.arange(TIME)] = VOCABULARY - 1
    return tokens


def moved(states: torch.Tensor) -> torch.Tensor:
    """[i, j]: does the output at i change with token j?"""
    return ((states[1:] - states[:1]).abs().amax(-1) > 1e-12).T


@pytest.mark.parametrize(
    ("family", "order", "seen"),
    [
        ("ulmfit", Order.CAUSAL, LEFT),
        ("elmo", Order.CAUSAL, LEFT),
        ("elmo", Order.FULL, ALL),
        ("cove", Order.FULL, ALL),
        ("deepmoji", Order.FULL, ALL),
        ("skip-thought", Order.FULL, LEFT),
    ],
)
def test_no_token_leaks(family: str, order: Order, seen: torch.Tensor, miniature: Any, built: Any) -> None:
    model = built(miniature(family), vocabulary=VOCABULARY).eval()
    tokens = tokens_each_changed()
    assert torch.equal(moved(model.encode(Batch(tokens=tokens, order=order)).last), seen)
    # Five tokens and two of padding: nothing of the padding is seen, from whichever side a row is read.
    padded = model.encode(Batch(tokens=tokens, order=order, length=torch.full((TIME + 1,), 5))).last
    expected = seen.clone()
    expected[:, 5:] = False
    assert torch.equal(moved(padded)[:5], expected[:5])


def test_the_two_directions_never_read_each_other(miniature: Any, built: Any) -> None:
    """At use the first half of a vector is the forward network's, the second the backward one's."""
    recipe = miniature("elmo")
    model = built(recipe, vocabulary=VOCABULARY).eval()
    encoded = model.encode(Batch(tokens=tokens_each_changed()), keep_layers=True)
    width = recipe.network.output_width
    for layer in encoded.layers[1:]:
        assert torch.equal(moved(layer[..., :width]), LEFT)
        assert torch.equal(moved(layer[..., width:]), LEFT.T)
    assert torch.equal(moved(encoded.layers[0]), torch.eye(TIME, dtype=torch.bool))


def test_a_row_of_either_direction_is_that_direction_s_part_at_use(miniature: Any, built: Any) -> None:
    """Training reads backward rows as they stand, turned round; at use the same network gives the same states in the text's order."""
    recipe = miniature("elmo")
    model = built(recipe, vocabulary=VOCABULARY).eval()
    text = torch.randint(5, VOCABULARY, (3, TIME), generator=torch.Generator().manual_seed(2))
    width = recipe.network.output_width
    both = model.encode(Batch(tokens=text)).last
    for turned in ([False, True, False], [True, True, False], [True, True, True]):
        flags = torch.tensor(turned)
        rows = torch.where(flags[:, None], text.flip(1), text)
        trained = model.encode(Batch(tokens=rows, order=Order.CAUSAL, backward=flags)).last
        for row, flag in enumerate(turned):
            expected = both[row, :, width:].flip(0) if flag else both[row, :, :width]
            assert torch.allclose(trained[row], expected, atol=1e-12)


@pytest.mark.parametrize("family", ["elmo", "ulmfit"])
def test_the_state_goes_on_from_batch_to_batch(family: str, miniature: Any, built: Any) -> None:
    """Two halves of a stream equal the whole of it; a stream that begins anew has forgotten."""
    model = built(miniature(family), vocabulary=VOCABULARY).eval()
    tokens = torch.randint(5, VOCABULARY, (4, 10), generator=torch.Generator().manual_seed(3))
    backward = {"backward": torch.tensor([False, False, True, True])} if family == "elmo" else {}
    whole = model.encode(Batch(tokens=tokens, order=Order.CAUSAL, **backward)).last
    parts = [Batch(tokens=tokens[:, part], order=Order.CAUSAL, stream=0, **backward) for part in (slice(0, 6), slice(6, 10))]
    first, second = model.encode(replace(parts[0], begins=True)).last, model.encode(parts[1]).last
    assert torch.allclose(torch.cat([first, second], dim=1), whole, atol=1e-12)
    again = model.encode(replace(parts[1], begins=True)).last
    assert float((again - second).detach().abs().max()) > 1e-3
    with model.fresh_memory():
        assert not model.memories
    assert not model.memories[0][0].requires_grad


def test_every_token_is_predicted_from_both_sides_in_an_epoch(miniature: Any, reader_for: Any) -> None:
    """But for the first of each stream, read one way, and its last, read the other."""
    reader = reader_for(miniature("elmo", rows=6, length=8))
    size = len(reader.store.tokens) // 3
    asked: list[list[int]] = [[] for _ in range(6)]
    for number in range(len(reader.plan(0)[1])):
        parts = reader.step(Cursor(step=number), [slice(0, None, 3), slice(1, None, 3), slice(2, None, 3)])
        for share, batch in enumerate(parts):
            assert batch.backward.tolist() == [False, True]  # each share of a batch has both readings of a stream
            for way, row in enumerate(batch.labels["bidirectional_lm"].value.reshape(2, -1).tolist()):
                asked[share + 3 * way] += row
    for number in range(3):
        stream = np.asarray(reader.store.tokens[number * size : (number + 1) * size]).tolist()
        assert asked[number] == stream[1:]
        assert asked[number + 3] == stream[-2::-1]


def test_a_word_that_was_never_seen_is_spelled(miniature: Any, tokenizer_for: Any) -> None:
    """Its own characters make its vector: two unseen words differ, and an unseen word is not <unk>."""
    recipe = miniature("elmo")
    tokenizer = tokenizer_for(recipe)
    network = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    network.initialise(0)
    network.spell(tokenizer.tokens())
    model = LanguageModel(network, tokenizer)
    first, second, unknown = model.hidden(["zqx", "zqy", "<unk>"])
    assert first.tokens[1] == "zqx"
    assert np.abs(first.layers[0][1] - second.layers[0][1]).max() > 1e-4
    assert np.abs(first.layers[0][0] - second.layers[0][0]).max() == 0
    assert np.abs(first.layers[0][1] - unknown.layers[0][1]).max() > 1e-4


def test_a_cnn_softmax_reads_the_same_characters(miniature: Any, kinds_of: Any, batch_of: Any, on_cpu: Any, weighed: Any) -> None:
    head = CNNSoftmax(cnn=CharacterCNN(filters=((1, 8), (2, 8)), longest=12, width=8), correction=4, samples=50)
    recipe = with_parts(miniature("elmo"), objectives=(bidirectional_lm(head=head),))
    (kind, reader), *_ = kinds_of(recipe)
    model = recipe.assembly.build(recipe, vocabulary=reader.tokenizer.size).train()
    assert isinstance(model, BiLM)
    model.initialise(1)
    model.spell(reader.tokenizer.tokens())
    assert torch.equal(model.head("bidirectional_lm").characters, model.embedding.spelled)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(120):
        loss, _ = weighed(model, kind, on_cpu(batch_of(reader)))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.7 * losses[0]


def test_penalties_on_states_are_paid_in_training_only(miniature: Any, kinds_of: Any, batch_of: Any, on_cpu: Any, built: Any) -> None:
    recipe = miniature("ulmfit")
    reader = kinds_of(recipe)[0][1]
    batch = on_cpu(batch_of(reader))
    model = built(recipe, vocabulary=reader.tokenizer.size).eval()
    model.recipe = with_parts(recipe, network=with_parts(recipe.network, activity=0.0, slowness=0.0))
    plain = model.losses(replace(batch, stream=None))["causal_lm"]
    model.recipe = recipe
    assert (recipe.network.activity, recipe.network.slowness) == (2.0, 1.0)
    paid = model.losses(replace(batch, stream=None))["causal_lm"]
    states = model.encode(replace(batch, stream=None)).last
    expected = 2.0 * states.pow(2).mean() + (states[:, 1:] - states[:, :-1]).pow(2).mean()
    assert float((paid.total - plain.total).detach() / plain.count) == pytest.approx(float(expected.detach()), rel=1e-9)
    with torch.no_grad():
        assert float(model.losses(replace(batch, stream=None))["causal_lm"].total) == pytest.approx(float(plain.total))


def test_a_gru_carries_its_state_on_too(miniature: Any, built: Any) -> None:
    recipe = miniature("ulmfit")
    recipe = with_parts(recipe, network=with_parts(recipe.network, cell=RecurrentCell.GRU))
    model = built(recipe, vocabulary=VOCABULARY).eval()
    tokens = torch.randint(5, VOCABULARY, (2, 10), generator=torch.Generator().manual_seed(3))
    whole = model.encode(Batch(tokens=tokens, order=Order.CAUSAL)).last
    halves = [
        model.encode(Batch(tokens=tokens[:, part], order=Order.CAUSAL, stream=0, begins=part.start == 0)).last
        for part in (slice(0, 5), slice(5, 10))
    ]
    assert torch.allclose(torch.cat(halves, dim=1), whole, atol=1e-12)


def test_a_row_of_one_token_has_no_change_to_punish(miniature: Any, built: Any) -> None:
    """The last batch of a stream may be that short."""
    recipe = miniature("ulmfit")
    recipe = with_parts(recipe, network=with_parts(recipe.network, slowness=1.0))
    model = built(recipe, vocabulary=VOCABULARY).train()
    target = Target(index=torch.arange(2), value=torch.tensor([7, 8]), whole=True)
    loss = model.losses(Batch(tokens=torch.tensor([[5], [6]]), order=Order.CAUSAL, labels={"causal_lm": target}))["causal_lm"]
    assert torch.isfinite(loss.total)


@pytest.mark.parametrize(
    ("family", "change", "reason"),
    [
        ("cove", {"network": {"cell": RecurrentCell.GRU}}, "LSTM layers of one width"),
        ("cove", {"network": {"projection": 32}}, "LSTM layers of one width"),
        ("elmo", {"training": {"batch": 7}}, "7 rows are no pairs; set training.batch to an even number"),
        ("deepmoji", {"network": {"residual": True}}, "read both ways have one width, no residual"),
    ],
)
def test_parts_that_do_not_fit_are_refused(family: str, change: dict[str, Any], reason: str) -> None:
    recipe = catalog.recipe(f"{family}/tiny")
    with pytest.raises(PlumeError, match=reason):
        with_parts(recipe, **{part: with_parts(getattr(recipe, part), **values) for part, values in change.items()})


@pytest.mark.parametrize(("family", "assembly"), [("bert", NeighbourDecoders()), ("t5", AttentionalDecoder()), ("bert", BothWays())])
def test_recurrent_assemblies_need_a_recurrent_network(family: str, assembly: Any) -> None:
    with pytest.raises(PlumeError, match="made of recurrent networks"):
        with_parts(catalog.recipe(f"{family}/tiny"), assembly=assembly)


def test_dropout_is_a_share() -> None:
    with pytest.raises(PlumeError, match="weight_drop is a share"):
        with_parts(catalog.recipe("ulmfit/tiny").network, weight_drop=1.5)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"positions": Learned(longest=512)}, "knows the order of tokens by reading them"),
        ({"layout": Streams()}, "one of the two directions would have nothing to read"),
        ({"assembly": OneNetwork()}, "half of the rows run backwards"),
        (
            {"objectives": (masked_lm(),), "format": with_parts(catalog.recipe("elmo/tiny").format, mask="<m>")},
            "reads from one end to the other",
        ),
    ],
)
def test_what_a_recurrent_recipe_cannot_be(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(PlumeError, match=reason):
        with_parts(catalog.recipe("elmo/tiny"), **change)


def test_what_reads_both_ways_predicts_no_next_token() -> None:
    with pytest.raises(PlumeError, match="causal_lm must not see what it predicts, and BothWays reads from both ends"):
        with_parts(catalog.recipe("deepmoji/tiny"), layout=Blocks(), objectives=(causal_lm(),))


def test_a_transformer_has_no_second_direction() -> None:
    elmo = catalog.recipe("elmo/tiny")
    with pytest.raises(PlumeError, match="a Transformer sees both sides by itself"):
        with_parts(catalog.recipe("gpt2/tiny"), assembly=elmo.assembly, layout=elmo.layout)


def test_a_sentence_stands_with_its_neighbour(miniature: Any, reader_for: Any) -> None:
    """Skip-Thought's rows: a sentence and its neighbour in the same document, the other way round for the preceding one."""
    recipe = miniature("skip-thought", length=64)
    pairs = {}
    for kind in recipe.kinds:
        reader = reader_for(recipe, kind=kind)
        plan, _ = reader.plan(0)
        pairs[kind.name] = {(tuple(start), tuple(end)) for start, end in zip(plan.start.tolist(), plan.end.tolist(), strict=True)}
        starts = np.asarray(reader.store.sentence_start)
        document = np.repeat(np.arange(len(reader.store.document_start) - 1), np.diff(reader.store.document_start))
        sentence = np.searchsorted(starts, plan.start, side="right") - 1
        assert (document[sentence[:, 0]] == document[sentence[:, 1]]).all()
        assert (np.diff(sentence, axis=1) == (1 if kind.name == "following_sentence" else -1)).all()
    assert {(start[::-1], end[::-1]) for start, end in pairs["following_sentence"]} == pairs["preceding_sentence"]
