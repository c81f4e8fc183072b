"""The lead of an elastic task speaks with cosched: it hears which workers come and go, and says who may leave.

Start at `Lead`, for programs that cosched runs with `--elastic workers`, or at `stages`, for those of tunable
applications. It needs the standard library alone, and speaks through its mailbox, a folder that COSCHED_MAILBOX names,
or by HTTP where there is an address and a token.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import socket
import ssl
import sys
import threading
import time
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Lead", "LeadOffer", "LeadOrder", "LeadOverhead", "LeadRefusedError", "LeadStage", "stages"]

_LOOK_AGAIN = 0.2  # seconds between looks into the mailbox
_WAIT = 20  # seconds that the daemon may let a request for an offer wait
_TRY_AGAIN = 2.0  # seconds after a daemon that does not answer
_TIMEOUT = 60.0
_PROGRESS_EACH = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class LeadOrder:
    """The order for one worker: to work, or to leave.

    Attributes:
        worker: its number, as in COSCHED_WORKER.
        host: its host.
        order: "join" (it is being started), "stay" or "leave".
        by: seconds since the epoch by which one that leaves is ended; None for others.
        reason: why it leaves.
        cluster: name of the hosts near its own, such as those of a site; empty where nobody says.
    """

    worker: int
    host: str
    order: str
    by: float | None = None
    reason: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class LeadStage:
    """A stage of a tunable application, as cosched has chosen it.

    Attributes:
        name: of the stage, as its model has it.
        turn: of the loop, from 1; 0 outside loops.
        hosts: how many it has, this one among them.
        parameters: of the application, with the control parameters as they are by then.
        quality: of the way that is chosen.
        task: of the stage.
        order: "wait" (for hosts, or for the next stage), "run" or "end" (no other stage comes).
        workers: those that work at it.
    """

    name: str
    turn: int
    hosts: int
    parameters: Mapping[str, float | str]
    quality: float = 1.0
    task: str = ""
    order: str = "run"
    workers: tuple[LeadOrder, ...] = ()


@dataclass(frozen=True, slots=True)
class LeadOffer:
    """What the task and all of its workers are to do; a later offer replaces it whole.

    Attributes:
        revision: grows with every change.
        workers: each with its order.
        stop_by: seconds since the epoch by which the program is to have checkpointed and stopped; None: it goes on.
        reason: for what it is to stop.
        cluster: of the lead's own host; empty where nobody says.
        stage: of a tunable application whose program stays through all stages; None for others.
    """

    revision: int
    workers: tuple[LeadOrder, ...]
    stop_by: float | None = None
    reason: str = ""
    cluster: str = ""
    stage: LeadStage | None = None

    @property
    def leaving(self) -> tuple[LeadOrder, ...]:
        """The workers that are to leave."""
        return tuple(each for each in self.workers if each.order == "leave")

    @property
    def staying(self) -> tuple[LeadOrder, ...]:
        """The workers that stay, or are being started."""
        return tuple(each for each in self.workers if each.order != "leave")


@dataclass(frozen=True, slots=True)
class LeadOverhead:
    """Parts of a period in which a worker did no work, 0 to 1 and together at most 1.

    Attributes:
        idle: it had nothing to do.
        intra: it communicated within its cluster.
        inter: it communicated with other clusters.
    """

    idle: float = 0.0
    intra: float = 0.0
    inter: float = 0.0


class _Transport(Protocol):
    """A way to cosched."""

    def offer(self, after: int) -> LeadOffer | None:
        """Return the offer in force; None where there is none (yet), or none with a later revision."""
        ...

    def tell(self, message: Mapping[str, Any]) -> None:
        """Have cosched take a message, sooner or later."""
        ...


class Lead:
    """The lead of the elastic task that this process belongs to. Its methods may be called from any thread."""

    def __init__(self, mailbox: str = "", server: str = "", token: str = "") -> None:
        """Find the way to cosched.

        Args:
            mailbox: folder; empty: the one that COSCHED_MAILBOX names.
            server: `unix:/path`, `host:port` or `https://host:port`, to speak by HTTP in place of the mailbox.
            token: for the server; empty: that in the mailbox.

        Raises:
            UserError: this process is no lead of an elastic task.
        """
        folder = mailbox or os.environ.get("COSCHED_MAILBOX", "")
        if not folder and not (server and token):
            raise UserError(
                "this process is no lead of an elastic task: cosched task submit --elastic workers or restart makes one"
            )
        self._next_progress = 0.0
        self._way: _Transport
        if server:
            self._way = _Http(server, token or _first_line(Path(folder) / "token"), os.environ.get("COSCHED_TASK", ""))
        else:
            self._way = _Mailbox(Path(folder))

    def announce(self, address: str, *, drains: bool = True) -> None:
        """Say where workers find this lead, for `{lead}` in their command.

        Args:
            address: whatever they understand.
            drains: whether `drained` will be said of each worker that is to leave; else workers are ended at once.
        """
        self._way.tell({"address": address, "drains": drains})

    def offer(self, after: int = -1) -> LeadOffer | None:
        """Return what each worker is to do; None where that is not known yet, or has no later revision."""
        return self._way.offer(after)

    def offers(self) -> Iterator[LeadOffer]:
        """Yield each offer as it comes, the one in force first. It does not end."""
        seen = -1
        while True:
            try:
                found = self._way.offer(seen)
            except SystemFault:  # the daemon is away: workers go on meanwhile
                time.sleep(_TRY_AGAIN)
                continue
            if found is None or found.revision <= seen:
                time.sleep(_LOOK_AGAIN)
                continue
            seen = found.revision
            yield found

    def stages(self) -> Iterator[LeadStage]:
        """Yield the stages of a tunable application, each once its hosts are there; asking for the next ends one."""
        done = ""
        for offer in self.offers():
            stage = offer.stage
            if stage is None:
                raise UserError(
                    "this task has no stages: they are of a tunable application whose catalogue entry has a worker"
                )
            if stage.order == "end":
                return
            if stage.order == "run" and stage.task != done:
                yield replace(stage, workers=offer.staying)
                done = stage.task
                self._way.tell({"stage_done": done})

    def drained(self, *workers: int) -> None:
        """Say that workers which are to leave may go now: nothing on them will be missed."""
        self._way.tell({"drained": list(workers)})

    def refuse(self, worker: int, reason: str) -> None:
        """Say why a worker should rather stay, for people to see; the order to leave stands."""
        self._way.tell({"refused": {str(worker): reason}})

    def wish(self, most: int | None) -> None:
        """Say for how many hosts there is a use, the lead's own among them; None: for as many as can be had.

        It is lent no more than that; the promised hosts stay. Where workers have ended by themselves with code 0, a
        wish has others started in their places.
        """
        self._way.tell({"most": -1 if most is None else most})

    def resize(self, least: int = 1, most: int | None = None) -> None:
        """Have the task keep to other numbers of hosts, the lead's own among them, as its user wishes.

        Args:
            least: also where `wish` says that there is a use for fewer.
            most: promised hosts beyond these are given up, but for the fewest on which it can run; None: any number.
        """
        self._way.tell({"resize": {"least": least, "most": most}})

    def speeds(self, speeds: Mapping[int, float]) -> None:
        """Say how quick each worker is, such as by the tasks that it has done in a second of computing.

        One that is slower than half of the middle one for a while is told to leave, and comes back on another host,
        where there is one.

        Args:
            speeds: by number, 0 for a worker on the lead's own host, in any unit above 0: only ratios count.
        """
        self._way.tell({"speeds": {str(worker): speed for worker, speed in speeds.items()}})

    def overheads(self, overheads: Mapping[int, LeadOverhead]) -> None:
        """Say how each worker has spent its time since the last report, or in its last tasks; the rest it worked.

        A cluster whose workers spend more than a quarter of their time (`[elastic] link_limit`) on communication with
        other clusters, in each report for a while, is left as a whole where its hosts can be replaced.

        Args:
            overheads: by number, 0 for a worker on the lead's own host. Which cluster each is in is in the offer.
        """
        said = {str(worker): asdict(overhead) for worker, overhead in overheads.items()}
        self._way.tell({"overheads": said})

    def progress(self, done: float, total: float) -> None:
        """Say how much of all work is done, so that the task's end is foretold by it.

        However often it is said, it is sent once a second, and when all is done.
        """
        if done < total and time.monotonic() < self._next_progress:
            return
        self._next_progress = time.monotonic() + _PROGRESS_EACH
        self._way.tell({"done": done, "total": total})


class _Mailbox:
    """Files in a folder: each is written aside and renamed, so that none is ever read in part."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count()

    def offer(self, after: int) -> LeadOffer | None:
        try:
            found = _read_offer(json.loads((self._folder / "offer.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        return found if found.revision > after else None

    def tell(self, message: Mapping[str, Any]) -> None:
        name = f"{time.time_ns():020d}-{os.getpid()}-{next(self._numbers)}"
        aside = self._folder / "answers" / f"{name}.new"
        aside.write_text(json.dumps(message), encoding="utf-8")
        aside.rename(aside.with_suffix(".json"))


class LeadRefusedError(SystemFault):
    """cosched answered, and does not take it."""


class _Http:
    """Requests to the daemon's API; what is told waits for a daemon that is away."""

    def __init__(self, server: str, token: str, task: str) -> None:
        if not task:
            raise UserError("COSCHED_TASK names no task: this process was not started by cosched")
        self._server = server
        self._token = token
        self._path = f"/api/v1/tasks/{task}"
        self._told: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._send, name="lead", daemon=True).start()

    def offer(self, after: int) -> LeadOffer | None:
        found = self._call("GET", f"{self._path}/offer?after={after}&wait={_WAIT if after >= 0 else 0}")
        offer = _read_offer(json.loads(found))
        return offer if offer.revision > after else None

    def tell(self, message: Mapping[str, Any]) -> None:
        self._told.put(json.dumps(message))

    def _send(self) -> None:
        """Send what is told in its order, each until it is answered."""
        while True:
            text = self._told.get()
            while True:
                try:
                    self._call("POST", f"{self._path}/lead", text)
                except LeadRefusedError as refusal:
                    sys.stderr.write(f"cosched: {refusal}\n")
                except SystemFault:
                    time.sleep(_TRY_AGAIN)
                    continue
                break

    def _call(self, method: str, path: str, body: str | None = None) -> bytes:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        connection = _connection(self._server)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise SystemFault(f"cosched does not answer at {self._server}: {error}") from error
        finally:
            connection.close()
        later = answer.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR
        if later or answer.status == http.HTTPStatus.TOO_MANY_REQUESTS:
            raise SystemFault(f"cosched is busy at {self._server} ({answer.status})")
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise LeadRefusedError(f"cosched refused ({answer.status}): {text[:500].decode(errors='replace')}")
        return text


class _UnixConnection(http.client.HTTPConnection):
    """A connection through a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_TIMEOUT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_TIMEOUT)
        self.sock.connect(self._path)


def _connection(server: str) -> http.client.HTTPConnection:
    if server.startswith("unix:"):
        return _UnixConnection(server.removeprefix("unix:"))
    parts = urlsplit(server if "//" in server else f"http://{server}")
    if parts.scheme == "https":
        return http.client.HTTPSConnection(parts.netloc, timeout=_TIMEOUT, context=ssl.create_default_context())
    return http.client.HTTPConnection(parts.netloc, timeout=_TIMEOUT)


def _read_offer(document: Mapping[str, Any]) -> LeadOffer:
    names = LeadOrder.__slots__
    workers = (LeadOrder(**{name: each[name] for name in names if name in each}) for each in document["workers"])
    stop = document.get("stop") or {}
    stage = document.get("stage")
    known = LeadStage.__slots__
    mine = None if stage is None else LeadStage(**{name: stage[name] for name in known if name in stage})
    cluster = document.get("cluster", "")
    return LeadOffer(document["revision"], tuple(workers), stop.get("by"), stop.get("reason", ""), cluster, mine)


def stages(address: str = "") -> Iterator[LeadStage]:
    """Yield the stages of the tunable application that this process belongs to.

    A program that stays through all of them gets each once its hosts are there, and ends one by asking for the next. A
    program that runs one stage gets that one.

    Args:
        address: where its workers find it, for `{lead}` in their command; empty for none.

    Raises:
        UserError: this process is of no tunable application.
    """
    if os.environ.get("COSCHED_MAILBOX"):
        lead = Lead()
        if address:
            lead.announce(address, drains=False)
        yield from lead.stages()
        return
    name = os.environ.get("COSCHED_STAGE", "")
    if not name:
        raise UserError("this process is of no tunable application: cosched runs those of its catalogue")
    prefix = "COSCHED_PARAMETER_"
    values = {key.removeprefix(prefix): value for key, value in os.environ.items() if key.startswith(prefix)}
    hosts, turn = int(os.environ.get("COSCHED_HOST_COUNT", "1")), int(os.environ.get("COSCHED_TURN", "0"))
    yield LeadStage(name, turn, hosts, {key: _number(value) for key, value in values.items()})


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _first_line(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").partition("\n")[0]
    except OSError as error:
        raise UserError(f"the token {file} cannot be read ({error.strerror}): give it, or wait for it") from error
