"""The log: a line of JSON for each request, without its texts unless that was asked for."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from contextlib import suppress
from typing import Any

import orjson
from starlette.types import Scope

from plume.serve.http.asked import Note

LOG = logging.getLogger("plume.serve")
_LONGEST = 200  # characters of what a client says where it goes


class JsonLines(logging.Formatter):
    """`extra={"said": {…}}` is merged into the line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {"time": round(record.created, 3), "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "said", {})
        if record.exc_info and record.exc_info[1] is not None:
            line["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))
        return _line(line).rstrip()


def log_to_stderr() -> None:
    """All that the server and uvicorn say, one way."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("plume.serve", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
    LOG.setLevel(logging.INFO)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


def _line(said: dict[str, Any]) -> str:
    return orjson.dumps(said, default=str, option=orjson.OPT_APPEND_NEWLINE).decode()


def log_request(scope: Scope, status: int, seconds: float, note: Note, *, texts: bool) -> None:
    """One line."""
    if not LOG.isEnabledFor(logging.INFO):
        return
    said: dict[str, Any] = {"time": round(time.time(), 3), "level": "info", "event": "request"}
    said |= {"method": scope["method"], "path": scope["path"][:_LONGEST], "status": status, "seconds": round(seconds, 5)}
    said |= {name: value for name in ("model", "tokens", "key") if (value := getattr(note, name)) is not None}
    said |= note.more
    if texts and note.texts is not None:
        said["texts"] = note.texts
    with suppress(OSError):  # nobody reads the log
        sys.stderr.write(_line(said))  # what logging does for a line takes as long as all the rest of a request
