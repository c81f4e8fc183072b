"""What survives a crash: tasks, their attempts, the log and the keys of submissions."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, insert, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.task import AttemptState, TaskState
from cosched.store import schema
from cosched.store.database import label, open_engine
from cosched.store.exchange import HANDOVERS_OF, guest_row, handover_of, handover_row
from cosched.store.faults import explained
from cosched.store.journal import Record
from cosched.store.outbox import ends, put_in
from cosched.store.question import Question
from cosched.store.rows import Row, attempt_of, attempt_row, task_of, task_row
from cosched.store.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Executable, RowMapping, Select, Table
    from sqlalchemy.engine.interfaces import DBAPICursor

    from cosched.agent.records import Guest, Handover
    from cosched.coscheduler.task import Attempt, Task

__all__ = ["History", "Store", "Submission"]

_LIVE_ATTEMPTS = [str(state) for state in AttemptState if state.live]
_FINAL_TASKS = [str(state) for state in TaskState if state.final]
_COUNTS_KEPT = 100  # selections whose counts are remembered until a task changes

# What is asked most often is put together once.
_TASK = select(schema.tasks).where(schema.tasks.c.id == bindparam("task"))
_LONG = ("command", "parameters", "environment", "profile", "prepare", "notify", "native", "model", "after")
_LISTED = select(*(column for column in schema.tasks.columns if column.name not in _LONG))
_PAGE = _LISTED.order_by(schema.tasks.c.number.desc()).limit(bindparam("limit")).offset(bindparam("offset"))
_PAGE_OF = _PAGE.where(schema.tasks.c.owner == bindparam("owner"))
_ATTEMPTS = (
    select(schema.attempts)
    .where(schema.attempts.c.task == bindparam("task"))
    .order_by(schema.attempts.c.created, schema.attempts.c.uuid)
)
_EVENTS = (
    select(*(column for column in schema.events.columns if column.name != "id"))
    .order_by(schema.events.c.id.desc())
    .limit(bindparam("limit"))
)
_EVENTS_OF = _EVENTS.where(schema.events.c.task == bindparam("task"))
_KEY = select(schema.submission_keys).where(
    schema.submission_keys.c.owner == bindparam("owner"), schema.submission_keys.c.key == bindparam("key")
)


@dataclass(frozen=True, slots=True)
class History:
    """All that is known of a task at one moment; `log` has the last lines, the oldest first."""

    task: Task
    attempts: tuple[Attempt, ...]
    log: tuple[Record, ...]
    handovers: tuple[Handover, ...]


@dataclass(frozen=True, slots=True)
class Submission:
    """What an idempotency key stands for.

    Attributes:
        key: chosen by the client, unique for its owner.
        digest: of the request's content; another content under the same key is a mistake.
        tasks: identifiers of the tasks that the first request made, in its order.
        created: when, seconds since the epoch.
    """

    key: str
    digest: str
    tasks: tuple[str, ...]
    created: float
    owner: str = ""


class Store:
    """Durable state of one domain. Methods may be called from any thread; writers wait for one another.

    Every method raises `StoreFault` where the database fails; a failed `save` has written nothing.

    Attributes:
        name: of the database, for people.
        dialect: name of the kind of database.
        instance: UUID made with the database; no other has the same.
    """

    def __init__(self, url: str) -> None:
        """Open the database and bring it to this version.

        Args:
            url: `sqlite:////absolute/path.db`, or another URL that SQLAlchemy understands.

        Raises:
            UserError: the URL cannot be used.
            StoreFault: the database cannot be opened, or a newer cosched wrote it.
        """
        self.name = label(url)
        self._engine = open_engine(url)
        self._writer = self._engine.execution_options(writes=True)
        self._reader = self._engine.execution_options(alone=True)
        self._counted: dict[Selection | None, Mapping[TaskState, int]] = {}
        self.dialect = self._engine.dialect.name
        dialect = postgresql if self.dialect == "postgresql" else sqlite
        self._put_in = put_in(self.dialect)
        asked = (_TASK, _ATTEMPTS, _EVENTS_OF, HANDOVERS_OF, _KEY, _PAGE, _PAGE_OF)
        questions = (Question(query, self._engine.dialect) for query in asked)
        *self._history, self._key, self._page, self._page_of = questions
        self._task = self._history[0]
        self.instance = str(self.read(select(schema.instance))[0]["uuid"])
        self._save_tasks = _upsert(dialect, schema.tasks, "id")
        self._save_attempts = _upsert(dialect, schema.attempts, "uuid")
        self._save_handovers = _upsert(dialect, schema.handovers, "uuid", "epoch")
        self._save_guests = _upsert(dialect, schema.guests, "peer", "uuid")
        self._save_reservations = _upsert(dialect, schema.reservations, "id")

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def last_number(self) -> int:
        """Return the highest task number ever given, 0 in an empty database."""
        rows = self.read(select(func.max(schema.tasks.c.number).label("last")))
        return int(rows[0]["last"] or 0)

    def save(
        self,
        tasks: Iterable[Task] = (),
        attempts: Iterable[Attempt] = (),
        events: Iterable[Record] = (),
        submissions: Iterable[Submission] = (),
        handovers: Iterable[Handover] = (),
        guests: Iterable[Guest] = (),
        reservations: Iterable[Reservation] = (),
    ) -> None:
        """Write all of it or nothing; on return it survives a crash of the machine.

        Several steps may be written at once: of two values for one task or attempt the later counts.

        Raises:
            RefusedError: nothing was written, nor ever will be: it contradicts what is there.
            StoreFault: nothing was written.
        """
        new = list(tasks)
        new_tasks = {task.id: task_row(task) for task in new}
        new_attempts = {attempt.uuid: attempt_row(attempt) for attempt in attempts}
        records = [asdict(item) for item in events]
        notices = [asdict(item) for item in ends(new)]
        keys = [asdict(item) for item in submissions]
        with explained(self.name), self._writer.begin() as connection:
            _execute(connection, self._save_tasks, list(new_tasks.values()))
            _execute(connection, self._save_attempts, list(new_attempts.values()))
            _execute(connection, insert(schema.events), records)
            _execute(connection, self._save_handovers, list(map(handover_row, handovers)))
            _execute(connection, self._save_guests, list(map(guest_row, guests)))
            _execute(connection, self._save_reservations, [asdict(each) for each in reservations])
            _execute(connection, insert(schema.submission_keys), keys)
            _execute(connection, self._put_in, notices)
        if new_tasks:
            self._counted = {}

    def load(self) -> tuple[tuple[Task, ...], tuple[Attempt, ...]]:
        """Return what a restart needs: all tasks with something left to happen, by number, and all their attempts."""
        tasks, attempts = schema.tasks, schema.attempts
        unsettled = select(attempts.c.task).where(attempts.c.state.in_(_LIVE_ATTEMPTS))
        live = or_(tasks.c.state.not_in(_FINAL_TASKS), tasks.c.id.in_(unsettled))
        theirs = select(attempts).where(attempts.c.task.in_(select(tasks.c.id).where(live)))
        with explained(self.name), self._engine.begin() as connection:  # one transaction: one moment
            found = connection.execute(select(tasks).where(live).order_by(tasks.c.number)).mappings().all()
            tries = connection.execute(theirs.order_by(attempts.c.created, attempts.c.uuid)).mappings().all()
        return tuple(map(task_of, found)), tuple(map(attempt_of, tries))

    def completed(self, limit: int = 1000) -> tuple[Task, ...]:
        """Return the `limit` tasks that completed last, the oldest first."""
        query = select(schema.tasks).where(schema.tasks.c.state == str(TaskState.COMPLETED))
        rows = self.read(query.order_by(schema.tasks.c.finished.desc(), schema.tasks.c.number.desc()).limit(limit))
        return tuple(map(task_of, reversed(rows)))

    def reservations(self, after: float) -> tuple[Reservation, ...]:
        """Return the reservations that were not released and end after a time (epoch seconds)."""
        table = schema.reservations
        rows = self.read(select(table).where(table.c.released.is_(None), table.c.end > after).order_by(table.c.begin))
        return tuple(Reservation(**{**row, "hosts": tuple(row["hosts"])}) for row in rows)

    def tasks(self, selection: Selection | None = None, limit: int = 100, offset: int = 0) -> tuple[Task, ...]:
        """Return tasks of a selection (none given: all), the newest first."""
        return tuple(map(task_of, self.read(_page(select(schema.tasks), selection, limit, offset))))

    def listed(self, selection: Selection | None = None, limit: int = 100, offset: int = 0) -> Sequence[Row]:
        """Return of the same tasks the columns that lists show: not what is long and must be taken apart."""
        selection = selection or Selection()
        if selection.states or selection.text:
            return self.read(_page(_LISTED, selection, limit, offset))
        question = self._page if selection.owner is None else self._page_of
        with self._cursor() as cursor:
            return question.ask(cursor, {"owner": selection.owner, "limit": limit, "offset": offset})

    def task(self, task_id: str) -> Task | None:
        """Return the task, None where there is none of this identifier."""
        with self._cursor() as cursor:
            rows = self._task.ask(cursor, {"task": task_id})
        return task_of(rows[0]) if rows else None

    def history(self, task_id: str, limit: int) -> History | None:
        """Return all that is known of a task, with the last lines of its log; None where there is none."""
        given = {"task": task_id, "limit": limit}
        with self._cursor() as cursor:
            found, tries, lines, handovers = (question.ask(cursor, given) for question in self._history)
        if not found:
            return None
        return History(
            task_of(found[0]),
            tuple(map(attempt_of, tries)),
            tuple(Record(**row) for row in reversed(lines)),
            tuple(map(handover_of, handovers)),
        )

    def counts(self, selection: Selection | None = None) -> Mapping[TaskState, int]:
        """Return the number of tasks in each state, of a selection (none given: of all)."""
        counted = self._counted  # what is counted while a task changes must not outlive the change
        known = counted.get(selection)
        if known is not None:
            return known
        column = schema.tasks.c.state
        conditions = () if selection is None else selection.conditions()
        rows = self.read(select(column, func.count().label("tasks")).where(*conditions).group_by(column))
        found = dict.fromkeys(TaskState, 0) | {TaskState(row["state"]): int(row["tasks"]) for row in rows}
        if len(counted) < _COUNTS_KEPT:
            counted[selection] = found
        return found

    def attempts(self, task_id: str) -> tuple[Attempt, ...]:
        """Return all attempts at the task, the oldest first."""
        return tuple(map(attempt_of, self.read(_ATTEMPTS, {"task": task_id})))

    def events(self, task_id: str = "", limit: int = 100) -> tuple[Record, ...]:
        """Return the last `limit` lines of the log (of one task where named), the oldest first."""
        rows = self.read(_EVENTS_OF if task_id else _EVENTS, {"task": task_id, "limit": limit})
        return tuple(Record(**row) for row in reversed(rows))

    def log(self, owner: str | None = None, limit: int = 100, offset: int = 0) -> tuple[Record, ...]:
        """Return lines of the log, the newest first.

        Args:
            owner: leave out what concerns other users' tasks; None for all.
            limit: how many at most.
            offset: how many of the newest to pass over.
        """
        table, tasks = schema.events, schema.tasks
        query = select(table.c.time, table.c.kind, table.c.task, table.c.detail)
        if owner is not None:
            query = query.outerjoin(tasks, tasks.c.id == table.c.task)
            query = query.where(or_(table.c.task == "", tasks.c.owner == owner))
        rows = self.read(query.order_by(table.c.id.desc()).limit(limit).offset(offset))
        return tuple(Record(**row) for row in rows)

    def ran(self, since: float, limit: int) -> tuple[tuple[Attempt, Task], ...]:
        """Return the attempts on pinned hosts that ended after this time and their tasks, the last to end first."""
        attempts, tasks = schema.attempts, schema.tasks
        columns = [column.label(f"attempt_{column.name}") for column in attempts.columns]
        query = select(*columns, *tasks.columns).join(tasks, tasks.c.id == attempts.c.task)
        query = query.where(attempts.c.finished > since, attempts.c.started.is_not(None))
        rows = self.read(query.order_by(attempts.c.finished.desc()).limit(limit))
        return tuple((attempt_of(row, "attempt_"), task_of(row)) for row in rows)

    def by_key(self, key: str, owner: str = "") -> Submission | None:
        """Return what an idempotency key of this owner stands for, None while it is unused."""
        with self._cursor() as cursor:
            rows = self._key.ask(cursor, {"owner": owner, "key": key})
        return Submission(**{**rows[0], "tasks": tuple(rows[0]["tasks"])}) if rows else None

    def forget_counts(self) -> None:
        """Count anew when asked: tasks were removed."""
        self._counted = {}

    @contextmanager
    def _cursor(self) -> Iterator[DBAPICursor]:
        """Give a cursor of the driver's for questions about one moment."""
        with explained(self.name):
            connection = self._engine.raw_connection()
            try:
                cursor = connection.cursor()
                if self.dialect == "sqlite":
                    cursor.execute("BEGIN")  # the driver begins by itself only for what changes something
                yield cursor
            except DBAPIError:
                connection.invalidate()  # it may be broken: the next one to ask gets another
                raise
            finally:
                connection.close()

    def read(self, query: Executable, values: Mapping[str, Any] | None = None) -> Sequence[RowMapping]:
        """Return the rows of a query on the tables of `cosched.store.schema`, with values for what it leaves open."""
        with explained(self.name), self._reader.connect() as connection:
            return connection.execute(query, values).mappings().all()

    def write(self, *statements: Executable) -> None:
        """Carry out all statements or none; on return what they change survives a crash.

        Raises:
            RefusedError: as `save`.
            StoreFault: nothing was written.
        """
        with explained(self.name), self._writer.begin() as connection:
            for statement in statements:
                connection.execute(statement)


def _page(query: Select[Any], selection: Selection | None, limit: int, offset: int) -> Select[Any]:
    conditions = () if selection is None else selection.conditions()
    return query.where(*conditions).order_by(schema.tasks.c.number.desc()).limit(limit).offset(offset)


def _upsert(dialect: Any, table: Table, *key: str) -> Executable:
    statement = dialect.insert(table)
    changes = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in key}
    return statement.on_conflict_do_update(index_elements=list(key), set_=changes)  # type: ignore[no-any-return]  # Any above


def _execute(connection: Connection, statement: Executable, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        connection.execute(statement, rows)
