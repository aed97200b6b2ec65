"""Tokens/s of greedy generation, by plume and by transformers' generate with its cache: same weights, same prompts, taking turns.

    python bench/generate.py [--rounds 5] [--tokens 64] [--quick]

For GPT-2 with random weights, tiny and of the first paper's size; one sequence and eight; prompts of one length, and (joint) of eight lengths, which
transformers pads on the left. What is written must be equal.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import transformers

from plume.hf.export import config_of
from plume.model.build import build
from plume.model.checkpoint import state_of
from plume.model.networks.model import Model
from plume.model.use.generate import choice_for, write
from plume.model.use.joint_writer import JointWriter
from plume.model.use.rows import rows
from plume.model.use.sampling import Sampling
from plume.model.use.searching import Wanted, run
from plume.model.use.writers import CausalWriter
from plume.recipes import _catalog as catalog

VOCABULARY, PROMPT, NEVER = 50257, 32, -1
GREEDY = Sampling(greedy=True)


def counterpart(model: Model) -> Any:
    """transformers' GPT-2 with the same weights."""
    bridge = catalog.bridge(model.recipe)
    assert bridge is not None
    theirs = transformers.GPT2LMHeadModel(transformers.AutoConfig.for_model(**config_of(model.recipe, bridge, vocabulary=VOCABULARY)))
    theirs.load_state_dict(bridge.keys.revert(state_of(model)), strict=False)
    theirs.tie_weights()
    theirs.generation_config.eos_token_id = None
    return theirs.eval()


def ours(model: Model, prompts: list[list[int]], tokens: int, joint: bool) -> list[list[int]]:
    """The commands' writer, or the server's."""
    lines = [Wanted(room=tokens) for _ in prompts]
    found: list[list[int]] = [[] for _ in prompts]
    head = model.head("causal_lm")
    if not joint:
        for number, token in write(CausalWriter(model, head, rows(prompts)), lines=lines, stop=NEVER, sampling=GREEDY):
            found[number].append(token)
        return found
    with torch.inference_mode():
        writer = JointWriter(model, head, rows(prompts))
        search = choice_for(writer, lines, stop=NEVER, sampling=GREEDY)
        for _ in run(writer, search):
            for number, token in search.new:
                found[number].append(token)
    return found


def theirs(model: Any, prompts: list[list[int]], tokens: int) -> list[list[int]]:
    """Padded on the left, as its documentation advises."""
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt in prompts])
    seen = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    with torch.inference_mode():
        made = model.generate(ids, attention_mask=seen, do_sample=False, max_new_tokens=tokens, min_new_tokens=tokens, pad_token_id=0)
    return [row[width:].tolist() for row in made]


def seconds(call: Callable[..., Any], *arguments: Any) -> float:
    begin = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--quick", action="store_true", help="one round of few tokens")
    options = parser.parse_args()
    rounds, tokens = (1, 16) if options.quick else (options.rounds, options.tokens)
    source = torch.Generator().manual_seed(0)
    print(
        f"{'model':12} {'prompts':14} {'plume':>10} {'transformers':>13}  ratio   (tokens/s, median of {rounds}, {torch.get_num_threads()} threads)"
    )
    for size in ("tiny", "base"):
        recipe = catalog.recipe(f"gpt2/{size}")
        model = build(recipe, vocabulary=VOCABULARY, seed=0).eval()
        other = counterpart(model)
        for name, lengths in (("1", [PROMPT]), ("8", [PROMPT] * 8), ("8, joint", list(range(PROMPT - 8, PROMPT)))):
            prompts = [torch.randint(1, VOCABULARY, (length,), generator=source).tolist() for length in lengths]
            joint = "joint" in name
            equal = ours(model, prompts, tokens, joint) == theirs(other, prompts, tokens)  # also warms both up
            taken: tuple[list[float], list[float]] = ([], [])
            for _ in range(rounds):
                taken[0].append(seconds(ours, model, prompts, tokens, joint))
                taken[1].append(seconds(theirs, other, prompts, tokens))
            speed = [len(prompts) * tokens / statistics.median(one) for one in taken]
            words = "" if equal else "   NOT EQUAL"
            print(f"gpt2/{size:7} {name:14} {speed[0]:10.1f} {speed[1]:13.1f}  {speed[0] / speed[1]:5.2f}{words}", flush=True)


if __name__ == "__main__":
    main()
