import pytest

from antiphon.testing import Body, Comment, Cut, Delay, Done, Event, Gate, Header, Raw, Status, Wire
from antiphon.testing.playing import compile_script


def bytes_of(*steps, **wire):
    return b"".join(act for act in compile_script(steps, Wire(**wire)).acts if isinstance(act, bytes))


def head_of(*steps, **wire):
    return bytes_of(*steps, **wire).partition(b"\r\n\r\n")[0].decode()


def body_of(*steps, **wire):
    return bytes_of(*steps, **wire).partition(b"\r\n\r\n")[2]


def test_a_body_has_its_length_and_its_kind():
    assert head_of(Body({"a": 1})) == "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 7"
    assert body_of(Body({"a": 1})) == b'{"a":1}'


def test_events_are_chunked():
    assert "transfer-encoding: chunked" in head_of(Event("a"))
    assert body_of(Event("a"), Done()) == b"9\r\ndata: a\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


def test_an_event_has_all_its_fields_and_lines():
    assert (
        body_of(Event("a\nb", event="e", id="7"), Comment("c"), framing="close") == b"event: e\nid: 7\ndata: a\ndata: b\n\n: c\n\n"
    )


def test_crlf_inside_the_stream():
    assert body_of(Event("a"), framing="close", newline="\r\n") == b"data: a\r\n\r\n"


def test_a_stream_with_a_length():
    assert head_of(Event("a"), Event("b"), framing="length").endswith("content-length: 18")


def test_merged_events_share_a_chunk():
    assert body_of(*[Event("a")] * 3, merge=2) == b"12\r\ndata: a\n\ndata: a\n\n\r\n9\r\ndata: a\n\n\r\n0\r\n\r\n"
    assert body_of(*[Event("a")] * 3, merge=0).startswith(b"1b\r\n")


def test_status_and_headers_as_given():
    head = head_of(Status(418, "Short And Stout"), Header("x-a", "b"), Header("content-type", "text/plain"), Body("x"))
    assert head.split("\r\n") == ["HTTP/1.1 418 Short And Stout", "x-a: b", "content-type: text/plain", "content-length: 1"]


def test_an_unknown_status_has_a_reason_too():
    assert head_of(Status(599)).startswith("HTTP/1.1 599 Unknown\r\n")


def test_a_wrong_length_can_be_given():
    assert "content-length" in head_of(Header("Content-Length", "99"), Body("x")).lower()
    assert bytes_of(Header("content-length", "99"), Body("x")).count(b"content-length") == 1


def test_a_given_status_goes_before_the_delay_and_a_default_one_behind_it():
    early = compile_script([Status(200), Delay(1.0), Body("x")]).acts
    late = compile_script([Delay(1.0), Body("x")]).acts
    assert isinstance(early[0], bytes)
    assert isinstance(early[1], Delay)
    assert isinstance(late[0], Delay)


def test_raw_bytes_come_without_anything_of_ours():
    assert bytes_of(Raw(b"HTTP/1.1 banana\r\n\r\n")) == b"HTTP/1.1 banana\r\n\r\n"
    assert body_of(Event("a"), Raw(b"zz\r\n")) == b"9\r\ndata: a\n\n\r\nzz\r\n"


@pytest.mark.parametrize("steps", [[Cut()], [Gate(), Cut()]])
def test_a_cut_before_anything_sends_nothing(steps):
    assert bytes_of(*steps) == b""


def test_a_cut_stream_lacks_its_last_chunk():
    assert body_of(Event("a"), Cut()) == b"9\r\ndata: a\n\n\r\n"


def test_an_empty_script_is_an_empty_answer():
    assert head_of().endswith("content-length: 0")
