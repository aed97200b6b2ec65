"""The plain way to tune with transformers, which the benchmarks hold plume against: encode, pad each batch, a loop over AdamW."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

IGNORED = -100  # what transformers leaves out of a loss


def model_for(task: str, folder: Path, labels: Sequence[str], *, dropout: float = 0.1) -> Any:
    """The Auto class with a fresh head, from the weights in `folder`."""
    from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification

    kind = AutoModelForTokenClassification if task == "ner" else AutoModelForSequenceClassification
    names = dict(enumerate(labels)) if labels else {0: "score"}
    return kind.from_pretrained(
        folder, num_labels=len(names), id2label=names, label2id={name: number for number, name in names.items()},
        hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout,
    )  # fmt: skip


def encoded(task: str, examples: Sequence[Any], tokenizer: Any, labels: Sequence[str], *, length: int) -> list[dict[str, Any]]:
    """A dict of ids and labels for each example, as the course notes of transformers have it."""
    number = {label: place for place, label in enumerate(labels)}
    rows = []
    for example in examples:
        if task == "ner":
            words = [example.texts[0][start:end] for start, end in example.words]
            row = dict(tokenizer(words, is_split_into_words=True, truncation=True, max_length=length))
            ids = tokenizer(words, is_split_into_words=True, truncation=True, max_length=length).word_ids()
            first = [word is not None and word != before for word, before in zip(ids, [None, *ids[:-1]], strict=True)]
            row["labels"] = [number[example.answer[word]] if begins else IGNORED for word, begins in zip(ids, first, strict=True)]
        else:
            row = dict(tokenizer(*example.texts, truncation=True, max_length=length))
            row["labels"] = number[example.answer] if labels else float(example.answer)
        rows.append(row)
    return rows


def padded(rows: Sequence[dict[str, Any]], tokenizer: Any) -> dict[str, torch.Tensor]:
    longest = max(len(row["input_ids"]) for row in rows)
    fill = {"input_ids": tokenizer.pad_token_id, "attention_mask": 0, "token_type_ids": 0, "labels": IGNORED}

    def filled(name: str, row: dict[str, Any]) -> Any:
        value = row[name]
        return value + [fill[name]] * (longest - len(value)) if isinstance(value, list) else value

    return {name: torch.tensor([filled(name, row) for row in rows]) for name in rows[0]}


def train(model: Any, rows: Sequence[dict[str, Any]], tokenizer: Any, *, steps: int, batch: int, rate: float, seed: int) -> None:
    """Linear warm-up over a tenth and linear decay, as plume's default has it."""
    torch.manual_seed(seed)
    order: list[int] = []
    source = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, eps=1e-6)
    warm = max(1, round(0.1 * steps))
    model.train()
    for step in range(steps):
        if len(order) < batch:
            order += source.sample(range(len(rows)), len(rows))
        picked, order = order[:batch], order[batch:]
        for group in optimizer.param_groups:
            group["lr"] = rate * (step / warm if step < warm else (steps - step) / max(1, steps - warm))
        model(**padded([rows[number] for number in picked], tokenizer)).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


@torch.inference_mode()
def outputs(model: Any, rows: Sequence[dict[str, Any]], tokenizer: Any, *, batch: int = 32) -> list[np.ndarray]:
    """The logits of each row, padding taken off."""
    model.eval()
    found: list[np.ndarray] = []
    for first in range(0, len(rows), batch):
        part = rows[first : first + batch]
        inputs = {name: value for name, value in padded(part, tokenizer).items() if name != "labels"}
        logits = model(**inputs).logits.numpy()
        found += [one[: len(row["input_ids"])] if one.ndim == 2 else one for one, row in zip(logits, part, strict=True)]
    return found


def predictions(task: str, logits: Sequence[np.ndarray], rows: Sequence[dict[str, Any]], labels: Sequence[str]) -> list[dict[str, Any]]:
    """In plume's form, so that one measure serves both."""
    if task == "ner":
        return [
            {"tags": [labels[best] for best, gold in zip(one.argmax(-1).tolist(), row["labels"], strict=True) if gold != IGNORED]}
            for one, row in zip(logits, rows, strict=True)
        ]
    if not labels:
        return [{"score": float(one[0])} for one in logits]
    return [{"label": labels[int(one.argmax())]} for one in logits]
