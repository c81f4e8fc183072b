"""The simulated connector: a pool in a file, whose jobs last about as long as predicted and run nothing."""

from cosched_simulated.connector import SimulatedConnector

__all__ = ["SimulatedConnector"]
