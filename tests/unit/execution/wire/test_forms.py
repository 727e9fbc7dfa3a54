"""Forms with files: the model's name is found and exchanged, and nothing else is touched."""

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.core.errors import AntiphonError, InvalidRequest
from antiphon.execution.wire.openai.form import MAX_PARTS, is_form, read_form, with_model

TYPE = b"multipart/form-data; boundary=xyz"


def part(name: str, value: bytes, more: str = "") -> bytes:
    return b'--xyz\r\nContent-Disposition: form-data; name="%b"%b\r\n\r\n%b\r\n' % (name.encode(), more.encode(), value)


def form(*parts: bytes) -> bytes:
    return b"".join((*parts, b"--xyz--\r\n"))


FILE = part("file", b"\r\n--xy\x00\xff--\r\n", '; filename="a.wav"\r\nContent-Type: audio/wav')


def test_the_model_is_found_wherever_it_stands() -> None:
    for body in (form(part("model", b"whisper"), FILE), form(FILE, part("model", b"whisper"))):
        found = read_form(body, TYPE)
        assert (found.model, found.stream) == ("whisper", False)
        assert body[found.begin : found.end] == b"whisper"


def place_of(body: bytes) -> tuple[int, int]:
    found = read_form(body, TYPE)
    return found.begin, found.end


def test_its_name_is_exchanged_and_all_other_bytes_stay() -> None:
    for parts in ((part("model", b"whisper"), FILE), (FILE, part("model", b"whisper"))):
        body = form(*parts)
        renamed = with_model(body, place_of(body), "größer/whisper-large")
        assert renamed == body.replace(b"whisper", "größer/whisper-large".encode())
        assert read_form(renamed, TYPE).model == "größer/whisper-large"


@pytest.mark.parametrize(("value", "streams"), [(b"true", True), (b"True", True), (b"1", True), (b"false", False), (b"", False)])
def test_whether_to_stream_is_read(value: bytes, streams: bool) -> None:
    assert read_form(form(part("model", b"m"), part("stream", value)), TYPE).stream is streams


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (form(FILE), "model"),
        (form(part("model", b"")), "model"),
        (form(part("model", b"\xff")), "model"),
        (form(part("model", b"m" * 2000)), "model"),
        (form(part("model", b"a"), part("model", b"b")), "model"),
        (form(part("model", b"a", '; filename="model"')), "model"),
        (form(part("model", b"m"), part("base_url", b"http://10.0.0.1")), "base_url"),
        (form(part("model", b"m"), part("api_base", b"")), "api_base"),
        (form(*(part("x", b"") for _ in range(MAX_PARTS + 1))), None),
        (part("model", b"m"), None),
        (b"", None),
        (b"{}", None),
        (b"--xyz\r\nbroken", None),
        (b"--xyz\r\n" + b"x" * 100_000 + b": y\r\n\r\n", None),
    ],
)
def test_what_is_wrong_with_a_form_is_named(body: bytes, param: str | None) -> None:
    with pytest.raises(InvalidRequest) as told:
        read_form(body, TYPE)
    assert told.value.param == param
    assert told.value.remedy


@pytest.mark.parametrize("content_type", [b"multipart/form-data", b"multipart/form-data; boundary=", b"multipart/form-data; x"])
def test_a_form_without_a_boundary_is_refused(content_type: bytes) -> None:
    with pytest.raises(InvalidRequest, match="boundary"):
        read_form(form(part("model", b"m")), content_type)


def test_what_is_a_form_is_told_by_its_type() -> None:
    assert is_form(b"Multipart/Form-Data; boundary=x")
    assert not is_form(b"application/json")
    assert not is_form(b"")


def test_what_a_client_sends_is_read() -> None:
    request = httpx2.Request(
        "POST",
        "http://x",
        data={"model": "whisper-1", "stream": "true", "include[]": ["logprobs"]},
        files=[("file", ('a"b.wav', b"\r\n\r\n--", "audio/wav")), ("image[]", ("c.png", b"x" * 100_000))],
    )
    found = read_form(request.read(), request.headers["content-type"].encode())
    assert (found.model, found.stream) == ("whisper-1", True)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=80), st.binary(max_size=30), st.integers(0, 200))
def test_no_bytes_are_a_crash(noise: bytes, content_type: bytes, place: int) -> None:
    whole = form(part("model", b"m"), FILE)
    for body in (noise, whole[:place] + noise + whole[place:], whole[:place]):
        for kind in (TYPE, b"multipart/form-data; boundary=" + content_type):
            try:
                found = read_form(body, kind)
            except AntiphonError as error:
                assert isinstance(error, InvalidRequest)  # noqa: PT017  # either outcome is right, a third is not
            else:
                assert body[found.begin : found.end].decode() == found.model
