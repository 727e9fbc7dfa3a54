import errno
import os
from pathlib import Path

import pytest

from antiphon.bootstrap import ballast
from antiphon.bootstrap.owned_files import Owner
from antiphon.bootstrap.revocations import Revocation, append, revocations_file
from antiphon.core.errors import SetupError

SERVER = 65534
REVOCATION = Revocation("5" * 64, "somebody")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only on machines where the tests run as root")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """The data of a server of another user."""
    folder = tmp_path / "data"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, SERVER, SERVER)
    return folder


def as_user(monkeypatch: pytest.MonkeyPatch, uid: int) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)


@as_root
def test_what_root_writes_belongs_to_the_user_of_the_server(data_dir):
    path = revocations_file(str(data_dir))
    append(path, [REVOCATION])
    append(path, [REVOCATION])
    for place, mode in ((path.parent, 0o700), (path, 0o600), (ballast.beside(path), 0o600)):
        about = place.stat()
        assert (about.st_uid, about.st_gid, about.st_mode & 0o777) == (SERVER, SERVER, mode)


@as_root
def test_whoever_has_served_from_there_is_the_one_and_what_root_left_before_is_given_too(data_dir):
    os.chown(data_dir, 0, 0)
    path = revocations_file(str(data_dir))
    append(path, [REVOCATION])
    assert path.stat().st_uid == 0
    (data_dir / "snapshots").mkdir()
    os.chown(data_dir / "snapshots", SERVER, SERVER)
    append(path, [REVOCATION])
    assert path.stat().st_uid == path.parent.stat().st_uid == SERVER


@as_root
def test_root_makes_folders_for_whom_the_folder_belongs_to_that_they_are_made_in(data_dir):
    path = revocations_file(str(data_dir / "their" / "own"))
    append(path, [REVOCATION])
    for place in (path, *path.parents[:3]):
        assert place.stat().st_uid == SERVER
    assert path.parents[2].name == "their"


@as_root
def test_root_follows_no_link_in_the_folder_of_another_user(data_dir, tmp_path):
    path = revocations_file(str(data_dir))
    victim = tmp_path / "victim"
    victim.write_text("mine")
    victim.chmod(0o600)
    path.parent.mkdir()
    for link in (path.symlink_to, path.hardlink_to):
        link(victim)
        with pytest.raises(SetupError, match="nothing is changed") as caught:
            append(path, [REVOCATION])
        assert "rights" in caught.value.remedy
        path.unlink()
    path.parent.rmdir()
    (tmp_path / "private").mkdir(mode=0o700)
    path.parent.symlink_to(tmp_path / "private")
    with pytest.raises(SetupError, match="nothing is changed"):
        append(path, [REVOCATION])
    assert victim.read_text() == "mine"
    assert victim.stat().st_uid == (tmp_path / "private").stat().st_uid == 0
    assert not any((tmp_path / "private").iterdir())


def test_another_user_is_told_whom_to_run_it_as_before_anything_is_written(data_dir, monkeypatch):
    path = revocations_file(str(data_dir))
    as_user(monkeypatch, data_dir.stat().st_uid + 1)
    with pytest.raises(SetupError, match="could not read it") as caught:
        append(path, [REVOCATION])
    assert f"sudo -u {Owner.of(data_dir).name}" in caught.value.remedy
    assert not path.parent.exists()


def test_where_root_owns_the_folder_anybody_may_write_whom_its_rights_let(monkeypatch):
    as_user(monkeypatch, 1000)
    Owner(0, 0).check(Path("anything"))


def test_what_the_owner_can_read_already_is_written(data_dir, monkeypatch):
    path = revocations_file(str(data_dir))
    append(path, [REVOCATION])
    as_user(monkeypatch, data_dir.stat().st_uid + 1)
    Owner.of(data_dir).check(path)


def test_whoever_may_not_write_there_is_told_to_run_it_as_the_user_of_the_server(data_dir, monkeypatch):
    def refused(*_: object, **__: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    path = revocations_file(str(data_dir))
    append(path, [REVOCATION])
    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(SetupError, match="Permission denied") as caught:
        append(path, [REVOCATION])
    assert "as the user of the server" in caught.value.remedy
