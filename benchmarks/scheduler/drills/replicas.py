"""A process of mock replicas: each port is a model's server that takes as long as the simulator's replica does, by a real clock.

``python -m benchmarks.scheduler.drills.replicas PORTS`` prints its ports as JSON and serves until it is stopped. The first port
takes orders (``POST /reset``, ``POST /trouble``) and tells what happened (``GET /state``); the others stream chat completions. A
stream has two pieces, the first token and the rest: no router decides by what lies between, and paced tokens would cost the mock.
"""

import asyncio
import random
import sys
import zlib
from functools import lru_cache
from math import inf

import msgspec
import uvloop

from antiphon.core.types import Headers
from antiphon.scheduling.simulator.replica import ReplicaSpec, SimulatedReplica, Told
from antiphon.transport.listeners import tcp_listener
from antiphon.transport.server import HttpServer, Request, Responder, ServerLimits
from benchmarks.scheduler.drills.prompts import MODEL, Prompt, read_prompt

TOKEN_BYTES = 64
"""Bytes that a token of the mock's tokenizer stands for."""
JSON: Headers = ((b"content-type", b"application/json"),)
STREAM: Headers = ((b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache"))
CHUNK = {"id": "chatcmpl-drill", "object": "chat.completion.chunk", "created": 1, "model": MODEL}


class Trouble(msgspec.Struct, frozen=True):
    """What is wrong with one replica."""

    replica: int
    status: int = 0
    """Status with which it answers; 0 answers well."""
    share: float = 1.0
    """Share of its calls that get this status."""
    retry_after: int = 0
    """Seconds, told with the status."""
    slow: float = 1.0
    """Times as long that it takes for everything."""
    said_running: int = -1
    """Calls that it says that it has, whatever it has; -1 says the truth."""


class Setting(msgspec.Struct, frozen=True):
    """How all replicas begin anew."""

    spec: ReplicaSpec
    speed: float = 1.0
    """Seconds of the replicas' time that pass in one real second."""
    seed: int = 0


class Happened(msgspec.Struct):
    """What a replica has done since the last reset."""

    asked: int = 0
    failed: int = 0
    """Calls that its trouble answered."""
    left: int = 0
    """Calls whose caller went before they ended."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Of calls that had a first token."""
    most: int = 0
    """Calls at once, running and waiting."""
    busy: float = 0.0
    """Seconds of its time in which it computed."""


class _Call:
    """A call at a replica; hears when its caller leaves."""

    def __init__(self, replica: "MockReplica", number: int, prompt: Prompt, responder: Responder) -> None:
        self.prompt = prompt
        self.responder = responder
        self._replica = replica
        self._number = number
        responder.listener = self

    def gone(self) -> None:
        self._replica.leave(self._number)

    def pause(self) -> None:
        """What is written for one call is small: nobody has to be held back."""

    def resume(self) -> None:
        """See ``pause``."""


class MockReplica:
    """One port."""

    def __init__(self, index: int, setting: Setting) -> None:
        self.index = index
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._calls: dict[int, _Call] = {}
        self.begin(setting)

    def begin(self, setting: Setting) -> None:
        """Forget everything, the calls under way too."""
        for call in list(self._calls.values()):
            call.responder.abort()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._speed = setting.speed
        self._spec = setting.spec
        self._zero = self._loop.time()
        self._model = SimulatedReplica(setting.spec)
        self._calls = {}
        self._number = 0
        self._chance = random.Random(setting.seed + self.index)
        self._trouble = Trouble(self.index)
        self.happened = Happened()

    def befall(self, trouble: Trouble) -> None:
        """From now on this is wrong with it."""
        self._hear()
        self._trouble = trouble
        spec, slow = self._spec, trouble.slow
        self._model.spec = msgspec.structs.replace(
            spec,
            prefill_rate=spec.prefill_rate / slow,
            step_base_ms=spec.step_base_ms * slow,
            step_per_sequence_ms=spec.step_per_sequence_ms * slow,
        )

    def state(self) -> Happened:
        """What it has done so far."""
        self._hear()
        return msgspec.structs.replace(self.happened, busy=self._model.busy(self._now()))

    def handle(self, request: Request, responder: Responder) -> None:
        """Answer whatever a router asks."""
        if request.method == "POST" and request.path == "/v1/chat/completions":
            self._chat(request, responder)
            return
        if request.method == "POST" and request.path in ("/tokenize", "/v1/chat/completions/render"):
            responder.send(200, JSON, _tokenized(request.body))
            return
        answer = self._told(request.path)
        kind = b"text/plain" if request.path == "/metrics" else b"application/json"
        responder.send(200 if answer else 404, ((b"content-type", kind),), answer or b'{"error":{"message":"unknown"}}')

    def leave(self, number: int) -> None:
        """A caller went."""
        if self._calls.pop(number, None) is not None:
            self.happened.left += 1
            self._hear()
            self._model.cancel(number)
            self._expect()

    def _chat(self, request: Request, responder: Responder) -> None:
        self.happened.asked += 1
        trouble = self._trouble
        if trouble.status and self._chance.random() < trouble.share:
            self.happened.failed += 1
            rest = ((b"retry-after", b"%d" % trouble.retry_after),) if trouble.retry_after else ()
            body = b'{"error":{"message":"a drill","type":"server_error","code":"drill"}}'
            responder.send(trouble.status, (*JSON, *rest), body)
            return
        prompt = read_prompt(request.body)
        if prompt is None:
            responder.send(400, JSON, b'{"error":{"message":"no mark in the prompt","type":"invalid_request_error"}}')
            return
        self._hear()
        self._number += 1
        self._calls[self._number] = _Call(self, self._number, prompt, responder)
        self.happened.most = max(self.happened.most, len(self._calls))
        self._model.submit(self._number, prompt.tokens, prompt.answer_tokens, prompt.blocks, self._now())
        self._expect()

    def _told(self, path: str) -> bytes:
        """What it says of itself to those who ask."""
        running, waiting = self._model.running, self._model.waiting
        if self._trouble.said_running >= 0:
            running, waiting = self._trouble.said_running, 0
        tokens = sum(call.prompt.tokens for call in self._calls.values())
        if path in ("/health", "/health_generate", "/ping"):
            return b"{}"
        if path == "/v1/models":
            return msgspec.json.encode({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "drill"}]})
        if path in ("/get_model_info", "/model_info", "/get_server_info", "/server_info"):
            return msgspec.json.encode({"model_path": MODEL, "served_model_name": MODEL, "is_generation": True, "version": "0"})
        if path == "/get_load":
            load = {"dp_rank": 0, "num_reqs": running + waiting, "num_waiting_reqs": waiting, "num_tokens": tokens}
            return msgspec.json.encode([load])
        if path in ("/v1/loads", "/loads"):
            return msgspec.json.encode({"loads": [self._load(running, waiting, tokens)], "aggregate": {"total_tokens": tokens}})
        if path == "/metrics":
            usage = self._model.kv_usage
            labels = f'engine="0",model_name="{MODEL}"'
            lines = {
                f"num_requests_running{{{labels}}}": running,
                f"num_requests_waiting{{{labels}}}": waiting,
                f"gpu_cache_usage_perc{{{labels}}}": usage,  # its name in versions that some routers still read
                f"kv_cache_usage_perc{{{labels}}}": usage,
                f'cache_config_info{{block_size="{self._spec.block_tokens}",num_gpu_blocks="{self._spec.kv_blocks}"}}': 1,
            }
            texts = (f"vllm:{name} {float(value)}\n" for name, value in lines.items())
            return "".join(f"# TYPE {text.partition('{')[0]} gauge\n{text}" for text in texts).encode()
        return b""

    def _load(self, running: int, waiting: int, tokens: int) -> dict[str, float]:
        """As SGLang's ``/v1/loads`` has it."""
        spec, usage = self._spec, self._model.kv_usage
        return {
            "dp_rank": 0,
            "num_running_reqs": running,
            "num_waiting_reqs": waiting,
            "num_total_reqs": running + waiting,
            "num_used_tokens": int(usage * spec.kv_blocks * spec.block_tokens),
            "num_total_tokens": tokens,
            "max_total_num_tokens": spec.kv_blocks * spec.block_tokens,
            "token_usage": usage,
            "gen_throughput": 0.0,
            "cache_hit_rate": 0.0,
            "utilization": running / spec.max_running,
            "max_running_requests": spec.max_running,
        }

    # -- time

    def _now(self) -> float:
        return (self._loop.time() - self._zero) * self._speed

    def _hear(self) -> None:
        for word in self._model.advance(self._now()):
            self._say(word)

    def _expect(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        upcoming = self._model.next_change()
        if upcoming < inf:
            self._timer = self._loop.call_at(self._zero + upcoming / self._speed, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._hear()
        self._expect()

    def _say(self, word: Told) -> None:
        call = self._calls.get(word.call)
        if call is None:
            return
        if word.stage == "first_token":
            self.happened.prompt_tokens += call.prompt.tokens
            self.happened.cached_tokens += word.cached_tokens
            call.responder.start(200, STREAM, _event({"role": "assistant", "content": f"r{self.index} "}, None))
            return
        del self._calls[word.call]
        usage = {
            "prompt_tokens": call.prompt.tokens,
            "completion_tokens": call.prompt.answer_tokens,
            "total_tokens": call.prompt.tokens + call.prompt.answer_tokens,
            "prompt_tokens_details": {"cached_tokens": word.cached_tokens},
        }
        last = _event({"content": "and the rest"}, None) + _event({}, "stop")
        tail = b"data: " + msgspec.json.encode({**CHUNK, "choices": [], "usage": usage}) + b"\n\ndata: [DONE]\n\n"
        call.responder.end(last + tail)


def _event(delta: dict[str, str], finish: str | None) -> bytes:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return b"data: " + msgspec.json.encode({**CHUNK, "choices": choices}) + b"\n\n"


@lru_cache(maxsize=64)  # a router may ask every replica for the same text
def _tokenized(body: bytes) -> bytes:
    """What vLLM's tokenizer endpoints say, for a model whose tokens are long.

    Time is compressed for the replicas and not for what a router does with a list of tokens, so the list is a short one. Equal
    texts begin with equal tokens, and that is what it is asked for.
    """
    text = max(body.split(b'"'), key=len)
    tokens = [zlib.crc32(text[place : place + TOKEN_BYTES]) for place in range(0, len(text), TOKEN_BYTES)]
    told = {"count": len(tokens), "max_model_len": 1 << 20, "tokens": tokens, "token_ids": tokens, "request_id": "chatcmpl-drill"}
    return msgspec.json.encode(told)


class Orders:
    """The port that the drills speak to."""

    def __init__(self, replicas: list[MockReplica]) -> None:
        self._replicas = replicas

    def handle(self, request: Request, responder: Responder) -> None:
        """Do what is ordered, or tell."""
        if request.path == "/reset":
            setting = msgspec.json.decode(request.body, type=Setting)
            for replica in self._replicas:
                replica.begin(setting)
        elif request.path == "/trouble":
            trouble = msgspec.json.decode(request.body, type=Trouble)
            self._replicas[trouble.replica].befall(trouble)
        responder.send(200, JSON, msgspec.json.encode([replica.state() for replica in self._replicas]))


SLOW = Setting(ReplicaSpec(prefill_rate=20000, step_base_ms=10, step_per_sequence_ms=0.1))


async def _serve(count: int) -> None:
    limits = ServerLimits(max_body_bytes=64 << 20, keep_alive=3600)
    replicas = [MockReplica(index, SLOW) for index in range(count)]
    ports = []
    for handler in (Orders(replicas).handle, *(replica.handle for replica in replicas)):
        listener = tcp_listener("127.0.0.1", 0)
        ports.append(listener.getsockname()[1])
        await HttpServer(handler, limits).listen(listener)
    print(msgspec.json.encode(ports).decode(), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(int(sys.argv[1])))
