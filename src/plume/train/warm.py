"""The warm start of a run: word2vec on its own tokens, within a share of its budget and charged to it."""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from plume.core.batch import Batch
from plume.core.files import read_json, write_json
from plume.data.store import Store
from plume.model.networks.model import Model
from plume.model.warm_start import WarmStart, open_columns, start_warm, token_tables
from plume.static.token_vectors import TokenVectors, compile_kernels
from plume.text.tokenizer import Tokenizer
from plume.train.budget import Budget, Spent
from plume.train.distributed import Processes
from plume.train.loop import batch_tokens

RECORD = Path("train") / "warm_start.json"
# A kernel that jumps through memory takes longer than its arithmetic: measured on wikinews, so many times as long as a network's products do.
_SLOWER = 2.5


@dataclass(frozen=True, kw_only=True)
class WarmStartRecord:
    """What a warm start did, and what it is charged as: FLOPs at the speed of matrix products, and as many tokens as the network reads for these."""

    epochs: float
    words: int
    tokens: int
    flops: float
    seconds: float

    @property
    def spent(self) -> Spent:
        """What the run has used before its first step. Steps are the network's own."""
        return Spent(tokens=self.tokens, flops=self.flops, seconds=self.seconds)

    def __str__(self) -> str:
        return f"word2vec on {self.words:,} tokens ({self.epochs:.1f} epochs) in {self.seconds:.1f} s, charged as {self.tokens:,} tokens"


def warm_start(
    model: Model, part: WarmStart, *, store: Store, tokenizer: Tokenizer, budget: Budget, seed: int, batch: Batch, processes: Processes
) -> WarmStartRecord | None:
    """Give the model's tables their first vectors; every process does the same. `batch` is like those that it will read.

    None: it has no tables, or the text has no two tokens.
    """
    tables = token_tables(model)
    counts = np.zeros(tokenizer.size)
    counts[: len(store.counts)] = store.counts[: tokenizer.size]
    if not tables or (np.delete(counts, tokenizer.special_ids) > 0).sum() < 2:
        return None
    vectors = part.vectors(max(len(open_columns(table)) for table in tables))
    compile_kernels(vectors)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        learned = TokenVectors(vectors, store, tokenizer, seed=seed, scratch=Path(scratch))
        record = _train(learned, part, budget=budget, model=model, batch=batch, processes=processes)
        start_warm(model, part, tokens=learned.tokens, vectors=learned.vectors(), shares=(counts + 1) / (counts + 1).sum())
    return replace(record, seconds=time.perf_counter() - began)


def _train(learned: TokenVectors, part: WarmStart, *, budget: Budget, model: Model, batch: Batch, processes: Processes) -> WarmStartRecord:
    """As many pieces as the first one shows that the share of the budget buys, at least that one."""
    flops, tokens = model.flops(batch), batch_tokens(batch)
    first = learned.train_piece(learned.most)
    costs = [first]
    seconds = processes.sum([first.seconds if processes.first else 0.0])[0]  # they must agree
    steps = first.flops * _SLOWER / flops
    a_piece = {"steps": steps, "tokens": steps * tokens, "flops": first.flops * _SLOWER, "seconds": seconds}[budget.unit]
    planned = max(1, min(learned.most, int(part.share * budget.amount / max(a_piece, 1e-9))))
    costs += [learned.train_piece(planned) for _ in range(planned - 1)]
    charged = sum(one.flops for one in costs) * _SLOWER
    return WarmStartRecord(
        epochs=learned.epochs, words=sum(one.words for one in costs), tokens=round(charged / flops * tokens), flops=charged,
        seconds=sum(one.seconds for one in costs),
    )  # fmt: skip


def write_record(folder: Path, record: WarmStartRecord) -> None:
    """Beside the run, for its card."""
    write_json(folder / RECORD, asdict(record))


def read_record(folder: Path) -> WarmStartRecord | None:
    """None: the run began with other first weights."""
    return WarmStartRecord(**read_json(folder / RECORD, "what the warm start did")) if (folder / RECORD).exists() else None
