"""The simulated connector: a pool that is a file. Jobs last as long as they were predicted to, and nothing runs."""

from cosched_simulated.connector import SimulatedConnector

__all__ = ["SimulatedConnector"]
