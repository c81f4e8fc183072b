"""Real pools: tasks become HTCondor jobs pinned to the hosts that cosched chose."""

from cosched_condor.connector import CondorConnector

__all__ = ["CondorConnector"]
