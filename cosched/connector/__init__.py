"""The interface between a co-scheduler and a resource manager, and how connectors are found."""

from cosched.connector.interface import Connector, ConnectorError, Host, JobReport, JobState, Launch, Output
from cosched.connector.native import Native
from cosched.connector.registry import available, load
from cosched.connector.values import SafeValue, safe

__all__ = [
    "Connector",
    "ConnectorError",
    "Host",
    "JobReport",
    "JobState",
    "Launch",
    "Native",
    "Output",
    "SafeValue",
    "available",
    "load",
    "safe",
]
