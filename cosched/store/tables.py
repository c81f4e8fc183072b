"""The tables keep records: each column has the name of a dataclass's field.

Times are seconds since the epoch. A new field takes its column here and a migration.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    false,
    text,
    true,
)

from cosched.connector.jobs import LaunchMode
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.handovers import GuestState, HandoverState
from cosched.coscheduler.sharing.shares import ShareKind
from cosched.coscheduler.task import TaskState
from cosched.prediction.loads.load_history import LoadCause
from cosched.store.column_types import (
    ALTERNATIVES,
    ELASTIC,
    LEAD_STATUS,
    NATIVE,
    PROFILE,
    RESTARTS,
    STAGE,
    STRING_MAP,
    STRINGS,
    TASK_DOCUMENT,
    state_type,
)

__all__ = [
    "accounts",
    "attempts",
    "audit",
    "events",
    "forms",
    "guests",
    "handovers",
    "host_loads",
    "instance",
    "lives",
    "metadata",
    "notices",
    "outbox",
    "plans",
    "reservations",
    "runs",
    "sessions",
    "shares",
    "submission_keys",
    "tasks",
    "tokens",
    "usage",
]

metadata = MetaData()

_DETAIL = {"detail": True}  # of a task's column: lists of tasks leave it out

instance = Table(
    "instance",
    metadata,
    # One row, made with the database: what tells its attempts from those of any other.
    Column("uuid", String(36), primary_key=True),
    Column("commits", Integer, nullable=False, server_default=text("0")),  # see cosched.store.backups.last_commit
    Column("keep_days", Double, nullable=False, server_default=text("0")),  # 0: for ever
    Column("forgotten", Integer, nullable=False, server_default=text("0")),  # see last_commit.accept_state
)

tasks = Table(
    "tasks",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("number", Integer, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("application", Text, nullable=False),
    Column("command", STRINGS, nullable=False, info=_DETAIL),
    Column("submitted", Double, nullable=False),
    Column("owner", Text, nullable=False),
    Column("parameters", STRING_MAP, nullable=False, info=_DETAIL),
    Column("environment", STRING_MAP, nullable=False, info=_DETAIL),
    Column("directory", Text, nullable=False),
    Column("stdin", Text, nullable=False, server_default=text("''"), info=_DETAIL),
    Column("deadline", Double),
    Column("begin", Double, info=_DETAIL),
    Column("profile", PROFILE, info=_DETAIL),
    Column("correction", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("notify", STRINGS, nullable=False, server_default="[]", info=_DETAIL),
    Column("prepare", STRINGS, nullable=False, server_default="[]", info=_DETAIL),
    Column("native", NATIVE, info=_DETAIL),
    Column("model", Text, nullable=False, server_default=text("''"), info=_DETAIL),
    Column("after", STRINGS, nullable=False, server_default="[]", info=_DETAIL),
    Column("best_effort", Boolean, nullable=False),
    Column("time_limit", Double),
    Column("launch", state_type(LaunchMode), nullable=False, server_default="each", info=_DETAIL),
    Column("processes_per_host", Integer, nullable=False, server_default=text("1"), info=_DETAIL),
    Column("retries", Integer, nullable=False, server_default=text("0"), info=_DETAIL),
    Column("requeue", Boolean, nullable=False, server_default=true(), info=_DETAIL),
    Column("priority", Integer, nullable=False, server_default=text("0"), info=_DETAIL),
    Column("array", String(64), nullable=False, server_default=text("''")),
    Column("array_index", Integer),
    Column("array_at_most", Integer, nullable=False, server_default=text("0")),
    Column("memory", Integer, nullable=False, server_default=text("0"), info=_DETAIL),
    Column("cores", Integer, nullable=False, server_default=text("0"), info=_DETAIL),
    Column("gpus", Integer, nullable=False, server_default=text("0"), info=_DETAIL),
    Column("exclusive", Boolean, nullable=False, server_default=false(), info=_DETAIL),
    Column("licences", STRING_MAP, nullable=False, server_default="{}", info=_DETAIL),
    Column("hosts_range", Text, nullable=False, server_default=text("''"), info=_DETAIL),
    Column("cores_range", Text, nullable=False, server_default=text("''"), info=_DETAIL),
    Column("processes", Text, nullable=False, server_default=text("''"), info=_DETAIL),
    Column("alternatives", ALTERNATIVES, nullable=False, server_default="[]", info=_DETAIL),
    Column("stage", STAGE, info=_DETAIL),
    Column("file_sizes", STRING_MAP, nullable=False, server_default="{}", info=_DETAIL),
    Column("program_digest", String(64), nullable=False, server_default=text("''"), info=_DETAIL),
    Column("adopted", Text, nullable=False, server_default=text("''"), info=_DETAIL),
    Column("elastic", ELASTIC, info=_DETAIL),
    Column("partition", Text, nullable=False, server_default=text("''"), info=_DETAIL),
    Column("state", state_type(TaskState), nullable=False),
    Column("reason", Text, nullable=False),
    Column("dispatched", Double),
    Column("started", Double),
    Column("finished", Double),
    Column("predicted", Double),
    Column("actual", Double),
    Column("exit_code", Integer),
    Column("attempts", Integer, nullable=False),
    Column("hosts", STRINGS, nullable=False),
    Column("origin", Text, nullable=False, server_default=text("''")),
    Column("host_cores", Integer, nullable=False, server_default=text("0")),
    Column("held", Boolean, nullable=False, server_default=false()),
    Column("peer", Text, nullable=False, server_default=text("''")),
    Column("held_by", Text, nullable=False, server_default=text("''")),
    Column("claim", Double),
    Column("claimed_at", Double, info=_DETAIL),
    Column("failures", Integer, nullable=False, server_default=text("0")),
    Column("unstarted", Integer, nullable=False, server_default=text("0")),
    Column("load_factor", Double, nullable=False, server_default=text("1")),
    Column("beside", Double, info=_DETAIL),
    Column("contention", Double, nullable=False, server_default=text("1"), info=_DETAIL),
    Column("restarts", RESTARTS, info=_DETAIL),
    Column("avoids", STRING_MAP, nullable=False, server_default="{}", info=_DETAIL),
    Index("tasks_by_state", "state", "number"),
    Index("tasks_by_owner", "owner", "number"),
    Index("tasks_by_end", "finished"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("uuid", String(64), primary_key=True),
    Column("task", String(64), ForeignKey("tasks.id"), nullable=False),
    Column("hosts", STRINGS, nullable=False),
    Column("count", Integer, nullable=False),
    Column("predicted", Double),
    Column("created", Double, nullable=False),
    Column("state", state_type(AttemptState), nullable=False),
    Column("job", Text, nullable=False),
    Column("started", Double),
    Column("finished", Double),
    Column("exit_code", Integer),
    Column("reason", Text, nullable=False),
    Column("memory", Integer, nullable=False, server_default=text("0")),
    Column("cores", Integer, nullable=False, server_default=text("0")),
    Column("gpus", Integer, nullable=False, server_default=text("0")),
    Column("part", Double, nullable=False, server_default=text("1")),
    Column("worker", Integer, nullable=False, server_default=text("0")),
    Column("loan", Boolean, nullable=False, server_default=false()),
    Column("leave_by", Double),
    Column("lead", LEAD_STATUS),
    Column("needed_by", String(64), nullable=False, server_default=text("''")),
    Index("attempts_by_task", "task", "created"),
    Index("attempts_by_need", "needed_by", sqlite_where=text("needed_by != ''")),
    Index("attempts_by_state", "state"),
)

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("time", Double, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("task", String(64), nullable=False),
    Column("detail", Text, nullable=False),
    Index("events_by_task", "task", "id"),
)

submission_keys = Table(
    "submission_keys",
    metadata,
    Column("owner", String(255), nullable=False),
    Column("key", String(255), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("tasks", STRINGS, nullable=False),
    Column("created", Double, nullable=False),
    PrimaryKeyConstraint("owner", "key"),
)

accounts = Table(
    "accounts",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("digest", Text, nullable=False),  # argon2, with its salt and parameters
    Column("role", String(16), nullable=False),
    Column("created", Double, nullable=False),
    Column("enabled", Boolean, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("digest", String(64), nullable=False),  # SHA-256: the token itself is random enough
    Column("user", String(64), nullable=False),
    Column("role", String(16), nullable=False),
    Column("scopes", STRINGS, nullable=False),
    Column("note", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("source", String(16), nullable=False, server_default="granted"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", String(64), primary_key=True),  # SHA-256 of the cookie
    Column("user", String(64), nullable=False),
    Column("role", String(16), nullable=False),
    Column("source", String(16), nullable=False),
    Column("credential", String(32), nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("time", Double, nullable=False),
    Column("user", String(64), nullable=False),
    Column("how", String(16), nullable=False),
    Column("address", String(64), nullable=False),
    Column("action", String(32), nullable=False),
    Column("detail", Text, nullable=False),
)

handovers = Table(
    "handovers",
    metadata,
    Column("uuid", String(36), primary_key=True),
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("task", String(64), ForeignKey("tasks.id"), nullable=False),
    Column("peer", String(64), nullable=False),
    Column("state", state_type(HandoverState), nullable=False),
    Column("why", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("closed", Double),
    Column("outcome", Text, nullable=False),
    Index("handovers_by_task", "task", "epoch"),
)

guests = Table(
    "guests",
    metadata,
    Column("peer", String(64), primary_key=True),
    Column("uuid", String(36), primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("task", String(64), ForeignKey("tasks.id"), nullable=False),
    Column("state", state_type(GuestState), nullable=False),
    Column("hops", Integer, nullable=False),
    Column("visited", STRINGS, nullable=False),
    Column("document", TASK_DOCUMENT, nullable=False),  # XML, as it came
    Column("created", Double, nullable=False),
    Index("guests_by_state", "state"),
)

lives = Table(
    "lives",
    metadata,
    # One row for each start of the agent: letters to and from former lives are told by its number.
    Column("number", Integer, primary_key=True),
    Column("begun", Double, nullable=False),
)

outbox = Table(
    "outbox",
    metadata,
    # Once for each task, notice and address: a crash between sending and noting sends it again.
    Column("task", String(64), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("target", String(1024), nullable=False),
    Column("created", Double, nullable=False),
    Column("due", Double),  # null: sent, or given up
    Column("tries", Integer, nullable=False),
    Column("fault", Text, nullable=False),
    PrimaryKeyConstraint("task", "kind", "target"),
    Index("outbox_by_due", "due"),
)

plans = Table(
    "plans",
    metadata,
    # Where a task was planned, a list of [time, start, end, hosts]; in the row without a name how the search went.
    Column("task", String(64), primary_key=True),
    Column("points", JSON, nullable=False),
)

reservations = Table(
    "reservations",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("hosts", STRINGS, nullable=False),
    Column("begin", Double, nullable=False),
    Column("end", Double, nullable=False),
    Column("name", Text, nullable=False),
    Column("owner", String(64), nullable=False),
    Column("created", Double, nullable=False),
    Column("released", Double),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("task", String(64), nullable=False),
    Column("key", String(32), nullable=False),
    Column("numbers", STRINGS, nullable=False),
    Column("owner", Text, nullable=False),
    Column("application", Text, nullable=False),
    Column("hosts", Integer, nullable=False),
    Column("hardware", Text, nullable=False),
    Column("predicted", Double),
    Column("seconds", Double, nullable=False),
    Column("finished", Double, nullable=False),
    Column("program_digest", String(64), nullable=False, server_default=text("''")),
    Column("stated", Double),
    Column("low", Double),
    Column("high", Double),
    Column("launch", String(16), nullable=False, server_default=text("''")),
    Index("runs_by_key", "key", "id"),
    Index("runs_by_application", "application", "id"),
    Index("runs_by_end", "finished"),
)

usage = Table(
    "usage",
    metadata,
    Column("user", String(128), primary_key=True),
    Column("host_seconds", Double, nullable=False),
    Column("time", Double, nullable=False),
    Column("claimed", Double, nullable=False),
    Column("window", Double, nullable=False),
)

shares = Table(
    "shares",
    metadata,
    # What was set by command; null: as the configuration has it.
    Column("kind", state_type(ShareKind), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("weight", Double),
    Column("budget", Double),
    Column("hosts", Integer),
    Column("waiting", Integer),
    Column("group", String(64)),
    Column("by", String(64), nullable=False),
    Column("time", Double, nullable=False),
)

host_loads = Table(
    "host_loads",
    metadata,
    Column("cause", state_type(LoadCause), primary_key=True),
    Column("host", String(255), primary_key=True),
    Column("hour", Integer, primary_key=True, autoincrement=False),
    Column("seconds", Double, nullable=False),
    Column("busy", Double, nullable=False),
    Column("taken", Double, nullable=False),
    Column("presences", Integer, nullable=False),
    Column("lengths", Double, nullable=False),
    Column("squares", Double, nullable=False),
    Index("host_loads_by_hour", "hour"),
)

notices = Table(
    "notices",
    metadata,
    # Lines of administrators for everybody.
    Column("id", String(16), primary_key=True),
    Column("text", Text, nullable=False),
    Column("until", Double, nullable=False),
    Column("by", String(64), nullable=False),
    Column("created", Double, nullable=False),
)

forms = Table(
    "forms",
    metadata,
    # Submit forms that users keep.
    Column("owner", Text, primary_key=True),
    Column("name", String(100), primary_key=True),
    Column("fields", STRING_MAP, nullable=False),
    Column("ahead", Double),
    Column("saved", Double, nullable=False),
)
