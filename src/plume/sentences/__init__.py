"""Training of sentence vectors. A method is a loss, views of the texts, and defaults, over one contrastive network (`network.py`).

>>> import plume
>>> "simcse" in plume.sentences.method_names()
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plume.sentences.method import method_names
    from plume.sentences.options import resume, train
    from plume.sentences.paraphrasing import paraphrase

_HOMES = {"train": "options", "resume": "options", "method_names": "method", "paraphrase": "paraphrasing"}
__all__ = ["method_names", "paraphrase", "resume", "train"]


def __getattr__(name: str) -> Any:
    """They bring torch with them, so they are imported when first used."""
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(f"plume.sentences.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'plume.sentences' has no attribute '{name}'")
