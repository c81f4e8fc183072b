"""The store keeps runs that completed, longer than their tasks.

They are written with the attempts that they were, by `Store.commit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, desc, func, or_, select

from cosched.coscheduler.changes import RunRecord
from cosched.prediction.others.other_programs import KeyedRun
from cosched.prediction.others.startup import StartedRun
from cosched.store import tables
from cosched.store.rows import records_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement

    from cosched.prediction.run_features import RunFeatures
    from cosched.store.rows import TableRow
    from cosched.store.store import Store

__all__ = ["RunTable"]

_LOOKED_AT = 5000  # newest runs, among which those of all programs are


class RunTable:
    """Reads runs; methods raise `StoreFault` where the database fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def newest(self, key: str) -> int:
        """Return a number that grows with each run of a key; 0 before the first."""
        query = select(func.max(tables.runs.c.id).label("newest")).where(tables.runs.c.key == key)
        return int(self._store.read(query)[0]["newest"] or 0)

    def of(self, key: str, most: int) -> Sequence[RunRecord]:
        """Return the newest runs of a key, the newest last."""
        table = tables.runs
        query = select(table).where(table.c.key == key).order_by(table.c.id.desc()).limit(most)
        return records_of(RunRecord, self._store.read(query))[::-1]

    def same(self, features: RunFeatures, most: int) -> Sequence[RunRecord]:
        """Return the runs with the same numbers among so many of the newest of a key, the newest last."""
        return [run for run in self.of(features.key, most) if run.numbers == features.numbers]

    def since(self, key: str, newest: int, most: int) -> Sequence[RunRecord]:
        """Return the runs of a key that came after one, the newest last; of many the newest.

        Args:
            key: see `RunFeatures`.
            newest: the number that `newest` returned.
            most: how many runs at most.
        """
        table = tables.runs
        query = select(table).where(table.c.key == key, table.c.id > newest).order_by(table.c.id.desc()).limit(most)
        return records_of(RunRecord, self._store.read(query))[::-1]

    def held(self, newest: int, most: int) -> Sequence[tuple[int, bool]]:
        """Return whether the runs of a domain were within the ranges that runs had taught, the newest last.

        What a model or a user stated and no run had corrected yet tells nothing of these.

        Args:
            newest: number of the run after which to begin.
            most: how many runs at most, the newest ones.

        Returns:
            The number of each run that had a range, and whether it was within.
        """
        runs = tables.runs.c
        query = (
            select(runs.id, runs.seconds, runs.low, runs.high)
            .where(runs.id > newest, runs.high.is_not(None))
            .where(or_(runs.stated.is_(None), runs.stated != runs.predicted))
            .order_by(runs.id.desc())
            .limit(most)
        )
        return [(row["id"], row["low"] <= row["seconds"] <= row["high"]) for row in self._store.read(query)][::-1]

    def launched(self, most: int) -> Sequence[StartedRun]:
        """Return the newest runs that a model had foretold, the newest last."""
        runs = tables.runs.c
        query = (
            select(runs.key, runs.launch, runs.hosts, runs.seconds, runs.stated)
            .where(runs.launch != "", runs.stated.is_not(None))
            .order_by(runs.id.desc())
            .limit(most)
        )
        return records_of(StartedRun, self._store.read(query))[::-1]

    def of_programs(self, each: int, most: int) -> Sequence[KeyedRun]:
        """Return the newest runs of all programs, the newest last.

        Args:
            each: runs of one program at most: one that runs often hides no other.
            most: runs at most.
        """
        runs = tables.runs.c
        first = select(func.max(runs.id)).scalar_subquery() - _LOOKED_AT
        columns = (runs.key, runs.numbers, runs.hosts, runs.hardware, runs.seconds, runs.stated)
        place = func.row_number().over(partition_by=runs.key, order_by=runs.id.desc())
        newest = select(runs.id, *columns, place.label("place")).where(runs.id > first).subquery()
        query = select(newest).where(newest.c.place <= each).order_by(newest.c.id.desc()).limit(most)
        return records_of(KeyedRun, self._store.read(query))[::-1]

    def of_application(self, name: str, owner: str | None, most: int) -> Sequence[RunRecord]:
        """Return the newest runs of an application, the newest first; with an owner his alone."""
        query = select(tables.runs).where(*_selected(name, owner)).order_by(tables.runs.c.id.desc()).limit(most)
        return records_of(RunRecord, self._store.read(query))

    def applications(self, owner: str | None) -> Sequence[TableRow]:
        """Return the applications with recorded runs, the one that ran last first; with an owner of his alone.

        Returns:
            Rows with the fields of `LearntApplication`.
        """
        runs = tables.runs.c
        query = select(
            runs.application.label("name"), func.count().label("runs"), func.max(runs.finished).label("finished")
        ).group_by(runs.application)
        query = query.order_by(desc("finished"), "name")
        return self._store.read(query if owner is None else query.where(runs.owner == owner))

    def forget(self, name: str, owner: str | None) -> None:
        """Delete the runs of an application; with an owner his alone."""
        self._store.write(delete(tables.runs).where(*_selected(name, owner)))

    def forget_before(self, time: float) -> None:
        """Delete the runs that ended before a time, epoch seconds."""
        self._store.write(delete(tables.runs).where(tables.runs.c.finished < time))


def _selected(application: str, owner: str | None) -> list[ColumnElement[bool]]:
    table = tables.runs
    return [table.c.application == application, *([] if owner is None else [table.c.owner == owner])]
