"""The simulated connector: a pool in a file, whose jobs run nothing.

Each lasts about as long as predicted.
"""

from cosched_simulated.connector import SimulatedConnector

__all__ = ["SimulatedConnector"]
