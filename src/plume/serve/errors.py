"""What a client is told when it gets no answer: each has its HTTP status and OpenAI's words for it."""

from __future__ import annotations

from typing import ClassVar

from plume.core.errors import PlumeError


class ServeError(PlumeError):
    """Refused: `status` as HTTP has it, `type` and `code` as OpenAI's clients know them, `param` the field that is to blame."""

    status: ClassVar[int] = 400
    type: ClassVar[str] = "invalid_request_error"
    code: ClassVar[str | None] = None

    def __init__(self, message: str, *, param: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.param, self.retry_after = param, retry_after


class BadRequest(ServeError):
    """What is asked cannot be done with this model."""

    code = "invalid_value"


class EmptyText(BadRequest):
    """There is nothing in it to read."""

    code = "empty"


class Unauthorized(ServeError):
    """No key, or one that is not known."""

    status = 401
    type = "authentication_error"
    code = "invalid_api_key"


class UnknownModel(ServeError):
    """Nothing of that name is served."""

    status = 404
    code = "model_not_found"


class NoEndpoint(ServeError):
    """Nothing answers at this path."""

    status = 404
    code = "not_found"


class WrongMethod(ServeError):
    """The path is there, for another method."""

    status = 405
    code = "method_not_allowed"


class TooLarge(ServeError):
    """A body, a text or a list of texts is over the limit."""

    status = 413
    code = "too_large"


class Unreadable(ServeError):
    """A field that cannot be read."""

    status = 422
    code = "invalid_field"


class MissingField(Unreadable):
    """A field that must be there."""

    code = "missing_field"


class Overloaded(ServeError):
    """The queue is full."""

    status = 429
    type = "rate_limit_error"
    code = "overloaded"


class RateExceeded(Overloaded):
    """A key has used up its rate."""

    code = "rate_limit_exceeded"


class NotReady(ServeError):
    """The model is being loaded."""

    status = 503
    type = "server_error"
    code = "loading"


class TimedOut(ServeError):
    """No answer within the time of a request."""

    status = 504
    type = "server_error"
    code = "timeout"


class Broken(ServeError):
    """A mistake of ours; the log has the traceback."""

    status = 500
    type = "server_error"
    code = "internal_error"
