import asyncio
import errno
import os

import msgspec
import pytest

from antiphon.bootstrap.process import (
    MAX_STATUS_BYTES,
    Child,
    ProcessSpec,
    Status,
    Update,
    _as_antiphon_error,
    decode_spec,
    decode_update,
    encode_spec,
    encode_update,
    engine_name,
    socket_path,
)
from antiphon.config import KeySettings, LocalModelSettings, ProviderSettings, Secret, ServerSettings, Settings
from antiphon.core.errors import AntiphonError, ConfigError, InternalError, NoMemory, NoSpace, QueueFull, SetupError

SPEC = ProcessSpec(
    role="engine",
    name="engine-small",
    epoch=3,
    run_dir="/tmp/antiphon-x",
    settings=Settings(
        server=ServerSettings(keys=(KeySettings(name="me", key=Secret("sk-hidden")),)),
        providers=(ProviderSettings(name="p", url="https://host/v1", key=Secret("sk-other")),),
    ),
    status_fd=7,
    listen_fds=(8, 9),
    model=LocalModelSettings(name="small", source="file:/small", adapters={"a": "file:/a"}),
    model_path="/cache/small",
)


def test_a_spec_survives_the_pipe_as_one_line_with_its_secrets():
    line = encode_spec(SPEC)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert decode_spec(line) == SPEC
    assert decode_spec(line).settings.server.keys[0].key.reveal() == "sk-hidden"


def test_a_spec_shows_no_secret_when_printed():
    assert "sk-" not in repr(SPEC)


@pytest.mark.parametrize(
    "line", [b"\n", b"{}\n", b'{"sk-hidden\n', encode_spec(SPEC).replace(b'"workers":1', b'"workers":"sk-1"'), b"\xff\n"]
)
def test_a_line_that_is_no_spec_is_refused_without_quoting_it(line):
    with pytest.raises(InternalError) as caught:
        decode_spec(line)
    assert "sk-" not in str(caught.value)


def test_a_socket_lies_in_the_run_folder_and_its_path_is_not_too_long():
    assert socket_path("/tmp/x", "control") == "/tmp/x/control.sock"
    with pytest.raises(SetupError, match="TMPDIR"):
        socket_path("/tmp/" + "ü" * 50, "control")


def test_engines_have_short_names_that_differ_and_fit_a_file():
    assert engine_name("smollm2-135m-instruct") == "engine-smollm2-135m-instruct"
    names = [engine_name(name) for name in ("a/b", "a-b", "A-B", "a b", "模型", "型模", "../x", "x" * 200, "x" * 201)]
    assert len(set(names)) == len(names)
    assert all("/" not in name and len(name) < 60 and name.isascii() for name in names)


def heard(tell) -> list[Status]:
    statuses: list[Status] = []
    tell(Child(SPEC, asyncio.Event(), statuses.append))
    return statuses


def test_what_a_child_tells():
    assert heard(lambda child: child.loading("the model")) == [Status("loading", detail="the model")]
    assert heard(Child.ready) == [Status("ready")]
    assert heard(lambda child: child.failed(SetupError("no legs", remedy="grow some"))) == [
        Status("failed", code="setup_error", message="no legs", remedy="grow some", setup=True)
    ]
    assert heard(lambda child: child.failed(QueueFull("full"))) == [
        Status("failed", code="queue_full", message="full", remedy="try again in a moment")
    ]


def test_new_settings_travel_as_one_line():
    update = Update(7, SPEC.settings)
    line = encode_update(update)
    assert line.count(b"\n") == 1
    assert decode_update(line.rstrip()) == update
    with pytest.raises(InternalError, match="DecodeError") as caught:
        decode_update(b'{"epoch": "secret')
    assert "secret" not in str(caught.value)


def test_a_child_answers_each_update():
    taken: list[Update] = []

    def refuse(_: Update) -> None:
        raise ConfigError("no such file", remedy="make it", file="a.yaml", line=3)

    def trip(_: Update) -> None:
        raise KeyError

    update = Update(7, SPEC.settings)
    assert heard(lambda child: (child.ready(taken.append), child.update(update))) == [
        Status("ready", takes_updates=True),
        Status("updated", epoch=7),
    ]
    assert taken == [update]
    refused = heard(lambda child: (child.ready(refuse), child.update(update)))[1]
    assert (refused.state, refused.epoch, refused.setup) == ("refused", 7, True)
    assert (refused.message, refused.remedy) == ("a.yaml:3: no such file", "make it")
    tripped = heard(lambda child: (child.ready(trip), child.update(update)))[1]
    assert (tripped.state, tripped.code, tripped.setup) == ("refused", "internal_error", False)


def test_a_configuration_error_is_told_with_its_place():
    error = ConfigError("no such key", remedy="remove it", file="a.yaml", line=3)
    assert heard(lambda child: child.failed(error))[0].message == "a.yaml:3: no such key"


def test_statuses_go_out_a_line_each_and_are_never_torn():
    read, write = os.pipe()
    child = Child(msgspec.structs.replace(SPEC, status_fd=write), asyncio.Event())
    child.loading("\x00" * 9000)
    child.failed(AntiphonError("\x00" * 9000, remedy="\x01" * 9000))
    child.ready()
    data = os.read(read, 1 << 20)
    lines = data.splitlines(keepends=True)
    assert [msgspec.json.decode(line, type=Status).state for line in lines] == ["loading", "failed", "ready"]
    assert max(map(len, lines)) <= MAX_STATUS_BYTES
    os.close(read)
    child.ready()  # nobody listens: the lifeline will end the process
    os.close(write)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (QueueFull(), QueueFull),
        (MemoryError(), NoMemory),
        (OSError(errno.ENOSPC, "No space left on device", "/cache/x"), NoSpace),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), NoSpace),
        (OSError(errno.EIO, "Input/output error"), InternalError),
        (ValueError("odd"), InternalError),
    ],
)
def test_whatever_ends_a_child_has_a_name(raised, kind):
    assert type(_as_antiphon_error(raised)) is kind
