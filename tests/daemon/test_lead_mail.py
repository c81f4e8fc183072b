from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from cosched.api.documents import LeadMessage, OfferView, StopOrder
from cosched.connector.interface import ConnectorError
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.elastic.values import LeadStatus
from cosched.daemon.lead_mail import LeadMail
from cosched.errors import UserError

LEAD = Attempt("u", "1", ("h1",), 1, 9.0, 0.0, AttemptState.RUNNING, lead=LeadStatus())
OFFER = OfferView(task="1", revision=1, workers=())


class Box:
    """A connector with one mailbox, and the service that is told."""

    def __init__(self) -> None:
        self.put: list[tuple[str, str]] = []
        self.files: dict[str, str] = {}
        self.taken: list[LeadMessage] = []
        self.live = {"u": (LEAD, OFFER)}
        self.fault: Exception | None = None

    def put_mail(self, _attempt: str, name: str, text: str) -> None:
        if self.fault:
            raise self.fault
        self.put.append((name, text))

    def answers(self, attempt: str) -> dict[str, str]:
        return dict(self.files) if attempt in self.live else {}

    def drop_answers(self, _attempt: str, names: list[str]) -> None:
        for name in names:
            del self.files[name]

    def leads(self) -> dict[str, tuple[Attempt, OfferView]]:
        return self.live

    def take(self, lead: Attempt, message: LeadMessage) -> None:
        if message.fraction == 2.0:
            raise UserError("too much")
        assert lead.uuid in self.live
        self.taken.append(message)


def a_mail(box: Box) -> LeadMail:
    each: Any = box
    return LeadMail(cast("Any", each), each, lambda attempt: f"token of {attempt}", lambda: "unix:/sock")


def test_a_lead_that_runs_gets_its_token_and_each_offer_once() -> None:
    box = Box()
    mail = a_mail(box)
    mail.look()
    mail.look()
    assert [name for name, _ in box.put] == ["token", "server", "offer.json"]
    assert json.loads(box.put[-1][1])["revision"] == 1
    box.live["u"] = (LEAD, replace(OFFER, revision=2))
    mail.look()
    assert [name for name, _ in box.put[3:]] == ["offer.json"]


def test_a_program_that_is_asked_to_stop_finds_a_file() -> None:
    box = Box()
    mail = a_mail(box)
    mail.look()
    box.live["u"] = (LEAD, replace(OFFER, revision=2, stop=StopOrder(by=40.0, reason="task 2 would be late")))
    mail.look()
    mail.look()
    assert [name for name, _ in box.put[3:]] == ["offer.json", "stop"]
    assert json.loads(box.put[3][1])["stop"] == {"by": 40.0, "reason": "task 2 would be late"}
    assert box.put[4][1] == "task 2 would be late\n"


@pytest.mark.parametrize("state", [AttemptState.SUBMITTING, AttemptState.SUBMITTED])
def test_a_lead_that_has_not_begun_has_no_mailbox_yet(state: AttemptState) -> None:
    box = Box()
    box.live["u"] = (replace(LEAD, state=state), OFFER)
    a_mail(box).look()
    assert not box.put


def test_answers_are_taken_in_order_and_what_cannot_be_read_is_dropped_and_logged() -> None:
    box = Box()
    box.files = {"1.json": '{"drained": [3]}', "2.json": "{", "3.json": '{"fraction": 2.0}', "4.json": '{"who": 1}'}
    box.files |= {"5.json": '{"address": "here"}', "6.json": ""}
    with capture_logs() as logs:
        a_mail(box).look()
    assert box.taken == [LeadMessage(drained=(3,)), LeadMessage(address="here")]
    assert [line["file"] for line in logs] == ["2.json", "3.json", "4.json", "6.json"]
    assert not box.files


def test_an_offer_that_could_not_be_put_is_put_again() -> None:
    box = Box()
    mail = a_mail(box)
    box.fault = ConnectorError("busy", transient=True)
    with pytest.raises(ConnectorError):
        mail.look()
    box.fault = None
    mail.look()
    assert [name for name, _ in box.put] == ["token", "server", "offer.json"]


def test_one_lead_stops_the_mail_of_no_other_by_its_mailbox() -> None:
    class OneIsClosed(Box):
        def answers(self, attempt: str) -> dict[str, str]:
            if attempt == "theirs":
                raise ConnectorError("its job has closed it", transient=True)
            return super().answers(attempt)

    box = OneIsClosed()
    box.live = {"theirs": (replace(LEAD, uuid="theirs"), OFFER), "u": (LEAD, OFFER)}
    box.files = {"1.json": '{"address": "here"}'}
    with pytest.raises(ConnectorError, match="closed"):
        a_mail(box).look()
    assert box.taken == [LeadMessage(address="here")]


def test_a_message_that_cosched_fails_on_is_dropped_and_the_mail_goes_on() -> None:
    class Failing(Box):
        def take(self, lead: Attempt, message: LeadMessage) -> None:
            if message.fraction == 0.5:
                raise ValueError("Exceeds the limit (4300 digits) for integer string conversion")
            super().take(lead, message)

    box = Failing()
    box.files = {"1.json": '{"fraction": 0.5}', "2.json": '{"address": "here"}'}
    with capture_logs() as logs:
        a_mail(box).look()
    assert box.taken == [LeadMessage(address="here")]
    assert [line["log_level"] for line in logs] == ["error"]
    assert not box.files


def test_of_messages_that_cannot_be_read_few_are_logged_and_their_names_forge_no_line() -> None:
    box = Box()
    box.files = {f"{number:03}\n\x1b[1m\udcff.json": "{" for number in range(100)}
    with capture_logs() as logs:
        a_mail(box).look()
    assert len(logs) == 10
    assert all(line["file"].isprintable() and line["file"].isascii() for line in logs)
    assert not box.files
