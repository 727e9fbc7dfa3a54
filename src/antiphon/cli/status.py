"""Tells whoever runs the server how it is doing, a line per piece of news."""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from antiphon.bootstrap.own_trust import distrust
from antiphon.bootstrap.process import engine_name
from antiphon.cli.output import styled, tell
from antiphon.config import ServerSettings, Settings, listening_tls
from antiphon.core.errors import ConfigError
from antiphon.supervisor import Notice

QUESTION = "Why is the sky blue?"
EXAMPLE = """\
{before}  {command} chat "{question}"{option}
  curl{trust} {url} -H "content-type: application/json"{header} -d {body}
  openai.OpenAI(base_url={base}, api_key={key})"""
BEHIND_BALANCER = """\
  # callers go through the load balancer, by its address: a connection without its PROXY header is closed (server.proxy_protocol)
  export ANTIPHON_URL={scheme}://...
"""
MAX_ALIASES = 8
"""Aliases that are named where it serves; the others are counted."""
USUAL_ADDRESS = "http://127.0.0.1:8080"

_SECONDS = re.compile(r",? \d+ s$")

NEWS = {
    "draining": "finishing running calls; Ctrl-C again ends at once",
    "ended": "stopped",
    "reloading": "reading the settings again",
    "reloaded": "the new settings are in effect",
}


class StatusLines:
    """Writes the supervisor's news. ``verbose`` tells of every process, otherwise it is models, failures and the server itself."""

    def __init__(self, settings: Settings, *, verbose: bool, write: Callable[[str], None] = tell) -> None:
        self._settings = settings
        self._verbose = verbose
        self._write = write
        self._failed: set[str] = set()
        self._loading: dict[str, str] = {}
        """What each process was last told to be doing."""
        self._models = {engine_name(model.name): model.name for model in settings.models}

    def __call__(self, notice: Notice) -> None:
        """Take a piece of news."""
        if notice.process:
            self._process(notice)
        elif notice.kind == "serving":
            self._serving(notice.text)
        elif notice.kind == "refused":
            self._write(styled("the settings stay as they are: ", "red") + notice.text)
        else:
            self._write(NEWS.get(notice.kind, notice.kind))

    def _process(self, notice: Notice) -> None:
        name = notice.process
        shown = self._models.get(name, name)
        wanted = self._verbose or name in self._models
        if notice.kind == "failed":
            self._failed.add(name)
            self._write(f"  {shown}: {styled('failed: ', 'red')}{notice.text}")
        elif notice.kind == "ready" and (wanted or name in self._failed):
            self._failed.discard(name)
            self._write(f"  {shown}: {styled('ready', 'green')}")
        elif wanted and notice.kind == "loading":
            # an engine counts the seconds while it loads
            step = _SECONDS.sub("", notice.text)
            if self._verbose or self._loading.get(name) != step:
                self._write(f"  {shown}: {notice.text}")
            self._loading[name] = step
        elif self._verbose:
            self._write(f"  {shown}: {notice.kind}")

    def _serving(self, address: str) -> None:
        names = self._chat_models()
        self._write(f"{styled('serving', 'green', bold=True)} {', '.join(names) or 'no model'} on {address}/v1{self._besides()}")
        if not names:
            return
        body = json.dumps({"model": names[0], "messages": [{"role": "user", "content": QUESTION}]})
        server = self._settings.server
        keyed = [name for name, held in (("server.keys", server.keys), ("server.keys_file", server.keys_file)) if held]
        export = f"  export ANTIPHON_API_KEY=...  # a key of {' or '.join(keyed)}\n" if keyed else ""
        balanced = server.proxy_protocol != "none"
        before = _behind_balancer(address) if balanced else _of_certificate(server, address)
        self._write(
            EXAMPLE.format(
                before=before + export,
                trust=' --cacert "$SSL_CERT_FILE"' if "SSL_CERT_FILE" in before else "",
                command=_command(),
                question=QUESTION,
                option="" if balanced or address == USUAL_ADDRESS else f" --url {address}",
                url='"$ANTIPHON_URL/v1/chat/completions"' if balanced else f"{address}/v1/chat/completions",
                header=' -H "authorization: Bearer $ANTIPHON_API_KEY"' if keyed else "",
                body=shlex.quote(body),
                base='os.environ["ANTIPHON_URL"] + "/v1"' if balanced else f'"{address}/v1"',
                key='os.environ["ANTIPHON_API_KEY"]' if keyed else '"none"',
            )
        )

    def _besides(self) -> str:
        """What else a caller can name: the encoder and the aliases."""
        encoder = [self._settings.embeddings.name] if self._settings.embeddings.enabled and "compute" not in self._failed else []
        aliases = list(self._settings.aliases)
        shown = [*aliases[:MAX_ALIASES], f"{len(aliases) - MAX_ALIASES} more"] if len(aliases) > MAX_ALIASES else aliases
        parts = (("embeddings", encoder), ("aliases", shown))
        return "".join(f"; {what}: {', '.join(names)}" for what, names in parts if names)

    def _chat_models(self) -> list[str]:
        """What a caller can chat with now."""
        local = [model for process, model in self._models.items() if process not in self._failed]
        elsewhere = (model.name for provider in self._settings.providers for model in provider.models)
        return list(dict.fromkeys((*local, *elsewhere)))  # what several providers serve is one name


def _behind_balancer(address: str) -> str:
    return BEHIND_BALANCER.format(scheme=urlsplit(address).scheme)


def _of_certificate(server: ServerSettings, address: str) -> str:
    """What callers on this machine have to know of the server's certificate."""
    try:
        shown = listening_tls(server)
    except ConfigError:  # it was changed since the start, and the reload will tell
        return ""
    distrusted = distrust(shown, urlsplit(address).hostname or "") if shown is not None else None
    return "  # {}: {}\n".format(*distrusted) if distrusted is not None else ""


def _command() -> str:
    """How this program is called from here: by its name where the shell would find it, else by its path."""
    if shutil.which("antiphon"):
        return "antiphon"
    return os.path.relpath(Path(sys.executable).with_name("antiphon"))
