"""cosched: a predictive co-scheduler that runs beside HTCondor and Slurm and schedules towards deadlines.

The house, from top to bottom (imports never point up): `language`, `evaluation`, `prediction`, `scheduling`,
`connector`, `coscheduler`, `store`, `portal`, `simulation`, `service`, `cli`. ARCHITECTURE.md is the guide.
"""

__version__ = "0.1.0"
