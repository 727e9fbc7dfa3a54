"""What every Model must keep to, as checks that can be run against your own.

Each takes a function that makes a fresh model, whose answer to ``SAMPLE_CALL`` (or to the call that you give) is a good one of at
least one frame. A broken promise raises AssertionError with its name. ``within`` is the number of seconds that the model has.
"""

import asyncio
from collections.abc import Callable

from antiphon.core.ports import Handle, Model
from antiphon.core.types import Call, Frame
from antiphon.testing.recording_sink import RecordingSink

SAMPLE_CALL = Call(
    id="contract-1",
    endpoint="chat/completions",
    model="sample",
    body=b'{"model":"sample","stream":true,"messages":[{"role":"user","content":"one two three"}]}',
    stream=True,
)

_SETTLE = 0.05
"""Seconds for which a cancelled model is watched."""

MakeModel = Callable[[], Model]


async def check_model(make: MakeModel, call: Call = SAMPLE_CALL, within: float = 10.0) -> None:
    """All checks for a model that answers well."""
    check_shape(make)
    await check_ends_once(make, call, within)
    await check_cancel_silences(make, call)
    await check_cancel_inside_a_frame(make, call, within)
    await check_late_cancel_is_harmless(make, call, within)
    await check_pause_and_resume(make, call, within)


async def check_failing_model(make: MakeModel, call: Call = SAMPLE_CALL, within: float = 10.0) -> None:
    """For a model that cannot answer ``call``: it tells so once, by ``fail``, and ``start`` does not raise."""
    sink = RecordingSink()
    handle = _start(make(), call, sink)
    await _over(sink, within)
    assert sink.error is not None, "a model that cannot answer must call fail, not end"
    handle.cancel("late")
    await _settled(sink)


def check_shape(make: MakeModel) -> None:
    """A model has a name and the methods of the protocol."""
    model = make()
    assert isinstance(model, Model), f"{type(model).__name__} lacks name or start"
    assert model.name, "a model's name is a string that is not empty"


async def check_ends_once(make: MakeModel, call: Call = SAMPLE_CALL, within: float = 10.0) -> None:
    """Head first, then frames, then ``end`` or ``fail`` exactly once."""
    sink = RecordingSink()
    _start(make(), call, sink)
    await _over(sink, within)
    assert sink.error is None, f"the sample call should succeed; it failed: {sink.error}"
    assert sink.frames, "the sample call should be answered with at least one frame"
    await _settled(sink)


async def check_cancel_silences(make: MakeModel, call: Call = SAMPLE_CALL) -> None:
    """After ``cancel`` the sink hears nothing, and cancelling again does nothing."""
    sink = RecordingSink()
    handle = _start(make(), call, sink)
    handle.cancel("contract")
    heard = _heard(sink)
    handle.cancel("contract again")
    await _settled(sink)
    assert _heard(sink) == heard, "the sink was called after cancel"


async def check_cancel_inside_a_frame(make: MakeModel, call: Call = SAMPLE_CALL, within: float = 10.0) -> None:
    """A sink may cancel while it is being called, and then hears nothing more."""
    first = asyncio.get_running_loop().create_future()
    handles: list[Handle] = []

    def cancel_at_once(_: Frame) -> None:
        if handles:
            handles[0].cancel("from the sink")
        if not first.done():
            first.set_result(None)

    sink = RecordingSink(cancel_at_once)
    handles.append(_start(make(), call, sink))
    await asyncio.wait_for(first, within)
    handles[0].cancel("contract")
    heard = _heard(sink)
    await _settled(sink)
    assert _heard(sink) == heard, "the sink was called after a cancel that came from inside frame"


async def check_late_cancel_is_harmless(make: MakeModel, call: Call = SAMPLE_CALL, within: float = 10.0) -> None:
    """``cancel``, ``pause`` and ``resume`` after the end do nothing."""
    sink = RecordingSink()
    handle = _start(make(), call, sink)
    await _over(sink, within)
    heard = _heard(sink)
    handle.cancel("late")
    handle.pause()
    handle.resume()
    await _settled(sink)
    assert _heard(sink) == heard, "the sink was called after its end"


async def check_pause_and_resume(make: MakeModel, call: Call = SAMPLE_CALL, within: float = 10.0) -> None:
    """A call that was paused ends after ``resume``, and nothing of it is lost."""
    plain, held = RecordingSink(), RecordingSink()
    _start(make(), call, plain)
    await _over(plain, within)
    handle = _start(make(), call, held)
    handle.pause()
    await asyncio.sleep(0)
    handle.resume()
    await _over(held, within)
    assert held.error is None, f"a paused call failed: {held.error}"
    assert held.text == plain.text, "a paused call lost or gained text"


def _start(model: Model, call: Call, sink: RecordingSink) -> Handle:
    try:
        return model.start(call, sink)
    except Exception as error:
        raise AssertionError(f"start raised {error!r}; what goes wrong is told to sink.fail") from error


async def _over(sink: RecordingSink, within: float) -> None:
    try:
        await sink.wait(within)
    except TimeoutError:
        raise AssertionError(f"neither end nor fail came within {within:g} s") from None


async def _settled(sink: RecordingSink) -> None:
    """Silence can only be seen by waiting a moment."""
    await asyncio.sleep(_SETTLE)
    sink.check()


def _heard(sink: RecordingSink) -> tuple[int | None, int, bool]:
    return sink.status, len(sink.frames), sink.finished
