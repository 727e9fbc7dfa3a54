"""Who may do what, where that cannot be meant: roles and models that there are not, policies that are none."""

from collections.abc import Iterator

from antiphon.config.network import Report
from antiphon.config.problems import among
from antiphon.config.settings import Settings
from antiphon.core.errors import ConfigError
from antiphon.governance.roles.policies import roles_in


def wrong(settings: Settings, known: frozenset[str], unread: frozenset[str], report: Report) -> Iterator[ConfigError]:
    """Everything that is wrong. ``known`` is what a model can be called by; nothing is said of names among ``unread``."""
    access = settings.access
    if access.policies:
        from antiphon.governance.roles.cedar import errors

        for error in errors(access.policies):
            yield report("access.policies", f"access.policies: {error}", "correct the policy, in Cedar's language")
    roles = roles_in(access.policies)
    named = [("access.default_roles", role) for role in access.default_roles]
    named += [(f"server.keys[{index}].roles", role) for index, key in enumerate(settings.server.keys) for role in key.roles or ()]
    for path, role in named:
        if role not in roles and role not in unread:
            yield report(path, f'{path} names the role "{role}", which there is not', among(role, roles))
    for index, key in enumerate(settings.server.keys):
        for model in key.models or ():
            if model not in known and model not in unread:
                path = f"server.keys[{index}].models"
                yield report(path, f'{path} names the model "{model}", which is not known', among(model, known))
