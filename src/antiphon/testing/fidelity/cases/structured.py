"""Answers that keep to a schema."""

from typing import Any

from antiphon.testing.fidelity.case import Case, Group
from antiphon.testing.fidelity.checks import finishes, keeps_order, refuses, says, sent
from antiphon.testing.fidelity.words.openai import ask, delta, stream, streamed, text, tool, whole

PERSON = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string", "description": "Think first."},
        "name": {"type": "string", "minLength": 1, "pattern": "^[\\p{L} ]+$"},
        "age": {"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 150.5},
        "answer": {"enum": ["yes", "no", None, 3]},
    },
    "required": ["reasoning", "name", "age", "answer"],
    "additionalProperties": False,
}
TREE = {
    "$defs": {
        "knoten": {
            "type": "object",
            "properties": {
                "größe": {"type": "number"},
                "kinder": {"type": "array", "items": {"$ref": "#/$defs/knoten"}, "maxItems": 4},
            },
            "required": ["größe", "kinder"],
            "additionalProperties": False,
        }
    },
    "anyOf": [{"$ref": "#/$defs/knoten"}, {"type": "null"}],
    "title": "Baum",
    "default": None,
    "const": {"x": 1e-9},
}
ORDERED = ("reasoning", "name", "age", "answer")
SAID = '{"reasoning": "She says so.",\n "name":"Zoë", "age":37,"answer": null}'


def _format(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": schema, **more}}


def _sent(name: str, right: str, response_format: dict[str, Any]) -> Case:
    return Case(
        id=f"schema-{name}",
        right=right,
        body=ask(response_format=response_format),
        scene=whole(SAID),
        checks=(sent(response_format=response_format), says(SAID)),
    )


GROUP = Group(
    name="schema",
    title="Structured output",
    about="The schema arrives with every keyword, and the JSON that the model wrote comes back to the letter. The "
    "order of properties counts: OpenAI documents that answers keep to it, and a model that has to answer "
    "before it reasons answers worse.",
    sources=("OpenAI guide, Structured Outputs: https://platform.openai.com/docs/guides/structured-outputs",),
    cases=(
        _sent("object", "`json_object` arrives.", {"type": "json_object"}),
        _sent("text", "`text` arrives, or is left out, which means the same.", {"type": "text"}),
        _sent("strict", "A schema arrives with name, `strict` and every keyword.", _format(PERSON)),
        _sent("loose", "`strict: false` arrives.", _format(PERSON, strict=False)),
        _sent("description", "The description of the whole arrives.", _format(PERSON, description="A person, as she says.")),
        _sent("references", "References, unions, recursion and names in other scripts arrive.", _format(TREE)),
        Case(
            id="schema-order",
            right="Properties arrive in the caller's order.",
            body=ask(response_format=_format(PERSON)),
            scene=whole(SAID),
            checks=(keeps_order(ORDERED, "response_format", "json_schema", "schema", "properties"), says(SAID)),
        ),
        Case(
            id="schema-tool-order",
            right="Properties of a tool arrive in the caller's order.",
            body=ask(tools=[tool("weather", "zone", "city", "altitude")]),
            scene=whole(),
            checks=(
                keeps_order(("zone", "city", "altitude"), "tools", 0, "function", "parameters", "properties"),
                says("Here it is."),
            ),
        ),
        Case(
            id="schema-stream",
            right="Streamed JSON comes to the letter, blanks and line ends included.",
            body=stream(response_format=_format(PERSON)),
            scene=streamed(*text(*SAID)),
            checks=(sent(response_format=_format(PERSON)), says(SAID), finishes("stop")),
        ),
        Case(
            id="schema-cut",
            right="JSON that was cut at the limit arrives as it is, with its reason.",
            body=ask(response_format=_format(PERSON), max_tokens=5),
            scene=whole(SAID[:20], finish="length"),
            checks=(says(SAID[:20]), finishes("length")),
        ),
        Case(
            id="schema-refusal",
            right="A refusal in place of JSON comes as a refusal.",
            body=stream(response_format=_format(PERSON)),
            scene=streamed(delta(refusal="I cannot"), delta(refusal=" say.")),
            checks=(refuses("I cannot say."), says("")),
        ),
    ),
)
