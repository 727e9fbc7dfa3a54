"""The configurations that are printed are what they should be, as far as they can be looked at without the gateways."""

import json

import pytest
import yaml

from antiphon.config import load
from antiphon.core.errors import NotFound
from antiphon.testing.fidelity.caller import Gateway
from antiphon.testing.fidelity.gateways import KNOWN, known_gateway


@pytest.mark.parametrize("gateway", KNOWN, ids=lambda gateway: gateway.name)
def test_each_names_the_port_and_the_command(gateway):
    assert "9123" in gateway.file(9123)
    assert "PORT" not in gateway.file(9123) + "".join(gateway.lines(9123))
    assert any("antiphon fidelity --gateway http://" in line and "--mock-port 9123" in line for line in gateway.lines(9123))


def test_ours_is_one_that_our_server_takes(tmp_path):
    file = tmp_path / "antiphon.yaml"
    file.write_text(known_gateway("Antiphon").file(9123))
    rows = load(file, {"HOME": str(tmp_path)}).providers
    assert [(row.protocol, row.url, [model.name for model in row.models]) for row in rows] == [
        ("openai", "http://127.0.0.1:9123/v1", ["fidelity-openai"]),
        ("anthropic", "http://127.0.0.1:9123/v1", ["fidelity-anthropic"]),
    ]


def test_the_others_are_of_their_format():
    assert yaml.safe_load(known_gateway("litellm").file(1))["model_list"][0]["model_name"] == "fidelity-openai"
    assert yaml.safe_load(known_gateway("mlflow").file(1))["endpoints"][0]["name"] == "fidelity-openai"
    assert json.loads(known_gateway("bifrost").file(1))["providers"]["openai"]["network_config"]["base_url"] == "http://127.0.0.1:1"
    name, _, value = known_gateway("portkey").file(1).partition(": ")
    assert name == "x-portkey-config"
    assert [target["name"] for target in json.loads(value)["targets"]] == ["openai", "anthropic"]


def test_one_that_nobody_knows_is_refused_with_those_that_are_known():
    with pytest.raises(NotFound, match=r'"nonsense".*litellm'):
        known_gateway("nonsense")


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://h:1", "/v1/messages"),
        ("http://h:1/", "/v1/messages"),
        ("http://h:1/v1", "/v1/messages"),
        ("http://h:1/v1/", "/v1/messages"),
        ("http://h:1/openai/v1", "/openai/v1/messages"),
        ("http://h:1/team/a", "/team/a/v1/messages"),
    ],
)
def test_a_gateway_is_named_by_its_root_or_its_v1(url, target):
    assert Gateway(url).target("/v1/messages") == target


def test_callers_of_anthropic_show_their_key_in_both_ways():
    gateway = Gateway("http://h", "sk-1", headers=(("x-a", "b"),))
    assert dict(gateway.fields("openai")) == {b"content-type": b"application/json", b"authorization": b"Bearer sk-1", b"x-a": b"b"}
    assert dict(gateway.fields("anthropic"))[b"x-api-key"] == b"sk-1"
