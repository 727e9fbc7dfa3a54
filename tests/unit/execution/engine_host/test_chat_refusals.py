"""What a chat request must not contain, and the errors that say so."""

import pytest

from antiphon.testing.fake_engine import FakeEngine, fake_info
from tests.unit.execution.engine_host.peer import Served, done

IMAGE = {"type": "image_url", "image_url": {"url": "http://example.com/x.png"}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


async def refused(**fields):
    answer = await Served(FakeEngine(info=fake_info(context_length=100))).chat(**fields)
    assert answer.status == 400
    return answer.error


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tools", [TOOL]),
        ("tool_choice", "required"),
        ("tool_choice", TOOL),
        ("functions", [{"name": "f"}]),
        ("function_call", {"name": "f"}),
        ("audio", {"voice": "alloy", "format": "mp3"}),
        ("modalities", ["text", "audio"]),
        ("logit_bias", {"50": 1}),
        ("top_logprobs", 2),
        ("top_logprobs", False),
        ("prediction", {"type": "content", "content": "x"}),
        ("reasoning_effort", "high"),
        ("store", True),
        ("web_search_options", {"user_location": None}),
        ("moderation", {"model": "x"}),
    ],
)
async def test_what_would_change_the_answer_is_refused_by_name(field, value):
    error = await refused(**{field: value})
    assert error["param"] == field
    assert error["code"] == "unsupported_parameter"
    assert field in error["message"]


async def test_top_logprobs_says_why():
    assert "chosen tokens" in (await refused(logprobs=True, top_logprobs=3))["message"]


async def test_harmless_and_neutral_fields_pass():
    harmless = {"user": "me", "metadata": {"a": "b"}, "service_tier": "auto", "parallel_tool_calls": True, "safety_identifier": "x"}
    harmless |= {"prompt_cache_key": "k", "prompt_cache_retention": "24h", "verbosity": "low"}
    neutral = {"store": False, "tools": [], "tool_choice": "none", "functions": None, "logit_bias": {}, "top_logprobs": 0}
    neutral |= {"modalities": ["text"], "reasoning_effort": None, "stream_options": None, "audio": None}
    answer = await Served().chat(**harmless, **neutral)
    assert answer.status == 200


@pytest.mark.parametrize(
    ("field", "near"), [("max_token", "max_tokens"), ("temprature", "temperature"), ("stops", "stop"), ("xyzzy", "")]
)
async def test_an_unknown_field_is_refused_with_the_nearest_name(field, near):
    error = await refused(**{field: 1})
    assert error["param"] == field
    assert (f"did you mean `{near}`?" if near else "leave it out") in error["message"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -0.1),
        ("temperature", 2.1),
        ("temperature", "hot"),
        ("top_p", 0),
        ("top_p", 1.1),
        ("presence_penalty", 2.5),
        ("frequency_penalty", -2.5),
        ("n", 0),
        ("n", 17),
        ("n", 1.5),
        ("n", True),
        ("seed", 2**63),
        ("seed", "x"),
        ("max_tokens", 0),
        ("max_completion_tokens", 0),
        ("logprobs", 1),
        ("stop", ""),
        ("stop", [str(number) for number in range(17)]),
        ("stop", "x" * 1025),
        ("stop", 5),
        ("stream", "yes"),
        ("top_k", -1),
        ("min_p", 2),
        ("repetition_penalty", 0),
        ("stream_options", {"include_usage": True}),
        ("model", None),
        ("messages", []),
        ("messages", "hi"),
    ],
)
async def test_a_value_out_of_range_names_the_field(field, value):
    error = await refused(**{field: value})
    assert error["param"] == field
    assert field in error["message"]


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([{"role": "user", "content": 5}], "messages[0].content"),
        ([{"role": "user", "content": "a"}, {"role": "robot", "content": "b"}], "messages[1].role"),
        ([{"content": "a"}], "messages[0].role"),
        ([{"role": "user"}], "messages[0].content"),
        ([{"role": "user", "content": None}], "messages[0].content"),
        ([{"role": "user", "content": [IMAGE]}], "messages[0].content[0].type"),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "input_audio"}]}], "messages[0].content[1].type"),
        ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content[0].text"),
        ([{"role": "user", "content": "a", "contnt": "b"}], "messages[0].contnt"),
        (
            [{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{"}}]}],
            "messages[0].tool_calls[0].function.arguments",
        ),
        (
            [{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}],
            "messages[0].tool_calls",
        ),
        (
            [{"role": "user", "content": "a", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}],
            "messages[0].tool_calls",
        ),
        ([{"role": "assistant", "content": "a", "audio": {"id": "x"}}], "messages[0].audio"),
        ([{"role": "assistant", "content": "a", "function_call": {"name": "f"}}], "messages[0].function_call"),
    ],
)
async def test_a_wrong_message_is_named_with_its_place(messages, param):
    error = await refused(messages=messages)
    assert error["param"] == param
    assert param in error["message"]


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"type": "xml"}, "response_format.type"),
        ({"type": "json_schema"}, "response_format.json_schema"),
        ({"type": "json_schema", "json_schema": {"schema": {}}}, "response_format.json_schema.name"),
        ({"type": "json_schema", "json_schema": {"name": "x", "schema": []}}, "response_format.json_schema.schema"),
        ({"type": "json_schema", "json_schema": {"name": "x", "scheme": {}}}, "response_format.json_schema.scheme"),
        ({"typ": "text"}, "response_format.typ"),
    ],
)
async def test_a_wrong_response_format_is_named_with_its_place(given, param):
    assert (await refused(response_format=given))["param"] == param


async def test_two_different_bounds_of_tokens():
    assert (await refused(max_tokens=1, max_completion_tokens=2))["param"] == "max_completion_tokens"
    assert (await Served().chat(max_tokens=2, max_completion_tokens=2)).status == 200


async def test_a_prompt_that_does_not_fit():
    error = await refused(messages=[{"role": "user", "content": "x" * 90}])
    assert error["code"] == "context_length_exceeded"
    assert error["param"] == "messages"
    assert "100" in error["message"]


async def test_an_answer_that_does_not_fit_says_how_much_would():
    error = await refused(max_tokens=90)
    assert error["code"] == "context_length_exceeded"
    assert error["param"] == "max_tokens"
    assert "give at most 79" in error["message"]


async def test_a_prompt_far_too_long_is_not_even_tokenised():
    error = await refused(messages=[{"role": "user", "content": "x" * 100_000}])
    assert error["code"] == "context_length_exceeded"
    assert "characters" in error["message"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"x"', b"\xff", b'{"model":"m","messages":[{"role":"user","content":"\xff"}]}', b"[" * 100_000]
)
async def test_a_body_that_is_no_json_object(body):
    answer = await done(Served().request("POST", "/v1/chat/completions", body))
    assert answer.status == 400
    assert "JSON" in answer.error["message"]


@pytest.mark.parametrize("model", ["other", "m:unknown", "m:"])
async def test_another_model_is_not_found(model):
    served = Served(FakeEngine(info=fake_info(adapters=("polite",))))
    answer = await served.chat(model=model)
    assert answer.status == 404
    assert answer.error["code"] == "model_not_found"
    assert "m, m:polite" in answer.error["message"]


async def test_an_adapter_is_chosen_by_the_name_of_the_model():
    served = Served(FakeEngine(info=fake_info(adapters=("polite",))))
    answer = await served.chat(model="m:polite")
    assert answer.json()["model"] == "m:polite"
    assert served.engine.started[0][1].adapter == "polite"


@pytest.mark.parametrize("field", ["n", "top_k", "seed", "max_tokens", "temperature", "top_p", "repetition_penalty"])
@pytest.mark.parametrize("value", [10**400, -(10**400)])
async def test_numbers_that_no_float_holds_are_refused_by_name(field, value):
    error = await refused(**{field: value})
    assert error["param"] == field
    assert len(error["message"]) < 300


async def test_a_repetition_penalty_that_32_bits_round_to_nothing_is_refused_by_name():
    error = await refused(repetition_penalty=1e-300)
    assert error["param"] == "repetition_penalty"
    assert "from 0.01 to 10" in error["message"]


@pytest.mark.parametrize("name", ["self", "loop", "not a name", "messages"])
async def test_names_that_no_template_variable_can_have_are_refused(name):
    assert (await refused(chat_template_kwargs={name: 1}))["param"] == f"chat_template_kwargs.{name}"


def nested(depth):
    return b"[" * depth + b"]" * depth


BEGIN = b'{"model": "m", "messages": [{"role": "user", "content": "x"}], '
DEEP_SCHEMA = b'"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"a": %b}}}}'


@pytest.mark.parametrize(
    "body",
    [
        BEGIN + b'"stop": %b}' % nested(100_000),
        BEGIN + b'"tools": %b}' % nested(100_000),
        BEGIN + b'"chat_template_kwargs": {"a": %b}}' % nested(101),
        BEGIN + DEEP_SCHEMA % nested(100_000),
        BEGIN + b'"stop": ' + b"[" * 100_000,
        b'{"model": ' + b"[" * 100_000,
    ],
)
async def test_what_is_nested_too_deeply_is_refused(body):
    served = Served()
    answer = await done(served.request("POST", "/v1/chat/completions", body))
    assert answer.status == 400
    assert answer.error["message"]


async def test_the_name_of_an_unknown_model_is_cut():
    answer = await Served().chat(model="x" * 100_000)
    assert answer.status == 404
    assert len(answer.body) < 1000


async def test_the_name_of_an_unknown_field_is_cut():
    assert len((await refused(**{"x" * 100_000: 1}))["message"]) < 500
