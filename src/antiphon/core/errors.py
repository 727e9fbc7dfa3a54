"""Every error that Antiphon raises on purpose.

::

    AntiphonError
    ├── RequestError                 the caller can mend it
    │   ├── InvalidRequest           body or parameter is wrong
    │   │   ├── UnsupportedParameter
    │   │   └── ContextOverflow
    │   ├── PayloadTooLarge
    │   ├── Unauthenticated
    │   ├── NotFound
    │   │   ├── ModelNotFound
    │   │   └── EndpointNotFound
    │   └── MethodNotAllowed
    ├── CapacityError                try again later
    │   ├── QueueFull
    │   └── Draining
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

The docstring of a class is its default message. ``remedy`` says what to do next and is shown behind the message.
"""


class AntiphonError(Exception):
    """Something went wrong."""

    code = "error"
    """Stable machine-readable name, as in OpenAI's error object."""

    def __init__(self, message: str = "", *, remedy: str = "", param: str | None = None, retry_after: float | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        self.remedy = remedy
        self.param = param
        """The request field at fault, as a path (``messages[0].role``)."""
        self.retry_after = retry_after
        """Seconds after which trying again makes sense."""
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class RequestError(AntiphonError):
    """The request cannot be served as it is."""

    code = "invalid_request"


class InvalidRequest(RequestError):
    """The request is not valid."""


class UnsupportedParameter(InvalidRequest):
    """A parameter is not supported by this model."""

    code = "unsupported_parameter"


class ContextOverflow(InvalidRequest):
    """Prompt and completion do not fit into the model's context."""

    code = "context_length_exceeded"


class PayloadTooLarge(RequestError):
    """The request body is too large."""

    code = "payload_too_large"


class Unauthenticated(RequestError):
    """The API key is missing or wrong."""

    code = "invalid_api_key"


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


class Draining(CapacityError):
    """This process is shutting down."""

    code = "draining"


class UpstreamError(AntiphonError):
    """The model behind this call failed."""

    code = "upstream_error"


class UpstreamUnreachable(UpstreamError):
    """The model's server cannot be reached."""

    code = "upstream_unreachable"


class UpstreamTimeout(UpstreamError):
    """The model's server was silent for too long."""

    code = "upstream_timeout"


class UpstreamBroken(UpstreamError):
    """The model's server broke off its answer."""

    code = "upstream_truncated"


class UpstreamRefused(UpstreamError):
    """The model's server answered with an error."""

    code = "upstream_refused"

    def __init__(
        self, status: int, body: bytes, *, content_type: bytes = b"application/json", retry_after: float | None = None
    ) -> None:
        super().__init__(f"the model's server answered with status {status}", retry_after=retry_after)
        self.status = status
        self.body = body
        """The error body as it came, for callers of the same dialect."""
        self.content_type = content_type


class EngineFailed(UpstreamError):
    """The local engine stopped while it was answering."""

    code = "engine_failed"


class ClientGone(AntiphonError):
    """The caller left before the answer was complete."""

    code = "client_gone"


class InternalError(AntiphonError):
    """Antiphon itself failed; the log has the details under this request id."""

    code = "internal_error"


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
