"""What AWS's own library says of Bedrock's requests and frames: its service model, its validator, its serialiser, its parser."""

import base64
import json
import struct
from binascii import crc32
from functools import cache
from typing import Any

import botocore.session
from botocore.eventstream import EventStream
from botocore.model import ServiceModel, Shape, StructureShape
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from botocore.validate import validate_parameters

MODEL = "anthropic.claude-sonnet-4-5-20250929-v1:0"


@cache
def service() -> ServiceModel:
    return botocore.session.get_session().get_service_model("bedrock-runtime")


def check_request(body: dict[str, Any], operation: str = "Converse") -> None:
    """Fails unless the library takes the request, and would have sent the very same."""
    model = service().operation_model(operation)
    given = {"modelId": MODEL, **_without_base64(body, model.input_shape)}
    validate_parameters(given, model.input_shape)
    sent = create_serializer("rest-json").serialize_to_request(given, model)
    assert json.loads(sent["body"]) == body


def _without_base64(value: Any, shape: Shape) -> Any:
    """The value as Python code would give it: blobs as bytes."""
    match shape.type_name:
        case "structure" if isinstance(shape, StructureShape) and not getattr(shape, "is_document_type", False):
            assert isinstance(value, dict)
            return {name: _without_base64(inner, shape.members[name]) for name, inner in value.items()}
        case "list":
            return [_without_base64(inner, shape.member) for inner in value]
        case "blob":
            return base64.b64decode(value, validate=True)
    return value


def frame(name: str, payload: Any, kind: str = "event") -> bytes:
    """One frame as Bedrock sends it."""
    told = {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}
    return raw_frame(told, payload if isinstance(payload, bytes) else json.dumps(payload).encode())


def raw_frame(headers: dict[str, str], payload: bytes) -> bytes:
    fields = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack("!H", len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack("!II", 12 + len(fields) + len(payload) + 4, len(fields))
    message = prelude + struct.pack("!I", crc32(prelude)) + fields + payload
    return message + struct.pack("!I", crc32(message))


class _Body:
    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def stream(self) -> list[bytes]:
        return [self._raw]

    def close(self) -> None: ...


def parsed_stream(raw: bytes) -> list[dict[str, Any]]:
    """What the library makes of a stream."""
    shape = service().operation_model("ConverseStream").output_shape.members["stream"]
    parser = create_parser("rest-json")
    return list(EventStream(_Body(raw), shape, parser._event_stream_parser, "ConverseStream"))


def parsed_answer(body: bytes) -> dict[str, Any]:
    """What the library makes of an answer in one piece."""
    shape = service().operation_model("Converse").output_shape
    told: dict[str, Any] = create_parser("rest-json").parse({"status_code": 200, "headers": {}, "body": body}, shape)
    return told
