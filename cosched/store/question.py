"""Queries that are asked so often that putting them together costs more than the database's work.

SQLAlchemy writes the SQL once; the driver alone carries it out, and only what a column's type needs is done to values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Select
    from sqlalchemy.engine import Dialect
    from sqlalchemy.engine.interfaces import DBAPICursor

__all__ = ["Question"]

_Row = dict[str, Any]


class Question:
    """A query with values to be filled in, as one kind of database has it."""

    def __init__(self, query: Select[Any], dialect: Dialect) -> None:
        """Set up; lists of values (`in_`) cannot be filled in later."""
        compiled = query.compile(dialect=dialect)
        self._text = str(compiled)
        self._given = compiled.params
        self._order: list[str] | None = getattr(compiled, "positiontup", None)
        self._names = [column.name for column in query.selected_columns]
        readers = [
            column.type.dialect_impl(dialect).result_processor(dialect, None) for column in query.selected_columns
        ]
        self._readers: list[tuple[str, Callable[[Any], Any]]] = [
            (name, reader) for name, reader in zip(self._names, readers, strict=True) if reader is not None
        ]
        assert dialect.dbapi is not None
        self._fault: type[Exception] = dialect.dbapi.Error

    def ask(self, cursor: DBAPICursor, values: Mapping[str, Any]) -> list[_Row]:
        """Return the rows, by names of columns.

        Raises:
            DBAPIError: the driver's own error.
        """
        filled = {name: values.get(name, value) for name, value in self._given.items()}
        parameters: Any = filled if self._order is None else tuple(filled[name] for name in self._order)
        try:
            cursor.execute(self._text, parameters)
            rows = [dict(zip(self._names, row, strict=True)) for row in cursor.fetchall()]
        except self._fault as error:
            raise DBAPIError(self._text, parameters, error) from error
        for row in rows:
            for name, read in self._readers:
                row[name] = read(row[name])
        return rows
