"""Tells whoever runs the server how it is doing, a line per piece of news."""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from antiphon.bootstrap.process import engine_name
from antiphon.cli.output import styled, tell
from antiphon.config import Settings
from antiphon.supervisor import Notice

QUESTION = "Why is the sky blue?"
EXAMPLE = """\
{export}  {command} chat "{question}"{option}
  curl {url}/chat/completions -H "content-type: application/json"{header} -d {body}
  openai.OpenAI(base_url="{url}", api_key={key})"""
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
        self._write(f"{styled('serving', 'green', bold=True)} {', '.join(names) or 'no model'} on {address}/v1")
        if not names:
            return
        body = json.dumps({"model": names[0], "messages": [{"role": "user", "content": QUESTION}]})
        keyed = bool(self._settings.server.keys or self._settings.server.keys_file)
        example = EXAMPLE.format(
            command=_command(),
            question=QUESTION,
            option="" if address == USUAL_ADDRESS else f" --url {address}",
            url=f"{address}/v1",
            header=' -H "authorization: Bearer $ANTIPHON_API_KEY"' if keyed else "",
            body=shlex.quote(body),
            export="  export ANTIPHON_API_KEY=...  # a key of server.keys\n" if keyed else "",
            key='os.environ["ANTIPHON_API_KEY"]' if keyed else '"none"',
        )
        self._write(example)

    def _chat_models(self) -> list[str]:
        """What a caller can chat with now."""
        local = [model for process, model in self._models.items() if process not in self._failed]
        return [*local, *(model.name for provider in self._settings.providers for model in provider.models)]


def _command() -> str:
    """How this program is called from here: by its name where the shell would find it, else by its path."""
    if shutil.which("antiphon"):
        return "antiphon"
    return os.path.relpath(Path(sys.executable).with_name("antiphon"))
