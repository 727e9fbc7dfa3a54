"""Fakes for tests: with what Antiphon is tested, its users can test too."""

from antiphon.testing import (
    board_contract,
    cache_contract,
    ledger_contract,
    model_contract,
    record_store_contract,
    response_store_contract,
)
from antiphon.testing.fake_breaker_board import FakeBreakerBoard
from antiphon.testing.fake_cache_store import FakeCacheStore
from antiphon.testing.fake_clock import FakeClock
from antiphon.testing.fake_encoder import FakeEncoder
from antiphon.testing.fake_engine import FakeAnswer, FakeEngine
from antiphon.testing.fake_event_sink import FakeEventSink
from antiphon.testing.fake_model import FakeCall, FakeModel
from antiphon.testing.fake_response_store import FakeResponseStore
from antiphon.testing.mock_upstream import MockUpstream
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.recording_sink import RecordingSink
from antiphon.testing.steps import (
    Body,
    Comment,
    Cut,
    Delay,
    Done,
    Event,
    Fail,
    Gate,
    Hang,
    Header,
    ModelStep,
    Raw,
    Script,
    Status,
    Step,
    Wire,
)

__all__ = [
    "Body",
    "Comment",
    "Cut",
    "Delay",
    "Done",
    "Event",
    "Fail",
    "FakeAnswer",
    "FakeBreakerBoard",
    "FakeCacheStore",
    "FakeCall",
    "FakeClock",
    "FakeEncoder",
    "FakeEngine",
    "FakeEventSink",
    "FakeModel",
    "FakeResponseStore",
    "Gate",
    "Hang",
    "Header",
    "MockUpstream",
    "ModelStep",
    "Raw",
    "RecordedRequest",
    "RecordingSink",
    "Script",
    "Status",
    "Step",
    "Wire",
    "board_contract",
    "cache_contract",
    "ledger_contract",
    "model_contract",
    "record_store_contract",
    "response_store_contract",
]
