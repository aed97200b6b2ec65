"""A batch that draws each of its rows twice: unsupervised SimCSE (arXiv:2104.08821 §3), where only dropout tells the two apart."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.core.part import part_from_json, replace
from plume.data.layouts.layout import FullSentences
from plume.data.layouts.single_sentences import SingleSentences
from plume.data.layouts.streams import Streams
from plume.data.loader import Cursor
from plume.heads.head import Loss
from plume.heads.token_prediction import TokenPrediction
from plume.model.assembly import OneNetwork
from plume.model.networks.model import Model
from plume.noise.noise import Noise
from plume.objectives._objective import Answers, Objective
from plume.objectives.masked_lm import masked_lm
from plume.train.pretrain import plan_of

ROWS = 8
WHOLE = Objective(name="contrastive", paper="arXiv:2104.08821", head=TokenPrediction(), answers=Answers.NOISE, noise=Noise())


class Contrastive(Model):
    """Each row's first state must find its copy's among those of the batch: no sum over single rows, but over pairs that stand together."""

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"contrastive": len(batch.tokens) // self.recipe.readings}

    def losses(self, batch: Batch) -> dict[str, Loss]:
        one, other = nn.functional.normalize(self.encode(batch).last[:, 0], dim=-1).chunk(2)
        scores, answers = one @ other.T / 0.05, torch.arange(len(one))
        total = nn.functional.cross_entropy(scores, answers, reduction="sum")
        return {"contrastive": Loss(total=total, count=len(one), correct=(scores.argmax(1) == answers).sum())}


@dataclass(frozen=True, kw_only=True)
class SimCSE(OneNetwork):
    def build(self, recipe, *, vocabulary: int) -> Model:
        return Contrastive(recipe, vocabulary=vocabulary)


@pytest.fixture
def simcse(miniature):
    recipe = miniature("bert", rows=ROWS)
    network = replace(recipe.network, dropout=0.1, attention_dropout=0.1)
    return replace(recipe, layout=SingleSentences(copies=2), objectives=(WHOLE,), assembly=SimCSE(), network=network)


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_every_part_of_a_batch_has_both_copies_of_its_rows(simcse, reader_for, parts):
    """Processes and accumulated parts take each n-th row, as the loop deals them."""
    reader = reader_for(simcse)
    assert plan_of(simcse).readings == 2
    whole = reader.batch(Cursor())
    covered = []
    for part in reader.step(Cursor(), [slice(first, None, parts) for first in range(parts)]):
        one, other = np.split(part.tokens, 2)
        assert (one == other).all() and len(one) == ROWS // 2 // parts
        covered += [tuple(row[row > 0]) for row in part.tokens]
    assert sorted(covered) == sorted(tuple(row[row > 0]) for row in whole.tokens)


def test_an_epoch_draws_every_row_twice(simcse, reader_for):
    reader = reader_for(simcse)
    plan, batches = reader.plan(0)
    assert batches.shape == (-(-len(plan) // (ROWS // 2)), ROWS)
    first, second = np.split(batches, 2, axis=1)
    assert (second == first + len(plan)).all()
    filled = first.size - len(plan)  # the last batch is filled up from the beginning
    assert sorted(np.bincount(first.ravel(), minlength=len(plan)))[: len(plan) - filled] == [1] * (len(plan) - filled)
    once = reader_for(replace(simcse, layout=SingleSentences()), rows=ROWS // 2)
    assert (once.plan(0)[1] == first).all()  # the same rows in the same order as half the batch drawn once


def test_each_copy_has_draws_of_its_own_that_depend_on_the_row_alone(simcse, reader_for):
    """For methods that make several views of a row: masks differ between copies, and are the same in any batch."""
    masked = replace(simcse, layout=FullSentences(copies=2), objectives=(masked_lm(),), assembly=OneNetwork())
    large, small = reader_for(masked, narrow=False), reader_for(masked, rows=4, narrow=False)

    def views(reader):
        plan, batches = reader.plan(0)
        found = {}
        for step, index in enumerate(batches):
            batch = reader.batch(Cursor(step=step))
            rows = reader.rows_of(plan, index)
            for number, shown, length in zip(index.tolist(), batch.tokens, rows.length, strict=True):
                found[number] = tuple(shown[:length])
        return len(plan), found

    (count, one), (_, other) = views(large), views(small)
    assert one == other and len(one) == 2 * count
    assert sum(one[row] != one[row + count] for row in range(count)) > 0.9 * count


def test_a_contrastive_loss_learns_and_only_dropout_tells_copies_apart(simcse, reader_for, on_cpu):
    reader = reader_for(simcse)
    model = simcse.assembly.build(simcse, vocabulary=reader.tokenizer.size)
    model.initialise(0)
    batch = on_cpu(reader.batch(Cursor()))
    torch.manual_seed(0)
    one, other = model.train().encode(batch).last[:, 0].detach().chunk(2)
    assert not torch.allclose(one, other)
    one, other = model.eval().encode(batch).last[:, 0].detach().chunk(2)
    assert torch.allclose(one, other, atol=1e-6)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    cursor, history = Cursor(), []
    for _ in range(30):
        counts, parts = 0, reader.step(cursor, [slice(0, None, 2), slice(1, None, 2)])  # two accumulated parts
        for part in map(on_cpu, parts):
            loss = model.losses(part)["contrastive"]
            (loss.total / 4).backward()
            counts += model.counts(part)["contrastive"]
            history.append(float(loss.total.detach()) / loss.count)
        assert counts == ROWS // 2
        optimizer.step()
        optimizer.zero_grad()
        cursor = reader.following(cursor)
    assert np.mean(history[-10:]) < 0.5 * np.mean(history[:4])


@pytest.mark.parametrize("backward", [False, True])
def test_streams_are_copied_too(simcse, miniature, reader_for, backward):
    """Copies of a stream's row go on in their own row of the next batch; both directions come before the second copy."""
    recipe = miniature("elmo" if backward else "transformer-xl", rows=ROWS)
    recipe = replace(recipe, layout=Streams(backward=backward, copies=2))
    assert recipe.readings == (4 if backward else 2)
    reader = reader_for(recipe)
    for step in range(2):
        for part in reader.step(Cursor(step=step), [slice(0, None, 2), slice(1, None, 2)]):
            one, other = np.split(part.tokens, 2)
            assert (one == other).all() and len(one) == 2
            assert part.backward is None or part.backward.tolist() == [False, True] * 2
    alone = reader_for(replace(recipe, layout=Streams(backward=backward)), rows=ROWS // 2)
    assert (alone.batch(Cursor(step=1)).tokens == reader.batch(Cursor(step=1)).tokens[: ROWS // 2]).all()


def test_what_does_not_divide_is_refused(simcse):
    with pytest.raises(
        PlumeError, match=r"draws each row of a batch 2 times, and 7 rows do not divide by 2; set training\.batch to a multiple of 2"
    ):
        replace(simcse, training=replace(simcse.training, batch=7))
    with pytest.raises(PlumeError, match=r"set layout\.copies to 1 or more"):
        replace(simcse, layout=SingleSentences(copies=0))
    assert part_from_json(simcse.layout.to_json()) == simcse.layout
