"""What ``protocol`` of a provider's row may name: found where the plugins are, and written as a page of the documentation."""

from collections.abc import Iterable
from typing import Final

import msgspec

from antiphon.core.errors import ConfigError
from antiphon.execution.providers import PROVIDERS, Abilities, ProviderPlugin
from antiphon.execution.providers._words import PLAIN, Words

_HEAD: Final = """\
# Protocols

What `protocol` of a provider's row may name: what its servers speak, or the vendor or program that it is. Left out, it is `openai`.
`antiphon config protocols` lists them; this page is what it writes with `--markdown`.

- **address**: where calls go unless the row has a `url`; where there is none, the row needs one
- **capabilities**: `+` what servers of the protocol can do beside the usual, `-` what of the usual they cannot, so calls for it are
  refused by name; a row that knows better says so with `capabilities`
- **put otherwise**: what has an exact equal in the vendor's words, and in which words translated calls ask for thinking
"""
_USUAL: Final = Abilities()
_UNUSUAL: Final = frozenset(name for name in Abilities.__struct_fields__ if not getattr(_USUAL, name))
_THINKING: Final = {
    "effort": "`reasoning_effort`",
    "thinking": "`thinking`",
    "thinking_effort": "`thinking` and `reasoning_effort`",
    "enable_thinking": "`enable_thinking` and `thinking_budget`",
    "reasoning": "`reasoning`",
}


class Protocol(msgspec.Struct, frozen=True):
    """One that a row may name."""

    name: str
    title: str
    documentation: str = ""
    url: str = ""
    capabilities: tuple[str, ...] = ()
    """What is not as usual, each with ``+`` or ``-`` before its name."""
    otherwise: tuple[str, ...] = ()
    """What is put otherwise, Markdown."""
    missing: str = ""
    """Why it cannot be used here; empty where it can."""


def protocols() -> list[Protocol]:
    """All that are installed, by name."""
    return [_protocol(name) for name in PROVIDERS.names()]


def page(found: Iterable[Protocol]) -> str:
    """The page, Markdown."""
    rows = ["| protocol | servers of | address | capabilities | put otherwise |", "|---|---|---|---|---|"]
    for one in found:
        title = f"[{one.title}]({one.documentation})" if one.documentation else one.title
        address = f"`{one.url}`" if one.url else ""
        able = " ".join(f"`{name}`" for name in one.capabilities)
        rows.append(f"| `{one.name}` | {title} | {address} | {able} | {'; '.join(one.otherwise)} |")
    return "\n".join([_HEAD, *rows, ""])


def _protocol(name: str) -> Protocol:
    try:
        plugin: ProviderPlugin = PROVIDERS.load(name)
    except ConfigError as error:
        return Protocol(name, name, missing=str(error))
    words: Words = getattr(plugin, "words", PLAIN)
    return Protocol(
        name, plugin.title, plugin.documentation, plugin.url, _unusual(plugin.abilities), tuple(_otherwise(words, plugin.abilities))
    )


def _unusual(able: Abilities) -> tuple[str, ...]:
    more = [f"+{name}" for name in Abilities.__struct_fields__ if name in _UNUSUAL and getattr(able, name)]
    usual = Abilities.__struct_fields__ if able.chat else ("chat", "embeddings")  # all others are about chats
    less = [f"-{name}" for name in usual if name not in _UNUSUAL and not getattr(able, name)]
    return (*more, *less)


def _otherwise(words: Words, able: Abilities) -> Iterable[str]:
    spelling = words.spelling
    yield from (f"`{name}` as `{other}`" for name, other in spelling.renamed.items())
    yield from (f"no `{name}`" for name in spelling.needless)
    if not spelling.developer:
        yield "`developer` as `system`"
    if spelling.short_ids:
        yield "ids of calls in nine letters and digits"
    if words.streams_only:
        yield "translated calls always in a stream"
    if words.reasoning and able.reasoning:
        yield f"thinking by {_THINKING[words.reasoning]}"
    if words.reasoning_back:
        yield "earlier thoughts back"
    known = [f"`{name}`" for name in ("top_k", "min_p", "repetition_penalty") if getattr(words, name)]
    if known:
        yield f"{', '.join(known)} too"
