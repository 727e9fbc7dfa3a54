"""Writes the page of the documentation that shows the matrix: ``python -m antiphon.testing.matrix.page``."""

import sys

from antiphon.execution.providers import Provider
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.testing.matrix.callers import CALLERS
from antiphon.testing.matrix.cells import Cell, cells, is_preset, providers

_SIGNS = {"passed": "=", "translated": "✓", "no words": "", "cannot answer": "·"}
_HEAD = """# What reaches which server

One table for each dialect that callers speak: what becomes of an ability at servers of each protocol. The tables are written by
`python -m antiphon.testing.matrix.page` from the same code that answers calls, and each cell is a test that goes from the caller's
bytes to a scripted server and back, whole and streamed.

- `=` goes through byte by byte
- `✓` is translated
- a letter: is refused before anything is sent, with the text below the table; `"drop_unsupported": true` leaves it out instead
- `·` servers of the protocol cannot say it, as far as their vendors document
- empty: the dialect has no words for it

The column `engine` is the built-in engine, which runs models on this machine. What another server can do beyond or short of its
protocol is said by the [capabilities](configuration.md) of its row."""


def page() -> str:
    """The page, Markdown."""
    found = [cell for cell in cells() if not is_preset(cell.protocol)]
    tables = [_table(dialect, [cell for cell in found if cell.dialect == dialect]) for dialect in CALLERS.names()]
    return "\n\n".join([_HEAD, *tables, _others()])


def _table(dialect: str, found: list[Cell]) -> str:
    protocols = list(dict.fromkeys(cell.protocol for cell in found))
    letters: dict[str, str] = {}
    rows = [f"| | {' | '.join(protocols)} |", "|---" * (len(protocols) + 1) + "|"]
    for name in dict.fromkeys(cell.ability.name for cell in found):
        signs = [_sign(cell, letters) for cell in found if cell.ability.name == name]
        rows.append(f"| {name} | {' | '.join(signs)} |")
    notes = [f"- {letter}: {refusal}" for refusal, letter in letters.items()]
    path = ENDPOINTS[CALLERS.load(dialect).endpoint].path
    return "\n\n".join([f"## Callers of `{path}`", "\n".join(rows), *(["\n".join(notes)] if notes else [])])


def _others() -> str:
    """The endpoints that are no chats."""
    shown = {name: endpoint for name, endpoint in ENDPOINTS.items() if endpoint.chat is None}
    own = {protocol: provider for protocol, provider in providers().items() if not is_preset(protocol)}
    reach = {protocol: {name: _reach(name, provider) for name in shown} for protocol, provider in own.items()}
    reach = {protocol: signs for protocol, signs in reach.items() if any(signs.values())}
    rows = [f"| | {' | '.join(reach)} |", "|---" * (len(reach) + 1) + "|"]
    rows += [f"| `{endpoint.path}` | {' | '.join(signs[name] for signs in reach.values())} |" for name, endpoint in shown.items()]
    return "\n\n".join(["## Other endpoints", "Empty: the call is refused by the name of the endpoint.", "\n".join(rows)])


def _reach(name: str, provider: Provider) -> str:
    endpoint, outbound = ENDPOINTS[name], provider.outbound
    if name in provider.passing:
        return "="
    pairs = (
        (endpoint.embedding, outbound.embedding),
        (endpoint.rerank, outbound.rerank),
        (endpoint.count, outbound.count),
    )
    return "✓" if any(inbound is not None and other is not None for inbound, other in pairs) else ""


def _sign(cell: Cell, letters: dict[str, str]) -> str:
    if cell.fate != "refused":
        return _SIGNS[cell.fate]
    number = len(letters)
    letter = chr(ord("a") + number) if number < 26 else f"a{chr(ord('a') + number - 26)}"
    return letters.setdefault(cell.refusal, letter)


if __name__ == "__main__":
    sys.stdout.write(page() + "\n")
