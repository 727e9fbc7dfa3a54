"""Every way to write a wrong configuration: the error names the file, the line, the setting and what to do."""

from pathlib import Path
from textwrap import dedent

import pytest

from antiphon.config import ConfigErrors, load
from antiphon.core.errors import ConfigError

PROVIDER = "providers:\n  - name: groq\n    url: https://api.example/v1\n    models: [llama]\n"


def error_of(tmp_path: Path, text: str | bytes, environ: dict[str, str] | None = None) -> ConfigError:
    file = tmp_path / "antiphon.yaml"
    file.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
    with pytest.raises(ConfigError) as caught:
        load(file, environ or {})
    assert caught.value.file == str(file)
    return caught.value


BAD = {
    "unknown setting": (
        "server:\n  prot: 1\n",
        2,
        3,
        "server.prot",
        '"server.prot"',
        'did you mean "server.port"? known here: host, port',
    ),
    "unknown with dashes": (
        "server:\n  max-body-mb: 1\n",
        2,
        3,
        "server.max-body-mb",
        "unknown",
        'did you mean "server.max_body_mb"?',
    ),
    "in the wrong place": ("port: 80\n", 1, 1, "port", 'unknown setting "port"', 'did you mean "server.port"?'),
    "nothing like it": ("qqqq: 80\n", 1, 1, "qqqq", 'unknown setting "qqqq"', "known here: server, providers"),
    "unknown in a list": (
        PROVIDER + "    idle_timeot: 5\n",
        5,
        5,
        "providers[0].idle_timeot",
        "unknown",
        'did you mean "providers[0].idle_timeout"?',
    ),
    "word for a number": ("server: {port: http}\n", 1, 16, "server.port", 'a whole number from 0 to 65535, not "http"', ""),
    "too large": ("server:\n  port: 70000\n", 2, 9, "server.port", 'from 0 to 65535, not "70000"', ""),
    "negative": ("server:\n  workers: -1\n", 2, 12, "server.workers", "from 1 to 256", ""),
    "fraction": ("server:\n  port: 80.5\n", 2, 9, "server.port", "a whole number", ""),
    "infinite": ("server:\n  grace: .inf\n", 2, 10, "server.grace", "a number from 0 to 86400", ""),
    "not a number": ("server:\n  grace: .nan\n", 2, 10, "server.grace", "a number", ""),
    "unit": ("server:\n  grace: 10s\n", 2, 10, "server.grace", 'a number from 0 to 86400, not "10s"', ""),
    "zero time-out": ("server:\n  keep_alive: 0\n", 2, 15, "server.keep_alive", "above 0", ""),
    "no boolean": ("server:\n  log_calls: maybe\n", 2, 14, "server.log_calls", 'true or false, not "maybe"', ""),
    "a model that is not built in": (
        "models:\n  - smollm2-135m-instrukt\n",
        2,
        5,
        "models[0]",
        'models[0] is "smollm2-135m-instrukt", which is not a built-in model',
        'did you mean "smollm2-135m-instruct"?',
    ),
    "a built-in model twice": (
        "models: [smollm2-135m-instruct, smollm2-135m-instruct]\n",
        1,
        33,
        "models[1].name",
        "is there twice",
        "give one of them another name",
    ),
    "no value": ("server:\n  port:\n", 2, 8, "server.port", "has no value", "or remove the line"),
    "empty section": ("server:\nproviders: []\n", 1, 8, "server", "has no value", ""),
    "text for a section": ("server: yes please\n", 1, 9, "server", "must hold settings, not a plain text", "known: host, port"),
    "list for a section": ("server: [1]\n", 1, 9, "server", "must hold settings, not a list", ""),
    "mapping for a list": ("models: {a: b}\n", 1, 9, "models", "must be a list, not a mapping", '"- "'),
    "mapping for a text": ("server:\n  host: {a: b}\n", 2, 9, "server.host", "not a mapping", ""),
    "list for a mapping": ("aliases: [a]\n", 1, 10, "aliases", "must be a mapping", ""),
    "missing in a list": ("providers:\n  - name: groq\n", 2, 5, "providers[0].url", 'providers[0] lacks "url"', "add url"),
    "key missing": ("server:\n  keys:\n    - name: a\n", 3, 7, "server.keys[0].key", 'lacks "key" (or "key_file")', "add key"),
    "file for a number": ("server:\n  port_file: x\n", 2, 3, "server.port_file", "unknown setting", 'did you mean "server.port"?'),
    "empty host": ('server:\n  host: ""\n', 2, 9, "server.host", "a text that is not empty, not an empty text", ""),
    "blank in a name": ('embeddings: {name: "a b"}\n', 1, 20, "embeddings.name", "a name without blanks", ""),
    "line in a name": ('embeddings: {name: "a\\n"}\n', 1, 20, "embeddings.name", "a name without blanks", ""),
    "provider with slash": ("providers: [{name: a/b, url: 'http://x'}]\n", 1, 20, "providers[0].name", "letters, digits", ""),
    "provider called antiphon": (
        "providers: [{name: antiphon, url: 'http://x'}]\n",
        1,
        20,
        "providers[0].name",
        "this machine",
        "another",
    ),
    "ftp": (PROVIDER.replace("https:", "ftp:"), 3, 10, "providers[0].url", "http or https", ""),
    "no scheme": (PROVIDER.replace("https://", ""), 3, 10, "providers[0].url", 'a URL like "https://host/v1"', ""),
    "no host": (PROVIDER.replace("api.example", ""), 3, 10, "providers[0].url", "a URL like", ""),
    "query": (PROVIDER.replace("/v1", "/v1?a=b"), 3, 10, "providers[0].url", "without user, query", ""),
    "port of a URL": (PROVIDER.replace(".example", ".example:99999"), 3, 10, "providers[0].url", "has a port", "correct the port"),
    "header name": (PROVIDER + "    headers: {'a b': c}\n", 5, 15, "providers[0].headers.a b", "the name of an HTTP header", ""),
    "own header": (
        PROVIDER + "    headers: {Host: c}\n",
        5,
        21,
        "providers[0].headers.Host",
        "set by Antiphon itself",
        "remove it",
    ),
    "key and header": (
        PROVIDER + "    key: abc\n    headers: {Authorization: c}\n",
        6,
        30,
        "providers[0].headers.Authorization",
        'both "key" and an authorization header',
        "keep one",
    ),
    "source": ("models: [{name: a, source: model.gguf}]\n", 1, 28, "models[0].source", '"pypi:", "hf:", "file:" or "https:"', ""),
    "sha256": ("models: [{name: a, source: 'file:x', sha256: abc}]\n", 1, 46, "models[0].sha256", "64 hexadecimal digits", ""),
    "local name": ("models: [{name: ../x, source: 'file:x'}]\n", 1, 17, "models[0].name", "letters, digits", ""),
    "set twice": (
        "server:\n  port: 1\n  port: 2\n",
        3,
        3,
        "server.port",
        '"server.port" is set twice, first on line 2',
        "keep one",
    ),
    "key and key_file": (
        "server:\n  keys:\n    - {name: a, key: abc, key_file: x}\n",
        3,
        27,
        "server.keys[0].key_file",
        'both "key" and "key_file"',
        "keep one",
    ),
    "no key file": (
        "server:\n  keys: [{name: a, key_file: nowhere}]\n",
        2,
        30,
        "server.keys[0].key_file",
        "No such file",
        "check the path",
    ),
    "key file is a folder": (
        "server:\n  keys: [{name: a, key_file: .}]\n",
        2,
        30,
        "server.keys[0].key_file",
        "cannot be read",
        "check the path",
    ),
    "empty key": (
        'server:\n  keys: [{name: a, key: ""}]\n',
        2,
        25,
        "server.keys[0].key",
        "is empty",
        "set it, or remove the entry",
    ),
    "key is a list": (
        "server:\n  keys: [{name: a, key: [b]}]\n",
        2,
        25,
        "server.keys[0].key",
        "must be a text, not a list",
        "key_file",
    ),
    "same provider": (
        PROVIDER + PROVIDER.removeprefix("providers:\n").replace("llama", "other"),
        5,
        11,
        "providers[1].name",
        'provider "groq" is there twice: providers[0].name',
        "its own name",
    ),
    "same caller": (
        "server:\n  keys: [{name: a, key: b}, {name: a, key: c}]\n",
        2,
        36,
        "server.keys[1].name",
        'key "a" is there twice',
        "its own name",
    ),
    "same key": (
        "server:\n  keys: [{name: a, key: s3c}, {name: b, key: s3c}]\n",
        2,
        46,
        "server.keys[1].key",
        '"a" and "b" are the same',
        "own",
    ),
    "same model": (
        PROVIDER + "models:\n  - name: llama\n    source: file:x\n",
        6,
        11,
        "models[0].name",
        'model "llama" is there twice: providers[0].models[0]',
        "another name",
    ),
    "model as encoder": (
        PROVIDER.replace("llama", "usem3"),
        4,
        14,
        "providers[0].models[0]",
        '"usem3" is there twice',
        "another name",
    ),
    "alias as model": (PROVIDER + "aliases:\n  llama: llama\n", 6, 10, "aliases.llama", "is an alias and a model", "another name"),
    "alias to nothing": (
        PROVIDER + "aliases:\n  fast: lama\n",
        6,
        9,
        "aliases.fast",
        'leads to "lama"',
        'did you mean "llama"? known: groq/llama, llama',
    ),
    "alias in a circle": (
        PROVIDER + "aliases:\n  a: b\n  b: a\n",
        6,
        6,
        "aliases.a",
        "in a circle: a -> b -> a",
        "lead to a model",
    ),
    "alias to itself": (PROVIDER + "aliases:\n  a: [llama, a]\n", 6, 6, "aliases.a", "in a circle: a -> a", "lead to a model"),
    "alias names one twice": (PROVIDER + "aliases:\n  a: [llama, llama]\n", 6, 6, "aliases.a", 'names "llama" twice', "keep one"),
    "alias without target": (PROVIDER + "aliases:\n  a: []\n", 6, 6, "aliases.a", "an empty list", "at least one"),
    "unset variable": ("server:\n  host: ${NOWHERE}\n", 2, 9, "server.host", "variable NOWHERE is not set", "${NOWHERE:-default}"),
    "open reference": ("server:\n  host: ${NOWHERE\n", 2, 9, "server.host", "is not a reference", "$$ for a dollar sign"),
    "odd reference": ("server:\n  host: ${a-b}\n", 2, 9, "server.host", "is not a reference", "${NAME:-default}"),
    "tag": ("server:\n  host: !secret x\n", 2, 9, "server.host", "the YAML tag !secret", "remove the tag"),
    "key that is a list": ("server:\n  [a, b]: 1\n", 2, 3, "server", "a key that is a list", "plain names"),
    "not a mapping": ("- server\n", 1, 1, "", "must hold settings, not a list", "name: value"),
    "only a text": ("hello\n", 1, 1, "", "must hold settings, not a plain text", "name: value"),
    "tab": ("server:\n\tport: 1\n", 2, 1, "", "cannot start any token", "indent with spaces"),
    "open quote": ("server:\n  host: 'x\n  port: 1\n", 4, 1, "", "quoted scalar that began on line 2", "quotes"),
    "reference in a flow": ("server: {host: ${X}}\n", 1, 17, "", "the YAML is not valid", 'for example "${NAME}"'),
    "two documents": ("server: {}\n---\nserver: {}\n", 2, 1, "", "the YAML is not valid", "keep one document"),
    "undefined anchor": ("server: *nobody\n", 1, 9, "", "undefined alias", ""),
    "colon in a value": ("server: a: b\n", 1, 10, "", "mapping values are not allowed", "indentation"),
    "control character": ("server:\n  host: a\x01b\n", 2, 0, "", "control character", "remove it"),
    "nested too deeply": ("a: " + "[" * 3000, 1, 34, "", "nested too deeply", "close the brackets"),
    "not UTF-8": (b"server:\n  host: \xff\xfe\n", 2, 0, "", "not UTF-8", "save it as UTF-8"),
    "empty file": (b" \n", 0, 0, "", "the file is empty", "remove it"),
}


@pytest.mark.parametrize(("text", "line", "column", "key", "message", "remedy"), BAD.values(), ids=BAD)
def test_a_wrong_configuration_is_refused_by_place_name_and_remedy(tmp_path, text, line, column, key, message, remedy):
    error = error_of(tmp_path, text)
    assert not isinstance(error, ConfigErrors), str(error)
    assert (error.line, error.column, error.key) == (line, column, key), str(error)
    assert message in error.message
    assert error.remedy
    assert remedy in error.remedy
    assert error.message in str(error)


EVERYTHING_WRONG = """\
server:
  prot: 1
  workers: many
  tls_cert: gone.crt
  keys:
    - {name: me, key_file: gone.key}
    - {name: me, key: "${NOT_SET}"}
providers:
  - {name: a, url: "http://one/v1", models: [one]}
  - {name: b, ur: "http://two/v1", models: [two]}
  - {name: a, url: "http://three/v1", models: [{name: [three]}], tmeout: 3}
  - 7
  - {name: d, url: "http://four/v1", modles: [four]}
aliases:
  lost: nobody
  twice: [two, none]
  left: three
  over: four
  round: about
  about: round
"""


def test_every_kind_of_error_is_told_at_once_each_with_its_line(tmp_path):
    error = error_of(tmp_path, EVERYTHING_WRONG)
    assert isinstance(error, ConfigErrors)
    told = [(each.line, each.key) for each in error.errors]
    assert told == [
        (2, "server.prot"),
        (3, "server.workers"),
        (4, "server.tls_cert"),
        (6, "server.keys[0].key_file"),
        (7, "server.keys[1].name"),
        (7, "server.keys[1].key"),
        (10, "providers[1].url"),
        (10, "providers[1].ur"),
        (11, "providers[2].name"),
        (11, "providers[2].models[0].name"),
        (11, "providers[2].tmeout"),
        (12, "providers[3]"),
        (13, "providers[4].modles"),
        (15, "aliases.lost"),
        (16, "aliases.twice"),
        (19, "aliases.round"),
    ]
    assert all(each.file and each.remedy for each in error.errors)


def test_what_could_not_be_read_brings_no_second_error(tmp_path):
    text = "providers:\n  - {name: a, url: nowhere, models: [one]}\n  - {name: b, url: 'http://two/v1', modles: [two]}\n"
    error = error_of(tmp_path, text + "aliases: {x: one, y: two, z: a/one, w: b/two}\n")
    assert isinstance(error, ConfigErrors)
    assert [each.key for each in error.errors] == ["providers[0].url", "providers[1].modles"]


def test_a_path_of_a_stranger_is_told_beside_other_errors(tmp_path):
    error = error_of(tmp_path, "data_dir: ~nobody-there/data\nserver: {prot: 1}\n")
    assert isinstance(error, ConfigErrors)
    assert [each.key for each in error.errors] == ["data_dir", "server.prot"]


@pytest.mark.parametrize(("below", "words"), [("", "and it is no folder"), ("/deep/er", "taken is no folder")])
def test_a_folder_that_is_a_file_is_told_with_its_line(tmp_path, below, words):
    (tmp_path / "taken").touch()
    error = error_of(tmp_path, f"server: {{port: 0}}\ndata_dir: ./taken{below}\n")
    assert (error.line, error.key) == (2, "data_dir")
    assert words in error.message
    assert "move that file away" in error.remedy


def test_all_errors_are_shown_together_in_the_order_of_the_file(tmp_path):
    error = error_of(tmp_path, "server:\n  prot: 1\n  workers: 0\nproviders:\n  - name: a\nembeddings: {name: ''}\n")
    assert isinstance(error, ConfigErrors)
    assert [part.line for part in error.errors] == [2, 3, 5, 6]
    assert str(error).startswith("the configuration has 4 errors:\n")
    assert str(error).count("antiphon.yaml:") == 4


def test_names_are_checked_together_too(tmp_path):
    error = error_of(tmp_path, PROVIDER + "aliases:\n  a: b\n  b: a\n  c: nothing\n")
    assert isinstance(error, ConfigErrors)
    assert [part.key for part in error.errors] == ["aliases.a", "aliases.c"]


SECRET = "sk-verysecret"


@pytest.mark.parametrize(
    "text",
    [
        "server:\n  keys: [{name: a, key: 'sk-verysecret with blank'}]\n",
        "server:\n  keys: [{name: a, key: 'sk-verysecreté'}]\n",
        "server:\n  keys: [{name: a, key: '${KEY} x'}]\n",
        "server:\n  port: ${KEY}\n",
        "server:\n  keys: [{name: a, key: sk-verysecret}, {name: b, key: sk-verysecret}]\n",
        PROVIDER + '    headers: {api-key: "sk-verysecret\\r\\n"}\n',
        PROVIDER + "    headers: {api-key: [sk-verysecret]}\n",
        PROVIDER + "    key: {a: sk-verysecret}\n",
        PROVIDER + "    key: abc\n    headers: {authorization: sk-verysecret}\n",
    ],
)
def test_no_error_shows_a_secret(tmp_path, text):
    file = tmp_path / "antiphon.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(file, {"KEY": SECRET})
    assert SECRET not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize("content", [b"", b"  \n", b"\xff\xfe", b"k" * 70000, b"a b"])
def test_a_file_that_holds_no_key_is_refused(tmp_path, content):
    (tmp_path / "key").write_bytes(content)
    error = error_of(tmp_path, "server:\n  keys:\n    - {name: a, key_file: key}\n")
    assert error.line == 3
    assert error.key == "server.keys[0].key_file"


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        load(tmp_path / "nowhere.yaml", {})


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path, {})


def test_a_file_that_the_environment_names_but_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="ANTIPHON_CONFIG names a file that does not exist"):
        load(None, {"ANTIPHON_CONFIG": str(tmp_path / "nowhere.yaml")})


ENVIRONMENT = {
    "range": ({"ANTIPHON_SERVER__PORT": "x"}, "ANTIPHON_SERVER__PORT: server.port must be a whole number"),
    "typing error": ({"ANTIPHON_SERVER__PROT": "1"}, "did you mean ANTIPHON_SERVER__PORT?"),
    "wrong section": ({"ANTIPHON_SEVER__PORT": "1"}, "did you mean ANTIPHON_SERVER?"),
    "below a value": ({"ANTIPHON_SERVER__PORT__X": "1"}, 'unknown setting "server.port.x"'),
    "part of a list": ({"ANTIPHON_PROVIDERS__0__KEY": "1"}, "a list is set as a whole"),
    "bad YAML": ({"ANTIPHON_PROVIDERS": "[{"}, "write the value as YAML"),
    "wrong YAML": ({"ANTIPHON_PROVIDERS": "[{name: a}]"}, 'ANTIPHON_PROVIDERS: providers[0] lacks "url"'),
}


@pytest.mark.parametrize(("environ", "message"), ENVIRONMENT.values(), ids=ENVIRONMENT)
def test_an_error_in_the_environment_names_the_variable(tmp_path, environ, message):
    file = tmp_path / "antiphon.yaml"
    file.write_text("# nothing\n")
    with pytest.raises(ConfigError) as caught:
        load(file, environ)
    assert message in str(caught.value)
    assert next(iter(environ)) in str(caught.value)


def test_errors_of_the_file_and_of_the_environment_are_shown_together(tmp_path):
    file = tmp_path / "antiphon.yaml"
    file.write_text("server: {prot: 1}\n")
    with pytest.raises(ConfigErrors) as caught:
        load(file, {"ANTIPHON_SERVER__GRACE": "long"})
    assert len(caught.value.errors) == 2


@pytest.mark.parametrize("text", ['data_dir: "\\0"\n', 'cache_dir: "/a\\0b"\n', "data_dir: ~nobody-of-that-name/x\n"])
def test_paths_that_no_file_can_have_are_named(tmp_path, text):
    error = error_of(tmp_path, text)
    assert error.key == text.partition(":")[0]
    assert error.line == 1
    assert error.remedy


@pytest.mark.parametrize("url", ["https://me:sk-SECRET@host/v1", "https://host/v1?key=sk-SECRET"])
def test_an_address_that_may_hold_a_secret_is_not_shown(tmp_path, url):
    file = tmp_path / "antiphon.yaml"
    file.write_text(f'models: []\nproviders: [{{name: a, url: "{url}", models: [m]}}]\n')
    with pytest.raises(ConfigError, match="without user, query or fragment, not this value") as caught:
        load(file, {})
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("text", ["sk-verysecret\nsk-second\n", "# of acme\r\nsk-verysecret\r\n"])
def test_a_key_file_of_two_lines_is_said_to_have_them(tmp_path, text):
    (tmp_path / "acme.key").write_text(text)
    file = tmp_path / "antiphon.yaml"
    file.write_text("providers: [{name: a, url: 'https://a.example/v1', key_file: acme.key, models: [m]}]\n")
    with pytest.raises(ConfigError, match="has more than one line") as caught:
        load(file, {})
    assert str(tmp_path / "acme.key") in caught.value.message
    assert (caught.value.line, caught.value.remedy) == (1, "leave the one line that is the key")
    assert "verysecret" not in str(caught.value)
