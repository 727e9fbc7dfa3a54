"""What a call holds of its caller's limits."""

from collections.abc import Sequence

from antiphon.core.ledger import Ledger, Reservation
from antiphon.governance.limits import Applied


class Metered:
    """One call's account, from its reservation to its settlement."""

    __slots__ = ("applied", "input_tokens", "ledger", "reservation")

    def __init__(self, applied: Sequence[Applied], input_tokens: int, ledger: Ledger) -> None:
        self.applied = applied
        """Limits that hold for it, in the order of the holds."""
        self.input_tokens = input_tokens
        """Of its prompt, by estimate."""
        self.ledger = ledger
        """Where it has reserved: a reload may bring another one for later calls."""
        self.reservation: Reservation | None = None
        """None before it is made, and where nothing is limited."""
