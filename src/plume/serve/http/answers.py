"""Answers as JSON, and errors in the one shape that OpenAI's clients read: {"error": {"message", "type", "param", "code"}}."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic import BaseModel, Field
from starlette.responses import Response

from plume.core.errors import PlumeError
from plume.serve.errors import BadRequest, MissingField, ServeError, Unreadable

_JSON = "application/json"


class ErrorBody(BaseModel):
    """What went wrong."""

    message: str
    type: str
    param: str | None = Field(None, description="The field that is to blame.")
    code: str | None = None


class ErrorAnswer(BaseModel):
    """The body of every answer that is not 2xx."""

    error: ErrorBody


def as_json(content: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Numbers of numpy are written as they are, each to its own precision."""
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    return Response(body, status_code=status, media_type=_JSON, headers=headers)


def error_answer(error: PlumeError) -> Response:
    """An error that a client is meant to read."""
    told = _told(error)
    headers = {}
    if told.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(told.retry_after)))
    if told.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return as_json(error_body(error), status=told.status, headers=headers)


def error_body(error: PlumeError) -> dict[str, Any]:
    """The same as JSON has it."""
    told = _told(error)
    return {"error": {"message": str(told), "type": told.type, "param": told.param, "code": told.code}}


def _told(error: PlumeError) -> ServeError:
    return error if isinstance(error, ServeError) else BadRequest(str(error))


def unreadable(problems: Sequence[Mapping[str, Any]]) -> Unreadable:
    """What pydantic found wrong, as one sentence: the first field that is to blame, and why."""
    if not problems:
        return Unreadable("The request cannot be read.")
    places = [[str(part) for part in one.get("loc", ()) if part != "[key]"] for one in problems]
    place = places[0]
    same = [one for one, other in zip(problems, places, strict=True) if other[:1] == place[:1]]
    field = ".".join(place[:1] if len(same) > 1 else place) or None
    whys = dict.fromkeys(str(one.get("msg", "")) for one in same)
    kind = MissingField if all(one.get("type") == "missing" for one in same) else Unreadable
    return kind(f"{field or 'The body'}: {'; or '.join(whys)}.", param=field)


def described(asked: type[BaseModel]) -> dict[str, Any]:
    """For OpenAPI: the body of an endpoint that reads it by itself."""
    schema = asked.model_json_schema()
    inside = schema.pop("$defs", {})
    return {"requestBody": {"required": True, "content": {_JSON: {"schema": _with_inside(schema, inside)}}}}


def _with_inside(schema: Any, inside: Mapping[str, Any]) -> Any:
    """Records in place of their names: FastAPI lists only those that it reads itself."""
    if isinstance(schema, list):
        return [_with_inside(one, inside) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _with_inside(inside[schema["$ref"].rpartition("/")[2]], inside)
    return {name: _with_inside(value, inside) for name, value in schema.items()}
