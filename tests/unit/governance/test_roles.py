"""Who may do what, by built-in roles and by policies of one's own."""

import pytest

from antiphon.core.errors import ModelNotFound, PermissionDenied
from antiphon.core.types import Principal
from antiphon.governance.roles.cedar import CedarDecider, errors
from antiphon.governance.roles.functions import ADMINISTER, ENDPOINTS, READ, USE, function_at
from antiphon.governance.roles.policies import GRANTS, roles_in
from antiphon.governance.roles.rights import Decider, Rights, TableDecider

LEADS = {"small": ["small"], "big": ["big"], "best": ["big", "small"], "fast": ["small"]}
EVERY = (*USE, *READ, ADMINISTER)


def names(model: str) -> list[str]:
    if model not in LEADS:
        raise ModelNotFound
    return LEADS[model]


def rights(policies: str = "", decider: Decider | None = None) -> Rights:
    return Rights(decider or CedarDecider(policies), ("developer",), names)


def may(who: Rights, principal: Principal, function: str, model: str = "") -> bool:
    try:
        if model:
            who.check_model(principal, function, model)
        else:
            who.check(principal, function)
    except PermissionDenied:
        return False
    return True


@pytest.mark.parametrize("role", [*GRANTS, "nobody"])
def test_cedar_and_the_table_decide_alike_and_deny_by_default(role: str) -> None:
    principal = Principal("k", roles=(role,))
    for decider in (CedarDecider(""), TableDecider()):
        who = rights(decider=decider)
        allowed = {name for name in EVERY if may(who, principal, name, "small" if name in USE else "")}
        assert allowed == set(GRANTS.get(role, ()))


def test_a_key_without_a_role_has_the_default_ones_and_roles_add_up() -> None:
    assert may(rights(), Principal("k"), "chat", "small")
    assert not may(rights(), Principal("k"), "read_usage")
    assert may(rights(), Principal("k", roles=("developer", "billing")), "read_usage")


def test_a_policy_of_ones_own_for_a_role_of_ones_own() -> None:
    policies = 'permit(principal in Role::"support", action == Action::"chat", resource == Model::"small");'
    who, principal = rights(policies), Principal("k", roles=("support",))
    assert [may(who, principal, "chat", model) for model in LEADS] == [True, False, False, True]
    assert not may(who, principal, "embeddings", "small")
    assert "support" in roles_in(policies)


def test_a_policy_may_name_what_leads_to_a_model() -> None:
    who = rights('permit(principal in Role::"support", action in Action::"use", resource in Model::"best");')
    principal = Principal("k", roles=("support",))
    assert [may(who, principal, "chat", model) for model in LEADS] == [False, False, True, False]


def test_what_one_policy_forbids_no_other_permits_and_no_alias_leads_around_it() -> None:
    who = rights('@id("no-big") forbid(principal in Team::"interns", action, resource == Model::"big");')
    interns = Principal("k", team="interns", roles=("admin",))
    assert [may(who, interns, "chat", model) for model in LEADS] == [True, False, False, True]
    with pytest.raises(PermissionDenied, match='the policy "no-big" forbids it'):
        who.check_model(interns, "chat", "best")
    assert may(who, Principal("other", team="staff"), "chat", "big")


def test_a_policy_may_look_at_whose_key_it_is() -> None:
    who = rights('permit(principal, action == Action::"read_usage", resource) when { principal.user == "ada" };')
    assert may(who, Principal("k", user="ada"), "read_usage")
    assert not may(who, Principal("m", user="eve"), "read_usage")


def test_a_refusal_says_who_what_and_why() -> None:
    with pytest.raises(PermissionDenied) as raised:
        rights().check(Principal("k", roles=("billing",)), "read_calls")
    assert str(raised.value).startswith('the key "k" may not read calls: no policy permits it (roles: billing); ask the operator')


def test_a_key_for_certain_models_is_for_no_others_however_they_are_called() -> None:
    key = Principal("k", models=("small",))
    assert [may(rights(), key, "chat", model) for model in LEADS] == [True, False, False, True]
    assert not rights().may_see(key, "big")
    by_alias = Principal("l", models=("best",))
    assert [may(rights(), by_alias, "chat", model) for model in LEADS] == [False, False, True, False]


def test_a_model_that_there_is_not_is_no_secret() -> None:
    with pytest.raises(ModelNotFound):
        rights().check_model(Principal("k"), "chat", "unknown")


def test_names_with_quotes_are_no_way_in() -> None:
    who = rights('permit(principal == Key::"a\\"b", action == Action::"read_usage", resource);')
    assert may(who, Principal('a"b'), "read_usage")
    assert not may(who, Principal('x", Key::"a'), "read_usage")


@pytest.mark.parametrize(
    ("policies", "wrong"),
    [
        ("permit(principal, action resource);", "unexpected token"),
        ('permit(principal, action == Action::"dance", resource);', "dance"),
        ('@id("x") permit(principal, action, resource) when { principal.age > 3 };', '"x"'),
        ('permit(principal in Rolle::"admin", action, resource);', "Rolle"),
    ],
)
def test_policies_that_are_none_are_refused_with_what_is_wrong(policies: str, wrong: str) -> None:
    assert any(wrong in error for error in errors(policies))
    with pytest.raises(ValueError, match=wrong):
        CedarDecider(policies)


def test_every_path_of_the_administration_does_something_and_unknown_ones_are_for_administrators() -> None:
    for (method, path), function in ENDPOINTS.items():
        assert function_at(method, path) == function_at(method, f"{path}/one") == function
        assert function_at("DELETE", path) == ADMINISTER
    assert function_at("HEAD", "/admin/usage") == "read_usage"
    assert function_at("GET", "/admin/usages") == function_at("GET", "/admin") == ADMINISTER


def test_a_policy_that_cannot_be_decided_permits_nothing() -> None:
    policy = '@id("f") forbid(principal, action, resource == Model::"big") when { 1 + 9223372036854775807 > 0 };'
    with pytest.raises(PermissionDenied, match="a policy cannot be decided"):
        rights(policy).check_model(Principal("k"), "chat", "big")
