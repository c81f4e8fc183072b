"""Jobs that users submit to Slurm themselves: `adoptable_jobs` reads them, `adopted_jobs` lets them go."""

from cosched_slurm.adoption.adopted_jobs import SlurmAdoptedJobs

__all__ = ["SlurmAdoptedJobs"]
