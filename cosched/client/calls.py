"""The client's calls, one class a group of routes: tasks, domain, library, access."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cosched.api.documents import (
    AccountChange,
    AccountRequest,
    AccountView,
    Accuracy,
    ApplicationView,
    AuditEntryView,
    ConfigurationEntry,
    CurvesView,
    ExchangeView,
    ExplanationView,
    Forecast,
    HealthReport,
    HostLoadView,
    HostView,
    LearntRunView,
    LoginLink,
    Me,
    ModelText,
    ModelView,
    NetworkView,
    NewToken,
    NoticeRequest,
    NoticeView,
    PeerView,
    PlanPoint,
    PlanView,
    RecordView,
    ReservationRequest,
    ReservationView,
    ResizeRequest,
    RunView,
    SearchPoint,
    ShareChange,
    ShareView,
    Status,
    TaskChange,
    TaskDetail,
    TaskPage,
    TaskRequest,
    TaskView,
    TokenRequest,
    TokenView,
    UsageView,
    UtilisationView,
    WorkersView,
)
from cosched.api.documents.tasks import FINAL_STATES
from cosched.client.http_caller import (
    RESTART_PATIENCE,
    ApiCaller,
    LostAnswerError,
    decode_document,
    foreign_answer,
    segment,
)
from cosched.connector.jobs import Output
from cosched.errors import SystemFault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["AccessCalls", "DomainCalls", "LibraryCalls", "TaskCalls"]


_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0  # seconds between looks at tasks that are waited for


class TaskCalls(ApiCaller):
    """Tasks."""

    def submit(self, request: TaskRequest, key: str = "") -> TaskView:
        """Submit a task; on return it survives a crash of the daemon.

        Of a tunable application the first stage's is returned, whose `stages` names the tasks of all of them.

        Args:
            request: the task.
            key: idempotency key: the same key and request again return the same task. Empty: a new one.
        """
        return self.submit_all([request], key)[0]

    def submit_all(self, requests: Sequence[TaskRequest], key: str = "") -> list[TaskView]:
        """Submit tasks, all or none; a tunable application is answered with the tasks of all of its stages."""
        body = [_request_document(request) for request in requests]
        # A lost answer is asked for once more under the same key, so that nothing is submitted twice.
        headers = {"Idempotency-Key": key or str(uuid4())}
        try:
            answer = self._call("POST", "/tasks", body, headers=headers)
        except LostAnswerError:
            answer = self._call("POST", "/tasks", body, headers=headers)
        return [decode_document(TaskView, item) for item in answer]

    def foresee(self, request: TaskRequest) -> Forecast:
        """Say what submitting a task would lead to; nothing is stored."""
        answer = self._call("POST", "/tasks", _request_document(request), params={"dry_run": "true"})
        return decode_document(Forecast, answer)

    def tasks(
        self,
        states: Sequence[str] = (),
        limit: int = 100,
        offset: int = 0,
        *,
        owner: str = "",
        search: str = "",
        name: str = "",
        late: bool = False,
        array: str = "",
        application: str = "",
        sort: str = "",
    ) -> TaskPage:
        """Return tasks in these states (none given: in any), newest first unless sorted.

        Args:
            states: by name.
            limit: largest number of entries.
            offset: number of the first to leave out.
            owner: only this user's; empty: all that you may see.
            search: only with these words in name or application, or as identifier or owner.
            name: only with such a name; `*` and `?` stand for anything.
            late: only those that missed their deadline, or are expected to.
            array: only of the array with this identifier.
            application: only of this one.
            sort: a column, such as "deadline" or "slack"; with `-` before it the highest first.
        """
        params = {"state": list(states), "limit": str(limit), "offset": str(offset), "search": search}
        # A daemon of before does not know what is not asked for.
        later = {"owner": owner, "name": name, "late": "true" * late, "array": array}
        later |= {"application": application, "sort": sort}
        params |= {key: value for key, value in later.items() if value}
        return decode_document(TaskPage, self._call("GET", "/tasks", params=params))

    def task(self, task_id: str) -> TaskDetail:
        """Return all that is known of a task."""
        return decode_document(TaskDetail, self._call("GET", f"/tasks/{segment(task_id)}"))

    def output(
        self,
        task_id: str,
        stream: str = "out",
        *,
        rank: int = 0,
        attempt: int = 0,
        offset: int = 0,
        limit: int = 1 << 20,
    ) -> Output | None:
        """Return part of a process's output; None where nothing is kept (yet).

        Args:
            task_id: the task.
            stream: "out" or "err".
            rank: rank of the process.
            attempt: which try, from 1; 0 for the last.
            offset: first byte; negative counts from the end.
            limit: most bytes to return, at most a mebibyte.
        """
        params = {"rank": rank, "attempt": attempt, "offset": offset, "limit": limit}
        response = self._response("GET", f"/tasks/{segment(task_id)}/output/{segment(stream)}", params=params)
        if response.status_code == HTTPStatus.NO_CONTENT:
            return None
        if "Cosched-Offset" not in response.headers:
            raise foreign_answer(response)
        return Output(response.content, int(response.headers["Cosched-Offset"]), int(response.headers["Cosched-Size"]))

    def explain(self, task_id: str) -> ExplanationView:
        """Say why a task is where it is."""
        return decode_document(ExplanationView, self._call("GET", f"/tasks/{segment(task_id)}/explain"))

    def plans(self, task_id: str) -> list[PlanPoint]:
        """Return where a task was planned as the plan changed, the oldest first."""
        return [decode_document(PlanPoint, item) for item in self._call("GET", f"/tasks/{segment(task_id)}/plans")]

    def workers(self, task_id: str) -> WorkersView:
        """Return the lead and the workers of an elastic task's last try, and both of its ends."""
        return decode_document(WorkersView, self._call("GET", f"/tasks/{segment(task_id)}/workers"))

    def resize(self, task_id: str, least: int = 1, most: int | None = None) -> WorkersView:
        """Have a running elastic task keep to other numbers of hosts, its lead's among them.

        Args:
            task_id: its identifier.
            least: also where its program has a use for fewer; it is lent these where they are idle.
            most: promised hosts beyond these are given up, but for the fewest on which it can run; None: any number.

        Returns:
            Its workers, and both of its ends as they are now.
        """
        wish = asdict(ResizeRequest(least=least, most=most))
        return decode_document(WorkersView, self._call("POST", f"/tasks/{segment(task_id)}/resize", wish))

    def cancel(self, task_id: str) -> TaskView:
        """Cancel a task; its job is ended if there is one."""
        return decode_document(TaskView, self._call("POST", f"/tasks/{segment(task_id)}/cancel", {}))

    def edit(self, task_id: str, change: TaskChange) -> TaskView:
        """Give a waiting task other values, all or none."""
        body = {key: value for key, value in asdict(change).items() if value is not None}
        return decode_document(TaskView, self._call("PATCH", f"/tasks/{segment(task_id)}", body))

    def resubmit(self, task_id: str, change: TaskChange | None = None, key: str = "") -> TaskView:
        """Submit a task once more, changed, with as much time as it had.

        Args:
            task_id: the task.
            change: what is to be other than it was.
            key: idempotency key, as for `submit`.
        """
        body = {} if change is None else {name: value for name, value in asdict(change).items() if value is not None}
        path, headers = f"/tasks/{segment(task_id)}/resubmit", {"Idempotency-Key": key or str(uuid4())}
        try:
            answer = self._call("POST", path, body, headers=headers)
        except LostAnswerError:
            answer = self._call("POST", path, body, headers=headers)
        return decode_document(TaskView, answer)

    def hold(self, task_id: str) -> TaskView:
        """Keep a waiting task from being planned and started until it is released."""
        return decode_document(TaskView, self._call("POST", f"/tasks/{segment(task_id)}/hold", {}))

    def release_task(self, task_id: str) -> TaskView:
        """Have a held task planned again."""
        return decode_document(TaskView, self._call("POST", f"/tasks/{segment(task_id)}/release", {}))

    def wait(self, task_ids: Sequence[str], timeout: float = math.inf, *, stages: bool = True) -> list[TaskDetail]:
        """Wait until these tasks, or this one, have ended, or for `timeout` seconds; then return them.

        The first stage of a tunable application stands for all of its stages: these are waited for, and returned in its
        place, unless `stages` is false. A daemon that is away, as while it is started again, is waited for, up to a
        minute.

        Raises:
            SystemFault: the daemon is not there when it is asked first, or is away for longer.
        """
        task_ids = [task_ids] if isinstance(task_ids, str) else task_ids  # not the tasks of its letters
        until, pause = time.monotonic() + timeout, _FIRST_PAUSE
        found = {task_id: self.task(task_id) for task_id in task_ids}
        all_of = _stages_of if stages else _alone
        wanted = list(dict.fromkeys(each for task_id in task_ids for each in all_of(task_id, found[task_id])))
        found |= {task_id: self.task(task_id) for task_id in wanted if task_id not in found}
        answered = time.monotonic()
        while waiting := [task_id for task_id in wanted if found[task_id].state not in FINAL_STATES]:
            left = until - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, _LONGEST_PAUSE)
            try:
                found |= {task_id: self.task(task_id) for task_id in waiting}
            except SystemFault:
                if time.monotonic() > answered + RESTART_PATIENCE:
                    raise
            else:
                answered = time.monotonic()
        return [found[task_id] for task_id in wanted]


def _stages_of(task_id: str, task: TaskDetail) -> tuple[str, ...]:
    """Return the tasks of all stages for the first of them; a task itself for others."""
    chain = task.chain
    return chain.tasks if chain is not None and chain.first == task.id else (task_id,)


def _alone(task_id: str, _task: TaskDetail) -> tuple[str, ...]:
    return (task_id,)


_DEFAULTS = asdict(TaskRequest())


def _request_document(request: TaskRequest) -> dict[str, Any]:
    return {key: value for key, value in asdict(request).items() if value != _DEFAULTS[key]}


class DomainCalls(ApiCaller):
    """The domain, its schedule and its past."""

    def hosts(self) -> list[HostView]:
        """Return all hosts of the domain."""
        return [decode_document(HostView, item) for item in self._call("GET", "/hosts")]

    def host_loads(self) -> list[HostLoadView]:
        """Return what owners and foreign jobs take of hosts; those that nobody else was seen at are left out."""
        return [decode_document(HostLoadView, item) for item in self._call("GET", "/hosts/loads")]

    def reserve(self, request: ReservationRequest) -> ReservationView:
        """Keep hosts for others for a while."""
        return decode_document(ReservationView, self._call("POST", "/reservations", asdict(request)))

    def reservations(self) -> list[ReservationView]:
        """Return the reservations that are not over, the first to begin first."""
        return [decode_document(ReservationView, item) for item in self._call("GET", "/reservations")]

    def release(self, reservation_id: str) -> None:
        """Give a reservation up."""
        self._response("DELETE", f"/reservations/{segment(reservation_id)}")

    def notices(self) -> list[NoticeView]:
        """Return the notices that all pages show now, the oldest first."""
        return [decode_document(NoticeView, item) for item in self._call("GET", "/notices")]

    def write_notice(self, request: NoticeRequest) -> NoticeView:
        """Show a line on all pages until a time; for administrators."""
        return decode_document(NoticeView, self._call("POST", "/notices", asdict(request)))

    def remove_notice(self, notice_id: str) -> None:
        """Show a notice no more; for administrators."""
        self._response("DELETE", f"/notices/{segment(notice_id)}")

    def configuration(self) -> list[ConfigurationEntry]:
        """Return every key in force with its origin, without secrets; for administrators."""
        return [decode_document(ConfigurationEntry, item) for item in self._call("GET", "/configuration")]

    def health(self) -> HealthReport:
        """Return what each part of the daemon does, its processes and last mistakes; for administrators."""
        return decode_document(HealthReport, self._call("GET", "/health"))

    def shares(self) -> list[ShareView]:
        """Return shares of groups and users, and what they have had."""
        return [decode_document(ShareView, item) for item in self._call("GET", "/shares")]

    def change_share(self, kind: str, name: str, change: ShareChange) -> ShareView:
        """Set the share of a "user" or "group"; it wins over the configuration."""
        path = f"/shares/{segment(kind)}/{segment(name)}"
        return decode_document(ShareView, self._call("PATCH", path, asdict(change)))

    def glue(self, *, ldif: bool = False) -> str:
        """Return the domain described in GLUE 2.0, as XML, or as LDIF for a directory."""
        return self._response("GET", "/glue2/ldif" if ldif else "/glue2").content.decode()

    def peers(self) -> list[PeerView]:
        """Return the neighbouring domains."""
        return [decode_document(PeerView, item) for item in self._call("GET", "/peers")]

    def exchanges(self, since: float = 0.0) -> list[ExchangeView]:
        """Return the tasks that went to neighbours or came from them after a time, the newest first."""
        return [
            decode_document(ExchangeView, item) for item in self._call("GET", "/exchanges", params={"since": since})
        ]

    def network(self) -> NetworkView | None:
        """Return the agent's work and its adviser's findings; None without an agent."""
        found = self._call("GET", "/network")
        return None if found is None else decode_document(NetworkView, found)

    def plan(self) -> PlanView:
        """Return the schedule in force."""
        return decode_document(PlanView, self._call("GET", "/plan"))

    def status(self) -> Status:
        """Return the daemon's state in short."""
        return decode_document(Status, self._call("GET", "/status"))

    def runs(self, since: float = 0.0) -> list[RunView]:
        """Return the attempts that ended after this time (seconds since the epoch), the newest first."""
        return [decode_document(RunView, item) for item in self._call("GET", "/runs", params={"since": since})]

    def usage(self, by: str = "user", since: float = 0.0) -> list[UsageView]:
        """Return the usage of hosts since a time, by "user", "group" or "application"."""
        found = self._call("GET", "/usage", params={"by": by, "since": since})
        return [decode_document(UsageView, item) for item in found]

    def utilisation(self, last: float = 86400.0, by: str = "class") -> UtilisationView:
        """Return how much of the hosts tasks had in the last seconds, have and are to have, by "class" or "user"."""
        return decode_document(UtilisationView, self._call("GET", "/utilisation", params={"last": last, "by": by}))

    def learnt_runs(self, application: str, limit: int = 100) -> list[LearntRunView]:
        """Return the runs from which those of an application are foretold, the newest first."""
        found = self._call("GET", f"/applications/{segment(application)}/runs", params={"limit": limit})
        return [decode_document(LearntRunView, item) for item in found]

    def forget_runs(self, application: str) -> None:
        """Forget what was learnt of an application."""
        self._response("DELETE", f"/applications/{segment(application)}/runs")

    def search(self) -> list[SearchPoint]:
        """Return how the search's plan became better, the oldest first."""
        return [decode_document(SearchPoint, item) for item in self._call("GET", "/plan/search")]

    def accuracy(self) -> list[Accuracy]:
        """Return how well run times were predicted, by application and hardware."""
        return [decode_document(Accuracy, item) for item in self._call("GET", "/accuracy")]

    def recording(self) -> bytes:
        """Return the core's last events, as the daemon recorded them, names included; for administrators."""
        return self._response("GET", "/recording").content

    def log(self, limit: int = 100, offset: int = 0) -> list[RecordView]:
        """Return log entries, newest first; only operators see those of other users' tasks."""
        found = self._call("GET", "/log", params={"limit": limit, "offset": offset})
        return [decode_document(RecordView, item) for item in found]


class LibraryCalls(ApiCaller):
    """The catalogue and the models."""

    def applications(self) -> list[ApplicationView]:
        """Return the catalogue: what can be submitted by name."""
        return [decode_document(ApplicationView, item) for item in self._call("GET", "/applications")]

    def models(self) -> list[ModelView]:
        """Return the models of applications, templates and hardware that the daemon has."""
        return [decode_document(ModelView, item) for item in self._call("GET", "/models")]

    def model(self, kind: str, name: str) -> ModelText:
        """Return the text of a model; `kind` is applications, templates or hardware."""
        return decode_document(ModelText, self._call("GET", f"/models/{segment(kind)}/{segment(name)}"))

    def curves(self, name: str, values: Mapping[str, float] | None = None, hosts: int = 16) -> CurvesView:
        """Return the run times of an application model on every hardware of the daemon.

        Args:
            name: name of the model.
            values: values of its parameters; defaults for the others.
            hosts: largest host count, at most 256.
        """
        params = {"set": [f"{key}={value!r}" for key, value in (values or {}).items()], "hosts": hosts}
        return decode_document(
            CurvesView, self._call("GET", f"/models/applications/{segment(name)}/curves", params=params)
        )


class AccessCalls(ApiCaller):
    """Calls about the principal: tokens, accounts, the audit log."""

    def me(self) -> Me:
        """Return who you are to the daemon, and what you may do."""
        return decode_document(Me, self._call("GET", "/me"))

    def create_token(self, request: TokenRequest) -> NewToken:
        """Have a token given out; its secret is shown only now."""
        return decode_document(NewToken, self._call("POST", "/tokens", asdict(request)))

    def tokens(self, *, everybody: bool = False) -> list[TokenView]:
        """Return your tokens, or everybody's."""
        found = self._call("GET", "/tokens", params={"everybody": str(everybody).lower()})
        return [decode_document(TokenView, item) for item in found]

    def revoke_token(self, token_id: str) -> None:
        """Make a token good for nothing."""
        self._response("DELETE", f"/tokens/{segment(token_id)}")

    def add_account(self, request: AccountRequest) -> AccountView:
        """Make a local account."""
        return decode_document(AccountView, self._call("POST", "/accounts", asdict(request)))

    def accounts(self) -> list[AccountView]:
        """Return all local accounts."""
        return [decode_document(AccountView, item) for item in self._call("GET", "/accounts")]

    def change_account(self, name: str, change: AccountChange) -> AccountView:
        """Change a local account; its sessions and tokens end."""
        return decode_document(AccountView, self._call("PATCH", f"/accounts/{segment(name)}", asdict(change)))

    def remove_account(self, name: str) -> None:
        """Forget a local account."""
        self._response("DELETE", f"/accounts/{segment(name)}")

    def login_link(self) -> LoginLink:
        """Have a link made that logs a browser in as you."""
        return decode_document(LoginLink, self._call("POST", "/login-links", {}))

    def audit(self, limit: int = 100, offset: int = 0) -> list[AuditEntryView]:
        """Return lines of the audit log, newest first."""
        found = self._call("GET", "/audit", params={"limit": str(limit), "offset": str(offset)})
        return [decode_document(AuditEntryView, item) for item in found]
