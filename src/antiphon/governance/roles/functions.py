"""What callers may be permitted to do: Cedar's actions."""

from collections.abc import Mapping
from typing import Final

USE: Final = (
    "chat",
    "completions",
    "embeddings",
    "rerank",
    "moderations",
    "images",
    "speech",
    "transcription",
    "count_tokens",
    "see_model",
)
"""What can be done with a model; ``see_model``: it stands in the caller's list of models. Together they are ``use``."""

READ: Final = ("read_processes", "read_routes", "read_limits", "read_calls", "read_usage", "read_audit")
"""What the server tells of itself. Together they are ``read``."""

ENDPOINTS: Final[Mapping[tuple[str, str], str]] = {
    ("GET", "/admin/processes"): "read_processes",
    ("GET", "/admin/routes"): "read_routes",
    ("GET", "/admin/limits"): "read_limits",
    ("GET", "/admin/calls"): "read_calls",
    ("GET", "/admin/usage"): "read_usage",
    ("GET", "/admin/audit"): "read_audit",
}
"""What each endpoint of the administration does, by method and path."""

ADMINISTER: Final = "administer"
"""What is done at any other path of the administration: nobody but administrators may."""


def function_at(method: str, path: str) -> str:
    """What a request to a path of the administration does. What a path of several parts begins with says it for what is below."""
    method = "GET" if method == "HEAD" else method
    while path.count("/") >= 2:
        found = ENDPOINTS.get((method, path))
        if found is not None:
            return found
        path = path.rpartition("/")[0]
    return ADMINISTER
