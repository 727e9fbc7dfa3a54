"""Answers in one piece."""

from antiphon.testing.fidelity.case import Case, Group
from antiphon.testing.fidelity.checks import (
    calls,
    counts,
    every_object_has,
    finishes,
    has,
    is_of_type,
    one_value_of,
    refuses,
    says,
)
from antiphon.testing.fidelity.words.openai import HEAD, USAGE, answers, ask, completion, message, whole, whole_call
from antiphon.testing.steps import Wire

AUDIO = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1_700_000_000, "transcript": "Hello."}
CITATION = {
    "type": "url_citation",
    "url_citation": {"start_index": 0, "end_index": 4, "title": "A page", "url": "https://example.com/page"},
}
PLAIN = completion({"index": 0, "message": message(), "finish_reason": "stop"})

GROUP = Group(
    name="whole",
    title="Answers in one piece",
    about="What is not streamed: the message, its fields, and the reason for the end.",
    sources=("OpenAI API reference, The chat completion object: https://platform.openai.com/docs/api-reference/chat/object",),
    cases=(
        Case(
            id="whole-text",
            right="The text comes to the letter.",
            body=ask(),
            scene=whole("Here it is."),
            checks=(says("Here it is."), finishes("stop")),
        ),
        Case(
            id="whole-blanks",
            right="Blanks and line ends around the text are kept.",
            body=ask(),
            scene=whole("\n  Here it is. \t\n\n"),
            checks=(says("\n  Here it is. \t\n\n"),),
        ),
        Case(
            id="whole-object",
            right="The answer is an object `chat.completion` with an id and a time of creation.",
            body=ask(),
            scene=whole(),
            checks=(every_object_has(object="chat.completion"), one_value_of("id", str), one_value_of("created", int)),
        ),
        Case(
            id="whole-type",
            right="The answer has the content type `application/json`.",
            body=ask(),
            scene=whole(),
            checks=(is_of_type("application/json"),),
        ),
        Case(
            id="whole-role",
            right="The message is the assistant's.",
            body=ask(),
            scene=whole(),
            checks=(says("Here it is."), has(role="assistant")),
        ),
        Case(
            id="whole-finish-length",
            right="The reason `length` arrives.",
            body=ask(max_tokens=3),
            scene=whole("Here it", finish="length"),
            checks=(says("Here it"), finishes("length")),
        ),
        Case(
            id="whole-finish-filter",
            right="The reason `content_filter` arrives.",
            body=ask(),
            scene=whole("Here", finish="content_filter"),
            checks=(says("Here"), finishes("content_filter")),
        ),
        Case(
            id="whole-null-content",
            right="Content that is null beside calls of tools stays null.",
            body=ask(),
            scene=whole(None, finish="tool_calls", tool_calls=[whole_call()]),
            checks=(calls(("weather", {"city": "Paris"})), has(content=None), finishes("tool_calls")),
        ),
        Case(
            id="whole-empty-content",
            right="An empty text is an answer, not an error.",
            body=ask(),
            scene=whole(""),
            checks=(says(""), finishes("stop")),
        ),
        Case(
            id="whole-refusal",
            right="A refusal comes as a refusal.",
            body=ask(),
            scene=answers(
                completion({"index": 0, "message": {**message(None), "refusal": "I cannot do that."}, "finish_reason": "stop"})
            ),
            checks=(refuses("I cannot do that."), says("")),
        ),
        Case(
            id="whole-citations",
            right="The annotations of a message arrive.",
            body=ask(),
            scene=whole("Here", annotations=[CITATION]),
            checks=(says("Here"), has(annotations=[CITATION])),
        ),
        Case(
            id="whole-audio",
            right="Audio of a message arrives.",
            body=ask(modalities=["text", "audio"], audio={"voice": "alloy", "format": "wav"}),
            scene=whole(None, audio=AUDIO),
            checks=(says(""), has(audio=AUDIO)),
        ),
        Case(
            id="whole-fingerprint",
            right="`system_fingerprint` of the model's server arrives.",
            body=ask(seed=1),
            scene=whole(more={"system_fingerprint": "fp_44709d6fcb"}),
            checks=(says("Here it is."), every_object_has(system_fingerprint="fp_44709d6fcb")),
        ),
        Case(
            id="whole-tier",
            right="`service_tier` of the model's server arrives.",
            body=ask(service_tier="auto"),
            scene=whole(more={"service_tier": "flex"}),
            checks=(says("Here it is."), every_object_has(service_tier="flex")),
        ),
        Case(
            id="whole-cut",
            right="An answer that comes byte by byte is put together again.",
            body=ask(),
            scene=answers(PLAIN, wire=Wire(framing="chunked", write_size=1)),
            checks=(says("Here it is."), counts(**USAGE)),
        ),
        Case(
            id="whole-until-close",
            right="An answer whose end is that of the connection is read to its end.",
            body=ask(),
            scene=answers(PLAIN, wire=Wire(framing="close")),
            checks=(says("Here it is."), counts(**USAGE)),
        ),
        Case(
            id="whole-no-usage",
            right="A server that tells no usage is no reason to fail.",
            body=ask(),
            scene=answers(
                {**HEAD, "object": "chat.completion", "choices": [{"index": 0, "message": message(), "finish_reason": "stop"}]}
            ),
            checks=(says("Here it is."), finishes("stop")),
        ),
    ),
)
