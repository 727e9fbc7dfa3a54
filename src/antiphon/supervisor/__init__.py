"""Starts, watches, drains and restarts the processes of a server."""

from antiphon.supervisor.notice import Notice
from antiphon.supervisor.supervisor import Supervisor

__all__ = ["Notice", "Supervisor"]
