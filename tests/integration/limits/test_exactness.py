"""After any mixture of calls that end well, fail, time out and are left, the accounts hold what was used and nothing else."""

import os
import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai

from antiphon.testing import MockUpstream
from antiphon.testing.recorded_request import RecordedRequest
from antiphon.testing.steps import Body, Cut, Delay, Done, Event, Status, Step
from tests.integration.gateway.data_plane import WholeServer
from tests.integration.limits.conftest import Serve
from tests.integration.supervisor.served import eventually

CALLS = int(os.environ.get("ANTIPHON_CALLS", "600"))
CALLERS = 12
KEYS = ", ".join(
    f"{{name: key-{number}, key: secret-{number}, team: team-{number % 3}, roles: [admin]}}" for number in range(CALLERS)
)
SETTINGS = f"""
server: {{keys: [{KEYS}], log_calls: true}}
prices: [{{model: mock-model, input: 3, cached_input: 1, output: 7, max_output: 1000}}]
limits:
  - {{scope: everyone, requests: 100000000/month, tokens: 1000000000000/month, money: 100000000, concurrency: 1000}}
  - {{scope: team, input_tokens: 100000000/day, output_tokens: 100000000/day}}
  - {{scope: key, money: 1000000/day, concurrency: 10}}
"""


def _answer(request: RecordedRequest) -> list[Step]:
    """Something of all that a server may do."""
    chance = random.Random(request.body + os.urandom(4))
    prompt, completion, cached = chance.randrange(1, 400), chance.randrange(1, 90), chance.randrange(0, 50)
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": min(cached, prompt)},
    }
    luck = chance.random()
    delay = Delay(chance.random() * 0.02)
    if luck < 0.05:
        return [delay, Status(500), Body({"error": {"message": "no"}})]
    if luck < 0.08:
        return [delay, Status(400), Body({"error": {"message": "no"}})]
    if not request.json.get("stream"):
        said = [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]
        return [delay, Body({"id": "c", "object": "chat.completion", "choices": said, "usage": usage})]
    events: list[Step] = [Event({"id": "c", "choices": [{"index": 0, "delta": {"content": "hi"}}]}), delay] * chance.randrange(1, 6)
    if luck < 0.15:
        return [*events, Cut()]
    end = Event({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if luck < 0.25:
        return [*events, end, Done()]  # which tells no usage
    return [*events, end, Event({"id": "c", "choices": [], "usage": usage}), Done()]


def _call(client: openai.OpenAI) -> None:
    chance = random.Random()
    messages: Any = [{"role": "user", "content": "word " * chance.randrange(1, 40)}]
    try:
        if chance.random() < 0.4:
            client.with_options(timeout=chance.choice((0.01, 5, 5))).chat.completions.create(model="mock-model", messages=messages)
            return
        stream = client.chat.completions.create(model="mock-model", messages=messages, stream=True, max_tokens=50)
        for number, _ in enumerate(stream):
            if chance.random() < 0.1 and number:
                stream.close()
                return
    except (openai.OpenAIError, openai.APIError):
        pass
    except Exception as error:  # a stream that broke off: the client's library has its own errors
        if "peer closed" not in str(error):
            raise


def _accounts(server: WholeServer) -> list[dict[str, Any]]:
    page = server.client("secret-0").with_options(base_url=server.url).get("/admin/limits?limit=1000", cast_to=dict[str, Any])
    rows: list[dict[str, Any]] = page["data"]
    return rows


def _run(server: WholeServer, calls: int) -> None:
    clients = [server.client(f"secret-{number}") for number in range(CALLERS)]
    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(lambda number: _call(clients[number % CALLERS]), range(calls)))


def _used(calls: list[dict[str, Any]], measure: str, scope: str, name: str) -> int:
    counted = {
        "requests": lambda call: 1 if call["target"] else 0,
        "tokens": lambda call: call["prompt_tokens"] + call["completion_tokens"],
        "input_tokens": lambda call: call["prompt_tokens"],
        "output_tokens": lambda call: call["completion_tokens"],
        "money": lambda call: call.get("cost", 0),
        "concurrency": lambda _: 0,
    }[measure]
    whose = {"everyone": lambda _: "", "team": lambda call: call.get("team", ""), "key": lambda call: call["principal"]}[scope]
    return sum(counted(call) for call in calls if whose(call) == name)


def test_the_accounts_hold_what_the_calls_used(serve: Serve, upstream: MockUpstream) -> None:
    server = serve(SETTINGS)
    upstream.script(_answer, times=None)
    _run(server, CALLS)
    eventually(lambda: all(row["reserved"] == 0 for row in _accounts(server)))
    eventually(lambda: sum(bool(call["target"]) for call in server.calls()) == _total(server, "requests"))
    rows, calls = _accounts(server), server.calls()
    assert {row["measure"] for row in rows} >= {"requests", "tokens", "input_tokens", "output_tokens", "money"}
    assert any(call.get("estimated") for call in calls)
    wrong = [row for row in rows if row["used"] != _used(calls, row["measure"], row["scope"], row["name"])]
    assert wrong == []
    eventually(lambda: _recorded(server, "team") == {row["name"]: row["used"] for row in rows if _is(row, "team", "input_tokens")})
    assert _recorded(server, "key", "cost") == {row["name"]: row["used"] for row in rows if _is(row, "key", "money")}


def _is(row: dict[str, Any], scope: str, measure: str) -> bool:
    return bool(row["scope"] == scope and row["measure"] == measure)


def _recorded(server: WholeServer, by: str, what: str = "prompt_tokens") -> dict[str, int]:
    page = server.client("secret-0").with_options(base_url=server.url).get(f"/admin/usage?by={by}", cast_to=dict[str, Any])
    return {row["group"][by]: row[what] for row in page["data"]}


def _total(server: WholeServer, measure: str) -> int:
    return next(row["used"] for row in _accounts(server) if row["scope"] == "everyone" and row["measure"] == measure)


def _story(server: WholeServer) -> str:
    """What may tell why accounts are wrong: the accounts, and what the server said beside its calls."""
    said = [line for line in server.log_path.read_text().splitlines() if not line.startswith("{")]
    return "\n".join((f"{len(server.calls())} calls", *map(str, _accounts(server)), *said))


def test_a_killed_worker_takes_no_place_with_it_and_only_the_money_of_its_own_calls(serve: Serve, upstream: MockUpstream) -> None:
    """What it had reserved of money is charged, since the calls may have been made; nobody else loses anything."""
    server = serve(SETTINGS)
    upstream.script(_answer, times=None)
    running = threading.Thread(target=_run, args=(server, CALLS))
    running.start()
    for _ in range(2):
        assert upstream.wait_requests(len(upstream.requests) + CALLS // 5, 60)
        processes = server.client("secret-0").with_options(base_url=server.url).get("/admin/processes", cast_to=dict[str, Any])
        os.kill(next(row["pid"] for row in processes["processes"] if row["role"] == "worker"), signal.SIGKILL)
    running.join()
    eventually(lambda: all(row["reserved"] == 0 for row in _accounts(server)))  # the lease of the dead has ended
    calls = server.calls()
    settled = sum(call.get("cost", 0) for call in calls)
    dearest = 3 * 400 + 7 * 1000  # of the prompts and the longest answers that these calls have
    assert settled <= _total(server, "money") <= settled + 2 * CALLERS * dearest, _story(server)
