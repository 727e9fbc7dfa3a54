import errno
import json
import os
import threading
import time

import msgspec

from antiphon.observability.call_log import CallLog, DescriptorSink
from tests.unit.observability.sample import GOOD

PATIENCE = 20.0
EVENT = msgspec.structs.replace(GOOD, duration=1.2345678, attempts=2)


class Sink:
    """Remembers what it was given. While ``gate`` is closed it blocks, while ``error`` is set it raises."""

    def __init__(self) -> None:
        self.data = b""
        self.writes = 0
        self.error: OSError | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def __call__(self, data: bytes) -> None:
        self.entered.set()
        self.gate.wait(PATIENCE)
        self.writes += 1
        if self.error is not None:
            raise self.error
        self.data += data

    @property
    def records(self) -> list[dict]:
        return [json.loads(line) for line in self.data.splitlines()]


def test_the_callers_address_is_told_where_it_is_known():
    sink = Sink()
    log = CallLog(sink)
    log.call_finished(msgspec.structs.replace(EVENT, client="192.0.2.7"))
    log.close()
    assert sink.records[0]["client"] == "192.0.2.7"


def test_what_a_route_decided_is_told_where_there_was_one():
    sink = Sink()
    log = CallLog(sink)
    told = {"route": "m", "waited": 0.25, "candidates": {"a/m": 2 / 3, "b/m": 0.5}, "hedged": True, "degraded": "answer=template"}
    log.call_finished(msgspec.structs.replace(EVENT, **told))
    log.close()
    (record,) = sink.records
    assert {name: record.get(name) for name in ("route", "waited_ms", "candidates", "hedged", "degraded")} == {
        "route": "m",
        "waited_ms": 250.0,
        "candidates": {"a/m": 0.6667, "b/m": 0.5},
        "hedged": True,
        "degraded": "answer=template",
    }


def test_a_call_becomes_one_line_of_json():
    sink = Sink()
    log = CallLog(sink)
    log.call_finished(EVENT)
    log.close()
    assert sink.data.endswith(b"\n")
    assert sink.records == [
        {
            "time": "2026-11-30T00:53:20.250Z",
            "id": "req_1",
            "endpoint": "chat/completions",
            "model": "small",
            "target": "local/small",
            "principal": "alice",
            "status": 200,
            "error": "",
            "stream": True,
            "duration_ms": 1234.567,
            "ttft_ms": 50.0,
            "prompt_tokens": 10,
            "completion_tokens": 20,
            "cached_tokens": 4,
            "reasoning_tokens": 5,
            "attempts": 2,
        }
    ]


def test_records_come_in_order_and_in_batches():
    sink = Sink()
    log = CallLog(sink, interval=60)
    for number in range(2000):
        log.call_finished(msgspec.structs.replace(EVENT, id=str(number)))
    log.close()
    assert [record["id"] for record in sink.records] == [str(number) for number in range(2000)]
    assert sink.writes < 20
    assert log.lost == 0


def test_records_are_written_without_waiting_for_the_end():
    sink = Sink()
    log = CallLog(sink, interval=0.001)
    log.call_finished(EVENT)
    assert sink.entered.wait(PATIENCE)
    log.close()
    assert len(sink.records) == 1


def test_a_sink_that_blocks_does_not_stop_calls_and_losses_are_counted():
    sink = Sink()
    sink.gate.clear()
    log = CallLog(sink, max_waiting=100, interval=0.001)
    log.call_finished(EVENT)
    assert sink.entered.wait(PATIENCE)
    for _ in range(500):
        log.call_finished(EVENT)
    assert log.lost == 401
    sink.gate.set()
    log.close()
    assert len(sink.records) == 100
    assert log.lost == 401


def test_a_sink_that_is_down_loses_what_it_was_given_and_is_tried_again():
    sink = Sink()
    sink.error = OSError(errno.ENOSPC, "no space left on device")
    log = CallLog(sink, interval=0.001)
    log.call_finished(EVENT)
    deadline = time.monotonic() + PATIENCE
    while log.lost == 0 and time.monotonic() < deadline:
        time.sleep(0.002)
    sink.error = None
    log.call_finished(EVENT)
    log.close()
    assert log.lost == 1
    assert len(sink.records) == 1


def test_the_end_does_not_wait_for_ever_and_counts_what_is_left():
    sink = Sink()
    sink.gate.clear()
    log = CallLog(sink, interval=60)
    for _ in range(10):
        log.call_finished(EVENT)
    log.close(timeout=0.05)
    assert log.lost == 10
    sink.gate.set()


def test_calls_after_the_end_are_counted_as_lost():
    log = CallLog(Sink())
    log.close()
    log.close()
    log.call_finished(EVENT)
    assert log.lost == 1


def test_a_name_that_is_no_text_costs_its_record_only():
    sink = Sink()
    log = CallLog(sink)
    log.call_finished(msgspec.structs.replace(EVENT, model="\ud800"))
    log.call_finished(EVENT)
    log.close()
    assert log.lost == 1
    assert len(sink.records) == 1


def test_a_long_name_is_cut_and_a_line_break_stays_inside_its_line():
    sink = Sink()
    log = CallLog(sink)
    log.call_finished(msgspec.structs.replace(EVENT, model="a\n" * 1000))
    log.close()
    assert sink.data.count(b"\n") == 1
    assert len(sink.records[0]["model"]) == 200


def test_a_descriptor_gets_all_bytes_even_when_it_does_not_block():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    data = os.urandom(300_000).replace(b"\n", b" ") + b"\n"
    received: list[bytes] = []

    def drain() -> None:
        while chunk := os.read(reader, 65536):
            received.append(chunk)

    thread = threading.Thread(target=drain)
    thread.start()
    DescriptorSink(writer)(data)
    os.close(writer)
    thread.join(PATIENCE)
    os.close(reader)
    assert b"".join(received) == data
