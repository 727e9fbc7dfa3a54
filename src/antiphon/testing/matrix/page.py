"""Writes the page of the documentation that shows the matrix: ``python -m antiphon.testing.matrix.page PAGE``.

Without the name of a file it is printed. Needs the tools for tests, which ``make setup`` installs: players of servers take the
vendors' own libraries.
"""

import sys
from pathlib import Path

from antiphon.core.errors import ConfigError
from antiphon.execution.providers import Provider
from antiphon.execution.wire.anthropic import request_reader as anthropic
from antiphon.execution.wire.endpoints import ENDPOINTS
from antiphon.execution.wire.ollama import options
from antiphon.execution.wire.ollama import request_reader as ollama
from antiphon.execution.wire.openai import request_reader as openai
from antiphon.execution.wire.responses.request_reader import HINTS as RESPONSES_HINTS
from antiphon.testing.matrix.callers import CALLERS
from antiphon.testing.matrix.cells import Cell, cells, is_preset, providers

_SIGNS = {"passed": "=", "translated": "✓", "no words": "", "cannot answer": "·"}
_HEAD = """# What reaches which server

One table for each dialect that callers speak: what becomes of an ability at servers of each protocol. The tables are written by
`.venv/bin/python -m antiphon.testing.matrix.page docs/reference/translation.md`, after `make setup`, from the same code that
answers calls, and each cell is a test that goes from the caller's bytes to a scripted server and back, whole and streamed.

- `=` goes through byte by byte
- `✓` is translated
- a letter: is refused before anything is sent, with the text below the table; `"drop_unsupported": true` leaves it out instead
- `·` servers of the protocol cannot say it, as far as their vendors document
- empty: the dialect has no words for it

The column `engine` is the built-in engine, which runs models on this machine. What another server can do beyond or short of its
protocol is said by the [capabilities](configuration.md) of its row."""

_HINTS_HEAD = """## What is left out unasked

What changes no answer, but what it costs, how fast it is, or what is kept of it, is said to servers that know it, and else left out
without a word. Nothing else is: what would change the answer is refused by name, or left out at the caller's wish
(`"drop_unsupported": true`) and named in the header `x-antiphon-dropped`.

Beside these fields that holds for

- how much to think (`reasoning_effort`, `reasoning`, `thinking`, `output_config.effort`, `think`): a wish, which is fitted to what
  the model takes; a model that cannot be told thinks, or does not, as it does by itself, also where `think` is false
- marks of what is worth keeping in a prompt cache, and how finely a picture is to be looked at (`detail`)
- thoughts of earlier answers that another vendor signed, or nobody
- an empty text beside others; alone in a message it is refused where the server takes none
- the `name` of a message of role `tool`, whose call has it too, and one `name` that all system messages share. Other names tell who
  speaks and are refused
- `verbosity` of `medium`, and other values that ask for what happens anyway

What the system says behind other messages stays in its place where the server takes it there: with OpenAI's, Ollama's and
DashScope's, and with Claude Opus since 4.8 behind a user's message. Elsewhere it is refused (`messages[2].role`), and with
`drop_unsupported` moved to the beginning."""


def page() -> str:
    """The page, Markdown."""
    found = [cell for cell in cells() if not is_preset(cell.protocol)]
    tables = [_table(dialect, [cell for cell in found if cell.dialect == dialect]) for dialect in CALLERS.names()]
    return "\n\n".join([_HEAD, *tables, _others(), _hints()])


def _hints() -> str:
    """What is left out where a server has no word for it, without asking."""
    rows = ["| callers of | |", "|---|---|"]
    for path, names in (
        ("/v1/chat/completions", {*openai.HINTS, "user", "safety_identifier"}),
        ("/v1/messages", {*anthropic.HINTS, "metadata"}),
        ("/v1/responses", RESPONSES_HINTS),
        ("/api/chat", {*ollama.HINTS, *options.HINTS}),
    ):
        rows.append(f"| `{path}` | {', '.join(f'`{name}`' for name in sorted(names))} |")
    return "\n\n".join([_HINTS_HEAD, "\n".join(rows)])


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


def main(arguments: list[str]) -> int:
    """Write the page into the file that is named, or print it. A page that cannot be made leaves the file as it was."""
    try:
        made = page() + "\n"
    except (ModuleNotFoundError, ConfigError) as error:
        missing = error.message if isinstance(error, ConfigError) else f'"{error.name}" is missing'
        sys.stderr.write(f'error: {missing}; "make setup" installs all that the page is made with\n')
        return 1
    if arguments:
        Path(arguments[0]).write_text(made)
    else:
        sys.stdout.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
