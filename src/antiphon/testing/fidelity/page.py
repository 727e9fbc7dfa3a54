"""Writes the page that documents every case, from the cases themselves: ``python -m antiphon.testing.fidelity.page PAGE``.

Without the name of a file it is printed.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from antiphon.testing.fidelity.case import Beside, Case, Crowd, Group, Leave
from antiphon.testing.fidelity.cases import CASES, GROUPS

INTRODUCTION = """\
# Fidelity cases

What `antiphon fidelity` plays, and what is right in each case. [How to run it](../how-to/fidelity.md) and
[what came of it](fidelity-results.md) have pages of their own.

A case is a request, a script for the model's server, and small checks of what the caller got and what the server was asked. The
request has a mark in its text, which every gateway passes on; by it the server knows which script to play. So cases can run at
the same time and in any order, and a gateway cannot tell them from other calls. What is right is what the public documentation of
the API says that the caller speaks. Servers are not always right: where a script breaks the rules, as servers do that imitate
OpenAI, the caller still has to get what it can rely on.

Where a gateway may do one of several things, each of them passes. It may rename the model, give the answer another id, add fields
of its own, write a text as a list of parts or a status of 500 as 503.

"""


def page() -> str:
    """The page, in Markdown."""
    return INTRODUCTION + "\n".join(line for part in (_summary(), *(_section(group) for group in GROUPS)) for line in part)


def _summary() -> Iterator[str]:
    yield f"There are {len(CASES)} cases. Those at other endpoints than the first are played where the gateway offers them.\n"
    yield "| group | cases | endpoint of the gateway | protocol of the model's server |"
    yield "|---|---:|---|---|"
    for group in GROUPS:
        route = group.cases[0].route
        server = {"openai": "OpenAI's", "anthropic": "Anthropic's"}[route.server]
        yield f"| [{group.title}](#{_anchor(group.title)}) | {len(group.cases)} | `{route.path}` | {server} |"
    yield ""


def _section(group: Group) -> Iterator[str]:
    yield f"## {group.title}\n"
    yield f"{group.about}\n"
    yield "| case | what is right |"
    yield "|---|---|"
    for case in group.cases:
        yield f"| `{case.id}` | {case.right.replace('|', chr(92) + '|')}{_how(case)} |"
    yield ""
    yield from (f"- {_linked(source)}" for source in group.sources)
    yield ""


def _how(case: Case) -> str:
    match case.caller:
        case Leave(after=""):
            return " The caller leaves when the model's server has been asked."
        case Leave():
            return f' The caller leaves at "{case.caller.after}".'
        case Crowd():
            return f" {case.caller.callers} callers leave together."
        case Beside():
            return " Small questions are asked beside it."
    return ""


def _linked(source: str) -> str:
    words, colon, address = source.rpartition(": https://")
    return f"{words}: <https://{address}>" if colon else source


def _anchor(title: str) -> str:
    return "-".join("".join(char for char in title.lower() if char.isalnum() or char in " -").split())


def main(arguments: list[str]) -> int:
    """Write the page into the file that is named, or print it. A page that cannot be made leaves the file as it was."""
    made = page()
    if arguments:
        Path(arguments[0]).write_text(made)
    else:
        sys.stdout.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
