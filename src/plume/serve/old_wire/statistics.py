"""What a server of bert-as-service tells about itself."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from plume._version import __version__
from plume.serve.bert_settings import BertServiceSettings

SPOKEN = "1.10.0"  # the version of bert-as-service; its client refuses another


@dataclass(kw_only=True)
class OldStatistics:
    """Counted by the wire and by POST /encode."""

    started: str = field(default_factory=lambda: str(datetime.now()))
    asked: Counter[str] = field(default_factory=Counter)  # requests of each client
    data: int = 0  # requests with texts
    system: int = 0  # for the configuration and the status
    refused: int = 0
    texts: int = 0
    largest: int = 0  # texts of a request
    pending: int = 0

    def begins(self, identity: str, texts: int) -> None:
        """A request with so many texts."""
        self.asked[identity] += 1
        self.data += 1
        self.pending += 1
        self.texts += texts
        self.largest = max(self.largest, texts)

    def as_json(self) -> dict[str, Any]:
        """Under the names of its `statistic`."""
        return {
            "num_data_request": self.data, "num_sys_request": self.system, "num_total_request": self.data + self.system,
            "num_total_seq": self.texts, "num_refused_request": self.refused, "num_pending_request": self.pending,
            "num_total_client": len(self.asked), "avg_size_per_request": self.texts / max(self.data, 1),
            "max_size_per_request": self.largest, "max_request_per_client": max(self.asked.values(), default=0),
        }  # fmt: skip


def config_of(settings: BertServiceSettings, model: str, *, host: str, workers: int, started: str) -> dict[str, Any]:
    """What SHOW_CONFIG answers: all that the client reads, and the options under their old names."""
    layers = list(settings.pooling_layer)
    return {
        "server_version": SPOKEN, "plume_version": __version__, "python_version": sys.version, "model": model, "host": host,
        "port": settings.port_in, "port_out": settings.port_out, "num_worker": workers, "num_process": workers,
        "max_seq_len": settings.max_seq_len, "pooling_layer": layers, "pooling_strategy": settings.pooling_strategy.value,
        "mask_cls_sep": settings.mask_cls_sep, "fixed_embed_length": settings.fixed_embed_length,
        "show_tokens_to_client": settings.show_tokens_to_client, "max_batch_size": settings.max_batch_size,
        "priority_batch_size": settings.priority_batch_size, "server_start_time": started, "server_current_time": str(datetime.now()),
    }  # fmt: skip
