"""ULMFiT's regularisers: what each of them really leaves out in a training step, and what their strength does to the held-out loss.

The paper's rates (arXiv:1801.06146 §4.1) are those of strength 1. What is left out is counted as zeros: of word vectors, of the inputs of the layers,
of the output, of the recurrent matrices. With --strengths the recipe is trained with all rates multiplied by each of them and measured on a text
of its own, read as one stream.

    python bench/procedures/ulmfit_regularisers.py --corpus train.jsonl --held-out dev.jsonl [--budget 1e6tokens] [--strengths 0 0.3 1]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch
from _stream import beginning, stream_loss, words_of

import plume
from plume.core.batch import Batch, Order
from plume.model.networks.model import Model
from plume.nn.recurrent.recurrent import recurrent

PAPER = {"word": 0.05, "input": 0.4, "layer": 0.3, "output": 0.4, "weight": 0.5}
PARTS = {
    "word": "embedding.word_dropout",
    "input": "network.input_dropout",
    "layer": "network.dropout",
    "output": "network.output_dropout",
    "weight": "network.weight_drop",
}


def main() -> None:
    given = arguments()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        corpus = beginning(given.corpus, given.megabytes, Path(scratch))
        for number, strength in enumerate(given.strengths or [None]):
            rates = [] if strength is None else [f"{PARTS[kind]}={rate * strength}" for kind, rate in PAPER.items()]
            out = Path(scratch) / str(number)
            model = plume.pretrain(
                given.recipe, corpus=corpus, out=out, budget=given.budget, overrides=[*rates, *given.set], seed=given.seed, quiet=True
            )
            words = words_of(given.held_out, model, given.words, Path(scratch))
            left_out = ", ".join(f"{kind} {share:.3f} ({PAPER[kind]})" for kind, share in zeros(model.model, words).items())
            loss = stream_loss(model.model, words)
            print(
                f"strength {'as declared' if strength is None else strength}: held-out loss {loss:.3f}; left out (paper): {left_out}",
                flush=True,
            )


@torch.no_grad()
def zeros(model: Model, words: torch.Tensor) -> dict[str, float]:
    """The share that a training step leaves out, by kind."""
    tokens = words[: 64 * 70].view(64, 70)
    entered, run = [], recurrent.run_layers
    recurrent.run_layers = lambda layers, value, *rest: entered.append(value) or run(layers, value, *rest)
    model.train()
    torch.manual_seed(0)
    try:
        output = model.encode(Batch(tokens=tokens, order=Order.CAUSAL)).last
        vectors = model.embedding(torch.arange(len(model.embedding.token.weight))[None], torch.zeros(1, 1), None)[0]
        weights = torch.cat([layer.dropped().flatten() for layer in model.layers.layers])
    finally:
        recurrent.run_layers = run
        model.eval()
    dropped = (entered[0][0] == 0).all(0)  # locked: the same features at all steps
    between = torch.cat([(value[0] == 0).all(0).flatten() for value in entered[1:]])
    found = {"word": (vectors == 0).all(1), "input": dropped, "layer": between, "output": (output == 0).all(1), "weight": weights == 0}
    return {kind: float(left_out.double().mean()) for kind, left_out in found.items()}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--held-out", required=True, help="a text that is not in the corpus")
    parser.add_argument("--megabytes", type=float, default=1.0, help="of the corpus")
    parser.add_argument("--words", type=int, default=20_000, help="of the held-out text")
    parser.add_argument("--recipe", default="ulmfit/tiny")
    parser.add_argument("--budget", default="1e6tokens")
    parser.add_argument("--strengths", type=float, nargs="*", help="without it, the recipe as it is declared")
    parser.add_argument("--set", action="append", default=[], help="further parts, as plume pretrain --set takes them")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
