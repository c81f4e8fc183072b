from __future__ import annotations

import inspect

import pytest

from cosched.app.interface import DomainService
from cosched.app.task_service import TaskService

ASKED = sorted(name for name in vars(DomainService) if not name.startswith("_"))


def parameters(function: object) -> list[tuple[str, object, str]]:
    assert callable(function)
    return [(each.name, each.kind, str(each.annotation)) for each in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", ASKED)
def test_the_daemon_takes_what_the_api_may_ask(name: str) -> None:
    assert parameters(getattr(TaskService, name)) == parameters(getattr(DomainService, name))
