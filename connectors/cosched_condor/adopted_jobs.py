"""Jobs that users submit to HTCondor themselves, behind the gate of etc/condor/50-cosched-adopt.conf.

`CoschedAttempt` opens the gate for the machines in `CoschedMachine`; the end of `CoschedLease` opens it for all.
Start at `CondorAdoptedJobs.release`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.connector import ConnectorError, HostShare
from cosched.connector.interface import AdoptableJob
from cosched_condor import job_ads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.connector.jobs import Launch
    from cosched_condor.htcondor_client import CondorClient

__all__ = ["CondorAdoptedJobs"]

_OPTIONS = (
    "Deadline",
    "Runtime",
    "Profile",
    "Application",
    "Name",
    "Priority",
    "BestEffort",
    "Hosts",
    "Licences",
    "Begin",
    "After",
    "Retries",
)
_PROJECTION = (
    *job_ads.PROJECTION,
    "QDate",
    "Cmd",
    "Args",
    "Arguments",
    "Iwd",
    "JobUniverse",
    "MinHosts",
    "CoschedMachineCount",
    "RequestMemory",
    "RequestCpus",
    "RequestGPUs",
    *(f"Cosched{name}" for name in _OPTIONS),
)
_KEY = re.compile(r'[^"\\#\s]+#\d+\.\d+#\d+\Z')  # as schedulers make a GlobalJobId
_PARAMETER = "coschedset_"  # +CoschedSet_Scale = 2
_WAITING = "(JobStatus == 1 || JobStatus == 5)"
_PARALLEL = 11  # the universe


class CondorAdoptedJobs:
    """The users' own jobs of one scheduler; cosched is its queue super user.

    Args:
        client: the process that talks to HTCondor.
    """

    def __init__(self, client: CondorClient) -> None:
        self._client = client
        self._parameters: dict[str, dict[str, str]] = {}  # of applications' jobs, by key

    def listed(self) -> list[AdoptableJob]:
        """Return the jobs with a gate in the queue.

        One with a forged identifier is left to its lease.
        """
        ads = self._queue("CoschedAdopt =?= true && (CoschedLease > 0 || CoschedAttempt isnt undefined)")
        live = [
            ad
            for ad in ads
            if ad.get("JobStatus") not in (3, job_ads.COMPLETED) and _KEY.match(str(ad.get("GlobalJobId", "")))
        ]
        self._read_parameters(live)
        return [replace(_adoptable(ad), parameters=self._parameters.get(str(ad["GlobalJobId"]), {})) for ad in live]

    def release(self, launch: Launch) -> str:
        """Mark a job with its attempt, which opens the gate of one that waits.

        A try that is cut off leaves the gate closed, or a job that is found by its attempt.
        """
        ads = self._queue(job_ads.named(launch.adopted))
        if not ads and self.ran_alone(launch.adopted):
            return launch.adopted.split("#")[1]
        if not ads:
            raise _refused("the job is no longer in HTCondor's queue")
        ad, running = ads[0], job_ads.is_running(ads[0])
        hosts = job_ads.hosts_of_ad(ad) if running else ()
        if ad.get("CoschedAttempt", launch.attempt) != launch.attempt:
            raise _refused("the job was let go for another attempt")
        if not running and not job_ads.is_idle(ad):
            raise _refused("the job is held by its user, or ends")
        if running and launch.hosts and set(hosts) != set(launch.hosts):
            raise _refused(f"the job runs on {', '.join(hosts)} by itself")
        starts = max(job_ads.whole_number(ad, name) for name in ("NumJobStarts", "NumShadowStarts"))
        marks = {
            "CoschedTask": f'"{launch.task}"',  # for people: `condor_q -constraint 'CoschedTask == "17"'`
            "CoschedRank": "0",
            "CoschedCount": "1",
            "CoschedStarts": str(starts - 1 if running and starts else starts),
            **({} if running else _host_count(ad, max(launch.count, 1))),
            "CoschedMachine": f'"{",".join(launch.hosts) or "any"}"',
            "CoschedAttempt": f'"{launch.attempt}"',  # the last one: it is mark and key of the gate at once
        }
        state = "JobStatus == 2" if running else "JobStatus == 1"
        free = f'(CoschedAttempt is undefined || CoschedAttempt == "{launch.attempt}")'
        marked = self._edit(f"{job_ads.named(launch.adopted)} && {free} && {state}", marks)
        if not marked:
            raise _refused("the job changed while it was let go")
        return f"{ad['ClusterId']}.{ad['ProcId']}"

    def ran_alone(self, key: str) -> bool:
        """Return whether the history has a job that ran to its end for no attempt."""
        return bool(self._client.call("history", **job_ads.ended_alone(key)))

    def retract(self, attempt: str, key: str) -> bool:
        """Take the mark off, which closes the gate; return whether none is left."""
        ours = f'{job_ads.named(key)} && CoschedAttempt == "{attempt}"'
        waiting = self._queue(f"{ours} && {_WAITING}")
        if waiting:
            asked = _host_count(waiting[0], _asked_hosts(waiting[0]))
            self._edit(f"{ours} && {_WAITING}", {**asked, "CoschedAttempt": "undefined"})
        return not self._queue(ours)

    def renew(self, until: float) -> None:
        """Move the end of all leases."""
        self._edit("CoschedAdopt =?= true && CoschedLease > 0", {"CoschedLease": str(int(until))})

    def abandon(self, key: str, reason: str) -> None:
        """Open a gate for ever, with a note in the job that says why."""
        note = '"{}"'.format(reason.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " "))
        self._edit(job_ads.named(key), {"CoschedNote": note, "CoschedLease": "0"})

    def remove(self, key: str, reason: str) -> None:
        """Remove a job."""
        done = self._client.call("act", action="Remove", constraint=job_ads.named(key), reason=reason)
        if done.get("TotalPermissionDenied") or done.get("TotalError"):
            raise ConnectorError("HTCondor lets cosched not remove a user's job: see QUEUE_SUPER_USERS", transient=True)

    def _read_parameters(self, ads: Sequence[Mapping[str, Any]]) -> None:
        """Ask once for whole ads of jobs with an application.

        The names of its parameters are not known before.
        """
        keys = [str(ad["GlobalJobId"]) for ad in ads if ad.get("CoschedApplication")]
        known = {key: self._parameters[key] for key in keys if key in self._parameters}
        if len(known) < len(keys):
            since = min(job_ads.whole_number(ad, "QDate") for ad in ads if ad.get("CoschedApplication"))
            constraint = f"CoschedAdopt =?= true && CoschedApplication isnt undefined && QDate >= {since}"
            for ad in self._queue(constraint, projection=()):
                known[str(ad.get("GlobalJobId", ""))] = {
                    name[len(_PARAMETER) :]: str(value)
                    for name, value in ad.items()
                    if name.lower().startswith(_PARAMETER)
                }
        self._parameters = known

    def _queue(self, constraint: str, projection: Sequence[str] = _PROJECTION) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._client.call("queue", constraint=constraint, projection=projection)
        return found

    def _edit(self, constraint: str, values: Mapping[str, str]) -> int:
        edited: int = self._client.call("edit", constraint=constraint, values=dict(values))
        return edited


def _is_parallel(ad: Mapping[str, Any]) -> bool:
    return ad.get("JobUniverse") == _PARALLEL


def _asked_hosts(ad: Mapping[str, Any]) -> int:
    """Return the machine_count of a parallel job as it was submitted."""
    return job_ads.whole_number(ad, "CoschedMachineCount") or job_ads.whole_number(ad, "MinHosts") or 1


def _host_count(ad: Mapping[str, Any], count: int) -> dict[str, str]:
    """Return what gives a parallel job another number of hosts, and keeps its own; other jobs have none."""
    if not _is_parallel(ad):
        return {}
    return {"CoschedMachineCount": str(_asked_hosts(ad)), "MinHosts": str(count), "MaxHosts": str(count)}


def _literal_count(ad: Mapping[str, Any], name: str) -> int:
    """Return a number that a job asks for; 0 where that is an expression, or nothing."""
    value = ad.get(name)
    return int(value) if isinstance(value, int | float) and 0 < value < 1e9 else 0


def _refused(why: str) -> ConnectorError:
    """Return the error of a job that was certainly not let go."""
    return ConnectorError(why, transient=True, refused=True)


def _adoptable(ad: Mapping[str, Any]) -> AdoptableJob:
    given = {key.lower(): value for key, value in ad.items()}
    arguments = str(ad.get("Arguments") or ad.get("Args") or "")
    try:
        words: Sequence[str] = shlex.split(arguments)
    except ValueError:  # HTCondor quotes otherwise; they are for people
        words = arguments.split()
    marked = ad.get("CoschedAttempt")
    return AdoptableJob(
        key=str(ad["GlobalJobId"]),
        job=f"{ad['ClusterId']}.{ad['ProcId']}",
        owner=str(ad.get("Owner", "")),
        submitted=float(job_ads.whole_number(ad, "QDate")),
        command=(str(ad.get("Cmd", "")), *words),
        directory=str(ad.get("Iwd", "")),
        options={
            name.lower(): str(given[f"cosched{name}".lower()]) for name in _OPTIONS if f"cosched{name}".lower() in given
        },
        needs=HostShare(*(_literal_count(ad, name) for name in ("RequestMemory", "RequestCpus", "RequestGPUs"))),
        hosts=str(_asked_hosts(ad)) if _is_parallel(ad) else "",
        held=ad.get("JobStatus") == job_ads.HELD,
        running=job_ads.is_running(ad),
        report=job_ads.reports_of_ads([{**ad, **job_ads.ONE_PROCESS}], []).get(str(marked)) if marked else None,
    )
