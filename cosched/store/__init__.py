"""Durable state: tasks, attempts and events in a database that survives a crash."""

from cosched.coscheduler.changes import KeyedSubmission, LogEntry
from cosched.store.database import StoreFault
from cosched.store.store import Store, TaskSelection

__all__ = ["KeyedSubmission", "LogEntry", "Store", "StoreFault", "TaskSelection"]
