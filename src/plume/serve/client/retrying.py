"""When a request is sent again, and after how long."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plume.core.errors import PlumeError

_AGAIN = frozenset((429, 503))  # full, or still loading: all other refusals would come again
_FIRST, _LONGEST = 0.25, 8.0  # seconds


class RequestRefused(PlumeError):
    """What the server said, with its status, and its code and field where it names them."""

    def __init__(self, message: str, *, status: int, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.param = status, code, param


@dataclass(frozen=True, kw_only=True)
class Retries:
    """How often, at most."""

    most: int = 5

    def wait(self, tried: int, status: int | None, headers: Mapping[str, str]) -> float | None:
        """Seconds before the next try, `tried` times so far; None: there is none. `status` is None if nothing was answered.

        >>> Retries(most=2).wait(1, 429, {"retry-after": "7"}) >= 7, Retries(most=2).wait(1, 422, {}), Retries(most=2).wait(3, 503, {})
        (True, None, None)
        """
        if tried > self.most or (status is not None and status not in _AGAIN):
            return None
        own = min(_LONGEST, _FIRST * 2 ** (tried - 1)) * (0.5 + random.random() / 2)  # not all clients at once
        return max(own, _seconds(headers.get("retry-after", "")))


def _seconds(said: str) -> float:
    return float(said) if said.isdigit() else 0.0


def refusal(address: str, status: int, body: Any) -> RequestRefused:
    """From the server's error JSON, or whatever stands in its place."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return RequestRefused(f"{address} answered {status}. Is a plume server there?", status=status)
    field = f", field {error['param']}" if error.get("param") else ""
    message = f"{error.get('message', 'refused')} ({address} answered {status}{field}.)"
    return RequestRefused(message, status=status, code=error.get("code"), param=error.get("param"))
