"""Composes who may do what from the settings."""

from functools import cache

from antiphon.config import Settings
from antiphon.dispatch.directory import Directory
from antiphon.gateway.access import Access
from antiphon.gateway.keys import KeyRing
from antiphon.governance.roles.rights import Decider, Rights, TableDecider


def access(settings: Settings, keys: KeyRing, directory: Directory) -> Access:
    """What the settings say; where callers need no key, everybody may do everything."""
    if not keys.required:
        return Access(keys, None)

    return Access(keys, Rights(_decider(settings.access.policies), settings.access.default_roles, cache(directory.names_of)))


def _decider(policies: str) -> Decider:
    if not policies:
        return TableDecider()
    from antiphon.governance.roles.cedar import CedarDecider

    return CedarDecider(policies)
