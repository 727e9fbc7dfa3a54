"""Tells the audit trail what a command has done."""

from pathlib import Path

from antiphon.cli.output import warn
from antiphon.cli.settings import load_settings
from antiphon.core.audit import Act
from antiphon.core.errors import AntiphonError


def note(config: Path | None, act: Act) -> None:
    """Have an act written down, by the account that runs this. It is done already, so where that fails it is only told."""
    from antiphon.bootstrap import kept_audit

    try:
        kept_audit.record_act(load_settings(config).settings, act)
    except AntiphonError as error:
        warn(f"this is done, but it is not in the audit trail: {error}")
