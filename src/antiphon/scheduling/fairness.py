"""Fairness between tenants: virtual counters of the tokens that each was served.

Whoever was served least goes first (Sheng et al., Fairness in Serving Large Language Models, OSDI 2024): a token of a prompt
counts 1, one of an answer 2. A call is charged by estimate when it is sent and corrected at its end. A tenant that comes back
after a pause is lifted to those who stayed, so that nobody saves up a right to crowd others out.
"""

INPUT_WEIGHT = 1.0
OUTPUT_WEIGHT = 2.0


def cost(prompt_tokens: float, output_tokens: float) -> float:
    """Tokens of a call, weighed."""
    return INPUT_WEIGHT * prompt_tokens + OUTPUT_WEIGHT * output_tokens


class TokenCounters:
    """One counter for each tenant that has calls. Tenants without any are forgotten once the others have passed them."""

    def __init__(self) -> None:
        self._counters: dict[str, float] = {}
        self._present: dict[str, int] = {}
        self._now = 0.0
        """The counter at which the last call was served: virtual time."""

    def came(self, tenant: str) -> None:
        """A call of the tenant is there."""
        present = self._present.get(tenant, 0)
        if not present:
            self._counters[tenant] = max(self._counters.get(tenant, 0.0), self._now)
        self._present[tenant] = present + 1

    def left(self, tenant: str) -> None:
        """A call of the tenant is over."""
        present = self._present.get(tenant, 0) - 1
        if present > 0:
            self._present[tenant] = present
            return
        self._present.pop(tenant, None)
        if len(self._counters) > 4 * len(self._present) + 1024:
            self._forget()

    def present(self, tenant: str) -> int:
        """Calls of the tenant that are there."""
        return self._present.get(tenant, 0)

    def of(self, tenant: str) -> float:
        """Weighed tokens that the tenant was served."""
        return self._counters.get(tenant, 0.0)

    def charge(self, tenant: str, tokens: float) -> None:
        """Count a call that is sent; its tenant was the next one."""
        counter = self._counters.get(tenant, 0.0)
        self._now = max(self._now, counter)
        self._counters[tenant] = counter + tokens

    def correct(self, tenant: str, tokens: float) -> None:
        """Add what an estimate lacked, or take off what it had too much."""
        if tenant in self._counters:
            self._counters[tenant] += tokens

    def _forget(self) -> None:
        for tenant in [name for name, counter in self._counters.items() if name not in self._present and counter <= self._now]:
            del self._counters[tenant]
