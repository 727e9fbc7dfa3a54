"""The suite finds the faults that gateways are known for, each by its cases, and finds none in a right gateway."""

import asyncio
import contextlib
import fnmatch
import json
import re
import time

import pytest

from antiphon.testing.fidelity import CASES, Gateway, Suite
from tests.integration.testing.fidelity.faulty_gateway import Fault, FaultyGateway
from tests.integration.transport.loop_thread import LoopThread

pytestmark = pytest.mark.xdist_group("fidelity")


def chosen(*patterns):
    return [case for case in CASES if any(fnmatch.fnmatchcase(case.id, pattern) for pattern in patterns)]


def misses(stage, url, cases):
    report = asyncio.run(Suite(Gateway(url), stage).run(cases))
    return {result.id for result in report.cases if not result.ok}


def drops(*names):
    """Leaves fields out, at any depth."""

    def without(value):
        if isinstance(value, dict):
            return {name: without(inner) for name, inner in value.items() if name not in names}
        return [without(inner) for inner in value] if isinstance(value, list) else value

    def change(body):
        try:
            return json.dumps(without(json.loads(body)), ensure_ascii=False).encode()
        except ValueError:
            return body

    return change


def in_events(change):
    """The same for the JSON of an event."""

    def of_event(event):
        return re.sub(rb"(?m)^data: (\{.*\})$", lambda found: b"data: " + change(found[1]), event)

    return of_event


def sorts_fields(body):
    return json.dumps(json.loads(body), sort_keys=True).encode()


def counts_calls_from_zero(event):
    return re.sub(rb'"index":\s*[1-9](?=,"(?:id|type|function))', b'"index":0', event)


def loses_large_characters(event):
    return event.decode().encode("ascii", "ignore")


def dwells_on_large_events(event):
    if len(event) > 1_000_000:
        time.sleep(2.5)
    return event


def without(*names):
    return lambda status, headers: (status, tuple(field for field in headers if field[0] not in names))


def own_words(body):
    return b'{"type":"error","error":{"message":"Something went wrong","type":"error"}}' if b'"error"' in body else body


FAULTS = [
    (Fault("holds a stream back until it is complete", gathers=True), ["*-at-once"], ["stream-text"]),
    (
        Fault("does not notice that callers leave", stays=True),
        ["leave-silence", "leave-whole", "messages-leave", "anthropic-leave"],
        [],
    ),
    (Fault("asks again when something failed", asks_again=True), ["fail-once", "fail-reset", "leave-no-retry"], ["stream-text"]),
    (Fault("dwells on large events", event=dwells_on_large_events), ["size-event-others"], ["size-event"]),
    (
        Fault("ends every stream as if it were whole", end=b"data: [DONE]\n\n"),
        ["fail-cut", "fail-no-finish", "stream-done"],
        ["whole-text"],
    ),
    (
        Fault("drops the usage", event=in_events(drops("usage")), body=drops("usage")),
        ["usage-asked", "usage-whole", "messages-usage*", "embed-usage"],
        ["stream-text"],
    ),
    (
        Fault("drops reasons for the end", event=in_events(drops("finish_reason", "stop_reason"))),
        ["stream-finish-*", "claude-finish-*h", "n-stream-finish"],
        ["usage-whole"],
    ),
    (
        Fault("drops log-probabilities", event=in_events(drops("logprobs")), body=drops("logprobs")),
        ["logprobs-*", "complete-logprobs"],
        ["stream-text"],
    ),
    (
        Fault(
            "drops reasoning",
            event=in_events(drops("reasoning_content", "reasoning")),
            body=drops("reasoning_content", "reasoning"),
        ),
        ["reason-stream", "reason-whole", "claude-thinking*"],
        ["stream-text"],
    ),
    (
        Fault("counts calls of tools from zero each time", event=counts_calls_from_zero),
        ["tools-stream-two", "tools-stream-mixed", "claude-tools-text-around"],
        ["tools-stream"],
    ),
    (
        Fault("loses what is not ASCII", event=loses_large_characters),
        ["cut-bytes", "unicode-emoji", "messages-stream"],
        ["stream-text"],
    ),
    (
        Fault(
            "drops parameters that it does not know",
            request=drops("seed", "logit_bias", "top_k", "a_field_of_tomorrow", "verbosity"),
        ),
        ["param-seed*", "param-bias", "param-top-k", "param-unknown", "param-verbosity"],
        ["param-temperature"],
    ),
    (Fault("sorts the fields of what is asked", request=sorts_fields), ["schema-order", "schema-tool-order"], ["schema-strict"]),
    (
        Fault("says errors in its own words", body=own_words),
        ["error-400-message", "error-400-code", "error-400-param", "messages-error", "claude-error"],
        ["error-400"],
    ),
    (Fault("drops headers", head=without(b"retry-after")), ["retry-*", "claude-error-429"], ["error-429"]),
    (
        Fault("answers every error with 500", head=lambda status, headers: (500 if status >= 400 else status, headers)),
        ["error-400*", "error-404", "error-429", "messages-error-429"],
        ["error-500"],
    ),
]


@contextlib.contextmanager
def served(right, fault):
    """URL of a gateway with this fault in front of the right one."""

    async def make():
        return FaultyGateway(right, fault)

    with LoopThread() as loop:
        gateway = loop.run(make())
        _, port = loop.serve(gateway)
        yield f"http://127.0.0.1:{port}"
        loop.run(gateway.close())


@pytest.mark.parametrize(("fault", "found_by", "spares"), FAULTS, ids=[fault.what for fault, _, _ in FAULTS])
def test_a_fault_is_found_by_its_cases(stage, right, fault, found_by, spares):
    seeing, blind = chosen(*found_by), chosen(*spares)
    assert {pattern for pattern in (*found_by, *spares) if not chosen(pattern)} == set()
    with served(right, fault) as url:
        assert misses(stage, url, [*seeing, *blind]) == {case.id for case in seeing}


def test_nothing_is_found_in_a_right_gateway_nor_in_one_that_only_passes_on(stage, right):
    cases = [
        case for case in chosen("stream-*", "usage-*", "tools-*", "error-*", "messages-*", "claude-*", "param-*") if not case.alone
    ]
    assert misses(stage, right, cases) == set()
    with served(right, Fault("none")) as url:
        assert misses(stage, url, cases) == set()
