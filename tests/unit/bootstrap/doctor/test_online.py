import email.utils
import socket
import time
from collections.abc import Iterator

import pytest

from antiphon.bootstrap.doctor import Subject, asking, online
from antiphon.bootstrap.doctor.asking import Question, ask_all
from antiphon.config import Loaded, ProviderSettings, Secret, Settings
from antiphon.core.errors import ConfigError, UpstreamTimeout
from antiphon.testing import MockUpstream
from antiphon.transport.client import Origin


@pytest.fixture
def upstream() -> Iterator[MockUpstream]:
    with MockUpstream() as server:
        yield server


def subject(*providers: ProviderSettings) -> Subject:
    return Subject(Loaded(Settings(providers=providers), None, {}, ()), online=True)


@pytest.fixture
def answers(monkeypatch):
    """Lets every provider answer with a status and a date, without a network."""

    def install(status: int, ahead: float = 0.0) -> None:
        date = email.utils.formatdate(time.time() + ahead, usegmt=True).encode()
        answer = asking.Answer(status, ((b"date", date),))
        monkeypatch.setattr(online, "ask_all", lambda questions: dict.fromkeys(questions, answer))

    return install


def test_each_provider_is_asked_with_its_key_at_its_own_path(upstream):
    row = ProviderSettings("acme", upstream.url, key=Secret("sk-secret"), headers={"x-team": "blue"})
    finding, *_ = online.providers(subject(row))
    assert (finding.status, finding.found) == ("ok", "acme: GET /models is answered with status 200")
    (request,) = upstream.requests
    assert (request.path, request.header("authorization"), request.header("x-team")) == ("/v1/models", "Bearer sk-secret", "blue")


def test_a_provider_that_cannot_be_reached_does_not_hide_the_others(upstream):
    findings = online.providers(subject(ProviderSettings("gone", "http://127.0.0.1:1/v1"), ProviderSettings("here", upstream.url)))
    assert {finding.found.partition(":")[0]: finding.status for finding in findings if finding.check == "providers"} == {
        "gone": "error",
        "here": "ok",
    }


@pytest.mark.parametrize(
    ("status", "kind"),
    [(200, "ok"), (401, "error"), (403, "error"), (404, "warning"), (429, "warning"), (503, "warning"), (302, "warning")],
)
def test_what_a_status_means(answers, status, kind):
    answers(status)
    finding, _ = online.providers(subject(ProviderSettings("acme", "http://x/v1")))
    assert finding.status == kind
    assert str(status) in finding.found
    assert bool(finding.remedy) == (kind != "ok")


@pytest.mark.parametrize(
    ("ahead", "status", "words"), [(0, "ok", "agrees"), (300, "warning", "behind"), (-300, "warning", "ahead of")]
)
def test_a_clock_that_differs_is_told(answers, ahead, status, words):
    answers(200, ahead)
    _, finding = online.providers(subject(ProviderSettings("acme", "http://x/v1")))
    assert (finding.check, finding.status) == ("clock", status)
    assert words in finding.found


def test_nobody_is_asked_without_the_keys_or_without_providers():
    loaded = Loaded(Settings(providers=(ProviderSettings("acme", "http://x/v1"),)), None, {}, ())
    assert [finding.status for finding in online.providers(Subject(loaded, (ConfigError("no key"),)))] == ["warning"]
    assert [finding.status for finding in online.providers(subject())] == ["ok"]


def test_one_who_says_nothing_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        origin = Origin(host="127.0.0.1", port=silent.getsockname()[1])
        answer = ask_all({"it": Question(origin, "/")}, patience=0.2)["it"]
    assert isinstance(answer, UpstreamTimeout)


def test_no_more_of_an_answer_is_read_than_needed(upstream):
    origin = Origin.parse(upstream.url)
    questions = {size: Question(origin, "/v1/models", max_body=size) for size in (0, 5)}
    assert {size: len(answer.body) for size, answer in ask_all(questions).items()} == {0: 0, 5: 5}
