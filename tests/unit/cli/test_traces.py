"""Recorded traffic is read whatever wrote it, and a wrong line is named."""

import gzip
import json

import pytest

from antiphon.cli.simulate.traces import read_trace
from antiphon.core.errors import ConfigError
from antiphon.scheduling.simulator.scenario import Call

AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9305900,396,109
"""
MOONCAKE = """{"timestamp": 1000, "input_length": 1100, "output_length": 5, "hash_ids": [7, 8, 9]}
{"timestamp": 3500, "input_length": 512, "output_length": 6, "hash_ids": [7]}
"""


def record(time: str, principal: str, prompt: int, output: int) -> dict:
    return {
        "time": time,
        "id": "a",
        "endpoint": "chat",
        "model": "m",
        "target": "p/m",
        "principal": principal,
        "status": 200,
        "error": "",
        "stream": True,
        "duration_ms": 5.0,
        "ttft_ms": 1.0,
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "cached_tokens": 0,
        "reasoning_tokens": 0,
        "attempts": 1,
    }


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes, name: str = "trace"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_azure(file):
    trace = read_trace(file(AZURE))
    assert (trace.kind, trace.left_out, trace.block_tokens) == ("Azure", 0, 0)
    assert trace.calls == (Call(0.0, 374, 44), Call(pytest.approx(4.25), 396, 109))


def test_azure_with_a_zone_other_columns_and_windows_lines(file):
    rows = "\ufeffId,GeneratedTokens,TIMESTAMP,ContextTokens\r\nx,7,2024-05-10 00:00:01+00:00,3\r\n"
    assert read_trace(file(rows)).calls == (Call(0.0, 3, 7),)


def test_what_is_packed_is_unpacked_whatever_its_name(file):
    assert read_trace(file(gzip.compress(AZURE.encode()), "trace.csv")).calls == read_trace(file(AZURE, "b")).calls


def test_mooncake_with_the_full_blocks_of_each_prompt(file):
    trace = read_trace(file(MOONCAKE))
    assert (trace.kind, trace.block_tokens) == ("Mooncake", 512)
    assert trace.calls == (Call(0.0, 1100, 5, (7, 8)), Call(2.5, 512, 6, (7,)))


def test_blocks_of_another_size(file):
    rows = MOONCAKE.replace("}", ', "block_tokens": 256}').replace("[7]", "[7, 8, 9]")
    trace = read_trace(file(rows))
    assert (trace.kind, trace.block_tokens) == ("Mooncake", 256)
    assert trace.calls == (Call(0.0, 1100, 5, (7, 8, 9)), Call(2.5, 512, 6, (7, 8)))


def test_our_own_log_in_order_of_arrival_without_calls_that_failed(file):
    rows = [
        record("2026-01-01T00:00:02.000Z", "bob", 10, 20),
        record("2026-01-01T00:00:01.500Z", "eve", 30, 40),
        record("2026-01-01T00:00:00.000Z", "eve", 0, 0),
    ]
    trace = read_trace(file("\n\n".join(map(json.dumps, rows))))
    assert (trace.kind, trace.left_out) == ("call log", 1)
    assert trace.calls == (Call(0.0, 30, 40, tenant="eve"), Call(0.5, 10, 20, tenant="bob"))


@pytest.mark.parametrize("indent", [None, 2])
def test_what_the_admin_api_tells(file, indent):
    event = record("", "bob", 0, 0) | {"duration": 1.0, "ttft": 0.5}
    events = [{**event, "started_at": at, "usage": {"prompt_tokens": 3, "completion_tokens": int(at)}} for at in (1002.0, 1001.0)]
    trace = read_trace(file(json.dumps({"data": events, "object": "list"}, indent=indent)))
    assert trace.kind == "GET /admin/calls"
    assert trace.calls == (Call(0.0, 3, 1001, tenant="bob"), Call(1.0, 3, 1002, tenant="bob"))


@pytest.mark.parametrize(
    ("content", "line", "what"),
    [
        (AZURE + "2023-11-16 18:15:51,5", 4, "2 columns"),
        (AZURE + "yesterday,5,6", 4, "is no time"),
        (AZURE + "2023-11-16 18:15:51,many,6", 4, '"many" is no number of tokens'),
        (AZURE + "2023-11-16 18:15:51,-5,6", 4, "is no number of tokens"),
        (MOONCAKE + '{"timestamp": 1}', 3, "input_length"),
        (MOONCAKE.replace("}", ', "block_tokens": 0}'), 1, "block_tokens"),
        (MOONCAKE + '{"timestamp": 1, "input_length": 5, "output_length": 5, "block_tokens": 16}', 3, "stand for 16 tokens"),
        (MOONCAKE + '{"timestamp": 1, "input_length": -1, "output_length": 5}', 3, "-1 is no number"),
        (MOONCAKE + '{"timestamp": 1, "input_le', 3, "it is no call"),
        (json.dumps(record("noon", "bob", 1, 1)), 1, "is no time"),
        ("a,b,c\n1,2,3", 1, "no known format"),
        ('{"what": 1}', 1, "no known format"),
        ('{"data": [{"id": 1}]}', 1, "no known format"),
        ("{", 1, "no known format"),
        (AZURE.encode() + b"\xff\xff\n", 4, "UTF-8"),
        (gzip.compress(AZURE.encode(), mtime=0)[:-20], None, "breaks off"),
        ("", 0, "empty"),
        (AZURE.splitlines()[0], 0, "no call"),
        (AZURE.splitlines()[0] + "\n2023-11-16 18:15:51,5,0", 0, "no call"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_a_remedy(file, content, line, what):
    path = file(content)
    with pytest.raises(ConfigError) as caught:
        read_trace(path)
    error = caught.value
    assert what in error.message
    assert error.remedy
    assert error.file == str(path)
    assert line is None or error.line == line


def test_no_such_file(tmp_path):
    with pytest.raises(ConfigError, match="there is no such file"):
        read_trace(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_trace(tmp_path)
