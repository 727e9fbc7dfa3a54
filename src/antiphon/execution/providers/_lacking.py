"""What is said to callers who ask for something that a server cannot do."""

from collections.abc import Mapping

from antiphon.core.errors import UnsupportedParameter
from antiphon.core.types import Call
from antiphon.execution.wire.endpoints import ENDPOINTS

MAX_SHOWN = 8
"""Names of other models in an error."""


class Lacking:
    """Knows which models can do what one cannot."""

    def __init__(self, elsewhere: Mapping[str, tuple[str, ...]]) -> None:
        self._elsewhere = elsewhere

    def endpoint(self, call: Call) -> UnsupportedParameter:
        """The error for an endpoint that the model's server does not serve."""
        endpoint = ENDPOINTS[call.endpoint]
        what = f'model "{call.model}" does not serve {endpoint.path}'
        return UnsupportedParameter(what, remedy=self._who_can(endpoint.ability), param="model")

    def field(self, call: Call, name: str, ability: str) -> UnsupportedParameter:
        """The error for a field of a request."""
        what = f'model "{call.model}" does not support `{name}`'
        return UnsupportedParameter(what, remedy=f"leave it out; {self._who_can(ability)}", param=name)

    def _who_can(self, ability: str) -> str:
        able = self._elsewhere.get(ability, ())
        return f"ask one that does: {', '.join(able[:MAX_SHOWN])}" if able else "no model here does"
