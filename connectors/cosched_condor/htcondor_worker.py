"""The process that talks to HTCondor: requests in, answers out, one line of JSON each.

HTCondor's library keeps the interpreter's lock while it waits for a daemon, reads its configuration once for a whole
process, and may end the process; so it lives in one of its own. This is the only module that imports it.
Started as `python -m cosched_condor.htcondor_worker`; ends when its input ends.
"""

from __future__ import annotations

import sys
import time
import warnings
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosched.connector.worker_process import error_line, serve_requests
from cosched_condor.job_ads import WITHDRAWN
from cosched_condor.matching import pinned_machines, why_idle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["main"]

_LOOK_SECONDS = 0.01
_EVENT_END = b"\n...\n"
_LONGEST_EVENT = 1 << 20  # bytes
_EVENTS_AT_ONCE = 5000  # about a second's work: a long log after a restart must not use up the time limit of a call


class _CondorVerbs:
    """The verbs that a request may name; each takes and returns what JSON can carry."""

    def __init__(self, schedd: str) -> None:
        with warnings.catch_warnings():
            # Without any configuration the library warns and takes defaults: the first request then says what fails.
            warnings.simplefilter("ignore")
            import htcondor2

        self._library = htcondor2
        self._schedd_name = schedd
        self._schedd_found: Any = None
        self._address: Any = None
        self._scheduler = ""
        self._logs: dict[str, _FollowedLog] = {}

    def hosts(self, projection: Sequence[str]) -> list[dict[str, Any]]:
        """Return the machines' slots, attributes spelled as they were asked for.

        Pools write GPUs or GPUS, for example.
        """
        collector = self._library.Collector()
        spelled = {name.lower(): name for name in projection}
        ads = collector.query(self._library.AdType.Startd, projection=list(projection))
        return [{spelled.get(key.lower(), key): value for key, value in _literal_values(ad).items()} for ad in ads]

    def scheduler(self) -> str:
        """Return the scheduler's name, as it stands in the identifiers of its jobs."""
        self._schedd()
        return self._scheduler

    def user(self) -> str:
        """Return as whom the scheduler knows us ("cosched@example.org")."""
        self._schedd()
        return str(self._library.ping(self._address, "WRITE")["MyRemoteUserName"])

    def submit(self, description: str, items: Sequence[dict[str, str]], fences: dict[str, str]) -> dict[str, Any]:
        """Submit on hold, one process for each item, and release all that no fence forbids.

        Args:
            description: submit language, with `hold = true`.
            items: variables of each process.
            fences: attempt → file that says that it must not run; looked for when the jobs are in the queue.

        Returns:
            The cluster, the attempts that are fenced, and what came of the release of the others: as `act`, or an error
            in words; empty where there are none.
        """
        submission = self._library.Submit(description)
        cluster = int(self._schedd().submit(submission, itemdata=iter(items)).cluster())
        fenced = [attempt for attempt, fence in fences.items() if Path(fence).exists()]
        outcome: dict[str, Any] = {}
        if len(fenced) < len(fences):
            names = ", ".join(f'"{attempt}"' for attempt in fenced)
            others = f" && !member(CoschedAttempt, {{{names}}})" if fenced else ""
            try:
                outcome = self.act("Release", f"ClusterId == {cluster}{others}", "submitted by cosched")
            except Exception as error:  # there are jobs now, and the caller must hear of them
                outcome = {"error": error_line(error)}
        return {"cluster": cluster, "fenced": fenced, "released": outcome}

    def submit_spooled(
        self, description: str, items: Sequence[dict[str, str]], fences: dict[str, str]
    ) -> dict[str, Any]:
        """Submit one process for each item and hand the scheduler their files.

        Nothing runs before it has the files.

        Args:
            description: submit language.
            items: variables of each process.
            fences: as in `submit`; where there is one, all are withdrawn.

        Returns:
            The cluster; empty of fences and releases, so that it is read as that of `submit`.
        """
        scheduler = self._schedd()
        result = scheduler.submit(self._library.Submit(description), itemdata=iter(items), spool=True)
        cluster = int(result.cluster())
        try:
            fenced = [attempt for attempt, fence in fences.items() if Path(fence).exists()]
            if fenced:
                raise RuntimeError(f"attempt {fenced[0]} was cancelled while it was being submitted")
            scheduler.spool(result)
        except Exception:
            self.act("Remove", f"ClusterId == {cluster}", WITHDRAWN)
            raise
        return {"cluster": cluster, "fenced": [], "released": {}}

    def retrieve(self, constraint: str) -> None:
        """Fetch what ended jobs wrote from the scheduler, to where their submission said."""
        self._schedd().retrieve(constraint)

    def slots(self, projection: Sequence[str]) -> list[dict[str, Any]]:
        """Return the slots that have a job."""
        ads = self._library.Collector().query(
            self._library.AdType.Startd, constraint="JobId =!= undefined", projection=list(projection)
        )
        return [_literal_values(ad) for ad in ads]

    def queue(self, constraint: str, projection: Sequence[str]) -> list[dict[str, Any]]:
        """Return the jobs in the queue that the constraint selects."""
        return [_literal_values(ad) for ad in self._schedd().query(constraint=constraint, projection=list(projection))]

    def unmatched(self, constraint: str) -> str:
        """Return why no slot can run an idle job; empty where one can."""
        import classad2

        for job in self._schedd().query(constraint=constraint):
            machines = pinned_machines(str(job.lookup("Requirements")))
            named = ", ".join(f'"{machine}"' for machine in machines)
            slots = self._library.Collector().query(
                self._library.AdType.Startd,
                # A dynamic slot is another job's: its partitionable slot says what is left.
                constraint=f"DynamicSlot =!= true{f' && member(Machine, {{{named}}})' if machines else ''}",
                projection=[] if machines else _slot_attributes(job),
            )
            if why := why_idle(job, slots, classad2.ExprTree):
                return why
        return ""

    def history(self, constraint: str, projection: Sequence[str], since: str) -> list[dict[str, Any]]:
        """Return the jobs in the history by `constraint`, back to the first that `since` selects."""
        ads = self._schedd().history(constraint=constraint, projection=list(projection), since=since or None)
        return [_literal_values(ad) for ad in ads]

    def act(self, action: str, constraint: str, reason: str) -> dict[str, Any]:
        """Remove or release the jobs of a constraint; return how many were changed or refused."""
        # A reason without a code is dropped by the library.
        return _literal_values(
            self._schedd().act(getattr(self._library.JobAction, action), constraint, reason=(reason, 0))
        )

    def edit(self, constraint: str, values: dict[str, str]) -> int:
        """Change attributes in this order; return how many jobs the last one changed.

        Args:
            constraint: selects them anew for each attribute.
            values: expressions by attribute.
        """
        count = 0
        for name, value in values.items():
            try:
                count = int(self._schedd().edit(constraint, name, value))
            except Exception:
                if self.queue(constraint, ["ClusterId"]):
                    raise
                return 0  # HTCondor calls it a failure where no job is selected
        return count

    def follow(self, logs: Sequence[str], timeout: float) -> list[dict[str, Any]]:
        """Return some of the events added to logs since the last call; wait for one."""
        end = time.monotonic() + timeout
        for log in self._logs.keys() - set(logs):
            del self._logs[log]
        for log in logs:
            if log not in self._logs or self._logs[log].is_over():
                self._logs[log] = _FollowedLog(log, self._library.JobEventLog)
            self._logs[log].leave_out()
        while True:
            events = list(
                islice(
                    (_event_values(event, log) for log in logs for event in self._logs[log].events()),
                    _EVENTS_AT_ONCE,
                )
            )
            left = end - time.monotonic()
            if events or left <= 0:
                return events
            time.sleep(min(_LOOK_SECONDS, left))

    def _schedd(self) -> Any:
        if self._schedd_found is None:
            found = self._library.Collector().locate(self._library.DaemonType.Schedd, self._schedd_name or None)
            if found is None:
                raise RuntimeError(
                    f"the collector shows no scheduler {self._schedd_name}: `condor_status -schedd` names those it has"
                )
            self._scheduler, self._address = str(found["Name"]), found
            self._schedd_found = self._library.Schedd(found)
        return self._schedd_found

    def forget(self) -> None:
        """Look the daemons up anew at the next request, and follow logs from their beginning.

        After an error the daemons may have moved, and what was read of a log before it is lost.
        """
        self._schedd_found = None
        self._logs.clear()


class _FollowedLog:
    """An event log that is read on, as long as the file is the same and only grows.

    Whoever removes or cuts it by hand leaves the library waiting at a place that nothing is written to any more. It
    also stops for good, or fails again and again, at an event that was not written whole, as on a full disk: what
    cannot be read is left out.
    """

    def __init__(self, path: str, read: Callable[[str], Any]) -> None:
        self._path = Path(path)
        self._known = self._state()
        self._reader = read(path)
        self._stopped_at = -1

    def is_over(self) -> bool:
        """Return whether another file has its name now, or less stands in it than before."""
        before, self._known = self._known, self._state()
        if self._known is None:
            return False
        return before is None or self._known[:2] != before[:2] or self._known[2] < before[2]

    def events(self) -> Iterator[Any]:
        """Yield the events that were added and can be read."""
        while True:
            before = self._offset()
            try:
                yield from self._reader.events(0)
                return
            except Exception:
                if self._offset() <= before:
                    raise

    def leave_out(self) -> None:
        """Go on behind a whole event at which the library has stopped since the last call."""
        place, end = self._offset(), self._end_of_next()
        if end is not None and place == self._stopped_at:
            state, _ = self._reader.__getstate__()
            moved: Any = object.__new__(type(self._reader))
            moved.__setstate__((state, end))
            self._reader = moved
        self._stopped_at = -1 if end is None else place

    def _end_of_next(self) -> int | None:
        """Return where the next event ends; None where there is no whole one."""
        place = self._offset()
        if self._known is None or self._known[2] <= place:
            return None
        with self._path.open("rb") as file:
            file.seek(place)
            end = file.read(_LONGEST_EVENT).find(_EVENT_END)
        return place + end + len(_EVENT_END) if end >= 0 else None

    def _offset(self) -> int:
        """Return the place that the library would pickle; the largest where it has another way for that."""
        try:
            return int(self._reader.__getstate__()[1])
        except (AttributeError, LookupError, TypeError, ValueError):
            return sys.maxsize

    def _state(self) -> tuple[int, int, int] | None:
        """Return which file it is, and how many bytes it has; None where there is none."""
        try:
            state = self._path.stat()
        except OSError:
            return None
        return state.st_dev, state.st_ino, state.st_size


def _slot_attributes(job: Any) -> list[str]:
    """Return the attributes of slots that a job's requirements name."""
    named = {name.rpartition(".")[2] for name in job.externalRefs(job.lookup("Requirements"))}
    return sorted({"Name", "Machine", *named})


def _literal_values(ad: Any) -> dict[str, Any]:
    """Return an ad's literal values; expressions and undefined values are left out."""
    # Undefined and error are whole numbers to Python, too: members of an enumeration.
    return {key: value for key, value in dict(ad).items() if type(value) in (str, int, float, bool)}


def _event_values(event: Any, log: str) -> dict[str, Any]:
    # The header line alone says whether the time is UTC: "005 (012.000.000) 2026-01-31 12:00:00.123Z Job …".
    header = str(event).split("\n", 1)[0].split()
    utc = len(header) > 3 and header[3].endswith("Z")
    return {**_literal_values(event), "Utc": utc, "Log": log}


def main() -> None:
    """Answer requests until there are no more."""
    manager = _CondorVerbs(sys.argv[1])
    serve_requests(manager, manager.forget)


if __name__ == "__main__":
    main()
