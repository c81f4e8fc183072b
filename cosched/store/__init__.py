"""Durable state: tasks, attempts and events in a database that survives a crash."""

from cosched.store.database import StoreFault
from cosched.store.journal import LogEntry, log_entry
from cosched.store.store import KeyedSubmission, Store, TaskSelection

__all__ = ["KeyedSubmission", "LogEntry", "Store", "StoreFault", "TaskSelection", "log_entry"]
