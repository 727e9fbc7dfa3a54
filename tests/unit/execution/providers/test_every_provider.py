"""What holds for every protocol that a row may name."""

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from antiphon.core.types import Call
from antiphon.execution.executor.translation import translated
from antiphon.execution.providers import PROVIDERS, Abilities, Provider, ProviderOptions, ProviderPlugin
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.transport.client import Origin
from antiphon.transport.deadlines import DeadlineWheel

EVERY: Any = pytest.mark.parametrize("protocol", PROVIDERS.names())
KEY = b"sk-of-the-vendor"
HELLO = {"model": "mine", "messages": [{"role": "user", "content": "hello"}]}


def connected(protocol: str, use: Callable[[Provider], Any], abilities: Abilities | None = None) -> Any:
    plugin: ProviderPlugin = PROVIDERS.load(protocol)

    async def connect() -> Any:
        origin, able = Origin.parse("https://vendor.eu-west-1.example"), abilities or plugin.abilities
        options = ProviderOptions("vendor", origin, "/root", KEY, "2024-10-21", abilities=able)
        return use(plugin.connect(options, DeadlineWheel(asyncio.get_running_loop())))

    return asyncio.run(connect())


@EVERY
def test_it_says_who_it_is_and_where(protocol: str) -> None:
    plugin: ProviderPlugin = PROVIDERS.load(protocol)
    assert plugin.title
    assert urlsplit(plugin.documentation).scheme == "https"
    url = urlsplit(plugin.url)
    assert not plugin.url or url.scheme == "https" or url.hostname == "127.0.0.1"
    assert not plugin.url.endswith("/")
    assert not plugin.models_path.startswith("/")


@EVERY
def test_its_key_is_shown_and_kept_a_secret(protocol: str) -> None:
    plugin: ProviderPlugin = PROVIDERS.load(protocol)
    options = ProviderOptions("vendor", Origin(), key=KEY, headers=((b"x-mine", b"1"),))
    headers = plugin.headers(options)
    assert (b"x-mine", b"1") in headers
    assert any(KEY in value for _, value in headers)
    assert KEY in connected(protocol, lambda provider: provider.server.secrets)


@EVERY
def test_a_call_is_prepared_for_what_it_says_it_can(protocol: str) -> None:
    def prepare(provider: Provider) -> bytes:
        call = Call("r1", "chat/completions", "mine", msgspec.json.encode(HELLO), dialect="openai")
        if call.endpoint not in provider.passing:
            call = translated(call, provider, "theirs").call
        prepared = provider.prepare(call, "theirs")
        assert b"theirs" in prepared.head + prepared.body
        assert b"mine" not in prepared.body
        return prepared.head

    if PROVIDERS.load(protocol).abilities.chat:
        head = connected(protocol, prepare)
        assert head.startswith(b"POST /root/")
        assert b"vendor.eu-west-1.example" in head


@EVERY
def test_what_its_row_takes_away_is_gone(protocol: str) -> None:
    nothing = Abilities(**dict.fromkeys(Abilities.__struct_fields__, False))

    def left(provider: Provider) -> Any:
        call = Call("r1", "chat/completions", "mine", msgspec.json.encode(HELLO), dialect="openai")
        assert "mine" in str(provider.server.lacking.endpoint(call))
        return [*provider.passing, provider.outbound.chat, provider.outbound.embedding, provider.outbound.rerank]

    assert connected(protocol, left, nothing) == [None, None, None]


@EVERY
def test_endpoints_that_pass_are_endpoints(protocol: str) -> None:
    assert set(connected(protocol, lambda provider: [*provider.passing])) <= set(ENDPOINTS)


def test_openais_own_servers_are_told_max_tokens_by_its_newer_name() -> None:
    plugin: ProviderPlugin = PROVIDERS.load("openai")

    async def sent(url: str) -> Any:
        options = ProviderOptions("vendor", Origin.parse(url), "/v1", abilities=plugin.abilities)
        provider = plugin.connect(options, DeadlineWheel(asyncio.get_running_loop()))
        call = Call("r1", "chat/completions", "mine", msgspec.json.encode({**HELLO, "max_tokens": 9}), dialect="openai")
        return msgspec.json.decode(provider.prepare(call, "mine").body)

    assert asyncio.run(sent("https://api.openai.com/v1")) == {**HELLO, "max_completion_tokens": 9}
    assert asyncio.run(sent("https://other.example/v1")) == {**HELLO, "max_tokens": 9}
