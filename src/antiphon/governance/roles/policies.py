"""The built-in roles, and the schema that an operator's policies must suit, in Cedar (https://docs.cedarpolicy.com)."""

import json
import re
from collections.abc import Mapping
from typing import Final

from antiphon.governance.roles.functions import ADMINISTER, READ, USE

GRANTS: Final[Mapping[str, tuple[str, ...]]] = {
    "admin": (*USE, *READ, ADMINISTER),
    "platform": (*USE, "read_processes", "read_routes", "read_limits", "read_calls", "read_usage"),
    "ml": (*USE, "read_processes", "read_routes", "read_calls", "read_usage"),
    "developer": USE,
    "auditor": READ,
    "billing": ("read_limits", "read_usage"),
}
"""What each built-in role may do."""


def _permit(role: str, functions: tuple[str, ...]) -> str:
    actions = ", ".join(f'Action::"{name}"' for name in functions)
    return f'@id("{role}")\npermit(principal in Role::"{role}", action in [{actions}], resource);\n'


BUILT_IN: Final = "".join(_permit(role, functions) for role, functions in GRANTS.items())
"""The same as policies."""


def _action(name: str, group: str, resource: str) -> str:
    return f'action "{name}"{group} appliesTo {{ principal: Key, resource: {resource} }};\n'


SCHEMA: Final = (
    "entity Role, Team, Project, Application, User;\n"
    "entity Key in [Role, Team, Project, Application, User] "
    "{ name: String, team: String, project: String, application: String, user: String };\n"
    "entity Model in [Model];\n"
    "entity Server;\n"
    'action "use", "read";\n'
    + "".join(_action(name, ' in ["use"]', "Model") for name in USE)
    + "".join(_action(name, ' in ["read"]', "Server") for name in READ)
    + _action(ADMINISTER, "", "Server")
)
"""What policies may speak of: keys with their roles and owners, models, each within the names that lead to it, this server."""

_ROLE: Final = re.compile(r'\bRole::"((?:[^"\\]|\\.)*)"')


def roles_in(policies: str) -> frozenset[str]:
    """Every role that there is with these policies beside the built-in ones."""
    return frozenset((*GRANTS, *(str(json.loads(f'"{name}"')) for name in _ROLE.findall(policies))))
