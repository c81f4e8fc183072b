"""Real clusters: tasks become Slurm jobs on the hosts that cosched chose."""

from cosched_slurm.connector import SlurmConnector

__all__ = ["SlurmConnector"]
