from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import JSON, Boolean, Column, Integer, MetaData, Table, bindparam, create_engine, insert, select
from sqlalchemy.exc import DBAPIError

from cosched.store.database import DriverQuery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

_METADATA = MetaData()
_THINGS = Table("things", _METADATA, Column("number", Integer), Column("held", Boolean), Column("parts", JSON))
_ASKED = (
    select(_THINGS).where(_THINGS.c.number >= bindparam("least")).order_by(_THINGS.c.number).limit(bindparam("limit"))
)


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = create_engine("sqlite://")
    _METADATA.create_all(engine)
    with engine.begin() as connection:
        rows = [{"number": n, "held": n == 2, "parts": ["é", n]} for n in range(4)]
        connection.execute(insert(_THINGS), rows)
    yield engine
    engine.dispose()


def test_rows_are_those_of_sqlalchemy(engine: Engine) -> None:
    given = {"least": 1, "limit": 2}
    with closing(engine.raw_connection()) as raw:
        found = DriverQuery(_ASKED, engine.dialect).ask(raw.cursor(), given)
    with engine.connect() as connection:
        assert found == [dict(row) for row in connection.execute(_ASKED, given).mappings()]
    assert [(row["number"], row["held"], row["parts"]) for row in found] == [(1, False, ["é", 1]), (2, True, ["é", 2])]


def test_the_drivers_errors_are_sqlalchemys(engine: Engine) -> None:
    question = DriverQuery(_ASKED, engine.dialect)
    with engine.begin() as connection:
        _METADATA.drop_all(connection)
    with closing(engine.raw_connection()) as raw, pytest.raises(DBAPIError, match="no such table"):
        question.ask(raw.cursor(), {"least": 1, "limit": 2})
