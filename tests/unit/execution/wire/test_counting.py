"""A count of tokens in each dialect: requests read and written, answers read, odd ones refused."""

import contextlib
import json
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import AntiphonError, InvalidRequest, UnsupportedParameter, UpstreamBroken, UpstreamRefused
from antiphon.execution.wire.anthropic.counting import INBOUND_COUNT
from antiphon.execution.wire.anthropic.counting import PASSING as ANTHROPICS
from antiphon.execution.wire.chat import ChatAbilities
from antiphon.execution.wire.dialect import OutboundCount
from antiphon.execution.wire.gemini.counting import OUTBOUND_COUNT as GEMINIS
from antiphon.execution.wire.openai.counting import OUTBOUND_COUNT as TOKENIZE

HI: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL = {"name": "weather", "description": "tells it", "input_schema": SCHEMA}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
TEXT_FILE = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}, "title": "A"}
OUTBOUND = {"gemini": (GEMINIS, "totalTokens"), "tokenize": (TOKENIZE, "count")}
servers = pytest.mark.parametrize(("outbound", "field"), OUTBOUND.values(), ids=OUTBOUND)


def written(outbound: OutboundCount, abilities: ChatAbilities | None = None, /, **fields: Any) -> dict[str, Any]:
    body = json.dumps({"model": "m", "messages": HI, **fields}).encode()
    told: dict[str, Any] = json.loads(outbound.encode_request(INBOUND_COUNT.decode_request(body), abilities or ChatAbilities()))
    return told


def test_gemini_is_asked_with_the_whole_request() -> None:
    told = written(GEMINIS, system="Be brief.", tools=[TOOL])
    assert told.keys() == {"generateContentRequest"}
    asked = told["generateContentRequest"]
    assert asked["model"] == "models/m"
    assert asked["contents"] == [{"role": "user", "parts": [{"text": "hi"}]}]
    assert asked["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    declared = types.Tool.model_validate(asked["tools"][0]).function_declarations
    assert declared is not None
    assert declared[0].name == "weather"
    assert "generationConfig" not in asked


def test_tokenize_is_asked_with_what_the_template_sees_and_no_more() -> None:
    told = written(
        TOKENIZE, system="Be brief.", tools=[TOOL], tool_choice={"type": "any"}, max_tokens=5, temperature=0.5, stream=True
    )
    assert told.keys() == {"model", "messages", "tools"}
    assert told["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    assert told["tools"][0]["function"] == {"name": "weather", "description": "tells it", "parameters": SCHEMA}


def test_how_much_to_think_is_a_variable_of_the_template() -> None:
    told = written(TOKENIZE, ChatAbilities(reasoning="effort"), output_config={"effort": "high"})
    assert told["chat_template_kwargs"] == {"reasoning_effort": "high"}


@pytest.mark.parametrize(
    "content", [[IMAGE], [{"type": "tool_result", "tool_use_id": "t", "content": [IMAGE]}]], ids=["shown", "in a result"]
)
def test_tokenize_counts_no_pictures(content: Any) -> None:
    with pytest.raises(UnsupportedParameter) as refused:
        written(TOKENIZE, messages=[{"role": "user", "content": content}])
    assert refused.value.param == "messages[0].content"
    assert written(GEMINIS, messages=[{"role": "user", "content": [IMAGE]}])["generateContentRequest"]["contents"]


def test_tokenize_counts_documents_that_are_text() -> None:
    (message,) = written(TOKENIZE, messages=[{"role": "user", "content": [TEXT_FILE]}])["messages"]
    assert message["content"] == "A\n\nwords"


@servers
def test_what_the_chat_could_not_have_is_not_counted(outbound: OutboundCount, field: str) -> None:
    with pytest.raises(UnsupportedParameter) as refused:
        written(outbound, ChatAbilities(tools=False), tools=[TOOL])
    assert refused.value.param == "tools"
    with pytest.raises(UnsupportedParameter) as foreign:
        written(outbound, mcp_servers=[{"type": "url"}])
    assert foreign.value.param == "mcp_servers"


@pytest.mark.parametrize(
    ("body", "param"),
    [({"messages": HI}, "model"), ({"model": "m"}, "messages"), ({"model": "m", "messages": []}, "messages")],
)
def test_a_request_without_what_it_needs_is_refused(body: Any, param: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        INBOUND_COUNT.decode_request(json.dumps(body).encode())
    assert refused.value.param == param


@servers
def test_the_number_is_read_and_told(outbound: OutboundCount, field: str) -> None:
    body = json.dumps({field: 31, "tokens": [1, 2], "max_model_len": 9, "promptTokensDetails": []}).encode()
    assert json.loads(INBOUND_COUNT.write_answer(outbound.read_answer(body))) == {"input_tokens": 31}


@servers
@pytest.mark.parametrize("number", [None, -1, 1.5, "31", 2**60, [], True])
def test_what_is_no_number_of_tokens_is_no_answer(outbound: OutboundCount, field: str, number: Any) -> None:
    with pytest.raises(UpstreamBroken):
        outbound.read_answer(json.dumps({field: number}).encode())


@servers
def test_an_error_under_a_status_of_success_is_one(outbound: OutboundCount, field: str) -> None:
    body = json.dumps({"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}).encode()
    with pytest.raises(UpstreamRefused) as refused:
        outbound.read_answer(body)
    assert refused.value.status == 429


def test_a_count_that_passes_uses_nothing() -> None:
    assert ANTHROPICS.read_answer(b'{"input_tokens": 31}') == (None, None)
    usage, failure = ANTHROPICS.read_answer(b'{"type": "error", "error": {"type": "overloaded_error", "message": "x"}}')
    assert usage is None
    assert failure is not None
    assert failure.status == 529


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(["model", "messages", "system", "tools", "thinking", "max_tokens"]), JSON), JSON)
def test_odd_requests_and_answers_are_errors_and_no_crashes(request: Any, answer: Any) -> None:
    for outbound, field in OUTBOUND.values():
        for attempt in (
            lambda outbound=outbound: outbound.encode_request(
                INBOUND_COUNT.decode_request(json.dumps(request).encode()), ChatAbilities()
            ),
            lambda outbound=outbound, field=field: outbound.read_answer(json.dumps({field: answer, "error": answer}).encode()),
            lambda outbound=outbound: outbound.read_answer(json.dumps(answer).encode()),
        ):
            with contextlib.suppress(AntiphonError):
                attempt()
