"""Fairness between tenants: virtual counters of the tokens that each was served.

Whoever was served least goes first (Sheng et al., Fairness in Serving Large Language Models, OSDI 2024): a token of a prompt
counts 1, one of an answer 2. A call is charged by estimate when it is sent and corrected at its end. A tenant that comes back
after a pause is lifted to those who stayed, so that nobody saves up a right to crowd others out.
"""

from typing import Final

INPUT_WEIGHT: Final = 1.0
OUTPUT_WEIGHT: Final = 2.0
DEMAND_HALF_LIFE: Final = 10.0
"""Seconds after which what a tenant asked for counts for half, where the dominant one is looked for."""


def cost(prompt_tokens: float, output_tokens: float) -> float:
    """Tokens of a call, weighed."""
    return INPUT_WEIGHT * prompt_tokens + OUTPUT_WEIGHT * output_tokens


class Demand:
    """What each tenant asked for lately, to find the one that asks for more than all others together.

    Turns alone do not keep such a tenant from slowing others: its long prompts are prefilled beside their answers at every replica.
    """

    def __init__(self) -> None:
        self._asked: dict[str, float] = {}
        self._out: dict[str, int] = {}
        self._total = 0.0
        self._at = 0.0
        self._calls = 0
        self.dominant = ""
        """The tenant that asked for more than half, of several."""
        self.dominates = False

    def asked(self, tenant: str, tokens: float, now: float) -> None:
        """A call of the tenant came; its weighed tokens."""
        if now - self._at > DEMAND_HALF_LIFE / 8:
            faded = 0.5 ** ((now - self._at) / DEMAND_HALF_LIFE)
            self._asked = {name: asked * faded for name, asked in self._asked.items() if asked * faded >= 1}
            self._total = sum(self._asked.values())
            self._at = now
        self._asked[tenant] = self._asked.get(tenant, 0.0) + tokens
        self._total += tokens
        if 2 * self._asked[tenant] > self._total:
            self.dominant = tenant
        self.dominates = len(self._asked) > 1 and 2 * self._asked.get(self.dominant, 0.0) > self._total

    def sent(self, tenant: str) -> None:
        """A call of the tenant is at a replica."""
        self._out[tenant] = self._out.get(tenant, 0) + 1
        self._calls += 1

    def back(self, tenant: str) -> None:
        """It is not there any more."""
        self._calls -= 1
        left = self._out[tenant] - 1
        if left:
            self._out[tenant] = left
        else:
            del self._out[tenant]

    @property
    def others_out(self) -> int:
        """Calls at replicas that are not the dominant tenant's."""
        return self._calls - self._out.get(self.dominant, 0)


class TokenCounters:
    """One counter for each tenant that has calls. Tenants without any are forgotten once the others have passed them."""

    def __init__(self) -> None:
        self._counters: dict[str, float] = {}
        self._present: dict[str, int] = {}
        self.now = 0.0
        """The counter at which the last call was served: virtual time."""

    def came(self, tenant: str) -> None:
        """A call of the tenant is there."""
        present = self._present.get(tenant, 0)
        if not present:
            self._counters[tenant] = max(self._counters.get(tenant, 0.0), self.now)
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
        self.now = max(self.now, counter)
        self._counters[tenant] = counter + tokens

    def correct(self, tenant: str, tokens: float) -> None:
        """Add what an estimate lacked, or take off what it had too much."""
        if tenant in self._counters:
            self._counters[tenant] += tokens

    def _forget(self) -> None:
        for tenant in [name for name, counter in self._counters.items() if name not in self._present and counter <= self.now]:
            del self._counters[tenant]
