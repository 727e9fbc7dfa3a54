"""Every error that Antiphon raises on purpose.

::

    AntiphonError
    ├── RequestError                 the caller can mend it
    │   ├── InvalidRequest           body or parameter is wrong
    │   │   ├── UnsupportedParameter
    │   │   ├── PreviousResponseNotFound
    │   │   ├── ContextOverflow
    │   │   └── ContentBlocked
    │   ├── PayloadTooLarge
    │   ├── UnsupportedEncoding
    │   ├── Unauthenticated
    │   ├── PermissionDenied
    │   ├── NotFound
    │   │   ├── ModelNotFound
    │   │   └── EndpointNotFound
    │   └── MethodNotAllowed
    ├── CapacityError                try again later
    │   ├── QueueFull
    │   ├── CannotBeOnTime
    │   ├── WaitedTooLong
    │   ├── LimitReached
    │   │   └── BudgetSpent
    │   ├── LimitsUnavailable
    │   ├── GuardrailsUnavailable
    │   ├── RecordsUnavailable
    │   ├── Draining
    │   └── NoWorker
    ├── UpstreamError                whoever should answer did not
    │   ├── UpstreamUnreachable
    │   ├── UpstreamTimeout
    │   ├── UpstreamBroken           closed or malformed in the middle
    │   ├── UpstreamRefused          answered with an error status of its own
    │   └── EngineFailed
    ├── ClientGone
    ├── InternalError
    └── SetupError                   the operator can mend it
        ├── ConfigError
        ├── ModelSourceError
        │   ├── DownloadFailed
        │   └── ChecksumMismatch
        ├── NoSpace
        ├── NoMemory
        └── PortBusy

The docstring of a class is its default message. ``remedy`` says what to do next and is shown behind the message: whoever raises an
error gives one, unless its class has a ``usual_remedy``.
"""

from typing import Final

NOT_KEPT: Final = (
    "it is not kept here: it never was (`store: false`), it was deleted, its time is over, it made room for newer ones, "
    "or it was lost with a damaged or deleted file"
)
"""Why a response may be gone; nobody keeps a record of those that are."""


class AntiphonError(Exception):
    """Something went wrong."""

    code = "error"
    """Stable machine-readable name, as in OpenAI's error object."""
    usual_remedy = ""
    """What to do next, where whoever raises the error says nothing more exact."""

    def __init__(self, message: str = "", *, remedy: str = "", param: str | None = None, retry_after: float | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0].rstrip(".")
        self.remedy = remedy or self.usual_remedy
        self.param = param
        """The request field at fault, as a path (``messages[0].role``)."""
        self.retry_after = retry_after
        """Seconds after which trying again makes sense."""
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message

    def forget_origin(self) -> None:
        """Let go of where it was raised, and of what it was raised from.

        Those frames hold the call. Where the call holds the error they would keep each other, with the body of the request, until
        the collector comes by.
        """
        self.__traceback__ = self.__cause__ = self.__context__ = None


class RequestError(AntiphonError):
    """The request cannot be served as it is."""

    code = "invalid_request"


class InvalidRequest(RequestError):
    """The request is not valid."""


class UnsupportedParameter(InvalidRequest):
    """A parameter is not supported by this model."""

    code = "unsupported_parameter"
    also: tuple[str, ...] = ()
    """Further fields of which the same is true."""


class PreviousResponseNotFound(InvalidRequest):
    """The previous response is not found."""

    code = "previous_response_not_found"
    usual_remedy = "send the whole conversation as `input`"

    def __init__(self, response: str, reason: str = NOT_KEPT) -> None:
        super().__init__(f"previous response with id '{response[:200]}' not found: {reason}", param="previous_response_id")


class ContextOverflow(InvalidRequest):
    """Prompt and completion do not fit into the model's context."""

    code = "context_length_exceeded"


class ContentBlocked(InvalidRequest):
    """A guardrail found what may not be said here."""

    code = "content_blocked"
    usual_remedy = "leave that out, or ask the operator about this guardrail"

    def __init__(self, rule: str, kind: str, side: str) -> None:
        whose = "the request" if side == "input" else "the model's answer"
        remedy = "" if side == "input" else "ask something else, or ask the operator about this guardrail"
        super().__init__(f'the guardrail "{rule}" found {kind} in {whose}, which is not passed on', remedy=remedy)


class PayloadTooLarge(RequestError):
    """The request body is too large."""

    code = "payload_too_large"
    usual_remedy = "send less in one request"


class UnsupportedEncoding(RequestError):
    """The request body is compressed."""

    code = "unsupported_encoding"
    usual_remedy = "send it as it is, without content-encoding"


class Unauthenticated(RequestError):
    """The API key is missing or wrong."""

    code = "invalid_api_key"


class PermissionDenied(RequestError):
    """The caller may not do this."""

    code = "permission_denied"
    usual_remedy = "ask the operator for a key that may: its `roles` and `models`, and the policies under `access`, decide"


class NotFound(RequestError):
    """There is nothing by that name."""

    code = "not_found"


class ModelNotFound(NotFound):
    """The model is not in the catalogue."""

    code = "model_not_found"


class EndpointNotFound(NotFound):
    """There is no such endpoint."""

    code = "unknown_url"


class MethodNotAllowed(RequestError):
    """The endpoint does not take this method."""

    code = "method_not_allowed"


class CapacityError(AntiphonError):
    """There is no room for this call now."""

    code = "overloaded"


class QueueFull(CapacityError):
    """The queue of this model is full."""

    code = "queue_full"
    usual_remedy = "try again in a moment"


class CannotBeOnTime(CapacityError):
    """The answer could not be on time any more."""

    code = "deadline_unreachable"
    usual_remedy = "try again when there is less to do, allow more time, or ask for less"


class WaitedTooLong(CapacityError):
    """The call has waited as long as calls may, and no replica of the model became free."""

    code = "queue_timeout"
    usual_remedy = "try again in a moment"


class LimitReached(CapacityError):
    """A limit on what may be used is reached."""

    code = "rate_limit_exceeded"
    usual_remedy = "try again later, or have the operator raise the limit"


class BudgetSpent(LimitReached):
    """A budget has too little left for this call."""

    code = "insufficient_quota"
    usual_remedy = "ask for a shorter answer (`max_tokens`), or have the operator raise the budget"


class LimitsUnavailable(CapacityError):
    """Whether a limit has room cannot be known at the moment."""

    code = "limits_unavailable"
    usual_remedy = "try again in a moment"


class GuardrailsUnavailable(CapacityError):
    """What is said cannot be looked at by the guardrails at the moment."""

    code = "guardrails_unavailable"
    usual_remedy = "try again in a moment"


class RecordsUnavailable(CapacityError):
    """The records cannot be reached at the moment."""

    code = "records_unavailable"
    usual_remedy = "try again in a moment; the operator should check the database, and the disk that it lies on"


class Draining(CapacityError):
    """This process is shutting down."""

    code = "draining"
    usual_remedy = "try again in a moment"


class NoWorker(CapacityError):
    """No worker of this server can be started at the moment."""

    code = "no_worker"
    usual_remedy = 'try again in a moment; whoever runs the server sees the reason with "antiphon doctor"'


class UpstreamError(AntiphonError):
    """The model behind this call failed."""

    code = "upstream_error"


class UpstreamUnreachable(UpstreamError):
    """The model's server cannot be reached."""

    code = "upstream_unreachable"
    usual_remedy = "the operator should check that it runs, and the provider's url"


class UpstreamTimeout(UpstreamError):
    """The model's server was silent for too long."""

    code = "upstream_timeout"
    usual_remedy = "try again; if it stays so, that server is overloaded, or its provider's time-outs are too short"


class UpstreamBroken(UpstreamError):
    """The model's server broke off its answer."""

    code = "upstream_truncated"
    usual_remedy = "try again; if it stays so, the operator should look into that server's log"


class UpstreamRefused(UpstreamError):
    """The model's server answered with an error."""

    code = "upstream_refused"

    def __init__(
        self,
        status: int,
        body: bytes,
        *,
        server: str = "",
        content_type: bytes = b"application/json",
        retry_after: float | None = None,
        dialect: str = "openai",
    ) -> None:
        who = f'the server "{server}"' if server else "the model's server"
        super().__init__(f"{who} answered with status {status}", remedy=_after_status(status), retry_after=retry_after)
        self.status = status
        self.body = body
        """The error body as it came, for callers of the same dialect."""
        self.dialect = dialect
        """That of the body."""
        self.content_type = content_type


def _after_status(status: int) -> str:
    """What to do about an error status of a model's server."""
    remedies = {
        401: "the operator should check the provider's key",
        403: "the operator should check the provider's key and what it may be used for",
        404: "the operator should check the provider's url, and the model's name there",
        407: "the operator should check the provider's proxy",
        413: "send less in one request",
        429: "try again later",
    }
    usual = "change the request, or choose another model" if status < 500 else UpstreamBroken.usual_remedy
    return remedies.get(status, usual)


class EngineFailed(UpstreamError):
    """The local engine stopped while it was answering."""

    code = "engine_failed"
    usual_remedy = "it is being restarted: try again in a moment"


class ClientGone(AntiphonError):
    """The caller left before the answer was complete."""

    code = "client_gone"
    usual_remedy = "callers that leave too early need a longer time-out of their own"


class InternalError(AntiphonError):
    """Antiphon itself failed; the log has the details under this request id."""

    code = "internal_error"
    usual_remedy = "try again; if it stays so, report it with those lines of the log"


class SetupError(AntiphonError):
    """Antiphon cannot start or change as asked."""

    code = "setup_error"


class ConfigError(SetupError):
    """The configuration is not valid."""

    code = "invalid_configuration"

    def __init__(
        self, message: str = "", *, remedy: str = "", file: str = "", line: int = 0, column: int = 0, key: str = ""
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.file = file
        self.line = line
        self.column = column
        self.key = key
        """Dotted path of the setting."""

    def __str__(self) -> str:
        return self.place + super().__str__()

    @property
    def place(self) -> str:
        """``file:line:column: `` as compilers write it; empty where there is none."""
        if not self.file:
            return ""
        numbers = ":".join(str(number) for number in (self.line, self.column) if number)
        return f"{self.file}:{numbers}: " if numbers else f"{self.file}: "


class ModelSourceError(SetupError):
    """The model cannot be had from its source."""

    code = "model_source_error"


class DownloadFailed(ModelSourceError):
    """The model could not be downloaded."""

    code = "download_failed"


class ChecksumMismatch(ModelSourceError):
    """The file is not the one that was expected."""

    code = "checksum_mismatch"


class NoSpace(SetupError):
    """There is not enough disk space."""

    code = "no_space"


class NoMemory(SetupError):
    """There is not enough memory."""

    code = "no_memory"


class PortBusy(SetupError):
    """The port is in use."""

    code = "port_busy"
