"""The accounts of one machine and what each worker has of them. Decides; knows no socket, no file and no clock."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from antiphon.core.ledger import AccountStanding, Limit, Standing, retry_after
from antiphon.dispatch.coordinator.ledger.accounts import Account, Held, Key, Session
from antiphon.dispatch.coordinator.ledger.messages import Answer, Ask, Report, Share, Slot, Want
from antiphon.dispatch.coordinator.ledger.rows import EpochRow, PastRow, Row, SessionRow, ShareRow

SPARE_CALLS: Final = 64
"""Calls' worth that a worker is given beyond what it asked for, at most."""

SPARE_PART: Final = 2
"""At most one such part of what is free is spread over the workers."""

REMEMBERED: Final = 3600.0
"""Seconds for which a worker whose lease has ended may still come back and settle."""

LOOKED_THROUGH: Final = 500
"""Accounts that one call of ``tidy`` looks at."""


class Wanting(msgspec.Struct, frozen=True):
    """An ask that has no room unless these accounts' idle escrow comes back."""

    recall: tuple[tuple[Key, tuple[str, ...]], ...]
    """Accounts, and the sessions that have some of them."""


class Book:
    """All accounts and sessions. ``now`` is Unix time, ``mono`` the monotonic clock, both in seconds."""

    def __init__(self, lease: float) -> None:
        self.lease = lease
        self.epoch = 0
        self.sessions: dict[str, Session] = {}
        self.attached = 1
        """Workers that are connected, at least 1: what is spare is divided among them."""
        self._accounts: dict[Key, Account] = {}
        self._now = 0.0
        self._changed: dict[tuple[str, ...], None] = {}
        self._tidying: list[Key] = []

    @property
    def accounts(self) -> int:
        return len(self._accounts)

    def welcome(self, identity: str, reports: Sequence[Report], now: float, mono: float) -> tuple[bool, tuple[Share, ...]]:
        """Take in a worker that tells all that it has; whether its lease had ended, and what it has from now on."""
        session = self.sessions.get(identity)
        revived = session is not None and session.expired
        if session is None:
            session = self.sessions[identity] = Session(identity, 0.0)
        session.expired = False
        session.lease_ends = mono + self.lease
        self._changed["", identity] = None
        told = {(report.account, report.window) for report in reports}
        for key in session.accounts - told:
            self._fold(session, self._accounts[key])
        if revived:
            reports = [report if report.charge else _without_reservations(report) for report in reports]
        self.tell(identity, reports, now)
        shares = []
        for key in session.accounts:
            account = self._accounts[key]
            held = account.held[identity]
            if revived or held.granted < held.drawn:
                account.grant(held, held.drawn - held.granted)
                self._note(identity, key)
            shares.append(Share(*key, held.granted))
        return revived, tuple(shares)

    def renew(self, identity: str, mono: float) -> bool:
        """A worker was heard of; False if its lease had ended, and it must be taken in again."""
        session = self.sessions.get(identity)
        if session is None or session.expired:
            return False
        session.lease_ends = mono + self.lease
        return True

    def tell(self, identity: str, reports: Iterable[Report], now: float) -> None:
        """Take in how a worker's shares are."""
        self._now = max(self._now, now)
        session = self.sessions[identity]
        for report in reports:
            key = (report.account, report.window)
            account = self._account(key)
            held = self._held(account, session)
            before = held.escrow
            held.drawn, held.charge = report.drawn, report.charge
            account.escrowed += held.escrow - before
            for slot, reserved, settled in account.living(report.slots, self._now):
                old = held.slots.get(slot, (0, 0))
                held.slots[slot] = (reserved, settled)
                account.add(slot, reserved - old[0], settled - old[1])
            if report.retired:
                self._fold(session, account)
            else:
                self._note(identity, key)

    def surrender(self, identity: str, ask: Ask, now: float) -> None:
        """Take back what a worker puts into its ask."""
        self._now = max(self._now, now)
        session = self.sessions[identity]
        for want in ask.wants:
            if want.pledge:
                account = self._account((want.account, want.window))
                account.grant(self._held(account, session), -want.pledge)
                self._note(identity, account.key)

    def decide(self, identity: str, ask: Ask, now: float, *, final: bool) -> Answer | Wanting:
        """Grant all wants or none. Where idle escrow elsewhere may help and this is not ``final``, say whose."""
        self._now = max(self._now, now)
        session = self.sessions[identity]
        short: list[tuple[Key, tuple[str, ...]]] = []
        refused = -1
        for index, want in enumerate(ask.wants):
            account = self._account((want.account, want.window))
            if not want.amount or account.used() + account.escrowed + want.amount <= want.capacity:
                continue
            if refused < 0:
                refused = index
            holders = tuple(name for name, held in account.held.items() if held.escrow and name != identity)
            if not final and holders and account.used() + want.amount <= want.capacity:
                short.append((account.key, holders))
            elif not short:
                return self._refuse(session, ask, index)
        if short:
            return Wanting(tuple(short))
        if refused >= 0:
            return self._refuse(session, ask, refused)
        return Answer(ask.id, tuple(self._give(session, want) for want in ask.wants))

    def awaits(self, identity: str, ask: Ask, index: int) -> Key | None:
        """The account whose want has no room, where it would have some if others gave back what they have reserved there."""
        want = ask.wants[index]
        account = self._accounts[want.account, want.window]
        if account.window.kind != "none":
            return None
        others = sum(reserved for name, held in account.held.items() if name != identity for reserved, _ in held.slots.values())
        needed = account.used() + account.escrowed + want.amount - want.capacity
        return account.key if others >= needed else None

    def revoke(self, identity: str, ask: Ask, answer: Answer, before: Sequence[int]) -> Answer:
        """Take back a grant that could not be kept in the journal."""
        shares = []
        for share, granted in zip(answer.shares, before, strict=True):
            account = self._accounts[share.account, share.window]
            held = account.held[identity]
            account.grant(held, granted - held.granted)
            shares.append(Share(*account.key, held.granted, tight=True))
        return Answer(ask.id, tuple(shares), unavailable=True)

    def shares(self, identity: str, ask: Ask) -> list[int]:
        """What a worker has been granted of each account of an ask."""
        session = self.sessions[identity]
        return [self._held(self._account((want.account, want.window)), session).granted for want in ask.wants]

    def escrow_of(self, identity: str, key: Key) -> int:
        """What lies idle with a worker."""
        account = self._accounts.get(key)
        held = account.held.get(identity) if account else None
        return held.escrow if held else 0

    def standing(self, key: Key, now: float) -> Standing:
        """How an account stands."""
        self._now = max(self._now, now)
        if key not in self._accounts:
            return Standing()
        account = self._account(key)
        return Standing(
            sum(settled for _, settled in account.sums.values()),
            sum(reserved for reserved, _ in account.sums.values()),
            account.escrowed,
        )

    def standings(self, now: float) -> list[AccountStanding]:
        """How every account stands, in the order of their names."""
        found = []
        for key in sorted(self._accounts):
            standing, window = self.standing(key, now), self._accounts[key].window
            ends = None if window.kind in ("none", "sliding") else self._accounts[key].until
            told = (standing.settled, standing.reserved, standing.escrowed)
            found.append(AccountStanding(*told, account=key[0], window=key[1], ends=ends))
        return found

    def expire(self, now: float, mono: float) -> list[str]:
        """End the leases that are due: what is in escrow is free, what was reserved too or charged, what was settled stays."""
        self._now = max(self._now, now)
        ended = [session for session in self.sessions.values() if not session.expired and session.lease_ends <= mono]
        for session in ended:
            session.expired = True
            self._changed["", session.id] = None
            for key in session.accounts:
                account = self._account(key)
                held = account.held[session.id]
                account.grant(held, held.drawn - held.granted)
                for slot, (reserved, settled) in held.slots.items():
                    charged = reserved if held.charge else 0
                    held.slots[slot] = (0, settled + charged)
                    account.add(slot, -reserved, charged)
                self._note(session.id, key)
        for session in [one for one in self.sessions.values() if one.expired and one.lease_ends + REMEMBERED <= mono]:
            self.leave(session.id)
        return [session.id for session in ended]

    def leave(self, identity: str) -> None:
        """A worker ends for good: only what it settled stays, and what is charged of what it reserved."""
        session = self.sessions.pop(identity)
        for key in list(session.accounts):
            self._fold(session, self._account(key))
        self._changed["", identity] = None

    def tidy(self, now: float) -> None:
        """Forget accounts that hold nothing: some of them, the others at the next calls."""
        self._now = max(self._now, now)
        if not self._tidying:
            self._tidying = list(self._accounts)
        for _ in range(min(LOOKED_THROUGH, len(self._tidying))):
            key = self._tidying.pop()
            if key in self._accounts:
                account = self._account(key)
                if not account.held and not account.past:
                    del self._accounts[key]
                    self._note("", key)

    def changes(self) -> list[Row]:
        """Rows of all that has changed since ``saved``."""
        return [row for mark in self._changed if (row := self._row(mark)) is not None]

    def saved(self) -> None:
        """What ``changes`` gave is kept."""
        self._changed.clear()

    def load(self, rows: Iterable[Row], now: float, mono: float) -> None:
        """Take up what an earlier life of the coordinator kept. Each worker has a lease to come back."""
        self._now = now
        for row in rows:
            if isinstance(row, EpochRow):
                self.epoch = row.epoch
            elif isinstance(row, SessionRow):
                if row.state == "gone":
                    continue
                session = self.sessions.setdefault(row.session, Session(row.session, mono + self.lease))
                session.expired = row.state == "expired"
            elif isinstance(row, PastRow):
                account = self._account((row.account, row.window))
                for slot, settled in account.living(row.settled, now):
                    account.past[slot] = account.past.get(slot, 0) + settled
                    account.add(slot, 0, settled)
            elif row.slots is not None:
                session = self.sessions.setdefault(row.session, Session(row.session, mono + self.lease))
                account = self._account((row.account, row.window))
                held = self._held(account, session)
                held.drawn, held.charge = row.drawn, row.charge
                account.grant(held, row.granted)
                for slot, reserved, settled in account.living(row.slots, now):
                    held.slots[slot] = (reserved, settled)
                    account.add(slot, reserved, settled)
        self.epoch += 1
        self._changed["epoch",] = None

    def _refuse(self, session: Session, ask: Ask, index: int) -> Answer:
        want = ask.wants[index]
        account = self._account((want.account, want.window))
        used = sorted((slot, sum(amounts)) for slot, amounts in account.sums.items())
        limit = Limit(want.capacity, account.window)
        wait = retry_after(limit, want.amount, used, account.escrowed, self._now)
        shares = tuple(
            Share(each.account, each.window, self._held(self._account((each.account, each.window)), session).granted, tight=True)
            for each in ask.wants
        )
        return Answer(ask.id, shares, refused=index, retry_after=wait)

    def _give(self, session: Session, want: Want) -> Share:
        account = self._account((want.account, want.window))
        held = self._held(account, session)
        account.grant(held, want.amount)
        usual = max(1, want.usual)
        spare = (want.capacity - account.used() - account.escrowed) // (SPARE_PART * self.attached)
        extra = max(0, min(SPARE_CALLS * usual - (held.escrow - want.amount), spare) // usual * usual)
        account.grant(held, extra)
        self._note(session.id, account.key)
        return Share(*account.key, held.granted, tight=spare < usual)

    def _account(self, key: Key) -> Account:
        account = self._accounts.get(key)
        if account is None:
            account = self._accounts[key] = Account(key, self._now)
        elif self._now >= account.until:
            account.roll(self._now)
        return account

    def _held(self, account: Account, session: Session) -> Held:
        held = account.held.get(session.id)
        if held is None:
            held = account.held[session.id] = Held()
            session.accounts.add(account.key)
        return held

    def _fold(self, session: Session, account: Account) -> None:
        """A worker has nothing of an account any more: what it settled belongs to the past."""
        held = account.held.pop(session.id)
        session.accounts.discard(account.key)
        account.escrowed -= held.escrow
        for slot, (reserved, settled) in held.slots.items():
            charged = reserved if held.charge else 0
            account.add(slot, -reserved, charged)
            if settled + charged:
                account.past[slot] = account.past.get(slot, 0) + settled + charged
        self._note(session.id, account.key)
        self._note("", account.key)

    def _note(self, session: str, key: Key) -> None:
        self._changed[session, *key] = None

    def _row(self, mark: tuple[str, ...]) -> Row | None:
        if len(mark) == 1:
            return EpochRow(self.epoch)
        if len(mark) == 2:
            session = self.sessions.get(mark[1])
            return SessionRow(mark[1], "gone" if session is None else "expired" if session.expired else "live")
        name, *rest = mark
        key = (rest[0], rest[1])
        account = self._accounts.get(key)
        if not name:
            return PastRow(*key, tuple(account.past.items()) if account else ())
        held = account.held.get(name) if account else None
        if held is None:
            return ShareRow(name, *key, 0, 0, None)
        return ShareRow(name, *key, held.granted, held.drawn, tuple(_rows(held)), held.charge)


def _rows(held: Held) -> Iterator[Slot]:
    for slot, (reserved, settled) in held.slots.items():
        yield slot, reserved, settled


def _without_reservations(report: Report) -> Report:
    slots = tuple((slot, 0, settled) for slot, _, settled in report.slots)
    return msgspec.structs.replace(report, slots=slots)
