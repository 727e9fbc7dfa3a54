"""Reads recorded traffic: Azure's and Mooncake's public traces, and our own call log and ``GET /admin/calls``."""

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast

import msgspec

from antiphon.core.errors import ConfigError
from antiphon.core.events import CallFinished
from antiphon.observability.call_record import CallRecord
from antiphon.scheduling.simulator.scenario import Call

MOONCAKE_BLOCK = 512
"""Tokens that a hash of Mooncake's traces stands for, where they do not say."""
GZIP = b"\x1f\x8b"
KINDS = (
    "Azure's CSV (TIMESTAMP,ContextTokens,GeneratedTokens), Mooncake's JSON lines (timestamp, input_length, output_length,"
    " hash_ids), Antiphon's call log and the answer of GET /admin/calls"
)

Line = tuple[int, str]
"""Number, from 1, and text."""


class Trace(msgspec.Struct, frozen=True):
    """Recorded traffic."""

    kind: str
    """Whose format it has."""
    calls: tuple[Call, ...]
    """In order of arrival, the first at 0."""
    left_out: int
    """Recorded calls without a prompt or without an answer, such as those that failed."""
    block_tokens: int
    """Tokens of a prefix block; 0 where the trace knows none."""


class _Mooncake(msgspec.Struct, frozen=True):
    timestamp: float
    input_length: int
    output_length: int
    hash_ids: tuple[int, ...] = ()
    block_tokens: Annotated[int, msgspec.Meta(ge=1)] = MOONCAKE_BLOCK


class _Calls(msgspec.Struct, frozen=True):
    data: tuple[CallFinished, ...]


def read_trace(path: Path) -> Trace:
    """The calls of a file, compressed or not. Its format is found by what it holds. Raises ConfigError, with file and line."""
    with _open(path) as stream:
        lines = _lines(path, stream)
        first = next(lines, None)
        if first is None:
            raise ConfigError("the trace is empty", remedy="name another file", file=str(path))
        kind, block_tokens, calls = _by_kind(path, first, lines)
        read = sorted(calls, key=lambda call: call.arrived)
    kept = [call for call in read if call.prompt_tokens > 0 and call.output_tokens > 0]
    if not kept:
        raise ConfigError("no call of the trace has a prompt and an answer", remedy="name another file", file=str(path))
    begin = kept[0].arrived
    moved = tuple(msgspec.structs.replace(call, arrived=call.arrived - begin) for call in kept)
    return Trace(kind, moved, len(read) - len(kept), block_tokens)


def _open(path: Path) -> BinaryIO:
    try:
        with path.open("rb") as file:
            packed = file.read(2) == GZIP
        return cast("BinaryIO", gzip.open(path)) if packed else path.open("rb")
    except FileNotFoundError:
        raise ConfigError("there is no such file", remedy="check the path", file=str(path)) from None
    except OSError as error:
        raise ConfigError(
            f"the file cannot be read: {error.strerror}", remedy="check the path and its rights", file=str(path)
        ) from None


def _lines(path: Path, stream: BinaryIO) -> Iterator[Line]:
    """Lines that are not blank."""
    number = 0
    try:
        for number, data in enumerate(stream, 1):
            text = data.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            if text:
                yield number, text
    except UnicodeDecodeError:
        raise _wrong(path, number, "it is not UTF-8 text", "name a trace, or save it as UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        raise _wrong(path, number + 1, f"the file breaks off here ({error})", "fetch it again") from None


def _by_kind(path: Path, first: Line, lines: Iterator[Line]) -> tuple[str, int, Iterator[Call]]:
    number, text = first
    if not text.startswith("{"):
        columns = [name.strip().lower() for name in text.split(",")]
        if {"timestamp", "contexttokens", "generatedtokens"} <= set(columns):
            return "Azure", 0, _azure(path, columns, lines)
        raise _wrong(path, number, "it is of no known format", f"known: {KINDS}")
    keys = _keys(text)
    if "input_length" in keys:
        block_tokens = _block_tokens(text)
        return "Mooncake", block_tokens, _each(path, first, lines, partial(_mooncake, block_tokens))
    if "prompt_tokens" in keys:
        return "call log", 0, _each(path, first, lines, _call_log)
    if "data" in keys or not keys:
        return "GET /admin/calls", 0, _calls(path, [text, *(line for _, line in lines)])
    raise _wrong(path, number, "it is of no known format", f"known: {KINDS}")


def _keys(text: str) -> set[str]:
    """Names in a JSON object; none where it goes on on the next line."""
    try:
        return set(msgspec.json.decode(text, type=dict[str, msgspec.Raw]))
    except msgspec.MsgspecError:
        return set()


def _azure(path: Path, columns: list[str], lines: Iterator[Line]) -> Iterator[Call]:
    time, prompt, output = (columns.index(name) for name in ("timestamp", "contexttokens", "generatedtokens"))
    for number, text in lines:
        row = next(csv.reader([text]))
        try:
            yield Call(_seconds(row[time]), _count(row[prompt]), _count(row[output]))
        except IndexError:
            what = f"it has {len(row)} columns, and the first line names {len(columns)}"
            raise _wrong(path, number, what, "complete the line, or remove it") from None
        except ValueError as error:
            raise _wrong(path, number, str(error), "correct the line, or remove it") from None


def _each(path: Path, first: Line, lines: Iterator[Line], read: Callable[[str], Call]) -> Iterator[Call]:
    line: Line | None = first
    while line is not None:
        number, text = line
        try:
            yield read(text)
        except (msgspec.MsgspecError, ValueError) as error:
            raise _wrong(path, number, f"it is no call: {error}", "correct the line, or remove it") from None
        line = next(lines, None)


_decode_mooncake = msgspec.json.Decoder(_Mooncake).decode
_decode_record = msgspec.json.Decoder(CallRecord).decode


def _block_tokens(text: str) -> int:
    """What a hash of this trace stands for, by its first line; that line is read again, and told of where it is wrong."""
    try:
        return _decode_mooncake(text).block_tokens
    except msgspec.MsgspecError:
        return MOONCAKE_BLOCK


def _mooncake(block_tokens: int, text: str) -> Call:
    row = _decode_mooncake(text)
    if row.block_tokens != block_tokens:
        raise ValueError(f"its hashes stand for {row.block_tokens} tokens, and those of the first line for {block_tokens}")
    prompt = _not_negative(row.input_length)
    return Call(row.timestamp / 1000, prompt, _not_negative(row.output_length), row.hash_ids[: prompt // block_tokens])


def _call_log(text: str) -> Call:
    record = _decode_record(text)
    prompt, output = _not_negative(record.prompt_tokens), _not_negative(record.completion_tokens)
    return Call(_seconds(record.time), prompt, output, tenant=record.principal)


def _calls(path: Path, lines: list[str]) -> Iterator[Call]:
    try:
        found: Any = msgspec.json.decode("\n".join(lines), type=_Calls)
    except msgspec.MsgspecError as error:
        raise _wrong(path, 1, f"it is of no known format ({error})", f"known: {KINDS}") from None
    for event in found.data:
        yield Call(event.started_at, event.usage.prompt_tokens, event.usage.completion_tokens, tenant=event.principal)


def _seconds(text: str) -> float:
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f'"{text[:40]}" is no time of the form 2023-11-16 18:15:46.68') from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _count(text: str) -> int:
    try:
        return _not_negative(int(text))
    except ValueError:
        raise ValueError(f'"{text[:40]}" is no number of tokens') from None


def _not_negative(number: int) -> int:
    if number < 0:
        raise ValueError(f"{number} is no number of tokens")
    return number


def _wrong(path: Path, line: int, what: str, remedy: str) -> ConfigError:
    return ConfigError(what, remedy=remedy, file=str(path), line=line)
