import msgspec
import pytest

from antiphon.core.errors import UpstreamBroken, UpstreamTimeout
from antiphon.core.ports import Model
from antiphon.core.types import Call, Usage
from antiphon.testing import Body, Cut, Delay, Event, Fail, FakeModel, Hang, Header, RecordingSink, Status


def make_call(text="one two three", endpoint="chat/completions", stream=False, **more):
    body = {"model": "m", "stream": stream, **more}
    body |= {"prompt": text} if endpoint == "completions" else {"messages": [{"role": "user", "content": text}]}
    return Call(id="c1", endpoint=endpoint, model="m", body=msgspec.json.encode(body), stream=stream)


def start(model, call=None, sink=None):
    sink = sink or RecordingSink()
    return model.start(call or make_call(), sink), sink


def test_it_is_a_model():
    assert isinstance(FakeModel(), Model)


@pytest.mark.parametrize("endpoint", ["chat/completions", "completions"])
@pytest.mark.parametrize("stream", [False, True])
def test_without_a_script_it_echoes(endpoint, stream):
    _, sink = start(FakeModel(), make_call("salut, le monde", endpoint, stream))
    assert sink.text == "salut, le monde"
    assert sink.ended
    assert sink.status == 200


def test_usage_of_a_whole_answer_ends_the_call():
    _, sink = start(FakeModel())
    assert sink.usage == Usage(3, 3, 6)


def test_the_usage_chunk_comes_only_if_asked():
    _, plain = start(FakeModel(), make_call(stream=True))
    _, asked = start(FakeModel(), make_call(stream=True, stream_options={"include_usage": True}))
    assert plain.usage is None
    assert asked.usage == Usage(3, 3, 6)
    assert asked.events[-1] == "[DONE]"
    assert asked.events[-2]["choices"] == []


def test_scripts_answer_in_order_and_then_it_echoes_again():
    model = FakeModel().chat("first").fail(UpstreamTimeout(), times=2).chat("last")
    sinks = [start(model)[1] for _ in range(5)]
    assert [sink.text for sink in sinks] == ["first", "", "", "last", "one two three"]
    assert isinstance(sinks[1].error, UpstreamTimeout)
    assert sinks[1].status is None


def test_a_script_for_all_that_follow():
    model = FakeModel().chat("same", times=None)
    assert {start(model)[1].text for _ in range(4)} == {"same"}


def test_each_event_is_a_frame_and_delays_wait_for_advance():
    model = FakeModel().script(Event("a"), Delay(1.0), Event("b"), Delay(2.0), Event("c"))
    _, sink = start(model)
    seen = [len(sink.frames)]
    for seconds in (0.5, 0.5, 1.9, 0.1):
        model.advance(seconds)
        seen.append(len(sink.frames))
    assert seen == [1, 1, 2, 2, 3]
    assert sink.ended
    assert sink.body == b"data: a\n\ndata: b\n\ndata: c\n\n"


def test_it_fails_in_the_middle():
    _, sink = start(FakeModel().script(Status(200), Header("X-A", "1"), Event("a"), Fail(UpstreamTimeout()), Event("never")))
    assert isinstance(sink.error, UpstreamTimeout)
    assert len(sink.frames) == 1
    assert (b"x-a", b"1") in sink.headers


def test_a_cut_is_a_broken_answer():
    _, sink = start(FakeModel().script(Event("a"), Cut()))
    assert isinstance(sink.error, UpstreamBroken)


def test_cancel_is_recorded_and_silences():
    model = FakeModel().script(Event("a"), Delay(1.0), Event("b"))
    handle, sink = start(model)
    assert model.running == 1
    handle.cancel("client gone")
    handle.cancel("again")
    model.advance(5.0)
    assert len(sink.frames) == 1
    assert not sink.finished
    assert model.calls[0].cancelled == "client gone"
    assert model.running == 0


def test_a_late_cancel_is_not_recorded():
    model = FakeModel()
    handle, _ = start(model)
    handle.cancel("late")
    assert model.calls[0].cancelled is None


def test_pause_holds_the_frames_back():
    model = FakeModel().script(Event("a"), Delay(1.0), Event("b"))
    handle, sink = start(model)
    handle.pause()
    model.advance(5.0)
    assert len(sink.frames) == 1
    handle.resume()
    assert sink.ended
    assert model.calls[0].pauses == 1


def test_a_sink_may_cancel_from_inside():
    model = FakeModel().script(Delay(0.0), Event("a"), Event("b"))
    handles = []
    sink = RecordingSink(lambda _: handles[0].cancel("enough"))
    handles.append(model.start(make_call(), sink))
    model.advance(0.0)
    assert len(sink.frames) == 1
    assert not sink.finished


def test_a_hanging_model_says_nothing_until_cancelled():
    model = FakeModel().script(Hang())
    handle, sink = start(model)
    model.advance(1e6)
    assert sink.status is None
    handle.cancel("deadline")
    assert model.calls[0].cancelled == "deadline"


def test_a_script_can_look_at_the_call():
    model = FakeModel().script(lambda call: [Body({"said": call.model})], times=None)
    assert msgspec.json.decode(start(model)[1].body) == {"said": "m"}


def test_frames_carry_the_decoder():
    model = FakeModel(decode=lambda raw: raw.upper())
    _, sink = start(model.script(Body("a")))
    assert sink.frames[0].view() == b"A"


def test_a_mixed_script_is_refused():
    with pytest.raises(TypeError, match="one function"):
        FakeModel().script(Event("a"), lambda call: [])
