"""The store keeps tasks, attempts, the log and submission keys through crashes. Start at `Store.commit`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, desc, exists, func, insert, or_, select, text

from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.changes import KeyedSubmission, LogEntry
from cosched.coscheduler.handovers import Handover
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.task import Task, TaskState
from cosched.paths import database_file
from cosched.store import tables
from cosched.store.backups.last_commit import LastCommit, check_complete
from cosched.store.database import check_pages, database_errors, open_engine
from cosched.store.rows import (
    HANDOVERS_OF,
    TableRow,
    end_notices,
    insert_missing,
    record_of,
    records_of,
    row_of,
    upsert,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from _typeshed import DataclassInstance
    from sqlalchemy import Connection, Executable, RowMapping, Select

    from cosched.coscheduler.changes import Changes
    from cosched.store.selection import TaskOrder, TaskSelection

__all__ = ["Store", "TaskHistory"]


_LIVE_ATTEMPTS = [str(state) for state in AttemptState if state.live]
_FINAL_TASKS = [str(state) for state in TaskState if state.final]


_MOST_DIGITS = 12
_COUNTS_KEPT = 100  # selections whose counts are remembered until a task changes

_COUNT = "UPDATE instance SET commits = commits + 1 RETURNING commits"
# Statements that are executed most often are built once.
_TASK = select(tables.tasks).where(tables.tasks.c.id == bindparam("task"))
_TASK_AND_MORE = _TASK.add_columns(
    exists().where(tables.attempts.c.task == tables.tasks.c.id).label("has_attempts"),
    exists().where(tables.handovers.c.task == tables.tasks.c.id).label("has_handovers"),
)
_TASKS_PAGE, _LISTED_PAGE = (
    select(*columns).order_by(tables.tasks.c.number.desc()).limit(bindparam("limit")).offset(bindparam("offset"))
    for columns in ((tables.tasks,), [column for column in tables.tasks.columns if not column.info.get("detail")])
)
_ATTEMPTS = (
    select(tables.attempts)
    .where(tables.attempts.c.task == bindparam("task"))
    .order_by(tables.attempts.c.created, tables.attempts.c.uuid)
)
_ATTEMPTS_FOR = (
    select(tables.attempts)
    .where(tables.attempts.c.needed_by == bindparam("task"), text("needed_by != ''"))  # the index has only those
    .order_by(tables.attempts.c.created, tables.attempts.c.uuid)
)
_LOG = select(tables.events).order_by(tables.events.c.id.desc())
_LOG_OF = _LOG.where(tables.events.c.task == bindparam("task")).limit(bindparam("limit"))
_KEY = select(tables.submission_keys).where(
    tables.submission_keys.c.owner == bindparam("owner"), tables.submission_keys.c.key == bindparam("key")
)


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """A task with its attempts, log and hand-overs at one moment.

    `log` has the last lines, the oldest first.
    """

    task: Task
    attempts: tuple[Attempt, ...]
    log: tuple[LogEntry, ...]
    handovers: tuple[Handover, ...]


class Store:
    """Durable state of one domain, for any thread; writers wait for one another.

    Every method raises `StoreFault` where the database fails; a failed `commit` has written nothing.

    Attributes:
        name: name of the database, for people.
        instance: UUID made with the database; no other has the same.
        keep_days: days for which ended tasks are kept where configuration does not say; 0 for ever.
        forgotten: tasks up to this number may have attempts, and cancels of these, that the database has forgotten.
    """

    def __init__(self, url: str) -> None:
        """Open the database and bring it to this version.

        Args:
            url: `sqlite:////absolute/path.db`.

        Raises:
            UserError: the URL cannot be used.
            StoreFault: the database cannot be opened, is damaged, lacks changes, or a newer cosched wrote it.
        """
        file = database_file(url)
        self.name = str(file)
        check_complete(file)
        check_pages(file)
        self._engine = open_engine(url)
        self._writer = self._engine.execution_options(writes=True)
        self._reader = self._engine.execution_options(alone=True)
        self._counted: dict[TaskSelection | None, Mapping[TaskState, int]] = {}
        self._add_notices = insert_missing(tables.outbox)
        state = self.read(select(tables.instance))[0]
        self.instance, self.keep_days = str(state["uuid"]), float(state["keep_days"])
        self.forgotten = int(state["forgotten"])
        self._last_commit = LastCommit(file, self.instance, state["commits"])
        # A task with a higher number is new: inserted, never put over one that another writer has written.
        self._newest = self.last_number()
        self._add_tasks, self._put_tasks = insert(tables.tasks), upsert(tables.tasks)
        self._statements: dict[str, Executable] = {  # for each other field of `Changes`
            "attempts": upsert(tables.attempts),
            "log": insert(tables.events),
            "handovers": upsert(tables.handovers),
            "guests": upsert(tables.guests),
            "reservations": upsert(tables.reservations),
            "submissions": insert(tables.submission_keys),
            "usage": upsert(tables.usage),
            "runs": insert(tables.runs),
        }

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()
        self._last_commit.close()

    def last_number(self) -> int:
        """Return the highest task number ever given, 0 in an empty database."""
        rows = self.read(select(func.max(tables.tasks.c.number).label("last")))
        return int(rows[0]["last"] or 0)

    def commit(self, changes: Changes) -> None:
        """Write all of it or nothing; on return it survives a crash of the machine.

        Raises:
            RefusedError: nothing was written, nor ever will be: it contradicts what is there.
            StoreFault: nothing was written.
        """
        tasks = changes.tasks.values()
        written = [  # what others refer to stands first
            (self._add_tasks, [row_of(task) for task in tasks if task.number > self._newest]),
            (self._put_tasks, [row_of(task) for task in tasks if task.number <= self._newest]),
            *((statement, _rows(getattr(changes, kind))) for kind, statement in self._statements.items()),
            (self._add_notices, [row_of(notice) for notice in end_notices(tasks)]),
        ]
        with self._transaction() as connection:
            for statement, rows in written:
                if rows:
                    connection.execute(statement, rows)
        if tasks:
            self._counted = {}
            self._newest = max(self._newest, *(task.number for task in tasks))

    def load(self) -> tuple[tuple[Task, ...], tuple[Attempt, ...]]:
        """Return all tasks that are not settled, by number, and all their attempts."""
        tasks, attempts = tables.tasks, tables.attempts
        unsettled = select(attempts.c.task).where(attempts.c.state.in_(_LIVE_ATTEMPTS))
        live = or_(tasks.c.state.not_in(_FINAL_TASKS), tasks.c.id.in_(unsettled))
        theirs = select(attempts).where(attempts.c.task.in_(select(tasks.c.id).where(live)))
        with database_errors(self.name), self._engine.begin() as connection:  # one transaction: one moment
            found = connection.execute(select(tasks).where(live).order_by(tasks.c.number)).mappings().all()
            tries = connection.execute(theirs.order_by(attempts.c.created, attempts.c.uuid)).mappings().all()
        return records_of(Task, found), records_of(Attempt, tries)

    def completed(self, limit: int = 1000) -> tuple[Task, ...]:
        """Return the `limit` tasks that completed last, the oldest first."""
        query = select(tables.tasks).where(tables.tasks.c.state == str(TaskState.COMPLETED))
        rows = self.read(query.order_by(tables.tasks.c.finished.desc(), tables.tasks.c.number.desc()).limit(limit))
        return records_of(Task, reversed(rows))

    def reservations(self, after: float) -> tuple[Reservation, ...]:
        """Return the reservations that were not released and end after a time (epoch seconds)."""
        table = tables.reservations
        rows = self.read(select(table).where(table.c.released.is_(None), table.c.end > after).order_by(table.c.begin))
        return records_of(Reservation, rows)

    def tasks(self, selection: TaskSelection | None = None, limit: int = 100, offset: int = 0) -> tuple[Task, ...]:
        """Return tasks of a selection (none given: all), the newest first."""
        return records_of(Task, self._page(_TASKS_PAGE, selection, limit, offset))

    def listed(
        self,
        selection: TaskSelection | None = None,
        limit: int = 100,
        offset: int = 0,
        order: TaskOrder | None = None,
    ) -> Sequence[TableRow]:
        """Return the same tasks as rows without details, which lists do not show, in any order."""
        return self._page(_LISTED_PAGE if order is None else order.applied(_LISTED_PAGE), selection, limit, offset)

    def _page(
        self, query: Select[Any], selection: TaskSelection | None, limit: int, offset: int
    ) -> Sequence[RowMapping]:
        conditions = () if selection is None else selection.conditions()
        return self.read(query.where(*conditions) if conditions else query, {"limit": limit, "offset": offset})

    def identifier(self, name: str) -> str:
        """Return the identifier of a task named by array and index, other names unchanged."""
        array, _, index = name.partition("_")
        if not (array and index.isascii() and index.isdecimal() and len(index) < _MOST_DIGITS):
            return name
        columns = tables.tasks.c
        wanted = select(columns.id).where(columns.array == array, columns.array_index == int(index))
        found = self.read(wanted)
        return str(found[0]["id"]) if found else name

    def task(self, task_id: str) -> Task | None:
        """Return the task, None where there is none of this identifier."""
        rows = self.read(_TASK, {"task": task_id})
        return record_of(Task, rows[0]) if rows else None

    def history(self, task_id: str, limit: int) -> TaskHistory | None:
        """Return a task with its attempts, hand-overs and last log lines, or None."""
        given = {"task": task_id, "limit": limit}
        with database_errors(self.name), self._engine.begin() as connection:  # one transaction: one moment

            def rows(query: Select[Any]) -> Sequence[RowMapping]:
                return connection.execute(query, given).mappings().all()

            found = rows(_TASK_AND_MORE)
            if not found:
                return None
            return TaskHistory(
                record_of(Task, found[0]),
                records_of(Attempt, rows(_ATTEMPTS)) if found[0]["has_attempts"] else (),
                records_of(LogEntry, reversed(rows(_LOG_OF))),
                records_of(Handover, rows(HANDOVERS_OF)) if found[0]["has_handovers"] else (),
            )

    def counts(self, selection: TaskSelection | None = None) -> Mapping[TaskState, int]:
        """Return the number of tasks in each state, of a selection (none given: of all)."""
        counted = self._counted  # what is counted while a task changes must not outlive the change
        known = counted.get(selection)
        if known is not None:
            return known
        column = tables.tasks.c.state
        conditions = () if selection is None else selection.conditions()
        rows = self.read(select(column, func.count().label("tasks")).where(*conditions).group_by(column))
        found = dict.fromkeys(TaskState, 0) | {row["state"]: int(row["tasks"]) for row in rows}
        if len(counted) < _COUNTS_KEPT and (selection is None or (selection.late is None and selection.ids is None)):
            counted[selection] = found
        return found

    def attempts(self, task_id: str) -> tuple[Attempt, ...]:
        """Return all attempts at the task, the oldest first."""
        return records_of(Attempt, self.read(_ATTEMPTS, {"task": task_id}))

    def attempts_for(self, task_id: str) -> tuple[Attempt, ...]:
        """Return the attempts of elastic tasks that gave up hosts for a task, or are giving them up."""
        return records_of(Attempt, self.read(_ATTEMPTS_FOR, {"task": task_id}))

    def log(self, owner: str | None = None, limit: int = 100, offset: int = 0) -> tuple[LogEntry, ...]:
        """Return lines of the log, the newest first.

        Args:
            owner: leave out what concerns other users' tasks; None for all.
            limit: how many at most.
            offset: how many of the newest to pass over.
        """
        rows = self.read(_log_of_owner(_LOG, owner).limit(limit).offset(offset))
        return records_of(LogEntry, rows)

    def log_size(self, owner: str | None = None) -> int:
        """Return how many lines the log has; with an owner without what concerns other users' tasks."""
        query = select(func.count().label("lines")).select_from(tables.events)
        return int(self.read(_log_of_owner(query, owner))[0]["lines"])

    def ended_attempts(self, since: float, limit: int) -> tuple[tuple[Attempt, Task], ...]:
        """Return attempts that started and ended after a time, with tasks; no workers of elastic ones.

        The last to end comes first.
        """
        attempts, tasks = tables.attempts, tables.tasks
        columns = [column.label(f"attempt_{column.name}") for column in attempts.columns]
        query = select(*columns, *tasks.columns).join(tasks, tasks.c.id == attempts.c.task)
        query = query.where(attempts.c.finished > since, attempts.c.started.is_not(None), attempts.c.worker == 0)
        rows = self.read(query.order_by(attempts.c.finished.desc()).limit(limit))
        return tuple((record_of(Attempt, row, "attempt_"), record_of(Task, row)) for row in rows)

    def host_uses(self, since: float, limit: int) -> list[tuple[str, tuple[str, ...], float, float, int, int, int]]:
        """Return whose hosts attempts had that started and ended after a time, the last first.

        Returns:
            Owner, hosts, start, end; cores, MiB of memory and GPUs that it took of each host, without cores the whole.
        """
        attempts, tasks = tables.attempts.c, tables.tasks.c
        query = select(tasks.owner, attempts.hosts, attempts.started, attempts.finished)
        query = query.add_columns(attempts.cores, attempts.memory, attempts.gpus)
        query = query.join_from(tables.attempts, tables.tasks, tasks.id == attempts.task)
        query = query.where(attempts.finished > since, attempts.started.is_not(None))
        rows = self.read(query.order_by(attempts.finished.desc()).limit(limit))
        return [
            (
                row["owner"],
                tuple(row["hosts"]),
                row["started"],
                row["finished"],
                row["cores"],
                row["memory"],
                row["gpus"],
            )
            for row in rows
        ]

    def deadline_outcomes(self, since: float, limit: int, owner: str | None = None) -> Sequence[TableRow]:
        """Return the tasks with deadlines that completed or failed after a time, the last to end first.

        Args:
            since: epoch seconds.
            limit: how many at most, the last ones.
            owner: user whose tasks alone count; None for all.

        Returns:
            Rows with the fields of `DeadlineOutcome`.
        """
        tasks = tables.tasks.c
        names = ("name", "owner", "application", "state", "submitted", "finished", "deadline")
        ended = [str(TaskState.COMPLETED), str(TaskState.FAILED)]
        query = select(tasks.id.label("task"), *(tasks[name] for name in names)).where(
            tasks.finished > since, tasks.deadline.is_not(None), tasks.state.in_(ended)
        )
        query = query.order_by(tasks.finished.desc()).limit(limit)
        return self.read(query if owner is None else query.where(tasks.owner == owner))

    def usage(self, by: str, since: float, until: float, owner: str | None = None) -> Sequence[TableRow]:
        """Return the use of the hosts in a time, the largest first.

        Args:
            by: column of the table `tasks` whose values are told apart.
            since: begin of the time, epoch seconds.
            until: its end; attempts that still run have their hosts until then.
            owner: user whose tasks alone count; None for all.

        Returns:
            Rows with the fields of `UsageView`.
        """
        attempts, tasks = tables.attempts.c, tables.tasks.c
        ended = func.min(func.coalesce(attempts.finished, until), until)
        # A lead is charged for the hosts that its workers keep, see `Attempt.charged_hosts`.
        hosts = attempts["count"] + func.coalesce(func.json_array_length(attempts.lead, "$.promised"), 0)
        seconds = (ended - func.max(attempts.started, since)) * hosts * attempts.part
        # Of a task with several attempts the last one tells whether it was on time.
        last = and_(tasks.state == str(TaskState.COMPLETED), tasks.finished == attempts.finished)
        query = (
            select(
                tasks[by].label("name"),
                func.count(tasks.id.distinct()).label("tasks"),
                func.count().filter(attempts.worker == 0).label("runs"),
                func.sum(seconds).label("host_seconds"),
                func.count().filter(last, tasks.finished <= tasks.deadline).label("on_time"),
                func.count().filter(last, tasks.finished > tasks.deadline).label("late"),
            )
            .join_from(tables.attempts, tables.tasks, tasks.id == attempts.task)
            .where(attempts.started < until, or_(attempts.finished.is_(None), attempts.finished > since))
            .group_by(tasks[by])
            .order_by(desc("host_seconds"), "name")
        )
        return self.read(query if owner is None else query.where(tasks.owner == owner))

    def by_key(self, key: str, owner: str = "") -> KeyedSubmission | None:
        """Return the submission under an owner's idempotency key, None while it is unused."""
        rows = self.read(_KEY, {"owner": owner, "key": key})
        return record_of(KeyedSubmission, rows[0]) if rows else None

    def forget_counts(self) -> None:
        """Drop remembered counts after tasks were deleted."""
        self._counted = {}

    def read(self, query: Executable, values: Mapping[str, Any] | None = None) -> Sequence[RowMapping]:
        """Return the rows of a query; `values` are those of its bind parameters."""
        with database_errors(self.name), self._reader.connect() as connection:
            return connection.execute(query, values).mappings().all()

    def write(self, *statements: Executable) -> None:
        """Execute all statements or none; on return their changes survive a crash.

        Raises:
            RefusedError: as `commit`.
            StoreFault: nothing was written.
        """
        with self._transaction() as connection:
            for statement in statements:
                connection.execute(statement)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Give a connection that writes; its changes are durable and counted at the end."""
        with database_errors(self.name), self._writer.begin() as connection:
            yield connection
            cursor = connection.connection.cursor()  # the driver's: at each commit SQLAlchemy's would be felt
            cursor.execute(_COUNT)
            ((number,),) = cursor.fetchall()
            cursor.close()
        self._last_commit.note(number)


def _log_of_owner(query: Select[Any], owner: str | None) -> Select[Any]:
    """Return a query of the log without what concerns other users' tasks; without an owner as it is."""
    if owner is None:
        return query
    table, tasks = tables.events, tables.tasks
    joined = query.outerjoin(tasks, tasks.c.id == table.c.task)
    return joined.where(or_(table.c.task == "", tasks.c.owner == owner))


def _rows(records: Mapping[Any, DataclassInstance] | Sequence[DataclassInstance]) -> list[dict[str, Any]]:
    return [row_of(record) for record in (records.values() if isinstance(records, Mapping) else records)]
