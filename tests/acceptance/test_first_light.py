"""The whole product as a user starts it: ``antiphon serve`` with a real model, the encoder and a scripted provider."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import anthropic
import msgspec
import ollama
import openai
import pydantic
import pytest

from antiphon.testing import MockUpstream
from antiphon_client import Client
from tests.acceptance.served import Server
from tests.conftest import Need

MODEL = "small"
PATIENCE = 240.0
HELLO: Any = [{"role": "user", "content": "Name three colours, one per line."}]
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 120}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


class Person(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(max_length=20)]
    age: Annotated[int, msgspec.Meta(ge=0, le=120)]


class PersonModel(pydantic.BaseModel):
    """The same, as a model of the caller's."""

    name: Annotated[str, pydantic.Field(max_length=20)]
    age: Annotated[int, pydantic.Field(ge=0, le=120)]


class Product:
    """A running ``antiphon serve``."""

    def __init__(self, folder: Path, model: Path, upstream: MockUpstream) -> None:
        cache = os.environ.get("ANTIPHON_TEST_CACHE") or str(folder / "cache")
        rows = {
            "server": {"port": 0, "grace": 3},
            "models": [{"name": MODEL, "source": f"file:{model}", "temperature": 0.2, "max_tokens": 64, "threads": 2}],
            "providers": [{"name": "mock", "url": upstream.url, "models": ["mock-model"]}],
            "aliases": {"either": [MODEL, "mock-model"], "smollm2-135m-instruct": [MODEL]},
            "cache_dir": cache,
            "data_dir": str(folder / "data"),
        }
        (folder / "antiphon.yaml").write_text(json.dumps(rows))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "antiphon", "serve"], cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self._server = Server(self.process, PATIENCE)
        self.url = self._server.wait_said(r"(http://127\.0\.0\.1:\d+)/v1")[1]
        self.client = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0, timeout=PATIENCE)

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            body: bytes = answer.read()
        return body

    def engine_pid(self) -> int:
        processes = json.loads(self.get("/admin/processes"))["processes"]
        return next(int(process["pid"]) for process in processes if process["role"] == "engine")

    def running(self) -> float:
        """Calls in the engine, as the metrics say."""
        found = re.search(r"^antiphon_engine_running\{.*\} (\S+)$", self.get("/metrics").decode(), re.MULTILINE)
        assert found, "the metric is missing"
        return float(found[1])

    def stop(self) -> int:
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


@pytest.fixture(scope="module")
def upstream() -> Iterator[MockUpstream]:
    with MockUpstream() as mock:
        yield mock


@pytest.fixture(scope="module")
def product(need: Need, upstream: MockUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    running = Product(tmp_path_factory.mktemp("first-light"), need.model(), upstream)
    yield running
    assert running.stop() == 0


pytestmark = [pytest.mark.xdist_group("first-light"), pytest.mark.timeout(400)]


def chat(product: Product, **more: Any) -> Any:
    return product.client.chat.completions.create(**{"model": MODEL, "messages": HELLO, "max_tokens": 24, **more})


def test_a_chat_answers_with_exact_usage(product: Product) -> None:
    answer = chat(product)
    assert answer.model == MODEL
    assert answer.choices[0].message.content
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert 1 <= answer.usage.completion_tokens <= 24


def test_a_stream_says_the_same_as_the_whole(product: Product) -> None:
    whole = chat(product, temperature=0)
    parts = list(chat(product, temperature=0, stream=True, stream_options={"include_usage": True}))
    text = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
    assert text == whole.choices[0].message.content
    assert parts[-1].choices == []
    assert parts[-1].usage == whole.usage
    assert [part.choices[0].finish_reason for part in parts if part.choices][-1] == whole.choices[0].finish_reason
    assert len({part.id for part in parts}) == 1


def test_our_own_client_reads_types_and_vectors_and_leaves_when_it_wants(product: Product) -> None:
    with Client(product.url, timeout=PATIENCE) as client:
        question: Any = [{"role": "user", "content": "Invent a person."}]
        read = client.chat.parse(Person, model=MODEL, messages=question, max_tokens=80, temperature=0)
        assert 0 <= read.parsed.age <= 120
        assert [len(vector) for vector in client.embeddings.create(model="usem3", input=["one", "two"]).vectors] == [512, 512]
        with client.chat.stream(model=MODEL, messages=HELLO, max_tokens=1000, extra_body={"ignore_eos": True}) as stream:
            next(stream)
        deadline = time.monotonic() + PATIENCE
        while product.running():
            assert time.monotonic() < deadline
        assert client.admin.ready().is_ready


def test_two_answers_at_once(product: Product) -> None:
    answer = chat(product, n=2, temperature=1)
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert all(choice.message.content for choice in answer.choices)
    assert answer.usage.completion_tokens > 24 or {choice.finish_reason for choice in answer.choices} & {"stop"}


def test_stop_strings_end_the_answer(product: Product) -> None:
    whole = chat(product, temperature=0).choices[0].message.content
    cut = whole[len(whole) // 2 : len(whole) // 2 + 3]
    stopped = chat(product, temperature=0, stop=[cut])
    assert stopped.choices[0].message.content == whole[: whole.index(cut)]
    assert stopped.choices[0].finish_reason == "stop"


def test_anthropics_client_gets_the_same_answer(product: Product) -> None:
    whole = chat(product, temperature=0)
    with anthropic.Anthropic(base_url=product.url, api_key="none", max_retries=0, timeout=PATIENCE) as client:
        ask: Any = {"model": MODEL, "max_tokens": 24, "messages": HELLO, "extra_body": {"temperature": 0}}
        message = client.messages.create(**ask)
        ahead = client.messages.count_tokens(model=MODEL, messages=HELLO).input_tokens
        with client.messages.stream(**ask) as stream:
            text = "".join(stream.text_stream)
            streamed = stream.get_final_message()
    assert [block.text for block in message.content if block.type == "text"] == [text] == [whole.choices[0].message.content]
    counted = (whole.usage.prompt_tokens, whole.usage.completion_tokens)
    assert ahead == whole.usage.prompt_tokens
    for answer in (message, streamed):
        cached = answer.usage.cache_read_input_tokens or 0
        assert (answer.usage.input_tokens + cached, answer.usage.output_tokens) == counted
        assert answer.stop_reason == {"length": "max_tokens", "stop": "end_turn"}[whole.choices[0].finish_reason]


def test_ollamas_client_gets_the_same_answer(product: Product) -> None:
    whole = chat(product, temperature=0)
    text, counted = whole.choices[0].message.content, (whole.usage.prompt_tokens, whole.usage.completion_tokens)
    with ollama.Client(host=product.url, timeout=PATIENCE) as client:
        ask: Any = {"model": MODEL, "options": {"temperature": 0, "num_predict": 24}}
        answer = client.chat(messages=HELLO, **ask)
        parts = list(client.chat(messages=HELLO, **ask, stream=True))
        generated = client.generate(prompt=HELLO[0]["content"], **ask)
        pieces = list(client.generate(prompt=HELLO[0]["content"], **ask, stream=True))
    assert answer.message.content == "".join(part.message.content or "" for part in parts) == text
    assert generated.response == "".join(piece.response for piece in pieces) == text
    assert len(parts) > 2
    assert len(pieces) > 2
    for last in (answer, parts[-1], generated, pieces[-1]):
        assert (last.prompt_eval_count, last.eval_count) == counted
        assert last.done_reason == whole.choices[0].finish_reason


def test_completions_stream_the_same_as_the_whole(product: Product) -> None:
    ask: Any = {"model": MODEL, "prompt": "One, two, three,", "max_tokens": 12, "temperature": 0}
    whole = product.client.completions.create(**ask)
    parts = list(product.client.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    assert "".join(part.choices[0].text for part in parts if part.choices) == whole.choices[0].text
    assert parts[-1].usage == whole.usage


def test_the_responses_api_gives_the_same_answer_and_goes_on(product: Product) -> None:
    whole = chat(product, temperature=0)
    ask: Any = {"model": MODEL, "input": HELLO, "max_output_tokens": 24, "temperature": 0}
    response = product.client.responses.create(**ask)
    with product.client.responses.stream(**ask) as stream:
        events = list(stream)
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    for answer in (response, events[-1].response):
        assert answer.output_text == text == whole.choices[0].message.content
        counted = (answer.usage.input_tokens, answer.usage.output_tokens)
        assert counted == (whole.usage.prompt_tokens, whole.usage.completion_tokens)
        assert answer.status == {"length": "incomplete", "stop": "completed"}[whole.choices[0].finish_reason]
    more: Any = {"model": MODEL, "input": "Another one?", "max_output_tokens": 8, "temperature": 0}
    by_name = product.client.responses.create(**more, previous_response_id=response.id)
    given = [*HELLO, {"role": "assistant", "content": text}, {"role": "user", "content": "Another one?"}]
    by_hand = chat(product, messages=given, max_tokens=8, temperature=0)
    assert by_name.output_text == by_hand.choices[0].message.content
    assert by_name.usage.input_tokens == by_hand.usage.prompt_tokens


def test_the_responses_api_holds_its_answer_to_a_schema(product: Product) -> None:
    ask: Any = {"model": MODEL, "input": "Make up a person.", "max_output_tokens": 300, "temperature": 0}
    person = product.client.responses.parse(**ask, text_format=PersonModel).output_parsed
    assert 0 <= person.age <= 120
    with pytest.raises(openai.BadRequestError, match="tools"):
        product.client.responses.create(**{**ask, "tools": [{"type": "function", "name": "f", "parameters": PERSON}]})


def test_logprobs_of_the_chosen_tokens(product: Product) -> None:
    answer = chat(product, logprobs=True, temperature=0)
    content = answer.choices[0].logprobs.content
    assert len(content) == answer.usage.completion_tokens or answer.choices[0].finish_reason == "stop"
    assert all(token.logprob <= 0 for token in content)
    with pytest.raises(openai.BadRequestError, match="top_logprobs"):
        chat(product, logprobs=True, top_logprobs=3)


def test_json_schema_holds(product: Product) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON, "strict": True}}
    answer = chat(
        product, response_format=wanted, max_tokens=300, temperature=0, messages=[{"role": "user", "content": "Make up a person."}]
    )
    person = json.loads(answer.choices[0].message.content)
    assert set(person) == {"name", "age"}
    assert isinstance(person["age"], int)


PEOPLE: Any = [{"role": "user", "content": "Make up a person."}]


def test_openais_client_streams_what_holds_to_a_schema(product: Product) -> None:
    ask: Any = {"model": MODEL, "messages": PEOPLE, "max_tokens": 300, "temperature": 0, "response_format": PersonModel}
    with product.client.chat.completions.stream(**ask) as stream:
        pieces = [event.delta for event in stream if event.type == "content.delta"]
        person = stream.get_final_completion().choices[0].message.parsed
    assert len(pieces) > 2
    assert person == PersonModel.model_validate_json("".join(pieces))


def test_anthropics_client_holds_its_answer_to_a_schema(product: Product) -> None:
    ask: Any = {"model": MODEL, "max_tokens": 300, "messages": PEOPLE, "extra_body": {"temperature": 0}}
    with anthropic.Anthropic(base_url=product.url, api_key="none", max_retries=0, timeout=PATIENCE) as client:
        person = client.messages.parse(**ask, output_format=PersonModel).parsed_output
        with client.messages.stream(**ask, output_format=PersonModel) as stream:
            text = "".join(stream.text_stream)
    assert isinstance(person, PersonModel)
    assert isinstance(PersonModel.model_validate_json(text), PersonModel), "maybe another one: the prefix cache may round otherwise"


def test_ollamas_client_holds_its_answer_to_a_schema(product: Product) -> None:
    ask: Any = {"model": MODEL, "format": PersonModel.model_json_schema(), "options": {"temperature": 0, "num_predict": 300}}
    with ollama.Client(host=product.url, timeout=PATIENCE) as client:
        answer = client.chat(messages=PEOPLE, **ask)
        parts = list(client.chat(messages=PEOPLE, **ask, stream=True))
        generated = client.generate(prompt=PEOPLE[0]["content"], **ask)
    for text in (answer.message.content, "".join(part.message.content or "" for part in parts), generated.response):
        assert text is not None
        assert 0 <= PersonModel.model_validate_json(text).age <= 120


@pytest.mark.parametrize("stream", [False, True])
def test_every_client_hears_that_the_engine_calls_no_tools(product: Product, stream: bool) -> None:
    function: Any = {"name": "weather", "parameters": PERSON}
    tools: Any = [{"type": "function", "function": function}]
    with pytest.raises(openai.BadRequestError, match="`tools`") as chatted:
        chat(product, tools=tools, stream=stream)
    flat: Any = [{"type": "function", **function}]
    with pytest.raises(openai.BadRequestError, match="`tools`") as responded:
        product.client.responses.create(model=MODEL, input="Hello", tools=flat, stream=stream)
    assert chatted.value.param == responded.value.param == "tools"
    tool: Any = {"name": "weather", "input_schema": PERSON}
    with (
        anthropic.Anthropic(base_url=product.url, api_key="none", max_retries=0, timeout=PATIENCE) as client,
        pytest.raises(anthropic.BadRequestError, match="`tools`"),
    ):
        client.messages.create(model=MODEL, max_tokens=24, messages=HELLO, tools=[tool], stream=stream)
    with ollama.Client(host=product.url, timeout=PATIENCE) as caller, pytest.raises(ollama.ResponseError, match="`tools`") as asked:
        list(caller.chat(model=MODEL, messages=HELLO, tools=tools, stream=stream))
    assert asked.value.status_code == 400


def test_embeddings_as_floats_and_as_base64(product: Product) -> None:
    floats = product.client.embeddings.create(model="usem3", input=["hello", "你好"], encoding_format="float")
    packed = product.client.embeddings.create(model="usem3", input=["hello", "你好"])
    assert [len(row.embedding) for row in floats.data] == [512, 512]
    for a, b in zip(floats.data, packed.data, strict=True):
        assert a.embedding == pytest.approx(b.embedding, abs=1e-6)
    with pytest.raises(openai.BadRequestError) as caught:
        product.client.embeddings.create(model="usem3", input="x", dimensions=3)
    assert caught.value.param == "dimensions"


def test_two_models_behind_one_endpoint(product: Product, upstream: MockUpstream) -> None:
    assert [model.id for model in product.client.models.list().data] == [
        MODEL,
        "usem3",
        "mock-model",
        "either",
        "smollm2-135m-instruct",
    ]
    upstream.chat("from elsewhere")
    assert chat(product, model="mock-model").choices[0].message.content == "from elsewhere"
    assert chat(product, model="either").model == "either"


def test_a_prompt_that_is_too_long_is_refused_by_name(product: Product) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        chat(product, messages=[{"role": "user", "content": "word " * 20_000}])
    assert caught.value.code == "context_length_exceeded"


def test_the_running_count_falls_when_the_caller_leaves(product: Product) -> None:
    stream = chat(product, stream=True, max_tokens=2000, temperature=1, seed=1)
    next(iter(stream))
    assert product.running() == 1
    stream.close()
    left = time.monotonic()
    while product.running():
        assert time.monotonic() - left < 10
    assert time.monotonic() - left < 3


def test_ready_metrics_and_pages(product: Product) -> None:
    assert json.loads(product.get("/ready"))["status"] == "ready"
    assert b"antiphon_requests_total" in product.get("/metrics")
    assert json.loads(product.get("/openapi.json"))["openapi"].startswith("3.1")
    assert b"<html" in product.get("/docs").lower()


def test_the_engine_is_killed_under_load(product: Product, upstream: MockUpstream) -> None:
    """Its calls get a clear error, others are unaffected, and service is back within ten seconds of a quiet machine."""
    outcomes: list[BaseException | None] = []
    begun = threading.Barrier(5)

    def long_call() -> None:
        stream = chat(product, stream=True, max_tokens=1500, temperature=1, extra_body={"ignore_eos": True})
        try:
            next(iter(stream))
            begun.wait(PATIENCE)
            for _ in stream:
                pass
            outcomes.append(None)
        except openai.APIError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=long_call) for _ in range(4)]
    for thread in threads:
        thread.start()
    begun.wait(PATIENCE)
    os.kill(product.engine_pid(), signal.SIGKILL)
    upstream.chat("still here")
    assert chat(product, model="mock-model").choices[0].message.content == "still here"
    for thread in threads:
        thread.join(30)
    killed = time.monotonic()
    assert chat(product, model="either").choices[0].message.content
    refusals: list[str] = []
    while not answers(product, refusals):
        assert time.monotonic() - killed < 120
        time.sleep(0.2)
    assert len(outcomes) == 4
    assert all(isinstance(outcome, openai.APIError) and "has ended" in str(outcome) for outcome in outcomes), outcomes
    assert all("try again" in refusal or "cannot be reached" in refusal for refusal in refusals)


def answers(product: Product, refusals: list[str]) -> bool:
    """Whether the model answers; why not is noted."""
    try:
        return bool(chat(product).choices[0].message.content)
    except openai.APIStatusError as error:
        refusals.append(str(error))
        return False


PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "python-client.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
ELSEWHERE = ("llama-3.3-70b-versatile", "rerank-v3.5")
"""Models of the page that the quickstart's server does not have, as the page says."""


def test_the_page_about_the_python_client_runs_on_the_server_of_the_quickstart(
    product: Product, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTIPHON_BASE_URL", product.url)
    ours = [block for block in BLOCKS if not any(model in block for model in ELSEWHERE)]
    assert len(ours) == len(BLOCKS) - len(ELSEWHERE)
    for block in ours:
        exec(compile(block, PAGE.name, "exec"), {"__name__": "page"})
    assert "is not in the catalogue" not in capsys.readouterr().out
