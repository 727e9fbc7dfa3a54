import json
import logging
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from antiphon.config import (
    DEFAULT_MODEL,
    MASK,
    BreakerSettings,
    Capabilities,
    DegradeSettings,
    EmbeddingSettings,
    KeySettings,
    LocalModelSettings,
    PolicySettings,
    ProviderModel,
    ProviderSettings,
    ResponseSettings,
    RouteSettings,
    Secret,
    ServerSettings,
    Settings,
    TierSettings,
    decode_settings,
    encode_settings,
    load,
    load_with_origins,
    redacted,
)
from antiphon.core.errors import ConfigError


def read(tmp_path: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    file = tmp_path / "antiphon.yaml"
    file.write_text(text)
    return load(file, environ or {})


@pytest.fixture
def nobody(tmp_path, monkeypatch):
    """A user without any configuration, in an empty folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


FULL = """\
server:
  host: 0.0.0.0
  port: 9000
  workers: 4
  grace: 2.5
  max_body_mb: 8
  keep_alive: 30
  header_timeout: 5
  log_calls: no
  keys:
    - name: alice
      key: ${ALICE_KEY}
    - {name: bob, key_file: keys/bob}
providers:
  - name: groq
    url: https://api.groq.com/openai/v1
    key: ${GROQ_API_KEY}
    models:
      - llama
      - name: small
        upstream: llama-3.1-8b
    headers: {x-team: "${TEAM:-blue}"}
    capabilities: {logprobs: false}
    connect_timeout: 1
    first_byte_timeout: 2
    idle_timeout: 3
    max_connections: 4
models:
  - name: org/tiny:q4
    source: file:tiny.gguf
    sha256: ABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCD
    threads: 2
    adapters: {french: "file:french"}
aliases:
  fast: small
  best: [llama, fast]
embeddings: {enabled: true, name: vectors}
data_dir: data
cache_dir: /var/cache/antiphon
"""


def test_everything_can_be_set(tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "bob").write_text("bob-key\n")
    settings = read(tmp_path, FULL, {"ALICE_KEY": "alice-key", "GROQ_API_KEY": "groq-key"})
    assert settings.server == ServerSettings(
        host="0.0.0.0",
        port=9000,
        workers=4,
        grace=2.5,
        max_body_mb=8,
        keep_alive=30.0,
        header_timeout=5.0,
        log_calls=False,
        keys=(KeySettings("alice", Secret("alice-key")), KeySettings("bob", Secret("bob-key"))),
    )
    (groq,) = settings.providers
    assert groq.key == Secret("groq-key")
    assert groq.models == (ProviderModel("llama"), ProviderModel("small", "llama-3.1-8b"))
    assert groq.headers == {"x-team": "blue"}
    assert groq.capabilities == Capabilities(logprobs=False)
    assert (groq.connect_timeout, groq.first_byte_timeout, groq.idle_timeout, groq.max_connections) == (1.0, 2.0, 3.0, 4)
    (tiny,) = settings.models
    assert (tiny.name, tiny.threads, tiny.adapters) == ("org/tiny:q4", 2, {"french": "file:french"})
    assert settings.aliases == {"fast": ("small",), "best": ("llama", "fast")}
    assert settings.embeddings == EmbeddingSettings(name="vectors")
    assert settings.data_dir == str(tmp_path / "data")
    assert settings.cache_dir == "/var/cache/antiphon"


def test_who_needs_no_secrets_need_not_have_them(tmp_path):
    settings = load(_written(tmp_path, FULL), {}, secrets=False)
    assert [key.key for key in settings.server.keys] == [Secret(), Secret()]
    assert settings.providers[0].key == Secret()
    assert settings.providers[0].headers == {"x-team": ""}
    assert settings.server.port == 9000


def test_without_a_file_there_are_defaults_that_work(nobody):
    loaded = load_with_origins(None, {})
    assert loaded.file is None
    assert loaded.settings.models == (DEFAULT_MODEL,)
    assert loaded.settings.providers == ()
    assert loaded.settings.server.host == "127.0.0.1"
    assert Path(loaded.settings.data_dir).is_absolute()
    assert loaded.warnings == ()
    assert loaded.origins == {}


def test_the_default_model_gives_way_to_providers_but_not_to_anything_else(tmp_path):
    provider = "providers: [{name: a, url: 'http://127.0.0.1/v1', models: [b]}]\n"
    assert read(tmp_path, "server: {port: 1}\n").models == (DEFAULT_MODEL,)
    assert read(tmp_path, "providers: []\n").models == ()
    assert read(tmp_path, provider).models == ()
    assert read(tmp_path, "models: []\n").models == ()
    source = DEFAULT_MODEL.source
    both = provider + f"models: [{{name: {DEFAULT_MODEL.name}, source: '{source}', sha256: '{DEFAULT_MODEL.sha256}'}}]\n"
    (written,) = read(tmp_path, both).models
    assert (written.name, written.source, written.temperature) == (DEFAULT_MODEL.name, source, 1.0)


def test_the_plain_name_of_a_built_in_model_is_its_whole_row(tmp_path):
    provider = "providers: [{name: a, url: 'http://127.0.0.1/v1', models: [b]}]\n"
    assert read(tmp_path, f"{provider}models: [{DEFAULT_MODEL.name}]\n").models == (DEFAULT_MODEL,)
    both = f"models:\n  - {DEFAULT_MODEL.name}\n  - {{name: mine, source: 'file:mine.gguf'}}\n"
    assert [model.name for model in read(tmp_path, both).models] == [DEFAULT_MODEL.name, "mine"]
    assert read(tmp_path, provider, {"ANTIPHON_MODELS": f"[{DEFAULT_MODEL.name}]"}).models == (DEFAULT_MODEL,)
    assert read(tmp_path, "models: ['${MODEL}']\n", {"MODEL": DEFAULT_MODEL.name}).models == (DEFAULT_MODEL,)


def test_files_of_keys_are_told(tmp_path):
    (tmp_path / "key").write_text("sk-1")
    file = _written(tmp_path, "server: {keys: [{name: a, key_file: key}, {name: b, key: sk-2}]}\n")
    loaded = load_with_origins(file, {})
    assert loaded.secret_files == (tmp_path / "key",)
    assert loaded.literal_secrets == ("server.keys[1].key",)


def test_the_file_is_looked_for_in_order(nobody):
    def write(path: Path, port: int) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"server: {{port: {port}}}\n")
        return path

    write(nobody / "config" / "antiphon" / "antiphon.yaml", 4)
    assert load(None, {}).server.port == 4
    write(nobody / "antiphon.yaml", 3)
    assert load(None, {}).server.port == 3
    environ = {"ANTIPHON_CONFIG": str(write(nobody / "named.yaml", 2))}
    assert load(None, environ).server.port == 2
    assert load(write(nobody / "asked.yaml", 1), environ).server.port == 1


def test_a_file_that_is_nearly_found_is_warned_of(nobody):
    (nobody / "antiphon.yml").write_text("server: {port: 1}\n")
    loaded = load_with_origins(None, {})
    assert loaded.settings.server.port == 8080
    assert "antiphon.yml is not read" in loaded.warnings[0]


def test_a_file_of_comments_is_a_file_of_defaults(tmp_path):
    assert read(tmp_path, "# server:\n#   port: 1\n").server == ServerSettings()


def test_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path):
    (tmp_path / "antiphon.yaml").write_bytes(b"\xef\xbb\xbfserver:\r\n  port: 1\r\n")
    assert load(tmp_path / "antiphon.yaml", {}).server.port == 1


def test_texts_are_taken_as_written_whatever_yaml_thinks_they_are(tmp_path):
    settings = read(tmp_path, "providers: [{name: 1, url: 'http://x', models: [no, 1.0, 2024-01-01, 0x10], key: 007}]\n")
    assert [model.name for model in settings.providers[0].models] == ["no", "1.0", "2024-01-01", "0x10"]
    assert settings.providers[0].key == Secret("007")


def test_numbers_may_be_quoted(tmp_path):
    assert read(tmp_path, 'server: {port: "9000", grace: "1e1"}\n').server.grace == 10.0


def test_anchors_and_merge_keys_work(tmp_path):
    settings = read(
        tmp_path,
        """\
providers:
  - &base
    name: a
    url: http://127.0.0.1/v1
    capabilities: &weak {tools: false, n: false}
    models: [x]
  - <<: *base
    name: b
    models: [y]
    capabilities:
      <<: [*weak]
      n: true
""",
    )
    first, second = settings.providers
    assert (second.name, second.url) == ("b", first.url)
    assert (second.capabilities.tools, second.capabilities.n) == (False, True)


def test_an_anchor_that_holds_itself_does_no_harm(tmp_path):
    with pytest.raises(ConfigError):
        read(tmp_path, "server: &s\n  <<: *s\n  prot: 1\n")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${A}", "one"),
        ("x-${A}-${B}", "x-one-two"),
        ("${C:-three}", "three"),
        ("${EMPTY:-three}", "three"),
        ("${A:-three}", "one"),
        ("${C:-}x", "x"),
        ("${C:-a:-b}", "a:-b"),
        ("$${A}", "${A}"),
        ("$$$$", "$$"),
        ("$A", "$A"),
        ("${ODD}", "${A} $$"),
    ],
)
def test_variables_are_put_in(tmp_path, text, value):
    environ = {"A": "one", "B": "two", "EMPTY": "", "ODD": "${A} $$"}
    assert read(tmp_path, f"server: {{host: '{text}'}}\n", environ).server.host == value


def test_the_environment_goes_before_the_file(tmp_path):
    text = "server: {port: 1, host: a}\nproviders: [{name: a, url: 'http://x', models: [m]}]\n"
    environ = {
        "ANTIPHON_SERVER__PORT": "2",
        "ANTIPHON_SERVER__KEYS": "[{name: a, key: k}]",
        "ANTIPHON_ALIASES__FAST": "m",
        "ANTIPHON_ALIASES__BEST": "[m, fast]",
        "ANTIPHON_EMBEDDINGS__ENABLED": "false",
        "ANTIPHON_DATA_DIR": "/data",
        "ANTIPHON_SERVER__HOST": "",
    }
    loaded = load_with_origins(_written(tmp_path, text), environ)
    settings = loaded.settings
    assert (settings.server.port, settings.server.host) == (2, "a")
    assert settings.server.keys == (KeySettings("a", Secret("k")),)
    assert settings.aliases == {"fast": ("m",), "best": ("m", "fast")}
    assert not settings.embeddings.enabled
    assert settings.data_dir == "/data"
    assert settings.providers[0].name == "a"
    assert loaded.origins["server.port"] == "ANTIPHON_SERVER__PORT"
    assert loaded.origins["server.host"].endswith("antiphon.yaml:1")
    assert loaded.warnings == ()


def test_variables_of_others_are_left_alone(nobody):
    environ = {
        "ANTIPHON_SERVICE_HOST": "10.0.0.1",
        "ANTIPHON_PORT": "tcp://10.0.0.1:8080",
        "ANTIPHON_PORT_8080_TCP": "tcp://10.0.0.1:8080",
        "ANTIPHON_API_KEY": "k",
        "ANTIPHON_URL": "http://x",
        "ANTIPHONY__X": "1",
    }
    assert load(None, environ) == load(None, {})


def test_dollars_in_a_variable_of_ours_are_dollars(nobody):
    assert load(None, {"ANTIPHON_SERVER__HOST": "${X}$$"}).server.host == "${X}$$"


def test_an_overlay_leaves_what_shares_an_anchor_alone(tmp_path):
    text = "server: {host: &h localhost}\nembeddings: {name: *h}\n"
    settings = read(tmp_path, text, {"ANTIPHON_EMBEDDINGS__NAME": "vectors"})
    assert (settings.server.host, settings.embeddings.name) == ("localhost", "vectors")


def test_aliases_may_lead_to_models_that_are_known_elsewhere(tmp_path):
    file = _written(tmp_path, "aliases: {fast: added}\n")
    assert load(file, {}, known=lambda settings: ["added"]).aliases == {"fast": ("added",)}
    with pytest.raises(ConfigError, match="which is not known"):
        load(file, {})


def test_a_name_that_an_added_model_has_is_taken(tmp_path):
    file = _written(tmp_path, "providers: [{name: a, url: 'http://x', models: [added]}]\n")
    with pytest.raises(ConfigError, match='added with "antiphon models add"'):
        load(file, {}, known=lambda settings: ["added"])
    file.write_text("models: [{name: added, source: 'file:x'}]\n")
    assert load(file, {}, known=lambda settings: ["added"]).models[0].name == "added"


WARNINGS = {
    "literal key": (
        "server: {keys: [{name: a, key: abc}]}\n",
        ["server.keys[0].key stands in the file in clear text", "chmod 600"],
    ),
    "open to all": ("server: {host: 0.0.0.0}\n", ["whoever reaches this machine may call"]),
    "plain http": (
        "providers: [{name: a, url: 'http://far.example', key: '${K}', models: [m]}]\n",
        ["the key of provider a travels unencrypted"],
    ),
    "nothing to serve": ("providers: [{name: a, url: 'http://x'}]\n", ["provider a lists no models"]),
}


@pytest.mark.parametrize(("text", "parts"), WARNINGS.values(), ids=WARNINGS)
def test_what_is_unwise_is_warned_of(tmp_path, caplog, text, parts):
    file = _written(tmp_path, text)
    file.chmod(0o644)
    with caplog.at_level(logging.WARNING, logger="antiphon.config"):
        load(file, {"K": "abc"})
    assert len(caplog.messages) == len(parts)
    for message, part in zip(caplog.messages, parts, strict=True):
        assert part in message
        assert "abc" not in message.replace(str(file), "")


def test_a_literal_key_in_a_private_file_is_only_mentioned(tmp_path):
    file = _written(tmp_path, "server: {keys: [{name: a, key: abc}]}\n")
    file.chmod(0o600)
    assert len(load_with_origins(file, {}).warnings) == 1


def _written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "antiphon.yaml"
    file.write_text(text)
    return file


def test_a_secret_shows_itself_only_when_asked():
    secret = Secret("sk-123")
    settings = Settings(
        server=ServerSettings(keys=(KeySettings("a", secret),)),
        providers=(ProviderSettings("p", "http://x", key=secret, headers={"api-key": "sk-123"}),),
    )
    shown = [str(secret), repr(secret), f"{secret}", f"{secret:>9}", f"{secret!r}", "%s" % secret, repr(settings), str(settings)]  # noqa: UP031
    shown += [json.dumps(redacted(settings)), repr(list(settings.providers[0].__rich_repr__()))]
    assert not [text for text in shown if "sk-123" in text]
    assert secret.reveal() == "sk-123"
    assert redacted(settings)["server"]["keys"][0]["key"] == MASK
    assert redacted(settings)["providers"][0]["headers"] == {"api-key": MASK}
    with pytest.raises(TypeError):
        msgspec.json.encode(settings)


def test_an_empty_secret_is_shown_as_empty():
    assert redacted(Settings(providers=(ProviderSettings("p", "http://x"),)))["providers"][0]["key"] == ""
    assert not Secret()
    assert Secret("a")


def test_secrets_compare_by_their_text():
    assert Secret("a") == Secret("a") != Secret("b")
    assert len({Secret("a"), Secret("a")}) == 1
    assert Secret("a") != "a"


names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
secrets = st.builds(Secret, st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1))
seconds = st.floats(min_value=0.001, max_value=86400)
providers = st.builds(
    ProviderSettings,
    name=names,
    url=names.map(lambda host: f"https://{host}/v1"),
    key=secrets,
    models=st.lists(st.builds(ProviderModel, name=names, upstream=st.text()), max_size=3).map(tuple),
    headers=st.dictionaries(names, st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)), max_size=2),
    connect_timeout=seconds,
    first_byte_timeout=seconds,
    protocol=names,
    api_version=st.none() | names,
    idle_timeout=seconds,
    weight=st.floats(0.1, 100),
    region=names,
    rack=names,
    host=names,
    max_connections=st.integers(1, 10**6),
    max_connection_age=seconds,
    proxy=st.one_of(st.sampled_from(["environment", "none"]), names.map(lambda name: f"http://{name}:{name}@{name}:3128")),
    ca_file=names,
    client_cert=names,
    client_key=names,
    server_name=names,
    verify=st.booleans(),
)
servers = st.builds(
    ServerSettings,
    host=names,
    port=st.integers(0, 65535),
    workers=st.integers(1, 256),
    grace=st.floats(0, 86400),
    max_body_mb=st.integers(1, 4096),
    keep_alive=seconds,
    header_timeout=seconds,
    log_calls=st.booleans(),
    responses=st.builds(ResponseSettings, store=st.booleans(), max_mb=st.integers(1, 9999), max_age_days=st.floats(0.1, 3650)),
    event_spill_mb=st.integers(1, 9999),
    tls_cert=names,
    keys_file=names,
    tls_key=names,
    proxy_protocol=st.sampled_from(["none", "v1", "v2", "both"]),
    trusted_proxies=st.lists(st.sampled_from(["10.0.0.0/8", "::1"]), max_size=2).map(tuple),
    keys=st.lists(st.builds(KeySettings, name=names, key=secrets, tier=st.none() | st.integers(0, 2)), max_size=2).map(tuple),
)
local_models = st.builds(
    LocalModelSettings,
    name=names,
    source=names.map(lambda path: f"file:{path}"),
    sha256=st.sampled_from(["", "0" * 64]),
    engine=names,
    threads=st.integers(0, 64),
    context=st.integers(0, 10**6),
    kv_cache_mb=st.integers(1, 10**6),
    max_running=st.integers(1, 1000),
    max_waiting=st.integers(0, 1000),
    precision=names,
    adapters=st.dictionaries(names, names, max_size=2),
    temperature=st.floats(0, 2),
    top_p=st.floats(0.01, 1),
    max_tokens=st.integers(0, 9999),
)
tiers = st.builds(
    TierSettings,
    first_token_within=st.floats(0, 60),
    answer_within=st.floats(0, 600),
    max_wait=seconds,
    floor=st.floats(0, 1),
    headroom=st.floats(0, 1),
)
breakers = st.builds(
    BreakerSettings,
    window=seconds,
    failure_rate=st.floats(0.01, 1),
    minimum_calls=st.integers(1, 100),
    open_for=seconds,
    trials=st.integers(1, 100),
    recovery=st.floats(0.01, 1),
    first_token_over=st.floats(0, 60),
    token_over=st.floats(0, 60),
)
degrades = st.builds(
    DegradeSettings,
    model=names | st.just(""),
    template=st.text(max_size=9),
    below=st.floats(0, 1),
    template_below=st.floats(0, 1),
    margin=st.floats(0, 1),
    minimum_calls=st.integers(1, 100),
    probe=st.floats(0, 1),
    when_busy=st.booleans(),
)
policies = st.from_regex(r"[a-z][a-z0-9_-]{0,9}", fullmatch=True)
routes = st.builds(
    RouteSettings,
    name=names,
    policy=st.lists(st.builds(PolicySettings, name=policies, weight=st.floats(0.1, 9)), min_size=1, max_size=2).map(tuple),
    tier=st.integers(0, 2),
    realtime=st.booleans(),
    p0=tiers,
    p1=tiers,
    p2=tiers,
    max_waiting=st.integers(0, 9999),
    max_calls=st.integers(1, 999),
    min_calls=st.integers(1, 999),
    max_tokens=st.integers(0, 9999),
    adaptive=st.booleans(),
    poll_load=st.one_of(st.just(0.0), st.floats(0.1, 5)),
    backlog=seconds,
    shed_from=st.floats(0, 1),
    attempts=st.integers(1, 9),
    retry_budget=st.floats(0, 1),
    hedge_budget=st.floats(0, 1),
    breaker=breakers,
    degrade=degrades,
)
any_settings = st.builds(
    Settings,
    server=servers,
    providers=st.lists(providers, max_size=2).map(tuple),
    models=st.lists(local_models, max_size=2).map(tuple),
    aliases=st.dictionaries(names, st.lists(names, min_size=1, max_size=3).map(tuple), max_size=2),
    routes=st.lists(routes, max_size=2).map(tuple),
    embeddings=st.builds(EmbeddingSettings, enabled=st.booleans(), name=names),
    data_dir=names,
    cache_dir=names,
)


@given(any_settings)
@examples(deadline=None, max_examples=50)
def test_settings_survive_the_way_to_a_child(settings):
    line = encode_settings(settings)
    assert b"\n" not in line
    assert decode_settings(line) == settings


def test_the_round_trip_covers_every_field():
    """A field that is added to the settings must be added to the strategies above."""
    for built, struct in (
        (providers, ProviderSettings),
        (servers, ServerSettings),
        (local_models, LocalModelSettings),
        (routes, RouteSettings),
    ):
        mentioned = set(re.findall(r"(\w+)=", repr(built)))
        assert set(struct.__struct_fields__) - mentioned - {"capabilities"} == set()
