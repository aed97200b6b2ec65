"""API keys: a file of them, one a line, each with a name and a rate if there are any."""

from __future__ import annotations

import hmac
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from starlette.types import Scope

from plume.core.errors import PlumeError
from plume.serve.errors import RateExceeded, Unauthorized
from plume.serve.page import FILES

# Without a key: what a machine that watches asks for, the page that says how to ask, and the workbench, which asks for the key.
OPEN = frozenset(("/health", "/ready", "/docs", "/openapi.json", *FILES))
_RATE = re.compile(r"(\d+(?:\.\d+)?)/(s|m|h)")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass(kw_only=True)
class Bucket:
    """So many requests a period: full at first, and filled evenly."""

    size: float
    seconds: float
    left: float = field(init=False)
    filled: float | None = None  # when

    def __post_init__(self) -> None:
        self.left = self.size

    def take(self, now: float) -> float:
        """0 if there was one left; else the seconds until there is."""
        speed = self.size / self.seconds
        if self.filled is not None:
            self.left = min(self.size, self.left + (now - self.filled) * speed)
        self.filled = now
        if self.left >= 1:
            self.left -= 1
            return 0.0
        return (1 - self.left) / speed


@dataclass(frozen=True, kw_only=True)
class Key:
    """One line of the file."""

    secret: bytes
    name: str
    bucket: Bucket | None = None


class Keys:
    """Who may ask, and how often."""

    def __init__(self, keys: list[Key]) -> None:
        self.keys = keys

    @classmethod
    def read(cls, path: Path, *, processes: int = 1) -> Keys:
        """From a file: `key`, `key name` or `key name 10/s` a line. Each of several processes lets its share of a rate pass."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise PlumeError(f"The key file {path} cannot be read: {error}.") from None
        found = [_key(line.split(), path, number, processes) for number, line in enumerate(lines, 1) if line.split("#")[0].strip()]
        if not found:
            raise PlumeError(f"{path} has no key: write one a line, with a name and a rate if you like: s3cret alice 10/s.")
        return cls(found)

    def admit(self, scope: Scope) -> str | None:
        """The name of the key that came with a request; refused if there is none, or if it comes too often."""
        if scope["path"] in OPEN:
            return None
        said = _said(scope)
        found: Key | None = None
        for key in self.keys:  # all of them, so that the time taken says nothing
            if hmac.compare_digest(key.secret, said):
                found = key
        if found is None:
            raise Unauthorized("Incorrect API key." if said else "Give an API key, as in 'Authorization: Bearer KEY'.")
        if found.bucket is not None and (wait := found.bucket.take(time.monotonic())):
            raise RateExceeded(f"More requests than the rate of key '{found.name}' allows.", retry_after=wait)
        return found.name


def _said(scope: Scope) -> bytes:
    for name, value in scope["headers"]:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            return bytes(value[7:].strip())
        if name == b"x-api-key":
            return bytes(value.strip())
    return b""


def _key(words: list[str], path: Path, number: int, processes: int) -> Key:
    if len(words) > 3:
        raise PlumeError(f"{path}, line {number}: a key, a name and a rate are expected, not {len(words)} words.")
    name = words[1] if len(words) > 1 and not _RATE.fullmatch(words[1]) else f"line {number}"
    rest = [word for word in words[1:] if word != name]
    if not rest:
        return Key(secret=words[0].encode(), name=name)
    rate = _RATE.fullmatch(rest[0])
    if rate is None or float(rate[1]) <= 0:
        raise PlumeError(f"{path}, line {number}: '{rest[0]}' is no rate: write 10/s, 600/m or 5000/h.")
    share = float(rate[1]) / processes
    period = _SECONDS[rate[2]] * max(1.0, 1 / share)
    return Key(secret=words[0].encode(), name=name, bucket=Bucket(size=max(1.0, share), seconds=period))
