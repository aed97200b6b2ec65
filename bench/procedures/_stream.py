"""What the scripts about recurrent language models share: the beginning of a corpus, and the loss on a text read as one stream."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from plume.core.batch import Batch, Order
from plume.data.corpus import Corpus
from plume.data.store import build_stores
from plume.model.networks.model import Model
from plume.model.use.language_model import LanguageModel

_ONCE = 2_000  # words that the text is read in at a time


def beginning(path: str, megabytes: float, scratch: Path) -> Path:
    """The first lines of a file, as a file of its own."""
    size, kept = 0, []
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            size += len(line.encode())
            if size > megabytes * 1e6:
                break
            kept.append(line)
    made = scratch / Path(path).name
    made.write_text("".join(kept), encoding="utf-8")
    return made


def words_of(path: str, model: LanguageModel, count: int, scratch: Path) -> torch.Tensor:
    """The first words of a text, as the model's tokenizer numbers them."""
    store = build_stores(Corpus(path), model.tokenizer, words=model.recipe.words, cache=scratch / "cache").train
    return torch.from_numpy(np.asarray(store.tokens)[:count].astype(np.int64))


@torch.no_grad()
def stream_loss(model: Model, words: torch.Tensor, *, backward: bool | None = None) -> float:
    """Nats a word; of a model with two directions, of the one that is named."""
    stream, total = words.flip(0) if backward else words, 0.0
    way = None if backward is None else torch.tensor([backward])
    (head,) = model.heads.values()
    model.eval()
    with model.fresh_memory():
        for first in range(0, len(stream) - 1, _ONCE):
            part = stream[first : first + _ONCE + 1]
            read = model.encode(Batch(tokens=part[None, :-1], order=Order.CAUSAL, backward=way, stream=0, begins=first == 0)).last[0]
            total += float(F.cross_entropy(head.logits(read), part[1:], reduction="sum"))
    return total / (len(stream) - 1)
