"""``antiphon chat``: ask a model one question, or talk to it."""

import os
import stat
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from antiphon.bootstrap.address import own_url
from antiphon.cli.chat_client import ChatClient, ChatRequest, Message, TokenCounts
from antiphon.cli.chat_session import ChatSession
from antiphon.cli.conversation import Conversations, begin
from antiphon.cli.options import takes
from antiphon.cli.output import print_json
from antiphon.cli.settings import load_settings
from antiphon.cli.terminal import Shown, show

app = typer.Typer()


class ChatOptions(msgspec.Struct, frozen=True):
    """Parameters of the command."""

    prompt: Annotated[
        str | None, typer.Argument(help="The question. Piped text follows it, or stands for it. Without either, a conversation.")
    ] = None
    model: Annotated[str | None, typer.Option("--model", "-m", help="Model; by default the server's first.")] = None
    url: Annotated[
        str | None, typer.Option("--url", envvar="ANTIPHON_URL", help="Server; by default the one of the configuration.")
    ] = None
    api_key: Annotated[
        str, typer.Option("--api-key", envvar="ANTIPHON_API_KEY", help="API key. Other users can see a key on the command line.")
    ] = ""
    system: Annotated[str, typer.Option("--system", "-s", help="System prompt.")] = ""
    temperature: Annotated[float | None, typer.Option("--temperature", "-t", min=0, max=2, help="0 is the likeliest answer.")] = (
        None
    )
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", min=1, help="Longest answer, in tokens.")] = None
    seed: Annotated[int | None, typer.Option("--seed", help="The same seed gives the same answer on an idle engine.")] = None
    stop: Annotated[list[str] | None, typer.Option("--stop", help="Text that ends the answer. May be repeated.")] = None
    no_stream: Annotated[bool, typer.Option("--no-stream", help="Show the answer only when it is complete.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print the complete answer as JSON.")] = False
    resume: Annotated[bool, typer.Option("--continue", help="Go on with the last conversation.")] = False
    config: Annotated[Path | None, typer.Option("--config", "-c", help="Configuration file.")] = None


class Answer(msgspec.Struct, frozen=True):
    """A complete answer for a script."""

    model: str
    content: str
    finish_reason: str
    usage: TokenCounts | None


@app.command()
@takes(ChatOptions)
def chat(options: ChatOptions) -> None:
    """Ask a model, or talk to it: /help in a conversation shows what else it takes."""
    prompt = _with_piped_text(options.prompt)
    if options.json and (prompt is None or options.resume):
        raise typer.BadParameter("--json takes a question, and no --continue")
    settings = load_settings(options.config, secrets=False).settings
    client = ChatClient(options.url or own_url(settings.server), options.api_key)
    if prompt is None or options.resume:
        _talk(options, client, Conversations(Path(settings.data_dir)), prompt)
    else:
        _ask_once(options, client, prompt)


def _ask_once(options: ChatOptions, client: ChatClient, prompt: str) -> None:
    model = options.model or client.first_chat_model()
    system = (Message("system", options.system),) if options.system else ()
    request = msgspec.structs.replace(_template(options), model=model, messages=(*system, Message("user", prompt)))
    answer = Shown()
    with closing(client.answer(request)) as pieces:
        if not options.json:
            show(pieces, answer)
            return
        for piece in pieces:
            answer.add(piece)
    print_json(Answer(model, answer.text, answer.finish_reason, answer.usage))


def _talk(options: ChatOptions, client: ChatClient, conversations: Conversations, prompt: str | None) -> None:
    conversation = conversations.last() if options.resume else None
    if conversation is None:
        conversation = begin(options.model or client.first_chat_model(), options.system)
    elif options.model:
        conversation.model = options.model
    session = ChatSession(client, _template(options), conversation, conversations)
    if prompt is None:
        import readline  # noqa: F401 - changes how input() edits lines

        session.run()
    else:
        session.ask(prompt)


def _template(options: ChatOptions) -> ChatRequest:
    """The request without its model and messages."""
    return ChatRequest(
        "",
        (),
        stream=not (options.no_stream or options.json),
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        seed=options.seed,
        stop=tuple(options.stop) if options.stop else None,
    )


def _with_piped_text(prompt: str | None) -> str | None:
    """The question with the text that another command or a file brings; None where there is neither."""
    if sys.stdin is None or sys.stdin.isatty() or (prompt is not None and not _brings_text()):
        return prompt
    text = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    if not text:
        if prompt is None:
            raise typer.BadParameter("there is no question: give one, or run it at a terminal")
        return prompt
    return f"{prompt}\n\n{text}" if prompt else text


def _brings_text() -> bool:
    """Whether standard input is a pipe or a file. Anything else (the socket of ssh) may stay open for ever without a word."""
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
