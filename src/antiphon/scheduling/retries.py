"""How much may be tried twice: budgets that grow with traffic, so that retries and hedges never become a storm."""


class Budget:
    """A token bucket that calls fill and retries empty (of Twitter's Finagle)."""

    __slots__ = ("_most", "_share", "_tokens", "spent")

    def __init__(self, share: float, reserve: float) -> None:
        self._share = share
        self._most = max(reserve, 100.0 * share)
        self._tokens = reserve
        self.spent = 0
        """Times that it was spent."""

    def change(self, share: float, reserve: float) -> None:
        """Other bounds from now on."""
        self._share = share
        self._most = max(reserve, 100.0 * share)
        self._tokens = min(self._tokens, self._most)

    def earn(self) -> None:
        """A call came."""
        self._tokens = min(self._most, self._tokens + self._share)

    def spend(self) -> bool:
        """Whether one may be tried twice now; if so it is counted."""
        if self._tokens < 1:
            return False
        self._tokens -= 1
        self.spent += 1
        return True
