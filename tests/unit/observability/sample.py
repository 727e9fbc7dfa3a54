"""A finished call, as the observers hear of it."""

from antiphon.core.events import CallFinished
from antiphon.core.types import Usage

GOOD = CallFinished(
    id="req_1",
    endpoint="chat/completions",
    model="small",
    target="local/small",
    principal="alice",
    status=200,
    error="",
    stream=True,
    started_at=1_796_000_000.25,
    duration=1.5,
    ttft=0.05,
    usage=Usage(10, 20, 30, 4, 5),
    attempts=1,
)
