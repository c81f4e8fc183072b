from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any, cast

import pytest
from structlog.testing import capture_logs

from cosched.connector.hosts import Host
from cosched.connector.interface import Connector, ConnectorError
from cosched.connector.jobs import JobReport, JobState, Launch
from cosched.connector.submission import SubmitOutcomes
from cosched.daemon.manager.connector_guard import GuardedConnector
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

LAUNCH = Launch("u", "1", "t", ("/x",))
ODD, KEPT = "gr\udcfcn\0", "gr?n?"
VERBS: dict[str, Callable[[GuardedConnector], Any]] = {
    "hosts": lambda connector: connector.hosts(),
    "submit": lambda connector: SubmitOutcomes(connector.submit_many([LAUNCH])).job("u"),
    "status": lambda connector: connector.status(["u"]),
    "cancel": lambda connector: connector.cancel("u"),
    "find": lambda connector: connector.find("u"),
    "events": lambda connector: connector.events(0.0),
    "close": lambda connector: connector.close(),
}


class Answering:
    """Gives one answer to everything, or raises it."""

    def __init__(self, answer: Any, *, many: bool = False) -> None:
        self._answer = answer
        self._many = many

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        if verb == "submit_many" and not self._many:
            return MethodType(Connector.submit_many, self)

        def answer(*_arguments: Any) -> Any:
            if isinstance(self._answer, Exception):
                raise self._answer
            return self._answer

        return answer


def ask(verb: str, answer: Any) -> Any:
    return VERBS[verb](GuardedConnector(cast("Any", Answering(answer))))


@pytest.mark.parametrize("verb", VERBS)
def test_its_own_mistake_is_a_manager_that_does_not_answer(verb: str) -> None:
    with pytest.raises(ConnectorError, match=r"the connector failed \(IndexError: gr\?n\?\): see the log") as caught:
        ask(verb, IndexError(ODD))
    assert caught.value.transient


@pytest.mark.parametrize("verb", VERBS)
def test_what_it_raises_on_purpose_comes_through(verb: str) -> None:
    for error in (ConnectorError("no such queue", transient=False), UserError("bad name")):
        with pytest.raises(type(error), match=str(error)) as caught:
            ask(verb, error)
        assert caught.value is error


@pytest.mark.parametrize(
    ("verb", "answer"),
    [
        ("hosts", None),
        ("hosts", [None]),
        ("submit", 7),
        ("submit", None),
        ("status", None),
        ("status", {"u": None}),
        ("find", "running"),
        ("events", None),
        ("events", [{}]),
    ],
)
def test_an_answer_of_a_wrong_form_is_a_mistake(verb: str, answer: Any) -> None:
    with pytest.raises(ConnectorError, match="the connector failed"):
        ask(verb, answer)


def test_its_words_can_be_kept_by_a_database() -> None:
    """Bytes that are no UTF-8 become half surrogate pairs: writing one ended the daemon, again after every start."""
    lost, known = JobReport("u", JobState.FAILED, ODD, reason=ODD), JobReport("u", JobState.FAILED, KEPT, reason=KEPT)
    assert ask("submit", ODD) == KEPT
    assert ask("find", lost) == known
    assert ask("events", [lost]) == ask("status", {"u": lost}) == [known]
    assert ask("hosts", [Host("h1", up=False, reason=ODD)]) == (Host("h1", up=False, reason=KEPT),)
    with pytest.raises(ConnectorError, match=r"^gr\?n\?$"):
        ask("submit", ConnectorError(ODD, transient=True))


@pytest.mark.parametrize("answer", [None, {}, {"u": 7}, {"another": "7"}, IndexError("x")])
def test_of_many_none_is_left_without_an_outcome(answer: Any) -> None:
    connector = GuardedConnector(cast("Any", Answering(answer, many=True)))
    outcomes = connector.submit_many([LAUNCH])
    assert list(outcomes) == ["u"]
    error = outcomes["u"]
    assert isinstance(error, ConnectorError)
    assert error.transient


def test_hosts_are_sorted_and_nothing_found_is_nothing() -> None:
    assert ask("hosts", [Host("b"), Host("a")]) == (Host("a"), Host("b"))
    assert ask("find", None) is None


def test_a_mistake_that_is_made_again_and_again_is_logged_once() -> None:
    connector = GuardedConnector(cast("Any", Answering(IndexError("x"))))
    with capture_logs() as lines:
        for _ in range(3):
            with pytest.raises(ConnectorError):
                connector.hosts()
    assert len(lines) == 1
