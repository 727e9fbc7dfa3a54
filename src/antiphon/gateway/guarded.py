"""What stands between a model and its caller where a call is guarded: the sink of the one, before the exchange of the other."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

from antiphon.core.errors import AntiphonError, GuardrailsUnavailable, InternalError, UpstreamBroken
from antiphon.core.types import Frame, Headers, Usage
from antiphon.execution.wire.said import Channel, Speech, Spot, is_words
from antiphon.gateway.exchange import Exchange
from antiphon.governance.guarding.masks import Masks
from antiphon.governance.guarding.rules import ALONE, Acts, Known, Rule, microseconds
from antiphon.governance.guarding.streams import StreamGuard
from antiphon.governance.guarding.texts import OutputGuard, TextCollector, changed_leaves
from antiphon.transport import sse

_EVENTS: Final = b"text/event-stream"
_LINES: Final = b"application/x-ndjson"
_JSON: Final = b"application/json"
_TEXT: Final = b"text/plain"
_DONE: Final = "[DONE]"
MOST_ARGUMENTS: Final = 4 << 20
"""Characters of the arguments of one call, which are guarded as a whole, since they are JSON."""
_compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


ON_THE_LOOP: Final = 300.0
"""Microseconds that looking at a text may take on the loop; what would take longer is looked at elsewhere."""


class Guard(Protocol):
    """Guards texts."""

    def text(self, text: str) -> str: ...
    def json(self, text: str) -> str: ...


class Finder(Protocol):
    """Looks at texts elsewhere."""

    def find(self, rules: Sequence[Rule], texts: Sequence[str], then: Callable[[Known | None], None]) -> None:
        """Have texts looked at by rules. ``then`` is told what was found, or None where nobody said, maybe before this returns."""


class OutputRules(NamedTuple):
    """What guards the answer to one call."""

    rules: tuple[Rule, ...]
    masks: Masks
    acts: Acts
    finder: Finder | None = None
    """Looks at long texts; without one they are looked at here."""


class _Guards:
    """Guards the words of an answer, and whatever else a model says."""

    def __init__(self, rules: tuple[Rule, ...], masks: Masks, acts: Acts) -> None:
        self.words = OutputGuard(rules, masks, acts)
        others = tuple(rule for rule in rules if not rule.words_only)
        self.others = OutputGuard(others, masks, acts)

    def of(self, spot: Spot) -> OutputGuard:
        """What guards a text."""
        return self.words if is_words(spot) else self.others

    def know(self, known: Known) -> None:
        """Go by what was found elsewhere."""
        self.words.known = self.others.known = known


class _Whole:
    """An answer in one piece."""

    def __init__(self, body: bytes, kind: bytes, speech: Speech) -> None:
        self._speech = speech
        self._body = body
        self._text = body.decode("utf-8", "replace") if kind == _TEXT else None
        self._answer = _decoded(body) if kind == _JSON else {}
        self._spots = list(speech.whole(self._answer))

    def texts(self) -> list[str]:
        """All that it says."""
        collector = TextCollector()
        for spot in self._spots:
            put(collector, spot)
        return [*collector.texts, *([self._text] if self._text is not None else [])]

    def guarded(self, guards: _Guards, *, forget: bool) -> bytes:
        """The answer as its caller may see it, without single tokens where these are to be forgotten. Raises ContentBlocked."""
        if self._text is not None:
            return guards.words.text(self._text).encode("utf-8", "replace")
        changed = [put(guards.of(spot), spot) for spot in self._spots]
        forgot = forget and self._speech.forget_tokens(self._answer)
        return _encoded(self._answer) if forgot or any(changed) else self._body


class _Open:
    """A channel that has begun."""

    __slots__ = ("arguments", "event", "guard", "length")

    def __init__(self, guard: StreamGuard | None, event: dict[str, Any]) -> None:
        self.guard = guard
        """None for JSON, which is gathered."""
        self.event = event
        """The last event that brought a piece of it."""
        self.arguments: list[str] = []
        self.length = 0


class Guarded:
    """Guards one answer: takes it from a model and gives ``exchange`` what its caller may see."""

    def __init__(self, exchange: Exchange, speech: Speech, rules: OutputRules) -> None:
        self._exchange = exchange
        self._speech = speech
        self._rules = rules.rules
        self._masks = rules.masks
        self._acts = rules.acts
        self._finder = rules.finder
        self._whole = _Guards(rules.rules, rules.masks, rules.acts)
        self._again = _Guards(rules.rules, rules.masks, Acts()) if speech.repeats else self._whole
        """Looks at what was looked at before, piece by piece: it does not count."""
        self._changes = bool(rules.masks) or any(rule.mode != "observe" for rule in rules.rules)
        self._open: dict[Channel, _Open] = {}
        self._head: tuple[int, Headers] | None = None
        self._type = b""
        self._body: list[bytes] = []
        self._number: int | None = None
        """``sequence_number`` of the next event, in the dialect that counts them."""
        self._over = False

    # -- sink of the model

    def head(self, status: int, headers: Headers) -> None:
        self._head = (status, headers)
        kind = next((value for name, value in headers if name == b"content-type"), b"")
        self._type = kind.partition(b";")[0].strip().lower()

    def frame(self, frame: Frame) -> None:
        if self._over:
            return
        if self._type not in (_EVENTS, _LINES):
            if self._type in (_JSON, _TEXT):
                self._body.append(frame.raw)
            else:
                self._pass_on(frame)  # sounds and the like
            return
        said = self._exchange.events + (frame.raw.count(b"data:") or 1)  # by the model, whatever becomes of it
        try:
            raw = b"".join(self._events(frame.raw))
        except AntiphonError as error:
            self._exchange.events = said
            self._stop(error)
            return
        if raw:
            self._pass_on(Frame(raw, frame.content, frame.dialect))
        self._exchange.events = said

    def end(self, usage: Usage | None) -> None:
        if self._over:
            return
        if usage is not None:
            self._exchange.usage = usage
        try:
            if self._body:
                self._guard_whole(_Whole(b"".join(self._body), self._type, self._speech), usage)
            else:
                self._end(b"".join(self._rest(())), usage)
        except AntiphonError as error:
            self._stop(error)

    def fail(self, error: AntiphonError) -> None:
        if self._over:
            return
        self._over = True
        if self._exchange.started:
            try:
                raw = b"".join(self._rest(()))
            except AntiphonError as blocked:
                error, raw = blocked, b""
            if raw:
                self._exchange.frame(Frame(raw))
        self._exchange.fail(error)

    # -- inside

    def _pass_head(self) -> None:
        if self._head is not None:
            head, self._head = self._head, None
            self._exchange.head(*head)

    def _pass_on(self, frame: Frame) -> None:
        self._pass_head()
        self._exchange.frame(frame)

    def _stop(self, error: AntiphonError) -> None:
        self._over = True
        self._open.clear()
        self._exchange.stop(error)

    def _end(self, raw: bytes, usage: Usage | None) -> None:
        self._over = True
        if raw:
            self._pass_on(Frame(raw))
        else:
            self._pass_head()
        self._exchange.end(usage)

    def _guard_whole(self, whole: _Whole, usage: Usage | None) -> None:
        """Guard an answer in one piece, and pass it on; a long one is looked at elsewhere."""
        texts = whole.texts()
        if self._finder is None or microseconds(self._rules, texts) <= ON_THE_LOOP:
            self._end(whole.guarded(self._whole, forget=self._changes), usage)
            return

        def then(known: Known | None) -> None:
            if self._over or self._exchange.closed:
                return
            try:
                if known is None and microseconds(self._rules, texts) > ALONE:
                    raise GuardrailsUnavailable(
                        "the answer is long, and the process that looks at long texts is away or has too much to do"
                    )
                self._whole.know(known or {})
                self._end(whole.guarded(self._whole, forget=self._changes), usage)
            except AntiphonError as error:
                self._stop(error)
            except Exception:
                self._stop(InternalError())
                raise

        self._finder.find(self._rules, texts, then)

    def _events(self, raw: bytes) -> Iterator[bytes]:
        if self._type == _LINES:
            for line in raw.splitlines(keepends=True):
                if line.strip():
                    yield from self._event(line, line, "")
                else:
                    yield line
            return
        for one in sse.split(raw):
            parsed = sse.parse(one)
            if not parsed:
                yield one
            elif parsed[0].data == _DONE:
                yield from self._rest(())
                yield one
            else:
                yield from self._event(one, parsed[0].data, parsed[0].event)

    def _event(self, raw: bytes, data: str | bytes, name: str) -> Iterator[bytes]:
        """One event as its caller may see it, behind what has to go before it."""
        event = _decoded(data)
        speech = self._speech
        spots = list(speech.pieces(event))
        here = {spot.channel for spot in spots if spot.channel is not None}
        ending: set[Channel] = set()
        for prefix in speech.ends(event):
            yield from self._rest(prefix, here)
            ending.update(channel for channel in here if channel[: len(prefix)] == prefix)
        changed = False
        said = False
        for spot in spots:
            if spot.channel is None:
                changed = put(self._again.of(spot), spot) or changed
                said = True
                continue
            before = spot.holder[spot.key]
            after = self._piece(event, spot, before)
            if spot.channel in ending:
                after += self._finish(spot.channel)
            spot.holder[spot.key] = after
            changed = changed or before != after
            said = said or bool(after)
        if changed and not said and speech.bare(event):
            return
        changed = (self._changes and speech.forget_tokens(event)) or changed
        changed = self._numbered(event) or changed
        yield self._written(event, name) if changed else raw

    def _piece(self, event: dict[str, Any], spot: Spot, piece: str) -> str:
        """Take a piece of a channel; what may be passed on of it."""
        assert spot.channel is not None
        channel = self._open.get(spot.channel)
        if channel is None:
            rules = self._whole.of(spot).rules
            guard = StreamGuard(rules, self._masks, self._acts) if spot.form == "text" else None
            channel = self._open[spot.channel] = _Open(guard, event)
        channel.event = event
        if channel.guard is not None:
            return channel.guard.feed(piece)
        channel.arguments.append(piece)
        channel.length += len(piece)
        if channel.length > MOST_ARGUMENTS:
            raise UpstreamBroken(f"the arguments of a call have more than {MOST_ARGUMENTS} characters, too many to be guarded")
        return ""

    def _finish(self, name: Channel) -> str:
        """End a channel: what is left of it."""
        channel = self._open.pop(name)
        return channel.guard.finish() if channel.guard is not None else self._whole.others.json("".join(channel.arguments))

    def _rest(self, prefix: Channel, but: set[Channel] | frozenset[Channel] = frozenset()) -> Iterator[bytes]:
        """End the channels that begin with this; events with what is left of them."""
        for name in [each for each in self._open if each[: len(prefix)] == prefix and each not in but]:
            event = self._open[name].event
            if text := self._finish(name):
                further = self._speech.more(event, name, text)
                self._speech.forget_tokens(further)
                self._numbered(further)
                yield self._written(further, str(further.get("type", "")))

    def _numbered(self, event: dict[str, Any]) -> bool:
        """Number an event anew where its dialect numbers them; whether that changed it."""
        number = event.get("sequence_number")
        if not isinstance(number, int):
            return False
        self._number = number if self._number is None else self._number
        event["sequence_number"], self._number = self._number, self._number + 1
        return bool(number != event["sequence_number"])

    def _written(self, event: dict[str, Any], name: str) -> bytes:
        data = _encoded(event)
        if self._type == _LINES:
            return data + b"\n"
        named = self._exchange.dialect != "openai" and name
        return (b"event: %b\n" % name.encode() if named else b"") + sse.encode(data)


def put(guard: Guard, spot: Spot) -> bool:
    """Guard a text that is there as a whole; whether it changed."""
    before = spot.holder[spot.key]
    if spot.form == "tree":
        after = changed_leaves(before, guard.text)
    else:
        after = guard.json(before) if spot.form == "json" else guard.text(before)
    spot.holder[spot.key] = after
    return bool(before != after)


def _decoded(data: str | bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise UpstreamBroken("the model's server sent what is no JSON, and cannot be guarded") from None
    return value if isinstance(value, dict) else {}


def _encoded(value: dict[str, Any]) -> bytes:
    try:
        return _compact(value).encode()
    except UnicodeEncodeError:  # half a character, which an escape can carry and UTF-8 cannot
        return json.dumps(value, separators=(",", ":")).encode()
