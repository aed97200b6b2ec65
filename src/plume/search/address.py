"""The address of a backend: --backend's URL. index.json keeps it without its password, which comes from the environment or the URL at use."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from plume.core.errors import PlumeError

_SECRET = {"password", "token", "api_key", "sslpassword"}


@dataclass(frozen=True, kw_only=True)
class BackendAddress:
    """A URL in its parts, as connections need them; PostgreSQL's client reads the URL itself."""

    scheme: str
    secure: bool  # milvus+https://…, elasticsearch+https://…
    user: str | None
    password: str | None
    host: str
    port: int | None
    path: str  # with its first slash, or empty

    @classmethod
    def parse(cls, url: str) -> Self:
        """Of a URL."""
        try:
            split = urlsplit(url)
            scheme, _, layer = split.scheme.partition("+")
            user, password = (None if one is None else unquote(one) for one in (split.username, split.password))
            return cls(
                scheme=scheme, secure=layer == "https", user=user, password=password, host=split.hostname or "", port=split.port, path=split.path
            )  # fmt: skip
        except ValueError as error:
            raise PlumeError(f"'{without_password(url)}' is no address of a backend ({error}): write scheme://host:port.") from None

    def http(self, port: int) -> str:
        """As http(s)://host:port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.secure else ''}://{host or 'localhost'}:{self.port or port}"


def scheme_of(url: str) -> str:
    """embedded, milvus, postgresql, elasticsearch."""
    return url.partition("://")[0].partition("+")[0]


def without_password(url: str) -> str:
    """To be shown and kept.

    >>> without_password("postgresql://me:secret@host/base?sslmode=require&password=again")
    'postgresql://me@host/base?sslmode=require'
    >>> without_password("postgresql://me:a/b?@c@host:5432/base")
    'postgresql://me@host:5432/base'
    """
    if "://" not in url:
        return url
    scheme, rest = url.split("://", 1)
    who, at, where = rest.rpartition("@")  # the last one: a password may have any sign
    host, _, query = where.partition("?")
    kept = urlencode([(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name not in _SECRET], safe="/")
    user = who.partition(":")[0]
    return f"{scheme}://{user + at if user else ''}{host}{'?' if kept else ''}{kept}"


def new_name(folder: Path) -> str:
    """What an index is called on a server: unlike any other, so that one can be built beside the one that it will replace."""
    said = re.sub(r"[^a-z0-9]+", "_", folder.name.lower()).strip("_")[:24]
    return "_".join(part for part in ("plume", said, secrets.token_hex(4)) if part)


def checked_name(name: object, folder: Path) -> str:
    """It becomes a part of statements: nothing else than `new_name` makes may stand there."""
    if not isinstance(name, str) or not re.fullmatch(r"plume_[a-z0-9_]{1,40}", name):
        raise PlumeError(
            f"{folder / 'index.json'} does not say what the index is called on its server: restore it, or build the index again."
        )
    return name
