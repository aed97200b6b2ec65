"""Rows that an encoder–decoder reads twice: the encoder as they are, the decoder shifted, and a task's head reads the decoder.

So BART does it (arXiv:1910.13461 §3.1, §3.2), and transformers for T5 too. A head that labels tokens reads the encoder.
"""

from __future__ import annotations

from dataclasses import replace

from plume.core.batch import Batch, Order
from plume.heads.token_labelling import TokenLabellingModule
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.network import TaskModel


def decoder_start(model: TaskModel, task: str, tokenizer: Tokenizer) -> int | None:
    """The token that the decoder begins with, where this task's head reads the decoder; None: it reads the encoder, or there is but one."""
    if model.reads_whole(task) or not model.body.through_decoder or isinstance(model.head(task), TokenLabellingModule):
        return None
    return tokenizer.id(tokenizer.format.start or tokenizer.format.separator)


def through_decoder(batch: Batch, start: int) -> Batch:
    """The same rows for the decoder. Columns stay: the state in column i has read the whole text, and written what stands before i.

    >>> import numpy as np
    >>> through_decoder(Batch(tokens=np.array([[7, 8, 2]])), 2).tokens.tolist()
    [[2, 7, 8]]
    """
    tokens = batch.tokens.copy() if hasattr(batch.tokens, "copy") else batch.tokens.clone()
    tokens[:, 1:], tokens[:, 0] = batch.tokens[:, :-1], start
    source = replace(batch, labels={}, read=None)
    return Batch(tokens=tokens, length=batch.length, order=Order.CAUSAL, read=batch.read, labels=batch.labels, source=source)
