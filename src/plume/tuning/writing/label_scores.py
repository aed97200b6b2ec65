"""How likely an encoder–decoder finds each of several labels as what it writes after a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.model.networks.model import Model
from plume.tuning.rows.questions import Floats
from plume.tuning.rows.rows import Coder, TextRows
from plume.tuning.writing.ways import ByDecoder
from plume.tuning.writing.written import TextQuestions, lay_out_targets

_SCORES = 16_000_000  # of tokens that are computed at once


@torch.inference_mode()
def label_table(body: Model, coder: Coder, questions: TextQuestions, labels: Sequence[str]) -> Floats:
    """[N, C] the log-probability of each label's text, its end token counted in."""
    way = questions.way
    assert isinstance(way, ByDecoder), "labels are written by a decoder"
    targets, _ = lay_out_targets(labels, way, coder, left=np.full(len(labels), way.most(coder)))
    device = next(body.parameters()).device
    most = max(1, min(64, _SCORES // (len(targets.tokens) * body.vocabulary)))
    table = np.zeros((len(questions), len(labels)), np.float32)
    for index in questions.alike(most=most):
        source = questions.sources(index, device)
        scores = _scores(body, way, source, targets)
        table[index] = np.add.reduceat(scores.float().cpu().numpy(), targets.bounds[:-1], axis=1)
    return table


def _scores(body: Model, way: ByDecoder, source: Batch, targets: TextRows) -> Tensor:
    """[B, L] of each token of the labels, which stand in one row that is written after each text.

    They are documents of their own, which do not see each other, each with positions from 0: the text is read once, and looked at once.
    """
    rows, device = len(source.tokens), source.tokens.device
    label = np.repeat(np.arange(len(targets)), targets.length)
    position = np.arange(len(label)) - targets.bounds[label]
    fed = np.where(position == 0, way.start, np.roll(targets.tokens, 1))
    tokens, document, place, written = (
        torch.from_numpy(array).to(device).expand(rows, -1) for array in (fed, label, position, targets.tokens)
    )
    batch = Batch(tokens=tokens, order=Order.CAUSAL, document=document, position=place, source=source)
    states = body.decode(batch, body.encode(source))
    return body.head(way.objective).log_probabilities(states).gather(2, written[:, :, None]).squeeze(2)
