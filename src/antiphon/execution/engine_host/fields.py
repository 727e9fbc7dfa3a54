"""The fields of OpenAI's two completion endpoints: which are honoured, which are harmless, which are refused and why.

Nothing is dropped in silence. A field that would change the answer and cannot be honoured is refused by name, and so is a name
that nobody knows, with the nearest known one: a server that ignores ``max_token`` hides a mistake.
"""

import difflib
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from antiphon.core.errors import InvalidRequest, UnsupportedParameter

IGNORED = frozenset(
    {
        "metadata",
        "parallel_tool_calls",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "user",
        "verbosity",
    }
)
"""Fields that do not change what a local engine answers."""


class Refusal(msgspec.Struct, frozen=True):
    """A field that cannot be honoured."""

    reason: str
    remedy: str
    neutral: Callable[[Any], bool] = lambda value: not value
    """Whether a value asks for nothing, so that it may pass. ``null`` always does."""


_NO_TOOLS = Refusal("this engine does not call tools", "leave it out, or describe the tools in a message and ask for JSON")
_ONLY_TEXT = Refusal("this engine reads and writes text only", 'leave it out, or give ["text"]', lambda value: value == ["text"])

_COMMON = {
    "logit_bias": Refusal("this engine cannot change the scores of single tokens", "leave it out"),
}
REFUSED_CHAT: Mapping[str, Refusal] = {
    **_COMMON,
    "audio": Refusal("this engine writes text only", "leave it out"),
    "function_call": Refusal(_NO_TOOLS.reason, _NO_TOOLS.remedy, lambda value: value in ("none", "auto")),
    "functions": _NO_TOOLS,
    "modalities": _ONLY_TEXT,
    "moderation": Refusal("this engine does not moderate", "leave it out"),
    "prediction": Refusal("this engine does not take predicted outputs", "leave it out"),
    "reasoning_effort": Refusal("this engine has no effort to adjust", "leave it out", lambda value: value == "none"),
    "store": Refusal("this engine does not keep answers", "leave it out, or give false"),
    "tool_choice": Refusal(_NO_TOOLS.reason, 'leave it out, or give "none"', lambda value: value in ("none", "auto")),
    "tools": _NO_TOOLS,
    "top_logprobs": Refusal(
        "this engine exposes the log-probabilities of the chosen tokens only, not of their alternatives",
        'leave it out, or give 0; "logprobs": true alone is supported',
        lambda value: value == 0 and value is not False,
    ),
    "web_search_options": Refusal("this engine does not search the web", "leave it out"),
}
REFUSED_COMPLETION: Mapping[str, Refusal] = {
    **_COMMON,
    "echo": Refusal("this engine does not repeat the prompt", "leave it out, and put the prompt before the text yourself"),
    "suffix": Refusal("this engine does not fill in text between a prompt and a suffix", "leave it out"),
}
REFUSED_TOKENIZE: Mapping[str, Refusal] = {
    "add_special_tokens": Refusal("the chat template of the model adds them where they belong", "leave it out"),
    "chat_template": Refusal("this engine renders the template of its model only", "leave it out"),
    "continue_final_message": Refusal("this engine always begins a new message", "leave it out"),
    "prompt": Refusal("this engine counts the tokens of chats", "give `messages`", lambda value: value is None),
    "return_token_strs": Refusal("this engine tells the ids of tokens only", "leave it out"),
    "tools": _NO_TOOLS,
}


def check_names(raw: Mapping[str, msgspec.Raw], honoured: Collection[str], refused: Mapping[str, Refusal]) -> None:
    """Raise UnsupportedParameter or InvalidRequest for the first field that must not be dropped in silence."""
    for name, value in raw.items():
        if name in honoured or name in IGNORED:
            continue
        refusal = refused.get(name)
        if refusal is None:
            raise unknown_field(name, name, [*honoured, *refused, *IGNORED])
        decoded = msgspec.json.decode(value)
        if decoded is not None and not refusal.neutral(decoded):
            raise UnsupportedParameter(f"`{name}` is not supported: {refusal.reason}", remedy=refusal.remedy, param=name)


def unknown_field(name: str, path: str, known: Collection[str]) -> InvalidRequest:
    """The error for a field that nobody knows, with the nearest known name."""
    name, path = name[:200], path[:200]
    near = difflib.get_close_matches(name, known, n=1)
    remedy = f"did you mean `{near[0]}`?" if near else "leave it out"
    return InvalidRequest(f"`{path}` is not a known field", remedy=remedy, param=path)
