"""Managers alone, and with cosched beside them: the same jobs, users' estimates and real nodes of 64 cores.

    python -m benchmarks.against_managers --manager slurm|condor [--jobs 300] [--scale 1] [--nodes 16]
                                          [--variants alone,figures,learnt,moldable,slowdown]
                                          [--keep FOLDER [--resume]]

The jobs are those of `benchmarks.shared_workload`; they arrive over 20 minutes times `--scale`, and sleep. "alone":
Slurm by priority/multifactor and backfill with the estimates as limits, HTCondor by its negotiator. "figures": cosched
is told the estimates and keeps no history of runs. "learnt": it learns from what ended. "moldable": also on fewer or
twice as many hosts, by Amdahl's law. "slowdown": it learns, and its objective weighs the mean bounded slowdown, too
(`[objective] slowdown = 5`), as a site with many short jobs would have it. HTCondor's jobs have one host each: those of
several are left out for both. Times are those that the jobs write themselves; a node that had more than it has ends the
benchmark. Slurm has limits of whole minutes: with a scale of less than 1 its backfill sees estimates that are too long.

An arm takes half an hour at scale 1, nearly all of it waiting. `--keep` writes each one's result into a folder as it
ends; `--resume` measures only those that the folder has not yet. In the end all of `--variants` are printed, with what
was aimed at.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shlex
import time
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks.manager_arms import ALONE, Arm, Circumstances, Outcome, Result, goals, keep_result, kept_result, table
from benchmarks.shared_workload import DIGEST, WorkloadJob, digest, draw_workload
from cosched.api.documents import TaskRequest, TokenRequest
from cosched.client import Client
from demo.site import Site
from tests.testbed.diaries import DIARY, overfilled, read_diary
from tests.testbed.node_size import NodeSize
from tests.testbed.slurm.cluster import SlurmCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.testbed.condor.pool import CondorPool

_NODE = NodeSize()
_PATIENCE = 3600.0
_SHORTEST = 10.0  # seconds, times the scale: the bound of slowdowns
_VARIANTS = (ALONE, "figures", "learnt", "moldable", "slowdown")
_SLURM = {
    "PriorityType": "priority/multifactor",
    "PriorityWeightAge": 1000,
    "PriorityMaxAge": "1-0",
    "OverTimeLimit": 1,  # minutes: jobs that take all of their estimates would be ended as a busy machine starts them
}
_PROGRAM = """#!/bin/sh
set -- $BENCH_SECONDS
shift $((${COSCHED_HOST_COUNT:-1} - 1))
exec /bin/sh "$BENCH_DIARY.sh" "$BENCH_DIARY" "$BENCH_JOB" "$1" "$BENCH_MEMORY" "$BENCH_GPUS"
"""


class Run:
    """One pool that the jobs run through.

    Args:
        site: the pool, with or without its daemon.
        jobs: in the order of their arrival.
        scale: of all times.
    """

    def __init__(self, site: Site, jobs: Sequence[WorkloadJob], scale: float) -> None:
        pool: Any = site.pool
        self.pool = pool
        self.jobs = jobs
        self._scale = scale
        self._nodes = len(pool.hosts)
        self.folder = Path(pool.spool) / "programs"
        self.folder.mkdir(mode=0o755)
        self._diary = self.folder / "diary"
        self._diary.touch()
        self._diary.chmod(0o666)  # HTCondor's jobs run as the pool's user
        self._diary.with_name("diary.sh").write_text(DIARY)
        for job in jobs:
            program = self.folder / job.program
            program.write_text(_PROGRAM)
            program.chmod(0o755)

    def environment(self, job: WorkloadJob, most: int = 1) -> dict[str, str]:
        """Return what its program reads: not among its words, from which runs would be foretold."""
        counts = range(1, most + 1) if most > 1 else (job.hosts,)
        return {
            "BENCH_DIARY": str(self._diary),
            "BENCH_JOB": job.name,
            "BENCH_SECONDS": " ".join(f"{job.on(count) * self._scale:.3f}" for count in counts),
            "BENCH_MEMORY": str(job.memory),
            "BENCH_GPUS": str(job.gpus),
        }

    def measure(self, submit: Callable[[WorkloadJob], object]) -> Outcome:
        """Submit each job at its arrival, wait for the last, and return the figures."""
        began, loads = time.time(), list[float]()
        seconds, requests = self._controller_seconds(), self._requests()
        for job in self.jobs:
            time.sleep(max(0.0, began + job.arrival * self._scale - time.time()))
            submit(job)
            loads.append(os.getloadavg()[0])
        until = time.monotonic() + _PATIENCE
        while not self._all_ended():
            if time.monotonic() > until:
                raise SystemExit(f"the jobs did not end within {_PATIENCE:.0f} s")
            loads.append(os.getloadavg()[0])
            time.sleep(1.0)
        answered = self._requests()
        requests = None if requests is None or answered is None else answered - requests
        return self._outcome(began, self._controller_seconds() - seconds, requests, fmean(loads))

    def _all_ended(self) -> bool:
        """Return whether every job has ended on each of its hosts."""
        begun: dict[str, int] = {}
        ended: dict[str, int] = {}
        for line in self._diary.read_text().splitlines():
            kind, _, _, job, *_ = line.split(" ")
            counts = begun if kind == "begin" else ended
            counts[job] = counts.get(job, 0) + 1
        return len(ended) == len(self.jobs) and begun == ended

    def _outcome(self, began: float, controller: float, requests: int | None, load: float) -> Outcome:
        entries = read_diary(self._diary)
        if faults := overfilled(entries, _NODE):
            raise SystemExit(f"{len(faults)} times a host had more than it has: {faults[0]}")
        starts = {job.name: max(each.began for each in entries if each.job == job.name) - began for job in self.jobs}
        ends = {job.name: max(each.ended for each in entries if each.job == job.name) - began for job in self.jobs}
        makespan, scale = max(ends.values()), self._scale
        used = sum((entry.ended - entry.began) * entry.cores for entry in entries)
        return Outcome(
            makespan=makespan,
            wait=fmean(starts[job.name] - job.arrival * scale for job in self.jobs),
            slowdown=fmean(
                max(1.0, (ends[job.name] - job.arrival * scale) / max(job.seconds * scale, _SHORTEST * scale))
                for job in self.jobs
            ),
            on_time=fmean(ends[job.name] <= job.deadline * scale for job in self.jobs),
            utilisation=used / (makespan * self._nodes * _NODE.cores),
            controller=controller,
            requests=requests,
            load=load,
        )

    def _controller_seconds(self) -> float:
        """Return the processor time of the manager's central daemons."""
        if isinstance(self.pool, SlurmCluster):
            processes = [self.pool.pid("slurmctld")]
        else:
            processes = [
                number for name in ("schedd", "negotiator", "collector") for number in self.pool.processes_of(name)
            ]
        fields = [Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2].split() for number in processes]
        return sum(int(field[11]) + int(field[12]) for field in fields) / os.sysconf("SC_CLK_TCK")

    def _requests(self) -> int | None:
        """Return how many requests Slurm's controller has answered; HTCondor's daemons do not say."""
        if not isinstance(self.pool, SlurmCluster):
            return None
        by_type = self.pool.tool("sdiag").partition("statistics by message type")[2].partition("statistics by user")[0]
        return sum(map(int, re.findall(r"count:\s*(\d+)", by_type)))

    def version(self) -> str:
        """Return what the manager says of its version."""
        command = ("scontrol", "--version") if isinstance(self.pool, SlurmCluster) else ("condor_version",)
        said: str = self.pool.tool(*command)
        return said.splitlines()[0].strip(" $")


def main() -> None:
    """Measure what is to be measured still, and print all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against_managers", description=__doc__)
    parser.add_argument("--manager", choices=("slurm", "condor"), default="slurm")
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--variants", default=",".join(_VARIANTS))
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write each arm's result there as it ends")
    parser.add_argument("--resume", action="store_true", help="measure only arms whose results are not kept yet")
    options = parser.parse_args()
    if options.resume and options.keep is None:
        parser.error("--resume needs the folder of the earlier results: --keep FOLDER")
    if digest(draw_workload()) != DIGEST:
        raise SystemExit("the jobs are not those that were fixed before the first run")
    results = []
    for variant in options.variants.split(","):
        arm = Arm(options.manager, variant, options.jobs, options.scale, options.nodes)
        result = kept_result(options.keep, arm) if options.resume else None
        if result is None:
            result = measure(arm)
            if options.keep is not None:
                keep_result(options.keep, result)
        results.append(result)
    print(f"{len(_jobs(arm))} jobs, scale {arm.scale:g}, {arm.nodes} nodes")
    print(table(results))
    print("\n".join(goals(results)))


def measure(arm: Arm) -> Result:
    """Run the jobs of an arm through a fresh pool."""
    settings: dict[str, dict[str, Any]] = {"planning": {"share_hosts": True}}
    if arm.variant == "figures":
        settings["prediction"] = {"history": False}
    if arm.variant == "slowdown":
        settings["objective"] = {"slowdown": 5.0}
    with Site(arm.manager, scale=1.0, hosts=arm.nodes, settings=settings, node=_NODE) as site:
        if arm.variant == ALONE:
            site.stop()
        if isinstance(site.pool, SlurmCluster):
            site.pool.reconfigure(**_SLURM)
        site.settle()
        run = Run(site, _jobs(arm), arm.scale)
        circumstances = Circumstances.now(run.version())
        return Result(arm, _outcome(run, site, arm), circumstances)


def _jobs(arm: Arm) -> list[WorkloadJob]:
    return [job for job in draw_workload(arm.jobs) if arm.manager == "slurm" or job.hosts == 1]


def _outcome(run: Run, site: Site, arm: Arm) -> Outcome:
    if arm.variant != ALONE:
        return _beside(run, site, arm.scale, moldable=arm.variant == "moldable")
    submit = _sbatch if isinstance(site.pool, SlurmCluster) else _condor_submit
    return run.measure(lambda job: submit(run, job, arm.scale))


def _beside(run: Run, site: Site, scale: float, *, moldable: bool) -> Outcome:
    """Submit to cosched, as each job's own user."""
    with site.client() as root:
        tokens = {user: root.create_token(TokenRequest(user=user)).token for user in {job.user for job in run.jobs}}
    clients = {user: Client(site.server, token=token) for user, token in tokens.items()}
    began = time.time()

    def submit(job: WorkloadJob) -> None:
        most = min(2 * job.hosts, 4) if moldable else job.hosts
        profile = tuple(
            job.estimate * scale * job.on(count) / job.seconds if moldable or count == job.hosts else None
            for count in range(1, most + 1)
        )
        request = TaskRequest(
            command=(str(run.folder / job.program), "--size", str(job.size)),
            name=job.name,
            environment=run.environment(job, max(most, 2)),
            profile=profile,
            deadline=max(began + job.deadline * scale, time.time() + 1.0),  # a busy machine submits late
            best_effort=True,
            cores=job.cores,
            memory=job.memory,
            gpus=job.gpus,
        )
        clients[job.user].submit(request)

    try:
        return run.measure(submit)
    finally:
        for client in clients.values():
            client.close()


def limit_minutes(estimate: float) -> int:
    """Return Slurm's limit for an estimate in seconds: no shorter, or jobs would be ended that keep to it."""
    return math.ceil(estimate / 60)


def _sbatch(run: Run, job: WorkloadJob, scale: float) -> None:
    cluster: SlurmCluster = run.pool
    size = (f"--cpus-per-task={job.cores}", f"--mem={job.memory}M", *([f"--gres=gpu:{job.gpus}"] if job.gpus else []))
    limit = f"--time={limit_minutes(job.estimate * scale)}"
    program = (
        " ".join(f"{name}={shlex.quote(value)}" for name, value in run.environment(job).items())
        + f" {shlex.quote(str(run.folder / job.program))} --size {job.size}"
    )
    start = f"{cluster.bin / 'srun'} --mpi=none --input=none env {program}" if job.hosts > 1 else f"env {program}"
    script = run.folder / f"{job.name}.sh"
    script.write_text(f"#!/bin/sh\nexport COSCHED_RANK=$SLURM_PROCID\nexec {start}\n")
    nodes = (f"--nodes={job.hosts}", f"--ntasks={job.hosts}", "--ntasks-per-node=1")
    cluster.tool("sbatch", f"--job-name={job.name}", "--output=/dev/null", *nodes, *size, limit, str(script))


def _condor_submit(run: Run, job: WorkloadJob, _scale: float) -> None:
    pool: CondorPool = run.pool
    variables = " ".join(f"{name}='{value}'" for name, value in run.environment(job).items())
    file = run.folder / f"{job.name}.sub"
    file.write_text(
        f"executable = {run.folder / job.program}\narguments = --size {job.size}\ninitialdir = {run.folder}\n"
        f'environment = "{variables}"\nrequest_cpus = {job.cores}\nrequest_memory = {job.memory}\n'
        + (f"request_gpus = {job.gpus}\n" if job.gpus else "")
        + f"accounting_group_user = {job.user}\nqueue\n"
    )
    pool.tool("condor_submit", "-terse", str(file))


if __name__ == "__main__":
    main()
