"""Files in ``data_dir`` that another user than the server's may write, root say, and that the server must be able to read."""

import errno
import os
import pwd
import stat
from pathlib import Path

import msgspec

from antiphon.core.errors import SetupError

_PRIVATE = 0o077
"""Rights that a file has not which only its owner may touch."""


class Owner(msgspec.Struct, frozen=True):
    """Whom the data of a server belong to."""

    uid: int
    gid: int

    @classmethod
    def of(cls, data_dir: Path) -> "Owner":
        """Whoever has served from there; where nobody has yet, whose folder it is; where there is none, who asks.

        Root makes it for whom the folder belongs to that it is made in.
        """
        for place in (data_dir / "snapshots", data_dir, *(data_dir.parents if os.geteuid() == 0 else ())):
            try:
                about = place.stat()
            except FileNotFoundError:
                continue
            return cls(about.st_uid, about.st_gid)
        return cls(os.geteuid(), os.getegid())

    @property
    def name(self) -> str:
        """The user's name, or number where there is no name."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)

    def check(self, path: Path) -> None:
        """Raises SetupError where the owner could not read what this user would write there."""
        user = os.geteuid()
        if user in (0, self.uid) or self.uid == 0:
            return
        try:
            about = path.stat()
        except OSError:
            about = None
        if about is not None and (about.st_uid == self.uid or about.st_mode & _PRIVATE):
            return
        raise SetupError(
            f"nothing is changed: {path} would belong to this user, and the server of {self.name} could not read it",
            remedy=f"run the command as that user, with sudo -u {self.name} before it",
        )

    def open(self, path: Path, flags: int) -> int:
        """Open a file in a folder that is made where it is missing; both are the owner's to read.

        In another user's folder no link is followed, since it could lead to any file that this user may write. Raises OSError.
        """
        strict = os.O_NOFOLLOW if self.uid != os.geteuid() else 0
        for made in reversed([folder for folder in path.parent.parents if not folder.exists()]):
            os.close(self._folder(made, strict))
        folder = self._folder(path.parent, strict)
        try:
            fd = os.open(path.name, flags | strict, 0o600, dir_fd=folder)
        finally:
            os.close(folder)
        try:
            if strict and not _is_alone(fd):
                raise PermissionError(errno.EPERM, "it has another name elsewhere, or is no ordinary file")
            self._give(fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _folder(self, path: Path, strict: int) -> int:
        path.mkdir(mode=0o700, exist_ok=True)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | strict)
        try:
            self._give(fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _give(self, fd: int) -> None:
        about = os.fstat(fd)
        if os.geteuid() == 0 and about.st_uid == 0 and not about.st_mode & _PRIVATE and self.uid != 0:
            os.fchown(fd, self.uid, self.gid)


def _is_alone(fd: int) -> bool:
    about = os.fstat(fd)
    return stat.S_ISREG(about.st_mode) and about.st_nlink == 1
