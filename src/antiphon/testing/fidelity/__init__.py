"""The fidelity suite: does a gateway pass on what model and caller say, exactly?

Scripted servers play a model, good and bad; a caller of exact bytes looks at what the gateway makes of it. What is right is what
the public documentation of OpenAI and Anthropic says. ``antiphon fidelity`` runs it against any gateway.
"""

from antiphon.testing.fidelity.caller import Gateway
from antiphon.testing.fidelity.case import Case, Group, Route
from antiphon.testing.fidelity.cases import CASES, GROUPS
from antiphon.testing.fidelity.report import Report, Result
from antiphon.testing.fidelity.stage import Stage
from antiphon.testing.fidelity.suite import Suite

__all__ = ["CASES", "GROUPS", "Case", "Gateway", "Group", "Report", "Result", "Route", "Stage", "Suite"]
