"""The embedded default: hosts that are slots on this machine, jobs that are real processes."""

from cosched_local.connector import LocalConnector

__all__ = ["LocalConnector"]
