"""What becomes of an ability between a dialect and a protocol, as far as it can be told without a server."""

import asyncio
from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.core.types import Call
from antiphon.execution.executor.translation import translated
from antiphon.execution.providers import PROVIDERS, Provider, ProviderOptions, ProviderPlugin, _local
from antiphon.execution.providers._vendor import Vendor
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.testing.matrix.abilities import ABILITIES, Ability
from antiphon.testing.matrix.callers import CALLERS, Caller
from antiphon.testing.matrix.players import PLAYERS, Player
from antiphon.testing.matrix.telling import Answer
from antiphon.transport.client import Origin
from antiphon.transport.deadlines import DeadlineWheel

Fate = Literal["passed", "translated", "refused", "no words", "cannot answer"]
MODEL: Final = "mock-model"
ENGINE: Final = "engine"
"""The built-in engine, which stands among the protocols though no row of configuration names it; its model is called so too."""


class Cell(msgspec.Struct, frozen=True):
    """One ability of one pair."""

    dialect: str
    protocol: str
    ability: Ability
    fate: Fate
    refusal: str = ""
    """What the caller is told, where it is refused."""

    def __str__(self) -> str:
        return f"{self.dialect}-{self.protocol}-{self.ability.name.replace(' ', '_')}"


def is_preset(protocol: str) -> bool:
    """Whether a protocol is a vendor's name for OpenAI's dialect with that vendor's words."""
    return protocol != ENGINE and isinstance(PROVIDERS.load(protocol), Vendor)


def player_of(protocol: str) -> Player:
    """Who plays servers of a protocol. Raises LookupError telling which file is missing."""
    known = PLAYERS.names()
    name = "openai" if protocol not in known and is_preset(protocol) else protocol
    if name not in known:
        raise LookupError(f'nobody plays servers of protocol "{protocol}": add src/antiphon/testing/matrix/players/{protocol}.py')
    player: Player = PLAYERS.load(name)
    return player


def cells() -> list[Cell]:
    """Those of chats, dialect by dialect, for every protocol that chats; a preset is met by callers of two dialects."""
    chatting = {protocol: provider for protocol, provider in providers().items() if _chats(provider)}
    return [cell for dialect in CALLERS.names() for cell in _of_dialect(dialect, chatting)]


def providers() -> dict[str, Provider]:
    """A provider of each protocol, with all that the protocol gives, and the engine's; none is ever asked."""

    async def connected() -> dict[str, Provider]:
        wheel = DeadlineWheel(asyncio.get_running_loop())
        found = {protocol: _connected(protocol, wheel) for protocol in PROVIDERS.names()} | {ENGINE: _engine(wheel)}
        return {protocol: found[protocol] for protocol in sorted(found)}

    return asyncio.run(connected())


def _chats(provider: Provider) -> bool:
    return provider.outbound.chat is not None or any(ENDPOINTS[endpoint].chat is not None for endpoint in provider.passing)


def _connected(protocol: str, wheel: DeadlineWheel) -> Provider:
    plugin: ProviderPlugin = PROVIDERS.load(protocol)
    row = player_of(protocol).row("") if plugin.abilities.chat else {"url": "", "key": "sk-key"}
    options = ProviderOptions("server", Origin(), row["url"], row["key"].encode(), abilities=plugin.abilities)
    return plugin.connect(options, wheel)


def _engine(wheel: DeadlineWheel) -> Provider:
    plugin: ProviderPlugin = PROVIDERS.load("openai")
    return plugin.connect(ProviderOptions(ENGINE, Origin(), "/v1", abilities=_local.ENGINE, local=True), wheel)


def _of_dialect(dialect: str, providers: dict[str, Provider]) -> Iterator[Cell]:
    caller: Caller = CALLERS.load(dialect)
    for protocol, provider in providers.items():
        if is_preset(protocol) and dialect not in ("openai", "anthropic"):
            continue
        player = player_of(protocol)
        for ability in ABILITIES:
            fate, refusal = _fate(caller, provider, player, ability)
            yield Cell(dialect, protocol, ability, fate, refusal)


def _fate(caller: Caller, provider: Provider, player: Player, ability: Ability) -> tuple[Fate, str]:
    body = caller.request(ability.ask, stream=False)
    if body is None:
        return "no words", ""
    if isinstance(ability.answer, Answer) and player.whole(ability.answer) is None:
        return "cannot answer", ""
    dialect = ENDPOINTS[caller.endpoint].caller.name
    call = Call("r1", caller.endpoint, MODEL, msgspec.json.encode(body), dialect=dialect)
    passes = caller.endpoint in provider.passing
    try:
        provider.prepare(call if passes else translated(call, provider, MODEL).call, MODEL)
    except AntiphonError as error:
        return "refused", str(error).removesuffix("; no model here does")
    return "passed" if passes else "translated", ""
