"""A child's environment has what its libraries may need, and no secret."""

import pytest

from antiphon.bootstrap.child_environment import child_environment
from antiphon.config import KeySettings, ProviderSettings, Secret, ServerSettings, Settings

SETTINGS = Settings(
    server=ServerSettings(keys=(KeySettings("me", Secret("sk-caller-1")),)),
    providers=(
        ProviderSettings(
            "a", "https://a/v1", key=Secret("sk-provider-1"), headers={"api-key": "Bearer azure-key-1", "x-flag": "1"}
        ),
        ProviderSettings("b", "https://b/v1", proxy="http://me:open-sesame@proxy:3128"),
    ),
)


def passed_on(role: str = "worker", **operator: str) -> set[str]:
    return set(child_environment(role, SETTINGS, {}, operator))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/somewhere"),
        ("SSL_CERT_FILE", "/etc/ssl/mine.pem"),
        ("OPENVINO_LOG_LEVEL", "3"),
        ("LD_LIBRARY_PATH", "/opt"),
        ("NO_PROXY", "localhost"),
        ("https_proxy", "http://proxy:3128"),
        ("FLAG", "1"),
        ("MONKEY", "banana"),
    ],
)
@pytest.mark.parametrize("role", ["worker", "engine"])
def test_what_libraries_read_is_passed_on(role: str, name: str, value: str) -> None:
    assert passed_on(role, **{name: value}) == {name}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GROQ_API_KEY", "anything"),
        ("HF_TOKEN", "anything"),
        ("AWS_SECRET_ACCESS_KEY", "anything"),
        ("db_password", "anything"),
        ("ANTIPHON_SERVER__KEYS", "[{name: me, key: x}]"),
        ("ANTIPHON_PROVIDERS", "[]"),
        ("ACME", "sk-provider-1"),
        ("CALLER", "sk-caller-1"),
        ("AZURE", "azure-key-1"),
        ("WAY_OUT", "open-sesame"),
        ("LINE", "curl -H 'api-key: Bearer azure-key-1'"),
    ],
)
def test_what_is_secret_is_not(name: str, value: str) -> None:
    assert passed_on(**{name: value}) == set()


def test_a_proxys_password_is_for_those_that_call_out() -> None:
    proxy = {"HTTPS_PROXY": "http://me:password@proxy:3128"}
    assert passed_on("worker", **proxy) == {"HTTPS_PROXY"}
    assert passed_on("engine", **proxy) == passed_on("control", **proxy) == set()


@pytest.mark.parametrize("name", ["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"])
def test_where_a_secret_is_may_be_told_to_those_that_call_out(name: str) -> None:
    assert passed_on("worker", **{name: "/run/role"}) == {name}
    assert passed_on("engine", **{name: "/run/role"}) == set()


def test_the_operator_is_above_the_plan() -> None:
    environment = child_environment("engine", SETTINGS, {"OMP_NUM_THREADS": "2", "MORE": "1"}, {"OMP_NUM_THREADS": "7"})
    assert environment == {"OMP_NUM_THREADS": "7", "MORE": "1"}
