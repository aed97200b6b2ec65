"""plume chat"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from plume.cli._options import Device, Model


def run(
    model: Model,
    system: Annotated[str | None, typer.Option(help="System message: what every conversation begins with.")] = None,
    temperature: Annotated[float, typer.Option(help="Sampling temperature; 0 for greedy decoding.")] = 0.7,
    top_p: Annotated[float, typer.Option(help="Nucleus sampling: sample from the most likely tokens with this total probability.")] = 0.9,
    top_k: Annotated[int, typer.Option(help="Sample from the k most likely tokens; 0 for all.")] = 0,
    max_tokens: Annotated[
        int | None, typer.Option(help="Maximum number of tokens in a reply.  [default: a fifth more than nearly all training replies have]")
    ] = None,
    repetition_penalty: Annotated[float, typer.Option(help="Penalty for tokens that already occur in the reply; 1 for none.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    task: Annotated[str | None, typer.Option(help="Which task, if the model was fine-tuned for several dialogue tasks.")] = None,
    device: Device = "cpu",
) -> None:
    """Talk to a model fine-tuned on dialogue. Reads one message a line from a pipe; /help lists the commands.

    Ctrl-C stops a reply, Ctrl-D ends the conversation.
    """
    from plume import api
    from plume.cli._conversation import Conversation, talk
    from plume.core.errors import PlumeError
    from plume.tuning.declared import is_tuned
    from plume.tuning.tuned import TunedModel

    if not model.exists():
        raise PlumeError(f"{model} does not exist: give a model directory.")
    if not is_tuned(model):
        raise PlumeError(
            f"{model} is not fine-tuned on dialogue. Do it with: plume tune {model} --task dialogue --train turns.jsonl --out DIRECTORY"
        )
    loaded = api.load(model, device=device)
    assert isinstance(loaded, TunedModel), "its directory says so"
    options = {
        "temperature": temperature, "top_p": top_p, "top_k": top_k, "max_tokens": max_tokens, "repetition_penalty": repetition_penalty,
    }  # fmt: skip
    conversation = Conversation(lambda messages, seed: loaded.stream(messages, task=task, seed=seed, **options), system=system, seed=seed)
    loaded.begin_reply("?", task=task, max_tokens=max_tokens)  # what cannot work is said before anybody types
    talk(conversation, sys.stdin, sys.stdout, sys.stderr)
