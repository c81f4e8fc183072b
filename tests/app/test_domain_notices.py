from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cosched.access import Principal, Role
from cosched.access.principals import ForbiddenError
from cosched.api.documents import NoticeRequest
from cosched.api.problems import ConflictError, NotFoundError
from cosched.app.domain_notices import LONGEST_NOTICE, MOST_NOTICES, NoticeService
from cosched.errors import UserError
from cosched.store import Store
from cosched.store.domain_notices import DomainNoticeTable
from tests.store.new_database import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANN, CHIEF = Principal("ann", Role.OPERATOR), Principal("chief", Role.ADMINISTRATOR)


class Clock:
    def __init__(self) -> None:
        self.time = 1e9

    def now(self) -> float:
        return self.time


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(new_database(tmp_path))
    yield store
    store.close()


def request(text: str = "no power on Friday", until: float = 1e9 + 60, **changes: Any) -> NoticeRequest:
    return NoticeRequest(**{"text": text, "until": until, **changes})


def test_a_notice_is_shown_until_its_time_also_after_a_restart(store: Store) -> None:
    clock, table = Clock(), DomainNoticeTable(store)
    service = NoticeService(table, clock.now)
    made = service.write(CHIEF, request(" no power\ton Friday "))
    assert (made.text, made.by, made.created) == ("no power on Friday", "chief", 1e9)
    assert service.notices() == NoticeService(table, clock.now).notices() == [made]
    clock.time += 60
    assert service.notices() == NoticeService(table, clock.now).notices() == []


def test_a_notice_is_removed_once(store: Store) -> None:
    clock, table = Clock(), DomainNoticeTable(store)
    service = NoticeService(table, clock.now)
    stays, goes = service.write(CHIEF, request("stays")), service.write(CHIEF, request("goes"))
    assert service.remove(CHIEF, goes.id) == goes
    assert service.notices() == NoticeService(table, clock.now).notices() == [stays]
    with pytest.raises(NotFoundError, match="no notice"):
        service.remove(CHIEF, goes.id)


def test_only_administrators_write_and_remove(store: Store) -> None:
    service = NoticeService(DomainNoticeTable(store), Clock().now)
    made = service.write(CHIEF, request())
    with pytest.raises(ForbiddenError, match="only administrators"):
        service.write(ANN, request())
    with pytest.raises(ForbiddenError, match="only administrators"):
        service.remove(ANN, made.id)
    assert service.notices() == [made]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": "  "}, "one line of 1 to 300"),
        ({"text": "x" * (LONGEST_NOTICE + 1)}, "one line of 1 to 300"),
        ({"text": "gpj\u202etxt"}, "can be printed"),
        ({"until": 1e9}, "end of the notice .* is past"),
        ({"until": float("inf")}, "more than ten years away"),
    ],
)
def test_what_cannot_be_shown_is_refused(store: Store, changes: dict[str, Any], message: str) -> None:
    service = NoticeService(DomainNoticeTable(store), Clock().now)
    with pytest.raises(UserError, match=message):
        service.write(CHIEF, request(**changes))
    assert service.notices() == []


def test_there_are_so_many_at_once_and_places_come_free(store: Store) -> None:
    clock = Clock()
    service = NoticeService(DomainNoticeTable(store), clock.now)
    for number in range(MOST_NOTICES):
        service.write(CHIEF, request(until=1e9 + 60 + number))
    with pytest.raises(ConflictError, match="remove one first"):
        service.write(CHIEF, request())
    clock.time += 60
    service.write(CHIEF, request(until=1e9 + 99))
    assert len(service.notices()) == MOST_NOTICES
