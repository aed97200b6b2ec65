"""XLM's language vectors: the pseudo-loss of each language's text with the right vector, with every other one, and as `score` reads it.

    python bench/procedures/xlm_language.py runs/xlm --text en=val.en --text de=val.de

Each token is hidden in turn (arXiv:1910.14659); the losses with a given vector are computed here from the network alone, rows and masks
made by hand. A text read with another language's vector must cost more, and `score` without a language as much as with the right one. Below: how
often the language of the first n words is found, by length.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

import plume
from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.text.languages import has_han


def pseudo_loss(model: object, texts: list[str], language: int) -> float:
    """Nats a token, with one language's vector at every token."""
    network, tokenizer = model.model, model.tokenizer  # type: ignore[attr-defined]
    head, total, count = network.head("masked_lm"), 0.0, 0
    begin, end = tokenizer.id("<s>"), tokenizer.id("</s>")
    for text in texts:
        row = torch.tensor([begin, *tokenizer.encode([text])[0], end])
        places = torch.arange(1, len(row) - 1)[row[1:-1] != tokenizer.unknown]  # which nobody can be asked for
        rows = row.repeat(len(places), 1)
        rows[torch.arange(len(places)), places] = tokenizer.mask
        with torch.inference_mode():
            states = network.encode(Batch(tokens=rows, segment=torch.full_like(rows, language))).last
            scores = head.logits(states[torch.arange(len(places)), places]).log_softmax(-1)
        total -= float(scores.gather(1, row[places][:, None]).sum())
        count += len(places)
    return total / count


def as_used(model: object, texts: list[str]) -> float:
    scores = model.score(texts)  # type: ignore[attr-defined]
    return -sum(score.log_probability for score in scores) / sum(score.tokens for score in scores)


def found(model: object, texts: list[str], words: int, name: str) -> str:
    """How many are told, rightly and wrongly, by their first words, or Chinese characters."""
    known, tokenizer = model.model.languages, model.tokenizer  # type: ignore[attr-defined]
    cut = [text[:words] if has_han(text) else " ".join(text.split()[:words]) for text in texts]
    told = [known.find(text, ids) for text, ids in zip(cut, tokenizer.encode(cut), strict=True)]
    right = sum(one == known.number(name) for one in told)
    wrong = sum(one is not None for one in told) - right
    return f"{right / len(told):.3f} right, {wrong / len(told):.3f} wrong"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--text", action="append", required=True, metavar="NAME=FILE", help="a language and sentences in it, one a line")
    parser.add_argument("--most", type=int, default=200, help="sentences of each that are scored")
    given = parser.parse_args()
    model = plume.load(given.model)
    names = model.model.languages.names
    for entry in given.text:
        name, _, file = entry.partition("=")
        if name not in names:
            raise PlumeError(f"{given.model} has no language '{name}': it has {', '.join(names)}.")
        lines = [line for line in Path(file).read_text(encoding="utf-8").splitlines() if line.strip()]
        losses = {other: pseudo_loss(model, lines[: given.most], number) for number, other in enumerate(names)}
        table = ", ".join(f"{loss:.3f} with {other}'s vector{' (its own)' * (other == name)}" for other, loss in losses.items())
        print(f"{name}: pseudo-loss {table}; {as_used(model, lines[: given.most]):.3f} as score reads it")
        for words in (1, 2, 3, 5, 8, 1000):
            print(f"  first {words} words or characters: {found(model, lines, words, name)}")


if __name__ == "__main__":
    main()
