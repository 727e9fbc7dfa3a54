"""How many generated cases a property is tried with: 1,000, or as many as ``ANTIPHON_CASES`` says (``make round-trips``)."""

import os

from hypothesis import HealthCheck, settings

NUMBER = int(os.environ.get("ANTIPHON_CASES", "1000"))


def cases(share: float = 1.0) -> settings:
    """Settings for a property that is tried with a ``share`` of the cases, because each takes longer."""
    return settings(max_examples=max(1, int(NUMBER * share)), deadline=None, suppress_health_check=list(HealthCheck))


CASES = cases()
FEWER = cases(0.1)
