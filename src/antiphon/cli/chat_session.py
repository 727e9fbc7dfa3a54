"""A conversation at the terminal."""

from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import typer

from antiphon.cli.chat_client import ChatClient, ChatRequest, Message
from antiphon.cli.conversation import Conversation, Conversations, begin, write_markdown
from antiphon.cli.output import report, tell
from antiphon.cli.terminal import Shown, show
from antiphon.core.errors import AntiphonError

HELP = """\
/model [NAME]  show the models, or go on with another
/new           begin a new conversation
/save FILE     write the conversation to a Markdown file
/help          show this
/quit          end, as Ctrl-D does
Ctrl-C stops the answer. "antiphon chat --continue" goes on with the last conversation."""


class ChatSession:
    """Asks, shows and remembers.

    ``template`` is the request without its model and messages; ``read_line`` gives the next line or raises EOFError.
    """

    def __init__(
        self,
        client: ChatClient,
        template: ChatRequest,
        conversation: Conversation,
        conversations: Conversations,
        *,
        read_line: Callable[[str], str] = input,
    ) -> None:
        self._client = client
        self._template = template
        self._conversation = conversation
        self._conversations = conversations
        self._system = conversation.messages[:1] if conversation.messages and conversation.messages[0].role == "system" else []
        self._read_line = read_line

    def run(self) -> None:
        """Talk until the user ends it."""
        turns = self._conversation.turns
        tell(
            f"{self._conversation.model} at {self._client.url}; /help shows what you can do"
            + (f"; {turns} questions so far" if turns else "")
        )
        while True:
            try:
                line = self._read_line("> ").strip()
            except EOFError:
                tell("")
                return
            except KeyboardInterrupt:
                tell('\nend with Ctrl-D or "/quit"')
                continue
            if line in {"/quit", "/exit"}:
                return
            if line:
                self._take(line)

    def ask(self, question: str) -> None:
        """One question and its answer, which are kept, even if Ctrl-C stops it halfway. Raises AntiphonError."""
        messages = (*self._conversation.messages, Message("user", question))
        request = msgspec.structs.replace(self._template, model=self._conversation.model, messages=messages)
        shown = Shown()
        with suppress(KeyboardInterrupt), closing(self._client.answer(request)) as pieces:
            show(pieces, shown)
        if shown.text:
            self._conversation.messages = [*messages, Message("assistant", shown.text)]
            self._conversations.save(self._conversation)

    def _take(self, line: str) -> None:
        try:
            if line.startswith("/"):
                name, _, argument = line.partition(" ")
                self._obey(name, argument.strip())
            else:
                self.ask(line)
        except AntiphonError as error:
            report(error)

    def _obey(self, command: str, argument: str) -> None:
        match command:
            case "/help":
                typer.echo(HELP)
            case "/new":
                self._conversation = begin(self._conversation.model)
                self._conversation.messages = list(self._system)
            case "/model":
                self._choose_model(argument)
            case "/save" if argument:
                write_markdown(self._conversation, Path(argument).expanduser())
                tell(f"saved to {argument}")
            case "/save":
                tell("name the file: /save FILE")
            case _:
                tell(f"{command} is not known; /help shows what is")

    def _choose_model(self, name: str) -> None:
        models = [model.id for model in self._client.models() if model.kind == "chat"]
        if name and name in models:
            self._conversation.model = name
            return
        if name:
            tell(f'"{name}" is not known')
        for model in models:
            typer.echo(f"{'*' if model == self._conversation.model else ' '} {model}")
