"""What stands on the wire. Request: identity, payload, number, count of texts. Answer: identity, JSON, bytes, number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from plume.serve.errors import BadRequest, TooLarge, Unreadable

CONFIG, STATUS = b"SHOW_CONFIG", b"SHOW_STATUS"


@dataclass(frozen=True, kw_only=True)
class OldRequest:
    """As the client's `_send` writes it."""

    identity: bytes
    payload: bytes
    number: bytes

    @classmethod
    def read(cls, frames: Sequence[bytes]) -> OldRequest:
        """Of four frames; what has no identity and number cannot even be refused."""
        if len(frames) != 4 or not frames[0] or not frames[2].isdigit():
            raise BadRequest(f"This is no request of bert-as-service: {len(frames)} frames.")
        return cls(identity=frames[0], payload=frames[1], number=frames[2])

    def texts(self, *, most_bytes: int, most_characters: int) -> list[str] | list[list[str]]:
        """Texts, or texts as lists of tokens."""
        if len(self.payload) > most_bytes:
            raise TooLarge(f"{len(self.payload):,} bytes of text; at most {most_bytes:,} are taken: send fewer texts at once.")
        try:
            found = orjson.loads(self.payload)
        except orjson.JSONDecodeError:
            raise Unreadable("the payload is no JSON.") from None
        return checked_texts(found, most_characters)


def checked_texts(found: Any, most_characters: int) -> list[str] | list[list[str]]:
    """Refuse what is neither a list of texts nor a list of lists of tokens."""
    if not isinstance(found, list) or not found:
        raise Unreadable("texts must be a list with at least one text.", param="texts")
    tokens = isinstance(found[0], list)
    for place, one in enumerate(found):
        if not (isinstance(one, list) and one and all(isinstance(token, str) for token in one) if tokens else isinstance(one, str)):
            raise Unreadable(f"texts must be strings, or lists of tokens: number {place + 1} is neither.", param="texts")
        size = sum(map(len, one)) if tokens else len(one)
        if size > most_characters:
            raise TooLarge(f"a text of {size:,} characters; at most {most_characters:,} are taken.", param="texts")
    return found


def array_answer(request: OldRequest, vectors: NDArray[np.float32], tokens: list[list[str]]) -> list[bytes]:
    """Vectors, and tokens if they are shown."""
    about = {"dtype": str(vectors.dtype), "shape": vectors.shape, "tokens": tokens or ""}
    return [request.identity, orjson.dumps(about), np.ascontiguousarray(vectors).tobytes(), request.number]


def json_answer(request: OldRequest, content: dict[str, Any]) -> list[bytes]:
    """For SHOW_CONFIG and SHOW_STATUS."""
    return [request.identity, orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS), b"", request.number]


def refusal(request: OldRequest, why: str) -> list[bytes]:
    """The wire has no errors, and its client waits for ever if nothing comes. But it hands `dtype` to numpy, which raises and shows what it
    could not read: so the reason stands there."""
    return [
        request.identity,
        orjson.dumps({"dtype": f"plume refused this request: {why}", "shape": [0], "tokens": ""}),
        b"",
        request.number,
    ]
