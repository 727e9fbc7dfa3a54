"""What servers tell of their load, read from their pages."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest

from antiphon.execution.providers import PROVIDERS, ServerLoad, TellsLoad
from antiphon.execution.providers._gauges import MAX_LINES, MOST, Gauges

VLLM = PROVIDERS.load("vllm").load
PLAIN = Gauges(running=("up:running",), waiting=("up:waiting",))
CONFIG = 'vllm:cache_config_info{block_size="16",cache_dtype="auto",engine="0",num_gpu_blocks="1000"} 1.0\n'


def vllm_page(model="llama", engines=1, running=3, waiting=2, usage=0.25, name="kv_cache_usage_perc"):
    """A page as vLLM writes it, by the library that vLLM writes it with."""
    registry = CollectorRegistry()
    labels = ("engine", "model_name")
    gauges = [Gauge(f"vllm:{each}", "A gauge.", labels, registry=registry) for each in ("num_requests_running", name)]
    queue = Gauge("vllm:num_requests_waiting", "A gauge.", labels, registry=registry)
    reasons = Gauge("vllm:num_requests_waiting_by_reason", "A gauge.", (*labels, "reason"), registry=registry)
    seconds = Histogram("vllm:e2e_request_latency_seconds", "A histogram.", labels, registry=registry)
    for engine in range(engines):
        gauges[0].labels(engine, model).set(running)
        gauges[1].labels(engine, model).set(usage)
        queue.labels(engine, model).set(waiting)
        reasons.labels(engine, model, "capacity").set(waiting)
        seconds.labels(engine, model).observe(1.5)
    return generate_latest(registry)


def test_what_vllm_tells():
    assert VLLM.read(vllm_page(), "llama") == ServerLoad(3, 2, 0.25)


def test_an_older_name_of_a_gauge_counts_where_the_newer_one_is_missing():
    assert VLLM.read(vllm_page(name="gpu_cache_usage_perc"), "llama").kv_usage == 0.25


def test_the_engines_behind_a_server_are_added_up():
    assert VLLM.read(vllm_page(engines=4), "llama") == ServerLoad(12, 8, 0.25)


def test_of_several_models_the_one_that_is_asked_counts_and_all_where_the_page_has_another_name_for_it():
    page = b'up:running{model_name="a"} 1\nup:running{model_name="b"} 2\nup:waiting 5\n'
    assert PLAIN.read(page, "b") == ServerLoad(2, 5)
    assert PLAIN.read(page, "alias-of-a") == ServerLoad(3, 5)


def test_memory_in_use_comes_from_its_share_and_its_size():
    assert VLLM.read(vllm_page() + CONFIG.encode(), "llama").tokens == 4000
    assert VLLM.read(vllm_page() + CONFIG.replace("1000", "None").encode(), "llama").tokens == -1


@pytest.mark.parametrize(
    ("protocol", "page", "load"),
    [
        (
            "sglang",
            """\
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{model_name="m",tp_rank="0"} 7.0
sglang:num_queue_reqs{model_name="m",tp_rank="0"} 2.0
sglang:token_usage{model_name="m",tp_rank="0"} 0.28
sglang:num_used_tokens{model_name="m",tp_rank="0"} 123859.0
""",
            ServerLoad(7, 2, 0.28, 123859),
        ),
        ("llama_cpp", "llamacpp:requests_processing 2\nllamacpp:requests_deferred 1\n", ServerLoad(2, 1)),
        ("tgi", "tgi_batch_current_size 4\ntgi_queue_size 6\n", ServerLoad(4, 6)),
    ],
)
def test_what_other_servers_tell(protocol, page, load):
    assert PROVIDERS.load(protocol).load.read(page.encode(), "m") == load


def test_vendors_tell_nothing():
    telling = {
        name for name in PROVIDERS.names() if isinstance(plugin := PROVIDERS.load(name), TellsLoad) and plugin.load is not None
    }
    assert telling == {"vllm", "sglang", "llama_cpp", "tgi"}


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"<html>a page of a proxy</html>",
        b'{"error": {"message": "unknown"}}',
        b"# HELP up:running Calls.\n# TYPE up:running gauge\n",
        b"up:running{ 3\n",
        b"up:running three\n",
        b"not_up:running 3\n",
        b"up:running_too 3\n",
        b"up:running 1\n" * (MAX_LINES + 1),
        b'up:running{a="' + b"a" * 10_000 + b'"} 1\n',
    ],
)
def test_a_page_that_tells_nothing_is_refused(page):
    with pytest.raises(ValueError, match=r"."):
        PLAIN.read(page, "m")


def test_numbers_that_count_nothing_count_nothing():
    assert PLAIN.read(b"up:running NaN\nup:waiting -3\n", "m") == ServerLoad(0, 0)


@pytest.mark.parametrize("number", [b"+Inf", b"1e300", b"10000000001"])
def test_more_than_there_can_be_is_wrong(number):
    with pytest.raises(ValueError, match="which cannot be"):
        PLAIN.read(b"up:running 1\nup:waiting " + number + b"\n", "m")


LINES = st.one_of(
    st.binary(max_size=80),
    st.builds(
        lambda name, rest: name + rest,
        st.sampled_from([b"vllm:num_requests_running", b"vllm:num_requests_waiting", b"vllm:kv_cache_usage_perc"]),
        st.one_of(
            st.binary(max_size=60),
            st.text(alphabet='{}=,"\\ abcmodel_name0.9eE+-\t#', max_size=60).map(str.encode),
            st.floats().map(lambda number: f'{{model_name="m"}} {number}'.encode()),
            st.integers().map(lambda number: f" {number}".encode()),
        ),
    ),
    st.builds(
        lambda blocks, size: f'vllm:cache_config_info{{num_gpu_blocks="{blocks}",block_size="{size}"}} 1'.encode(),
        st.one_of(st.integers(), st.floats(), st.text(alphabet="0x_e.", max_size=5)),
        st.integers(),
    ),
)


@given(st.lists(LINES, max_size=12).map(b"\n".join))
@example(b"vllm:num_requests_running 1\nvllm:num_requests_waiting" + b" " + b"9" * 5000)
@example(b"vllm:num_requests_running 1 2 3\r\nvllm:num_requests_running 1\x00")
def test_no_page_is_more_than_unreadable(page):
    try:
        load = VLLM.read(page, "m")
    except ValueError:
        return
    assert 0 <= load.running <= MOST
    assert 0 <= load.waiting <= MOST
    assert 0 <= load.kv_usage <= 1
    assert -1 <= load.tokens <= MOST


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.floats(0, 1), st.text(max_size=20), st.integers(1, 4))
def test_what_the_library_writes_is_read_whatever_the_model_is_called(running, waiting, usage, model, engines):
    load = VLLM.read(vllm_page(model, engines, running, waiting, usage), model)
    assert (load.running, load.waiting) == (running * engines, waiting * engines)
    assert load.kv_usage == pytest.approx(usage)
