import os
from pathlib import Path

import pytest

from antiphon.config import ConfigErrors, load, load_with_origins
from antiphon.config.keys_file import MAX_ERRORS, is_name, key_rows, read_keys_file
from antiphon.core.errors import ConfigError
from antiphon.gateway.key_table import digest_of


def line(name: str, key: str) -> str:
    return f"{name} sha256:{digest_of(key.encode()).hex()}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "antiphon.yaml").write_text("server: {keys_file: keys, keys: [{name: own, key: sk-own}]}\nmodels: []\n")
    (tmp_path / "keys").write_text("")
    return tmp_path / "keys"


def told(file: Path) -> list[tuple[str, int]]:
    with pytest.raises(ConfigError) as caught:
        load(file.with_name("antiphon.yaml"), {})
    errors = caught.value.errors if isinstance(caught.value, ConfigErrors) else (caught.value,)
    assert all(error.file == str(file) and error.remedy for error in errors)
    return [(error.message, error.line) for error in errors]


def names(file: Path) -> list[str]:
    """Of the keys, as a server gets them: the configuration is checked, then they are asked for."""
    server = load(file.with_name("antiphon.yaml"), {}).server
    return [row.name for row in key_rows(server)]


def test_a_file_that_was_checked_is_not_read_again_unless_it_has_changed(file, monkeypatch):
    reads: list[Path] = []
    real = Path.read_bytes

    def counted(path: Path) -> bytes:
        reads.extend([path] if path == file else [])
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", counted)
    file.write_text(line("alice", "sk-a"))
    os.utime(file, (1, 1))
    assert names(file) == ["own", "alice"]
    assert reads == [file]
    assert names(file) == ["own", "alice"]
    assert reads == [file] * 2, "what was taken is kept no longer"

    server = load(file.with_name("antiphon.yaml"), {}).server
    file.write_text(line("alina", "sk-a"))
    os.utime(file, (1, 1))
    assert [row.name for row in key_rows(server)] == ["own", "alina"]


def test_a_change_that_the_time_of_the_file_may_not_show_is_seen(file):
    file.write_text(line("alice", "sk-a"))
    server = load(file.with_name("antiphon.yaml"), {}).server
    about = file.stat()
    file.write_text(line("alina", "sk-a"))
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert [row.name for row in key_rows(server)] == ["own", "alina"]


def test_comments_blank_lines_and_any_blanks_between_are_taken(file):
    upper = line("bob", "sk-b").strip().replace("sha256:", "\t sha256:").upper().replace("BOB", "bob").replace("SHA256", "sha256")
    file.write_bytes(b"# ours\r\n\r\n  " + line("alice", "sk-a").encode().replace(b"\n", b"\r\n") + upper.encode())
    rows = key_rows(load(file.with_name("antiphon.yaml"), {}).server)
    assert [(row.name, row.digest, row.line) for row in rows] == [
        ("own", digest_of(b"sk-own"), 0),
        ("alice", digest_of(b"sk-a"), 3),
        ("bob", digest_of(b"sk-b"), 4),
    ]


def test_a_path_starts_from_the_configuration_file_and_keys_of_a_file_are_keys(file):
    loaded = load_with_origins(file.with_name("antiphon.yaml"), {"ANTIPHON_SERVER__HOST": "0.0.0.0", "ANTIPHON_SERVER__KEYS": "[]"})
    assert loaded.settings.server.keys_file == str(file)
    assert not any("whoever" in warning for warning in loaded.warnings)


@pytest.mark.parametrize(
    "wrong",
    ["alice\n", "alice sha256:12\n", "sha256:" + "0" * 64 + "\n", "alice md5:" + "0" * 64 + "\n", "a b sha256:" + "0" * 64 + "\n"],
)
def test_a_wrong_line_is_shown_with_its_number(file, wrong):
    file.write_text(line("bob", "sk-b") + wrong)
    assert told(file) == [("the line is not a name and the SHA-256 of a key", 2)]


def test_a_line_that_is_no_text_is_wrong(file):
    file.write_bytes(b"\xff\xfe sha256:" + b"0" * 64)
    assert told(file)[0][1] == 1


def test_no_name_and_no_key_comes_twice(file):
    file.write_text(
        line("alice", "sk-a") + line("alice", "sk-b") + line("bob", "sk-a") + line("own", "sk-c") + line("me", "sk-own")
    )
    assert told(file) == [
        ('the name "alice" is there twice, first on line 1', 2),
        ('the keys of "alice" and "bob" are the same, first on line 1', 3),
        ('the name "own" is there twice, first in server.keys', 4),
        ('the keys of "own" and "me" are the same, first in server.keys', 5),
    ]


def test_a_file_that_is_wrong_as_a_whole_does_not_fill_the_terminal(file):
    file.write_text("wrong\n" * 1000 + line("alice", "sk-a") + line("alice", "sk-b"))
    errors = told(file)
    assert [number for _, number in errors] == list(range(1, MAX_ERRORS + 2))
    assert errors[-1][0] == f"and {1001 - MAX_ERRORS} more such lines"
    file.write_text("wrong\n" * MAX_ERRORS)
    assert len(told(file)) == MAX_ERRORS
    file.write_text("wrong\n" * (MAX_ERRORS + 1))
    assert told(file)[-1] == ("and this line too", MAX_ERRORS + 1)


def test_a_byte_order_mark_is_no_part_of_a_name(file):
    file.write_bytes(b"\xef\xbb\xbf" + line("alice", "sk-a").encode())
    assert [row.name for row in read_keys_file(file)] == ["alice"]
    file.write_bytes(line("alice", "sk-a").encode("utf-16"))
    with pytest.raises(ConfigError, match="UTF-16"):
        read_keys_file(file)


def test_what_might_never_end_is_not_read(file):
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ConfigError, match="no ordinary file"):
        read_keys_file(file)


@pytest.mark.parametrize("name", ["alice", "日本", "a" * 256, "a#b"])
def test_a_name_is_one_that_the_file_can_hold(file, name):
    assert is_name(name)
    file.write_text(line(name, "sk"))
    assert [row.name for row in read_keys_file(file)] == [name]


@pytest.mark.parametrize("name", ["", "a b", "#a", "日" * 200, "\udcff", "sha256:deadbeef", "a\u200bb", "a\x1b[31m"])
def test_what_cannot_be_written_or_seen_is_no_name(name):
    assert not is_name(name)


def test_a_file_that_is_not_there_is_named(file):
    file.unlink()
    assert told(file) == [("the file of keys cannot be read: No such file or directory", 0)]
    with pytest.raises(ConfigError):
        read_keys_file(file)
