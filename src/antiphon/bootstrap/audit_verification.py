"""Verifies the audit trail of the settings with the files that it is to be compared with."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from antiphon.bootstrap.kept_audit import audit_places, opened
from antiphon.config import Settings
from antiphon.core.errors import SetupError
from antiphon.governance.audit.checkpoint import Checkpoint, by_fingerprint
from antiphon.governance.audit.verification import ChainReport, Evidence, verify
from antiphon.storage.audit.files import AuditFiles, checkpoints_in


def own_key(settings: Settings) -> tuple[str, str]:
    """This server's public key, in hexadecimal digits, and the name of its chain; empty where there is none yet.

    Raises SetupError where the file of the key cannot be read.
    """
    files = AuditFiles(audit_places(settings))
    try:
        signer = files.known_signer()
        return signer.public if signer is not None else "", files.known_chain()
    except OSError as error:
        remedy = "run the command as the user of the server, or give --public-key where only that is asked for"
        raise SetupError(f"{files.places.key} cannot be read: {error.strerror}", remedy=remedy) from error


def verify_trail(
    settings: Settings, checkpoints: Sequence[Path], public_keys: Sequence[str], warn: Callable[[str], None]
) -> tuple[ChainReport, ...]:
    """Walk all chains. Without ``checkpoints`` and ``public_keys`` this server's own are taken, else those beside its own key.

    ``warn`` is told of lines that are no checkpoints. Raises AntiphonError where something cannot be read.
    """
    own, chain = own_key(settings)
    try:
        keys = by_fingerprint(filter(None, (*public_keys, own)))
    except ValueError:
        remedy = 'give the 64 hexadecimal digits that "antiphon audit key" shows'
        raise SetupError("--public-key is no Ed25519 key", remedy=remedy) from None
    paths = checkpoints or [audit_places(settings).checkpoints]
    must = bool(checkpoints)
    with opened(settings) as records:
        before = _read(paths, must, warn)
        settled = {line.chain: line.index for line in sorted(before, key=lambda line: line.index)}
        with records.trail.snapshot() as snapshot:
            # a server that runs may have signed more since: that belongs to records which the snapshot may not have
            lines = _read(paths, must, _silent)
            evidence = Evidence(lines, keys, frozenset(filter(None, [chain])), settled)
            return verify(snapshot.heads(), snapshot.entries, evidence)


def _read(paths: Iterable[Path], must: bool, warn: Callable[[str], None]) -> list[Checkpoint]:
    return [line for path in paths if must or path.exists() for line in _lines(path, warn)]


def _lines(path: Path, warn: Callable[[str], None]) -> Iterator[Checkpoint]:
    try:
        for number, line in enumerate(checkpoints_in(path), 1):
            if line is not None:
                yield line
            else:
                warn(f"line {number} of {path} is no checkpoint")
    except OSError as error:
        remedy = "name the right file, or mend its rights"
        raise SetupError(f"{path} cannot be read: {error.strerror}", remedy=remedy) from error


def _silent(_text: str) -> None:
    """Says nothing."""
