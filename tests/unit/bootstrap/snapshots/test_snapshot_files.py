import errno
import logging
import os
from pathlib import Path

import msgspec
import pytest

from antiphon.bootstrap.snapshots.file import Snapshot, SnapshotSource, read, read_first, write
from antiphon.bootstrap.snapshots.folder import SnapshotFolder
from antiphon.config import KeySettings, LocalModelSettings, ProviderSettings, Secret, ServerSettings, Settings
from antiphon.core.errors import NoSpace, SetupError
from antiphon.core.types import Principal
from antiphon.gateway.key_table import KeyIndex, digest_of, owner_text

SETTINGS = Settings(
    server=ServerSettings(keys=(KeySettings(name="me", key=Secret("hidden-caller")),)),
    providers=(
        ProviderSettings(name="open", url="https://host/v1", proxy="http://host:3128"),
        ProviderSettings(
            name="locked",
            url="https://host/v1",
            key=Secret("hidden-key"),
            headers={"api-key": "hidden-header"},
            proxy="http://user:hidden-password@host:3128",
        ),
    ),
    models=(
        LocalModelSettings(name="plain", source="file:/model"),
        LocalModelSettings(
            name="remote", source="https://u:hidden-user@host/m", adapters={"a": "https://host/a?token=hidden-token"}
        ),
    ),
    aliases={"fast": ("plain",)},
)


def without_callers(settings: Settings) -> Settings:
    return msgspec.structs.replace(settings, server=msgspec.structs.replace(settings.server, keys=()))


@pytest.fixture
def source(tmp_path: Path) -> SnapshotSource:
    return write(tmp_path, Snapshot.of(SETTINGS, 7))


def test_a_snapshot_comes_back_with_its_secrets_and_the_callers_as_digests(source):
    snapshot = read(source)
    assert (snapshot.epoch, snapshot.sha256) == (7, source.sha256)
    assert snapshot.settings == without_callers(SETTINGS)
    assert snapshot.settings.providers[1].key.reveal() == "hidden-key"
    assert KeyIndex(snapshot.keys).owner(digest_of(b"hidden-caller")) == owner_text(Principal("me"))


def test_nothing_secret_lies_on_the_disk_or_is_printed(source):
    assert b"hidden-" not in Path(source.path).read_bytes()
    assert "hidden-" not in repr(source)
    assert Path(source.path).stat().st_mode & 0o777 == 0o600
    assert os.listdir(Path(source.path).parent) == [Path(source.path).name]


def test_an_empty_file_of_keys_lets_nobody_in(tmp_path):
    (tmp_path / "keys").write_text("")
    assert Snapshot.of(Settings(server=ServerSettings(keys_file=str(tmp_path / "keys"))), 1).keys.required
    assert not Snapshot.of(Settings(), 1).keys.required


def flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("at", [0, 10, 18, 30, 60, -1])
def test_any_wrong_bit_is_noticed(source, at):
    path = Path(source.path)
    data = path.read_bytes()
    path.write_bytes(flip(data, at % len(data)))
    with pytest.raises(SetupError, match=r"\.snapshot is .*SIGHUP"):
        read(source)


@pytest.mark.parametrize("length", [0, 20, 52, 100])
def test_a_file_that_was_cut_off_is_noticed(source, length):
    os.truncate(source.path, length)
    with pytest.raises(SetupError, match=source.path):
        read(source)


def test_the_file_of_another_epoch_does_not_stand_in(source, tmp_path):
    other = write(tmp_path, Snapshot.of(SETTINGS, 8))
    os.replace(other.path, source.path)
    with pytest.raises(SetupError, match="another"):
        read(source)


def test_the_last_good_one_stands_in_with_its_own_secrets(source, tmp_path, caplog):
    moved = msgspec.structs.replace(
        SETTINGS, providers=(ProviderSettings(name="locked", url="https://elsewhere/v1", key=Secret("hidden-new")),)
    )
    current = write(tmp_path, Snapshot.of(moved, 8))
    assert read_first((current, source)).epoch == 8
    os.unlink(current.path)
    with caplog.at_level(logging.ERROR):
        snapshot = read_first((current, source))
    assert snapshot.epoch == 7
    assert [row.key.reveal() for row in snapshot.settings.providers] == ["", "hidden-key"]
    assert "No such file" in caplog.text
    assert "epoch 7" in caplog.text
    os.truncate(source.path, 3)
    with pytest.raises(SetupError) as caught:
        read_first((current, source))
    assert current.path in caught.value.message
    assert source.path in caught.value.message
    assert "SIGHUP" in caught.value.remedy


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    folder = SnapshotFolder(str(tmp_path))
    first = folder.publish(Snapshot.of(SETTINGS, 1))
    folder.accept(first)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NoSpace, match="data_dir"):
        folder.publish(Snapshot.of(SETTINGS, 2))
    assert read(first[0]).epoch == 1
    assert len(list(tmp_path.rglob("*.snapshot"))) == 1
    assert not list(tmp_path.rglob("*.new"))
    folder.close()


def test_the_one_in_force_and_the_one_before_it_are_kept(tmp_path):
    folder = SnapshotFolder(str(tmp_path))
    published: tuple[SnapshotSource, ...] = ()
    for epoch in range(1, 6):
        published = folder.publish(Snapshot.of(SETTINGS, epoch))
        folder.accept(published)
    assert [source.epoch for source in published] == [5, 4]
    assert {str(path) for path in tmp_path.rglob("*.snapshot")} == {source.path for source in published}
    refused = folder.publish(Snapshot.of(SETTINGS, 6))
    after = folder.publish(Snapshot.of(SETTINGS, 7))
    assert [source.epoch for source in after] == [7, 5]
    assert read(refused[0]).epoch == 6  # whoever has gone over to it may still start again
    folder.accept(after)
    assert not Path(refused[0].path).exists()
    folder.close()


def test_epochs_rise_over_restarts_and_each_server_has_a_folder_of_its_own(tmp_path):
    first = SnapshotFolder(str(tmp_path))
    assert first.next_epoch == 1
    first.accept(first.publish(Snapshot.of(SETTINGS, 41)))
    second = SnapshotFolder(str(tmp_path))
    assert second.next_epoch == 1
    second.close()
    first.close()
    again = SnapshotFolder(str(tmp_path))
    assert again.next_epoch == 42
    again.close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "snapshots").write_text("")
    with pytest.raises(SetupError, match="data_dir"):
        SnapshotFolder(str(tmp_path))
