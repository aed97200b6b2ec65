"""plume: a workbench for pre-trained language models.

>>> import plume
>>> plume.recipe("albert/base").embedding.width
128
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plume._version import __version__
from plume.core.errors import PlumeError
from plume.core.own_parts import use_parts

if TYPE_CHECKING:
    from plume.api import (
        Index,
        compare,
        compress,
        export_graph,
        export_hf,
        import_hf,
        load,
        pretrain,
        probe_facts,
        prompt,
        recipe,
        resume,
        sentences,
        tune,
        view,
    )
    from plume.kb.store import KnowledgeBase
    from plume.serve.client.async_client import AsyncClient
    from plume.serve.client.client import Client

__all__ = [
    "AsyncClient", "Client", "Index", "KnowledgeBase", "PlumeError", "__version__", "compare", "compress", "export_graph", "export_hf", "import_hf",
    "load", "pretrain", "probe_facts", "prompt", "recipe", "resume", "sentences", "tune", "use_parts", "view",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """The verbs bring torch with them, so they are imported when first used."""
    if name in ("AsyncClient", "Client"):  # which need no torch
        return _client(name)
    if name == "KnowledgeBase":  # nor does this
        from plume.kb.store import KnowledgeBase

        return KnowledgeBase
    if name in __all__:
        import plume.api

        return getattr(plume.api, name)
    raise AttributeError(f"module 'plume' has no attribute '{name}'")


def _client(name: str) -> Any:
    try:
        from plume.serve.client.async_client import AsyncClient
        from plume.serve.client.client import Client
    except ModuleNotFoundError as error:
        if (error.name or "plume").startswith("plume"):
            raise
        raise PlumeError(f"{error.name} is not installed: pip install 'plume-lm[client]'.") from None
    return Client if name == "Client" else AsyncClient
