"""Write a tuned model as a Hugging Face directory: transformers' AutoModelFor… classes load it, with the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tokenizers
import torch

from plume.core.files import write_folder, write_json
from plume.core.part import replace
from plume.heads.head import Head
from plume.hf.export import bridge_for, config_of, multiplied, tokenizer_config
from plume.hf.task_heads import head_config, head_of_part, joined
from plume.model.bridge import Bridge
from plume.model.checkpoint import TOKENIZER, WEIGHTS, save_weights
from plume.model.keymap import State
from plume.model.recipe import Recipe
from plume.model.task_head import TaskHead
from plume.text.tokenizer import Tokenizer

PADDING = "<|pad|>"


@dataclass(frozen=True, kw_only=True)
class TaskExport:
    """A model, the head of one task, and how its texts are laid out."""

    recipe: Recipe
    body: State
    part: Head
    head: State
    labels: tuple[str, ...]
    tokenizer: Tokenizer  # its format wraps texts as the task does


def export_task(tuned: TaskExport, out: Path) -> str:
    """The whole directory or nothing. Returns the name of the class."""
    bridge = bridge_for(tuned.recipe, out)
    head = head_of_part(bridge, tuned.part)
    tuned = TaskExport(**(vars(tuned) | {"body": multiplied(tuned.body)}))
    if head.reads_text and tuned.tokenizer.format.pad in tuned.tokenizer.format.single:
        tuned = with_own_padding(tuned)
    theirs = joined(bridge, head, tuned.body, tuned.head)
    write_folder(out, lambda folder: _fill(folder, tuned, bridge, head, theirs))
    return head.architecture


def _fill(folder: Path, tuned: TaskExport, bridge: Bridge, head: TaskHead, theirs: State) -> None:
    recipe, tokenizer = tuned.recipe, tuned.tokenizer
    config = config_of(recipe, bridge, vocabulary=len(tuned.body["embedding.token.weight"]), tokenizer=tokenizer)
    write_json(folder / "config.json", config | head_config(head, tuned.part, tuned.labels))
    save_weights(folder / WEIGHTS, theirs)
    tokenizer.save(folder / TOKENIZER)
    settings = tokenizer_config(recipe, tokenizer, bridge)
    write_json(folder / "tokenizer_config.json", settings | {"padding_side": "left" if head.pads_left else "right"})


def with_own_padding(tuned: TaskExport) -> TaskExport:
    """GPT pads with its end token. transformers looks for a row's last token that is not padding, and would pass over the end."""
    backend = tokenizers.Tokenizer.from_str(tuned.tokenizer.backend.to_str())
    backend.add_special_tokens([PADDING])
    tokenizer = Tokenizer(backend, format=replace(tuned.tokenizer.format, pad=PADDING))
    token = tuned.body["embedding.token.weight"]
    if (lacking := tokenizer.pad + 1 - len(token)) > 0:
        token = torch.cat([token, token.new_zeros(lacking, token.shape[1])])
    return TaskExport(**(vars(tuned) | {"tokenizer": tokenizer, "body": tuned.body | {"embedding.token.weight": token}}))
