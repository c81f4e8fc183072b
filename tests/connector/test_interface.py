"""A connector that has the eight verbs alone has an answer to everything else."""

from __future__ import annotations

from typing import Any, cast

from cosched.connector.interface import Connector, StartDiagnosis
from cosched.connector.jobs import Launch, LaunchMode
from cosched.errors import UserError

BAD = UserError("bad name")


class EightVerbs(Connector):
    name = "eight"

    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def submit(self, launch: Launch) -> str:
        if launch.attempt == "b":
            raise BAD
        return f"job of {launch.attempt}"

    def cancel(self, attempt: str) -> None:
        self.cancelled.append(attempt)

    hosts = status = find = events = output = close = cast("Any", lambda *_asked: None)


def test_an_attempt_that_is_refused_keeps_none_of_the_others() -> None:
    launches = [Launch(name, "1", "t", ("/x",)) for name in ("a", "b", "c")]
    assert EightVerbs().submit_many(launches) == {"a": "job of a", "b": BAD, "c": "job of c"}


def test_who_cannot_tell_whether_a_job_has_begun_cancels_it() -> None:
    connector = EightVerbs()
    assert connector.call_back("a")
    assert connector.cancelled == ["a"]


def test_what_a_manager_has_no_answer_to_is_nothing_to_look_at() -> None:
    connector = EightVerbs()
    connector.check_task("ann", LaunchMode.ONCE)
    assert connector.diagnose("a") == StartDiagnosis()
    assert (connector.home, connector.calls, connector.mail, connector.adoption) == ("", {}, None, None)
    assert not connector.remarks()
