"""What one process has reserved and neither settled nor released: so that what was forgotten does not stay reserved for ever."""

from antiphon.core.ledger import AGE, Reservation


class OpenReservations:
    """Reservations in the order in which they are abandoned. ``mono`` is the monotonic clock, s.

    ``by_id`` may be read and written by whoever owns this: on the path of every call a method would cost as much as its work.
    """

    def __init__(self, age: float = AGE) -> None:
        self.age = age
        self.by_id: dict[int, Reservation] = {}

    def renew(self, reservation: Reservation, mono: float) -> None:
        """Put off the moment at which it is abandoned."""
        if self.by_id.pop(reservation.id, None) is not None:
            reservation.deadline = mono + self.age
            self.by_id[reservation.id] = reservation

    def abandoned(self, mono: float) -> list[Reservation]:
        """Those whose time is over; they are open no longer."""
        found = []
        for reservation in self.by_id.values():
            if reservation.deadline > mono:
                break
            found.append(reservation)
        for reservation in found:
            del self.by_id[reservation.id]
        return found


def left_behind(reservation: Reservation) -> list[int]:
    """What each hold of an abandoned reservation is charged."""
    return [hold.amount if hold.limit.abandoned == "charge" else 0 for hold in reservation.holds]
