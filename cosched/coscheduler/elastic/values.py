"""Values of elastic tasks: their request, the reports of their leads, their progress.

The lead is the attempt that runs the task's command; each worker is an attempt on one host. A task that checkpoints has
no workers: its lead has all of its hosts, and another lead follows it on others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BadPlacesRecord",
    "Elastic",
    "ElasticSettings",
    "LeadStatus",
    "LoanExceptions",
    "RestartRecord",
    "SetbackRecord",
    "WorkRecord",
    "WorkerOverhead",
]


@dataclass(frozen=True, slots=True)
class Elastic:
    """The elastic part of a task's request.

    Attributes:
        worker: argument vector of each worker; `{lead}` stands for the lead's address, `{worker}` for its number.
        needs_lead: whether a worker is started only once the lead has told its address.
        grace: seconds from the order to leave until a worker is ended; of a program that checkpoints, from being asked
            to stop until it is let go on, or ended.
        restart: whether its program checkpoints when asked and is run again on other hosts; it has no workers.
        cost: seconds that a restart takes beside waiting, as the user says: the checkpoint and its reading.
        force: whether a program that has not stopped within its grace is ended.
        whole_chain: whether its lead stays for the later stages of its chain, see `stages/chain_leads.py`.
    """

    worker: tuple[str, ...] = ()
    needs_lead: bool = False
    grace: float = 30.0
    restart: bool = False
    cost: float | None = None
    force: bool = False
    whole_chain: bool = False


@dataclass(frozen=True, slots=True)
class LeadStatus:
    """State of a lead. Its host and the promised ones are the task's for as long as it runs.

    Attributes:
        promised: hosts beside the lead's own that its workers keep, with or without a worker on them now.
        workers: how many workers it has had; they are numbered from 1.
        address: where its workers find it, as it has told; empty before that.
        drains: whether it says of each worker that leaves when that may go.
        revision: number of the last change of what its workers are to do.
        most: hosts that it has a use for, as it has told, its own among them; None for as many as it can get. It keeps
            the promised ones all the same.
        enough: hosts that it still had when a worker last ended by itself with code 0, which says that there is no work
            for it: it is given no more until it wishes for some; None where none has.
        floor: hosts that its user wishes for at least, its own among them, also where it has told a use for fewer.
        ceiling: hosts that its user wishes for at most; promised ones beyond these are given up. None for any number.
        restarts: whether its program checkpoints and is run again; it has no workers.
        why: for what it has been asked to stop; empty where it has not.
        next_hosts: hosts on which its task is to run next, once it has stopped; 0 where it was not asked.
        behind: waiting task that is to go before its own then; empty: none.
        deaf: whether it has not stopped when it was asked.
        told: part of all the work that its program has told to be done, where it checkpoints; 0 where it tells nothing.
        told_pace: `RestartRecord.pace` by what it has told; 0 where it has told too little.
        pace: how many times longer what is left of its work takes than was predicted at its start, for what the owners
            of its hosts take since.
        paced: when that changed last, epoch seconds.
        slowed: seconds of its run until then that their owners took beyond what was predicted.
        whole_chain: whether it stays for the later stages of its chain: it has begun when the workers of the stage that
            its task is are there.
        gathers: whether it waits for these workers.
        stage_done: when its program was done with that stage, epoch seconds; None: it is at it.
        job_of: attempt whose job it was; empty: its own. A lead goes on with the next stage as the same attempt, and
            what stays with the stage that is over is an attempt of another UUID.
    """

    promised: tuple[str, ...] = ()
    workers: int = 0
    address: str = ""
    drains: bool = False
    revision: int = 0
    most: int | None = None
    enough: int | None = None
    floor: int = 1
    ceiling: int | None = None
    restarts: bool = False
    why: str = ""
    next_hosts: int = 0
    behind: str = ""
    deaf: bool = False
    told: float = 0.0
    told_pace: float = 0.0
    pace: float = 1.0
    paced: float = 0.0
    slowed: float = 0.0
    whole_chain: bool = False
    gathers: bool = False
    stage_done: float | None = None
    job_of: str = ""

    @property
    def wished(self) -> int | None:
        """Hosts for which its program has a use, within what its user wishes for; None for as many as it can get."""
        useful = None if self.most is None else max(self.most, self.floor)
        bounds = [each for each in (useful, self.ceiling) if each is not None]
        return min(bounds, default=None)

    def slowed_until(self, time: float) -> float:
        """Return how many seconds of its run until a time its hosts' owners took beyond what was predicted."""
        return self.slowed + max(time - self.paced, 0.0) * (1 - 1 / self.pace)

    def at_pace(self, pace: float, time: float) -> LeadStatus:
        """Return the status of a lead that goes on at another pace from a time on."""
        return replace(self, pace=pace, paced=time, slowed=self.slowed_until(time))


@dataclass(frozen=True, slots=True)
class RestartRecord:
    """Restarts of a task so far.

    Attributes:
        count: how many times it has stopped and waited to be run again.
        left: part of all its work that is still to be done, as its program has told, or else by the time that it ran.
        reading: seconds from a start of its program until that goes on where it was.
        stop: seconds from being asked until it had stopped, as measured last; None where it never has been.
        breaks: checkpoints in a row that it made unasked and soon after its start.
        why: for what it has been asked to stop last; empty where it stopped unasked.
        unheeded: how many times it was asked and let go on, for it did not stop within its grace.
        forced: how many times it was ended then.
        spent: what its earlier attempts took of their hosts' whole run times as predicted, added up; None where that
            says nothing of all the work, for some was lost.
        pace: how many times longer than predicted its work takes, as its program has told; 1 where it tells nothing.
    """

    count: int = 0
    left: float = 1.0
    reading: float = 0.0
    stop: float | None = None
    breaks: int = 0
    why: str = ""
    unheeded: int = 0
    forced: int = 0
    spent: float | None = 0.0
    pace: float = 1.0


@dataclass(frozen=True, slots=True)
class LoanExceptions:
    """Other terms for the tasks of one application or user; None: as for all.

    Attributes:
        lending: as in `ElasticSettings`.
        payback: likewise.
        settle: likewise.
        grace: likewise.
    """

    lending: bool | None = None
    payback: float | None = None
    settle: float | None = None
    grace: float | None = None


@dataclass(frozen=True, slots=True)
class ElasticSettings:
    """An administrator's settings of elastic tasks. Durations are seconds.

    Attributes:
        lending: whether idle hosts are lent.
        payback: how many times the seconds of a loan's beginning and end it must save.
        settle: time after a change of a task's hosts in which it is lent no more.
        grace: from the order to leave until a worker is ended, where its task does not say.
        longest_grace: that a task may ask for.
        link_limit: part of their time that the workers of a cluster may spend on other clusters before it leaves whole.
        applications: other terms for tasks of an application, by its name.
        users: other terms for tasks of a user, above those of the application.
    """

    lending: bool = True
    payback: float = 2.0
    settle: float = 10.0
    grace: float = 30.0
    longest_grace: float = 600.0
    link_limit: float = 0.25
    applications: Mapping[str, LoanExceptions] = field(default_factory=dict)
    users: Mapping[str, LoanExceptions] = field(default_factory=dict)

    def of(self, application: str, owner: str) -> ElasticSettings:
        """Return the terms for a task: its user's go before its application's, and these before those of all."""
        found = self
        for exceptions in (self.applications.get(application), self.users.get(owner)):
            if exceptions is not None:
                others = {each.name: getattr(exceptions, each.name) for each in fields(exceptions)}
                found = replace(found, **{name: value for name, value in others.items() if value is not None})
        return found


@dataclass(frozen=True, slots=True)
class WorkRecord:
    """Progress of a running elastic task. Times are epoch seconds.

    Attributes:
        done: seconds that what is done would have taken on the promised hosts.
        time: when that was reckoned.
        total: seconds that all of it takes there, as predicted, or by what its program has told.
        settled: time from which it may be lent hosts.
        first_told: part of all the work that a program which checkpoints told to be done at first.
        first_done: what `done` was then; None before that.
    """

    done: float
    time: float
    total: float
    settled: float = 0.0
    first_told: float = 0.0
    first_done: float | None = None


@dataclass(frozen=True, slots=True)
class SetbackRecord:
    """Workers in a row of a running elastic task that failed soon after their start, or did not begin.

    Attributes:
        count: how many.
        until: epoch seconds before which no other worker is tried.
        last: what became of the last of them, for people.
    """

    count: int
    until: float
    last: str


@dataclass(frozen=True, slots=True)
class WorkerOverhead:
    """Parts of a period in which a worker did no work, 0 to 1, as its lead has told.

    Attributes:
        worker: its number, 0 for the one on the lead's own host.
        idle: it had nothing to do.
        intra: it communicated within its cluster.
        inter: it communicated with other clusters.
    """

    worker: int
    idle: float = 0.0
    intra: float = 0.0
    inter: float = 0.0


@dataclass(frozen=True, slots=True)
class BadPlacesRecord:
    """Bad places of a running elastic task, by what its lead measured last. Times are epoch seconds.

    They are hosts on which its workers are slow, or clusters with slow links.

    Attributes:
        time: of the last report.
        parts: how bad each of them is: part of the usual speed, or of the time that goes to other clusters.
        since: from which report on each of these has been bad in all.
        avoided: until when it keeps away from each one that it left.
        times: how often it has left each of these.
    """

    time: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    since: Mapping[str, float] = field(default_factory=dict)
    avoided: Mapping[str, float] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)
