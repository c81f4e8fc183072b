"""The interface between cosched and a resource manager; connectors are found by entry point.

Start at `interface`; `contract` holds the tests that every connector inherits; docs/connectors/writing.md says how.
"""

from cosched.connector.hosts import Host, HostShare
from cosched.connector.interface import Connector, ConnectorError
from cosched.connector.jobs import JobReport, JobState, Launch, LaunchMode, Output
from cosched.connector.registry import available_connectors, load_connector
from cosched.connector.values import NativeDescription, SafeValue, safe

__all__ = [
    "Connector",
    "ConnectorError",
    "Host",
    "HostShare",
    "JobReport",
    "JobState",
    "Launch",
    "LaunchMode",
    "NativeDescription",
    "Output",
    "SafeValue",
    "available_connectors",
    "load_connector",
    "safe",
]
