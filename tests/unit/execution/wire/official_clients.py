"""What the vendors' own clients make of an answer that was written for their callers."""

from typing import Any

import anthropic
import httpx2
import openai


def seen_by_anthropic(raw: bytes) -> Any:
    """The message that Anthropic's client makes of a stream."""
    transport = httpx2.MockTransport(
        lambda request: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=raw)
    )
    with (
        httpx2.Client(transport=transport) as http,
        anthropic.Anthropic(api_key="k", http_client=http, max_retries=0) as client,
        client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}]) as stream,
    ):
        return stream.get_final_message()


def seen_by_openai(raw: bytes) -> list[Any]:
    """The chunks that OpenAI's client makes of a stream."""
    transport = httpx2.MockTransport(
        lambda request: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=raw)
    )
    with httpx2.Client(transport=transport) as http, openai.OpenAI(api_key="k", http_client=http, max_retries=0) as client:
        return list(client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True))
