"""Messages of several parts, and those of tools."""

from typing import Any

from antiphon.testing.fidelity.case import Case, Group
from antiphon.testing.fidelity.checks import messages_or_refused, says, sent_messages
from antiphon.testing.fidelity.words.openai import tool, user, whole, whole_call

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
DATA_IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a%20b.png?x=1&y=2"}}
CALLS = [whole_call("weather", '{"city":"Paris"}', "call_1"), whole_call("weather", '{ "city": "Rome" }', "call_2")]
RESULTS = (
    {"role": "tool", "tool_call_id": "call_1", "content": "Sunny."},
    {"role": "tool", "tool_call_id": "call_2", "content": '{"sky": "grey"}'},
)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _arrives(name: str, right: str, *messages: dict[str, Any], **more: Any) -> Case:
    return Case(
        id=f"content-{name}",
        right=right,
        body={"messages": list(messages), **more},
        scene=whole(),
        checks=(sent_messages(*messages), says("Here it is.")),
    )


GROUP = Group(
    name="content",
    title="Parts of messages",
    about="Texts, images, sounds and files in one message keep their order and every byte, and so do calls of tools "
    "and what they gave back. A text, and a list that holds only that text, count as the same.",
    sources=(
        "OpenAI API reference, `messages`: https://platform.openai.com/docs/api-reference/chat/create",
        "OpenAI guide, Images and vision: https://platform.openai.com/docs/guides/images-vision",
    ),
    cases=(
        _arrives("texts", "Several texts in one message arrive.", user([_text("First."), _text(" Second.")])),
        _arrives("image", "An image by its address arrives.", user([_text("What is it?"), IMAGE])),
        _arrives("image-data", "An image as data arrives.", user([_text("What is it?"), DATA_IMAGE])),
        _arrives(
            "image-detail",
            "The detail in which an image is to be seen arrives.",
            user([{"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}}]),
        ),
        _arrives(
            "images",
            "Texts and images in turn keep their order.",
            user([_text("One:"), IMAGE, _text("two:"), DATA_IMAGE, _text("which?")]),
        ),
        _arrives(
            "audio", "A sound arrives.", user([{"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}])
        ),
        _arrives(
            "file",
            "A file arrives.",
            user([{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}}]),
        ),
        _arrives(
            "system-parts",
            "What the system says in parts arrives.",
            {"role": "system", "content": [_text("Be "), _text("brief.")]},
            user(),
        ),
        _arrives(
            "calls",
            "Calls of an earlier answer and what the tools gave back arrive, with their ids and to the letter.",
            user("What is the weather?"),
            {"role": "assistant", "content": None, "tool_calls": CALLS},
            *RESULTS,
            tools=[tool()],
        ),
        _arrives(
            "calls-empty",
            "Calls beside an empty text arrive.",
            user(),
            {"role": "assistant", "content": "", "tool_calls": CALLS},
            *RESULTS,
            tools=[tool()],
        ),
        _arrives(
            "calls-absent",
            "Calls without the field `content` arrive.",
            user(),
            {"role": "assistant", "tool_calls": CALLS},
            *RESULTS,
            tools=[tool()],
        ),
        _arrives(
            "calls-text",
            "Calls beside a text arrive, and the text does.",
            user(),
            {"role": "assistant", "content": "Let me see.", "tool_calls": CALLS},
            *RESULTS,
            tools=[tool()],
        ),
        _arrives(
            "results-turned",
            "Results in another order than the calls stay in it.",
            user(),
            {"role": "assistant", "content": None, "tool_calls": CALLS},
            *reversed(RESULTS),
            tools=[tool()],
        ),
        _arrives(
            "result-parts",
            "The result of a tool in parts arrives.",
            user(),
            {"role": "assistant", "content": None, "tool_calls": CALLS[:1]},
            {"role": "tool", "tool_call_id": "call_1", "content": [_text("Sun"), _text("ny.")]},
            tools=[tool()],
        ),
        _arrives(
            "result-empty",
            "That a tool gave back nothing arrives.",
            user(),
            {"role": "assistant", "content": None, "tool_calls": CALLS[:1]},
            {"role": "tool", "tool_call_id": "call_1", "content": ""},
            tools=[tool()],
        ),
        _arrives(
            "refusal",
            "An earlier refusal arrives.",
            {"role": "user", "content": "Do it."},
            {"role": "assistant", "content": None, "refusal": "I cannot."},
            user(),
        ),
        _arrives(
            "function-role",
            "The older messages of functions arrive.",
            user(),
            {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": '{"city":"Paris"}'}},
            {"role": "function", "name": "weather", "content": "Sunny."},
        ),
        Case(
            id="content-broken-arguments",
            right="Arguments in the history that are not JSON arrive as they are, or are refused with the name of the field.",
            body={
                "messages": [
                    user(),
                    {"role": "assistant", "content": None, "tool_calls": [whole_call("weather", '{"city": "Par')]},
                    {"role": "tool", "tool_call_id": "call_1", "content": "Sunny."},
                ],
                "tools": [tool()],
            },
            scene=whole(),
            checks=(
                messages_or_refused(
                    "arguments",
                    user(),
                    {"role": "assistant", "tool_calls": [whole_call("weather", '{"city": "Par')]},
                    {"role": "tool", "tool_call_id": "call_1", "content": "Sunny."},
                ),
            ),
        ),
    ),
)
