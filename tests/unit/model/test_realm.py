"""REALM against a page of plain float64: the marginal likelihood, inverse cloze; what is looked up, left out, carried and renewed."""

from __future__ import annotations

import json
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.layouts.carried import OWN_DOCUMENT
from plume.model.networks.realm import Realm
from plume.model.use.language_model import LanguageModel
from plume.model.use.looking_up import evidence_of


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty documents with titles; some are two blocks long."""
    path = tmp_path_factory.mktemp("documents") / "docs.jsonl"
    names = ["sailor", "captain", "teacher", "neighbour", "sister"]
    lines = []
    for number in range(40):
        said = [
            f"The {names[(number + step) % 5]} finds {['bread', 'a box', 'two apples'][step % 3]}." for step in range(2 + 6 * (number % 3))
        ]
        lines.append({"title": f"{names[number % 5]} {number}" if number % 4 else "", "text": " ".join(said)})
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def made(documents: Path, miniature: Any, built: Any, tokenizer_for: Any, reader_for: Any, batch_of: Any, on_cpu: Any) -> Any:
    """A model in float64 with an index, its evidence, and a batch of each kind."""
    recipe = miniature("realm", rows=6)
    recipe = replace(recipe, assembly=replace(recipe.assembly, candidates=4, width=8, scale=0.3))
    tokenizer = tokenizer_for(recipe)
    model = built(recipe, vocabulary=tokenizer.size).eval()
    evidence = evidence_of(recipe, [documents], tokenizer)
    model.consult(evidence)
    model.renew_index()
    masked, pairs = (on_cpu(batch_of(reader)) for reader in (reader_for(recipe, kind=kind) for kind in recipe.kinds))
    return model, evidence, masked, pairs, tokenizer


def vector(model: Realm, tokens: list[int]) -> torch.Tensor:
    """By itself, without padding."""
    batch = replace_tokens(tokens)
    state = model._run(model.retriever, batch).last[0, 0]
    made = state @ model.projection.weight.T + model.projection.bias
    made = (made - made.mean()) / torch.sqrt(made.var(unbiased=False) + model.projection_norm.eps)
    return made * model.projection_norm.weight + model.projection_norm.bias


def replace_tokens(tokens: list[int], segment: list[int] | None = None) -> Any:
    from plume.core.batch import Batch

    return Batch(tokens=torch.tensor([tokens]), segment=None if segment is None else torch.tensor([segment]))


def unpadded(batch: Any) -> list[list[int]]:
    lengths = [batch.tokens.shape[1]] * len(batch.tokens) if batch.length is None else batch.length.tolist()
    return [row[:length].tolist() for row, length in zip(batch.tokens, lengths, strict=True)]


def piece(ragged: Any, number: int) -> list[int]:
    return ragged.tokens[ragged.start[number] : ragged.end[number]].tolist()


def test_the_marginal_likelihood_is_that_of_a_page(made: Any) -> None:
    """Row by row and block by block, each alone and unpadded; the index chooses, fresh vectors score."""
    model, evidence, batch, _, tokenizer = made
    blocks, begin, separator = evidence.blocks, tokenizer.begin, tokenizer.separator
    own = np.array([-1, 3, 3, 0, 7, -1])
    batch = with_fields(batch, named={OWN_DOCUMENT: torch.from_numpy(own)[:, None].expand(-1, batch.tokens.shape[1])})
    target, head = batch.labels["masked_lm"], model.head("masked_lm")
    time = batch.tokens.shape[1]
    total, utility = 0.0, 0.0
    with torch.no_grad():
        bodies = [piece(blocks.bodies, number) for number in range(len(blocks))]
        titles = [piece(blocks.titles, number) for number in blocks.document]
        index = torch.stack([
            vector(model, [begin, *title, *([separator] if title else []), *body, separator]) for title, body in zip(titles, bodies, strict=True)
        ])  # fmt: skip
        nothing = vector(model, [begin, separator])
        for row in range(len(batch.tokens)):
            tokens = unpadded(batch)[row]
            query = vector(model, tokens)
            scores = torch.tensor([float(query @ one) for one in index])
            scores[torch.from_numpy(blocks.document == own[row])] = -torch.inf
            best = scores.topk(3).indices.tolist()
            prior = torch.stack([query @ nothing, *(query @ index[number] for number in best)]).mul(0.3).log_softmax(0)
            for place, answer in [
                (int(i) % time, int(v)) for i, v in zip(target.index, target.value, strict=True) if int(i) // time == row
            ]:
                read = [replace_tokens(tokens)] + [
                    replace_tokens([*tokens, *bodies[number], separator], [0] * len(tokens) + [1] * (len(bodies[number]) + 1))
                    for number in best
                ]
                each = torch.stack([head.logits(model.encode(one).last[0, place]).log_softmax(-1)[answer] for one in read])
                total -= float(torch.logsumexp(prior + each, 0))
                utility += float(torch.logsumexp(prior + each, 0) - each[0])
        loss = model.losses(batch)["masked_lm"]
    assert float(loss.total) == pytest.approx(total, abs=1e-8)
    assert float(loss.further["utility"]) == pytest.approx(utility, abs=1e-8)
    assert loss.count == len(target.value)
    assert np.abs(evidence.vectors.numpy() - index.numpy()).max() < 1e-9


def test_inverse_cloze_is_that_of_a_page(made: Any) -> None:
    model, _, _, pairs, _ = made
    assert pairs.source is not None
    with torch.no_grad():
        texts, blocks = ([vector(model, row) for row in unpadded(one)] for one in (pairs, pairs.source))
        scores = torch.stack([torch.stack([text @ block for block in blocks]) for text in texts]) * 0.3
        expected = -scores.log_softmax(-1).diagonal().sum()
        assert float(model.losses(pairs)["inverse_cloze"].total) == pytest.approx(float(expected), abs=1e-9)


def test_training_reaches_the_retriever_through_fresh_scores(made: Any) -> None:
    """The index itself has no gradient; a block's own vector has."""
    model, evidence, batch, _, _ = made
    model.zero_grad()
    model(batch, {"masked_lm": torch.tensor(1.0)})[0].backward()
    assert float(model.projection.weight.grad.abs().max()) > 0
    assert not evidence.vectors.requires_grad
    model.zero_grad()


def test_probabilities_at_use_sum_to_one_and_give_the_loss(made: Any) -> None:
    model, _, batch, _, _ = made
    target = batch.labels["masked_lm"]
    with torch.no_grad():
        probabilities = model.token_probabilities(batch, "masked_lm")
        assert float((probabilities.sum(-1) - 1).abs().max()) < 1e-9
        picked = probabilities.flatten(0, 1)[target.slot, target.value]
        assert float(-picked.log().sum()) == pytest.approx(float(model.losses(batch)["masked_lm"].total), abs=1e-8)


def test_the_index_is_renewed_at_fixed_steps_and_carried(made: Any) -> None:
    model, evidence, _, _, _ = made
    before = evidence.vectors.clone()
    with torch.no_grad():
        model.projection.bias += 1.0
    model.after_step(model.part.refresh - 1)
    assert torch.equal(evidence.vectors, before)
    model.after_step(model.part.refresh)
    assert not torch.equal(evidence.vectors, before)
    model.carry_on({"index": before})
    assert torch.equal(model.carried()["index"], before)
    with torch.no_grad():
        model.projection.bias -= 1.0


def test_fills_from_the_documents_it_is_handed(documents: Path, language_model: Any, built: Any) -> None:
    one = language_model("realm")
    fresh = LanguageModel(built(one.recipe, vocabulary=one.tokenizer.size), one.tokenizer)
    text = "the sailor finds ___."
    alone = fresh.fill(text)
    with pytest.raises(PlumeError, match="no documents"):
        fresh.looked_up(text)
    fresh.consult(documents)
    found = fresh.looked_up(text)
    assert sum(one.share for one in found) == pytest.approx(1.0)
    assert len([one for one in found if one.text]) == 4
    assert fresh.fill(text) != alone
    with pytest.raises(PlumeError, match="looks nothing up"):
        language_model("bert").consult(documents)
