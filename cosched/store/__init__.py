"""Durable state: tasks, attempts and events in a database that survives a crash."""

from cosched.store.faults import StoreFault
from cosched.store.journal import Record, record
from cosched.store.selection import Selection
from cosched.store.store import Store, Submission

__all__ = ["Record", "Selection", "Store", "StoreFault", "Submission", "record"]
