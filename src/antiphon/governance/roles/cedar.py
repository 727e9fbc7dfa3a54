"""Decides by policies in Cedar's language. A decision takes some 150 us."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import cedarpy

from antiphon.core.types import Principal
from antiphon.governance.roles.policies import BUILT_IN, GRANTS, SCHEMA

_SERVER: Final = {"type": "Server", "id": "this"}


class CedarDecider:
    """Decides by the built-in policies and an operator's. Raises ValueError for what are none."""

    def __init__(self, policies: str) -> None:
        if wrong := list(errors(policies)):
            raise ValueError("; ".join(wrong))
        text = f"{BUILT_IN}\n{policies}"
        self._policies = cedarpy.PolicySet.from_str(text)
        self._titles = _titles(text)

    def why_not(self, principal: Principal, roles: Sequence[str], function: str, model: str, within: str) -> str:
        """Why somebody may not do this with a model that was named ``within``, or with the server; empty where it may."""
        uid = {"type": "Key", "id": principal.name}
        resource = _model(model) if model else _SERVER
        owners = {name: getattr(principal, name) for name in ("team", "project", "application", "user")}
        parents = [{"type": "Role", "id": role} for role in roles]
        parents += [{"type": name.title(), "id": owner} for name, owner in owners.items() if owner]
        entities: list[dict[str, Any]] = [
            {"uid": uid, "attrs": {"name": principal.name, **owners}, "parents": parents},
            {"uid": resource, "attrs": {}, "parents": [_model(within)] if within != model else []},
            *_ACTIONS,
        ]
        asked = {"principal": _reference(uid), "action": _reference(_action(function)), "resource": _reference(resource)}
        found = cedarpy.is_authorized({**asked, "context": {}}, self._policies, entities)
        if found.diagnostics.errors:  # such a policy would be left out, also where it forbids
            return f"a policy cannot be decided: {found.diagnostics.errors[0]}"
        if found.allowed:
            return ""
        forbids = [self._titles.get(name, name) for name in found.diagnostics.reasons]
        return f"the policy {', '.join(sorted(forbids))} forbids it" if forbids else "no policy permits it"


def errors(policies: str) -> Iterator[str]:
    """What is wrong with an operator's policies, in words."""
    text = f"{BUILT_IN}\n{policies}"
    try:
        cedarpy.PolicySet.from_str(policies)
        titles = _titles(text)
        result = cedarpy.validate_policies(text, SCHEMA)
    except ValueError as error:
        yield str(error)
        return
    told: set[str] = set()
    for wrong in result.errors:
        if wrong.policy_id not in told:  # of each the first, which the others follow from
            told.add(wrong.policy_id)
            yield f"policy {titles[wrong.policy_id]}: {wrong.error.removeprefix(f'for policy `{wrong.policy_id}`, ')}"


def _titles(text: str) -> dict[str, str]:
    """What to call policies, by Cedar's numbers: their names (``@id``), or their places among those of the operator."""
    policies: dict[str, Any] = json.loads(cedarpy.policies_to_json_str(text))["staticPolicies"]
    titles = {}
    for number, policy in policies.items():
        name = policy.get("annotations", {}).get("id")
        titles[number] = f'"{name}"' if name else f"{int(number.removeprefix('policy')) - len(GRANTS) + 1} of yours"
    return titles


def _model(name: str) -> dict[str, str]:
    return {"type": "Model", "id": name}


def _action(name: str) -> dict[str, str]:
    return {"type": "Action", "id": name}


def _reference(uid: dict[str, str]) -> str:
    """An entity as Cedar writes it."""
    return f"{uid['type']}::{json.dumps(uid['id'], ensure_ascii=False)}"


def _actions() -> list[dict[str, Any]]:
    told = re.findall(r'action "(\w+)"(?: in \["(\w+)"\])? appliesTo', SCHEMA)
    return [{"uid": _action(name), "attrs": {}, "parents": [_action(group)] if group else []} for name, group in told]


_ACTIONS: Final = _actions()
