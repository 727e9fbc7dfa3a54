"""Every error that the client raises on purpose.

::

    AntiphonClientError
    ├── ConfigurationError               what the client or a call was given cannot be used; nothing was sent
    ├── APIError                         the call failed
    │   ├── APIConnectionError           no answer came, or it broke off
    │   │   ├── CannotConnectError       nothing was sent
    │   │   └── APITimeoutError          the server was silent for too long
    │   │       └── DeadlineExceededError
    │   ├── APIStatusError               the server answered with an error status
    │   │   ├── BadRequestError          400
    │   │   ├── AuthenticationError      401
    │   │   ├── PermissionDeniedError    403
    │   │   ├── NotFoundError            404
    │   │   ├── ConflictError            409
    │   │   ├── PayloadTooLargeError     413
    │   │   ├── UnprocessableEntityError 422
    │   │   ├── RateLimitError           429
    │   │   └── InternalServerError      500 and above
    │   ├── StreamError                  the server ended a stream with an error event
    │   └── InvalidResponseError         what came is not what this API answers
    └── ParseError                       the model's text is not of the type that was asked for

Each has ``message``, ``remedy``, ``request_id``, ``attempts``, ``status``, ``code``, ``type``, ``param``, ``retry_after`` and
``body``; what does not apply is empty or None. No key is shown in any of them, whatever a server repeats.
"""

import msgspec


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a failure beside its message."""

    remedy: str = ""
    """What to do next."""
    request_id: str = ""
    """Id under which the server's log has the call."""
    attempts: int = 1
    """Times that the call was tried; 0 where nothing was sent."""
    status: int | None = None
    """HTTP status of the answer."""
    code: str = ""
    """The server's stable name for what happened, such as ``model_not_found``."""
    type: str = ""
    """Kind of the error, such as ``invalid_request_error``."""
    param: str | None = None
    """The request field at fault, as a path (``messages[0].role``)."""
    retry_after: float | None = None
    """Seconds after which the server wants to be asked again."""
    body: bytes = b""
    """The answer as it came, without our key."""
    worth_retrying: bool | None = None
    """What the server says of that (``x-should-retry``); None where it says nothing."""


NOTHING_SENT = Details(attempts=0)


class AntiphonClientError(Exception):
    """Something went wrong."""

    def __init__(self, message: str, details: Details = NOTHING_SENT) -> None:
        super().__init__(message, details)  # both, so that the error survives pickling
        self.message = message
        self.details = details

    @property
    def remedy(self) -> str:
        """What to do next."""
        return self.details.remedy

    @property
    def request_id(self) -> str:
        """Id under which the server's log has the call."""
        return self.details.request_id

    @property
    def attempts(self) -> int:
        """Times that the call was tried; 0 where nothing was sent."""
        return self.details.attempts

    @property
    def status(self) -> int | None:
        """HTTP status of the answer."""
        return self.details.status

    @property
    def code(self) -> str:
        """The server's stable name for what happened, such as ``model_not_found``."""
        return self.details.code

    @property
    def type(self) -> str:
        """Kind of the error, such as ``invalid_request_error``."""
        return self.details.type

    @property
    def param(self) -> str | None:
        """The request field at fault, as a path (``messages[0].role``)."""
        return self.details.param

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the server wants to be asked again."""
        return self.details.retry_after

    @property
    def body(self) -> bytes:
        """The answer as it came, without our key."""
        return self.details.body

    def __str__(self) -> str:
        said = f"{self.message}; {self.remedy}" if self.remedy else self.message
        trail = [
            *([f"status {self.status}"] if self.status is not None else []),
            *([f"request {self.request_id}"] if self.request_id else []),
            *([f"{self.attempts} attempts"] if self.attempts > 1 else []),
        ]
        return f"{said} ({', '.join(trail)})" if trail else said

    def __repr__(self) -> str:
        known = {"status": self.status, "code": self.code, "param": self.param, "request_id": self.request_id}
        return f"{type(self).__name__}({self.message!r}{''.join(f', {name}={value!r}' for name, value in known.items() if value)})"


class ConfigurationError(AntiphonClientError, ValueError):
    """What the client or a call was given cannot be used; nothing was sent."""


class APIError(AntiphonClientError):
    """The call failed."""


class APIConnectionError(APIError):
    """No answer came, or it broke off."""


class CannotConnectError(APIConnectionError):
    """The server was not reached; nothing was sent."""


class APITimeoutError(APIConnectionError):
    """The server was silent for too long."""


class DeadlineExceededError(APITimeoutError):
    """The call took longer than its deadline allows."""


class APIStatusError(APIError):
    """The server answered with an error status."""

    @property
    def status(self) -> int:
        """HTTP status of the answer."""
        return self.details.status or 0


class BadRequestError(APIStatusError):
    """400: the request is not valid."""


class AuthenticationError(APIStatusError):
    """401: the key is missing or wrong."""


class PermissionDeniedError(APIStatusError):
    """403: the key may not do this."""


class NotFoundError(APIStatusError):
    """404: there is no such model, answer or endpoint."""


class ConflictError(APIStatusError):
    """409: another request is in the way."""


class PayloadTooLargeError(APIStatusError):
    """413: the request is too large."""


class UnprocessableEntityError(APIStatusError):
    """422: the request is well-formed and cannot be served."""


class RateLimitError(APIStatusError):
    """429: a limit is reached."""


class InternalServerError(APIStatusError):
    """500 and above: the server, or the model behind it, failed."""


class StreamError(APIError):
    """The server ended a stream with an error event."""


class InvalidResponseError(APIError):
    """What came is not what this API answers."""


class ParseError(AntiphonClientError, ValueError):
    """The model's text is not of the type that was asked for."""

    def __init__(self, message: str, details: Details = NOTHING_SENT, text: str = "") -> None:
        super().__init__(message, details)
        self.args = (message, details, text)
        self.text = text
        """What the model wrote."""


_BY_STATUS: dict[int, type[APIStatusError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    413: PayloadTooLargeError,
    422: UnprocessableEntityError,
    429: RateLimitError,
}


def of_status(status: int) -> type[APIStatusError]:
    """The class of errors with this status."""
    return _BY_STATUS.get(status, InternalServerError if status >= 500 else APIStatusError)
