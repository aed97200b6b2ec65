"""Which model a directory holds: a hash of the files that decide what it computes. Logs, cards and checkpoints beside them may change."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from plume.core.errors import PlumeError

_FILES = (
    "model.safetensors", "recipe.json", "tokenizer.json", "languages.json", "words.tsv", "task.json", "terms.json", "sentence.json",
    "sentence.safetensors", "runtime.json", "questions/model.safetensors", "questions/sentence.json",
)  # fmt: skip


def folder_hash(folder: Path, *, without: Sequence[str] = ()) -> str:
    """Of a model directory; without what lies in these folders of it."""
    if not folder.is_dir():
        raise PlumeError(f"There is no model directory {folder}.")
    found = hashlib.blake2b(digest_size=16)
    for name in _FILES:
        if (folder / name).is_file() and name.partition("/")[0] not in without:
            found.update(name.encode())
            with (folder / name).open("rb") as handle:
                found.update(hashlib.file_digest(handle, lambda: hashlib.blake2b(digest_size=16)).digest())
    return found.hexdigest()
