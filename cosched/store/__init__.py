"""Durable state: tasks, attempts and events in a database that survives a crash."""

from cosched.coscheduler.changes import KeyedSubmission, LogEntry
from cosched.store.database import StoreFault
from cosched.store.selection import TaskColumn, TaskOrder, TaskSelection
from cosched.store.store import Store

__all__ = ["KeyedSubmission", "LogEntry", "Store", "StoreFault", "TaskColumn", "TaskOrder", "TaskSelection"]
