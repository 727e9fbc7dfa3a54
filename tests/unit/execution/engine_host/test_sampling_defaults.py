"""What holds for calls that do not say."""

from antiphon.execution.engine_host.requests import decode_chat, decode_completion
from antiphon.execution.engine_host.sampling import SamplingDefaults, bound_tokens, sampling_params

DEFAULTS = SamplingDefaults(temperature=0.2, top_p=0.9, max_tokens=100)
CHAT = b'{"model":"m","messages":[{"role":"user","content":"x"}]%s}'


def test_defaults_hold_where_nothing_is_said_and_only_there() -> None:
    quiet = decode_chat(CHAT % b"")
    told = decode_chat(CHAT % b',"temperature":1,"top_p":1,"max_tokens":500')
    assert (sampling_params(quiet, adapter=None, defaults=DEFAULTS).temperature, bound_tokens(quiet, 10, 1000, "m", 100)) == (
        0.2,
        100,
    )
    params = sampling_params(told, adapter=None, defaults=DEFAULTS)
    assert (params.temperature, params.top_p, bound_tokens(told, 10, 1000, "m", 100)) == (1.0, 1.0, 500)


def test_the_usual_bound_gives_way_to_the_context() -> None:
    quiet = decode_chat(CHAT % b"")
    assert bound_tokens(quiet, 950, 1000, "m", 100) == 50
    assert bound_tokens(quiet, 950, 1000, "m") == 50
    assert bound_tokens(decode_completion(b'{"model":"m","prompt":"x"}'), 10, 1000, "m", 100) == 16
