"""Sees to it that somebody accepts on every public socket, also while its worker cannot be started."""

import logging
from collections.abc import Collection, Sequence

from antiphon.core.errors import NoWorker
from antiphon.supervisor.keeper import Keeper
from antiphon.supervisor.sockets import PublicSockets
from antiphon.supervisor.stand_in import stand_in
from antiphon.transport.turning_away import TurningAway

log = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds for a worker to take sockets over before another one is asked."""
RETRY_AFTER = 5.0
"""Seconds after which those that nobody could serve may try again."""


class Cover:
    """Lends the sockets of workers that are absent to one that is there; where none is, the supervisor itself answers 503.

    A connection that the kernel gives to a socket without a worker would wait for ever, and is lost if the socket is closed.
    """

    def __init__(self, sockets: PublicSockets) -> None:
        self._sockets = sockets
        self._lent: set[Keeper] = set()
        """Those whose sockets others have."""
        self._standing: TurningAway | None = None
        self._stands_for: tuple[int, ...] = ()
        """The sockets that the supervisor answers on."""

    async def look(self, workers: Sequence[Keeper], alive: Collection[Keeper]) -> None:
        """Give back what belongs to workers that have returned, and lend what nobody accepts on. ``alive`` also are successors."""
        absent = {keeper for keeper in workers if keeper.absent}
        for keeper in workers:
            if keeper in self._lent and keeper not in absent:
                await _give_back(keeper, workers)
        self._lent &= absent
        orphans = self._sockets.orphans({fd for keeper in alive if keeper not in absent for fd in keeper.assignment.listen_fds})
        if orphans:
            self._lent |= absent
            for keeper in workers:
                if await accepts(keeper, (*keeper.assignment.listen_fds, *orphans), PATIENCE):
                    orphans = ()
                    break
        lost = [keeper for keeper in absent if keeper.lost]
        stands_for = orphans if lost else ()
        if stands_for == self._stands_for:
            return
        self.close()
        if stands_for:
            log.error("no worker can be started for some callers or all: they are answered 503 until one can")
            settings = lost[0].assignment.planned.settings.server
            sockets = [sock for sock in self._sockets.listening if sock.fileno() in stands_for]
            self._standing = stand_in(sockets, settings, NoWorker(retry_after=RETRY_AFTER))
            self._stands_for = stands_for

    def close(self) -> None:
        """The supervisor takes no more callers."""
        standing, self._standing, self._stands_for = self._standing, None, ()
        if standing is not None:
            standing.close()


async def accepts(keeper: Keeper, listen_fds: tuple[int, ...], patience: float | None = None) -> bool:
    """Have a running worker accept on these sockets alone; whether it does so now, or within ``patience`` seconds."""
    if not keeper.takes_updates:
        return False
    error = await keeper.share(listen_fds, patience)
    if error is not None:
        log.warning("%s did not take over its public sockets: %s", keeper.name, error)
    return error is None


async def _give_back(owner: Keeper, workers: Sequence[Keeper]) -> None:
    for keeper in workers:
        rest = tuple(fd for fd in keeper.assignment.listen_fds if fd not in owner.assignment.listen_fds)
        if keeper is owner or rest == keeper.assignment.listen_fds:
            continue
        if not await accepts(keeper, rest, PATIENCE):
            keeper.forgo(rest)
