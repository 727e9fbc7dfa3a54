"""The file of revoked keys: whether every line of it can be read."""

from collections.abc import Iterator

import msgspec

from antiphon.bootstrap.doctor.subject import Finding, Subject
from antiphon.bootstrap.revocations import Revocation, read_bytes, revocations_file

_SHOWN = 5
"""Lines that are named; the others are counted."""


def revocations(subject: Subject) -> Iterator[Finding]:
    """Lines that a server passes over, or reads only as far as the digests in them."""
    path = revocations_file(subject.settings.data_dir)
    try:
        data = read_bytes(path)
    except FileNotFoundError:
        yield Finding("revocations", "ok", "no key has been revoked")
        return
    except OSError as error:
        what = f"the revoked keys in {path} cannot be read ({error.strerror}), and no worker starts without them"
        yield Finding("revocations", "error", what, "check the rights of the file")
        return
    *lines, rest = data.split(b"\n")
    damaged = [number for number, line in enumerate(lines, 1) if line.strip() and not _is_whole(line)]
    if damaged:
        told = ", ".join(str(number) for number in damaged[:_SHOWN])
        more = f" and {len(damaged) - _SHOWN} more" if len(damaged) > _SHOWN else ""
        what = f"{path}: line {told}{more} cannot be read: a whole SHA-256 in it counts as revoked, anything else is passed over"
        yield Finding("revocations", "error", what, 'mend it, or revoke its key once more with "antiphon keys revoke"')
    if rest.strip():
        what = f"{path}: the last line has no end, so it is passed over"
        yield Finding("revocations", "error", what, "add a line break if it is whole, or revoke its key once more")
    elif not damaged:
        yield Finding("revocations", "ok", f"each line of {path} can be read")


def _is_whole(line: bytes) -> bool:
    try:
        bytes.fromhex(msgspec.json.decode(line, type=Revocation).digest)
    except (msgspec.MsgspecError, ValueError):
        return False
    return True
