"""What answers in place of a route's main model: a lighter model first or at once a fixed text, and callers are told."""

from antiphon.core.errors import AntiphonError
from antiphon.core.ports import Handle, Model, Sink
from antiphon.core.types import Call, Routing
from antiphon.dispatch.chain import Chain
from antiphon.scheduling.job import Degrade


class Ways:
    """The ways down of one route. The lighter model may be a route of its own, so it is known once all routes are."""

    def __init__(self, name: str, template: Model | None) -> None:
        self.name = name
        """Of the lighter model; empty where there is none."""
        self.model: Model | None = None
        self._template = template

    def start(self, decision: Degrade, call: Call, sink: Sink, routing: Routing) -> Handle:
        """Have it answered. Where the lighter model fails before its first content, the fixed text answers."""
        told = f"reason={decision.reason}; score={decision.score:.2f}"
        ways: list[Model] = []
        if decision.way == "model" and self.model is not None:
            ways.append(_Noted(self.model, routing, f"model={self.name}; {told}"))
        if self._template is not None and decision.job.takes_text:
            ways.append(_Noted(self._template, routing, f"answer=template; {told}"))
        return Chain(call.model, ways, falls_back=_always).start(call, sink)


class _Noted:
    """A way down, which is noted in the call's routing when it is taken."""

    def __init__(self, model: Model, routing: Routing, words: str) -> None:
        self._model = model
        self._routing = routing
        self._words = words

    @property
    def name(self) -> str:
        return self._model.name

    def start(self, call: Call, sink: Sink) -> Handle:
        self._routing.degraded = self._words
        return self._model.start(call, sink)


def _always(error: AntiphonError) -> bool:
    """Whatever befell the lighter model, the fixed text can be said."""
    del error
    return True
