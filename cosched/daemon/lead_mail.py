"""Lead mail carries offers to the leads of elastic tasks, and their answers back, through the connector.

Start at `LeadMail.look`. An offer is the whole of what workers are to do, and an answer that comes twice changes
nothing: what a crash cuts off is done again.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

import structlog

from cosched.api.documents import LeadMessage
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.errors import CoschedError, UserError
from cosched.portal.request_bodies import RequestBody

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.api.documents import OfferView
    from cosched.app.elastic.service import ElasticService
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.daemon.manager.connector_guard import GuardedConnector

__all__ = ["LeadMail"]

_log = structlog.get_logger("cosched.elastic")

_MESSAGE = RequestBody(LeadMessage, "a lead's message")
_IDLE = 1.0  # seconds between two looks where no lead lives
_MOST_REFUSALS = 10  # that are written down, of one lead
_TOLD = (AttemptState.SUBMITTED, AttemptState.RUNNING, AttemptState.CANCELLING)


class LeadMail(threading.Thread):
    """Looks at the mailboxes of live leads now and then until `stop`."""

    def __init__(
        self,
        connector: GuardedConnector,
        service: ElasticService,
        token: Callable[[str], str],
        server: Callable[[], str],
        pause: float = 0.25,
    ) -> None:
        """Set up.

        Args:
            connector: has the mailboxes.
            service: makes offers, and takes answers.
            token: returns the token of a lead's attempt.
            server: returns the address at which API requests of leads are answered.
            pause: seconds between two looks while a lead lives.
        """
        super().__init__(name="lead-mail", daemon=True)
        self._connector = connector
        self._service = service
        self._token = token
        self._server = server
        self._pause = pause
        self._stopped = threading.Event()
        self._leads = 0
        self._sent: dict[str, OfferView] = {}  # attempt → the offer in its mailbox
        self._warned = ""
        self._refused: Counter[str] = Counter()  # attempt → messages of it that could not be read

    def stop(self) -> None:
        """End after the look under way."""
        self._stopped.set()
        if self.ident is not None:
            self.join()

    def run(self) -> None:
        """Look again and again."""
        while not self._stopped.wait(self._pause if self._leads else _IDLE):
            try:
                self.look()
                self._warned = ""
            except CoschedError as fault:  # core or connector are busy, or say so themselves
                if str(fault) != self._warned:
                    self._warned = str(fault)
                    _log.warning("no mail", fault=str(fault))

    def look(self) -> None:
        """Bring every mailbox up to date, then take what is in it.

        Raises:
            CoschedError: core or connector do not answer; leads with whom there is no fault have been looked after.
        """
        leads = self._service.leads()
        self._leads = len(leads)
        self._sent = {attempt: offer for attempt, offer in self._sent.items() if attempt in leads}
        self._refused = Counter({attempt: count for attempt, count in self._refused.items() if attempt in leads})
        faults = []
        for lead, offer in leads.values():
            if lead.state in _TOLD:
                try:
                    self._put(lead, offer)
                    self._take(lead)
                except CoschedError as fault:  # what a job has made of its mailbox is not to stop that of others
                    faults.append(fault)
        if faults:
            raise faults[0]

    def _put(self, lead: Attempt, offer: OfferView) -> None:
        known = self._sent.get(lead.uuid)
        if known is None and lead.state is not AttemptState.RUNNING:
            return  # its mailbox is made when it starts
        if known is None:
            self._connector.put_mail(lead.uuid, "token", f"{self._token(lead.uuid)}\n")
            self._connector.put_mail(lead.uuid, "server", f"{self._server()}\n")
        if known != offer:
            self._connector.put_mail(lead.uuid, "offer.json", json.dumps(asdict(offer)))
            if offer.stop is not None:  # for programs that look for a file
                self._connector.put_mail(lead.uuid, "stop", f"{offer.stop.reason}\n")
            self._sent[lead.uuid] = offer

    def _take(self, lead: Attempt) -> None:
        answers = self._connector.answers(lead.uuid)
        for name, text in answers.items():
            try:
                self._service.take(lead, _MESSAGE.read(text.encode()))
            except UserError as fault:  # of a request as well
                self._note_refusal(lead, name, fault)
            except CoschedError:
                raise
            except Exception:  # a mistake of ours with one message: others' mail goes on
                _log.exception("cosched made a mistake with a lead's message", task=lead.task)
            self._connector.drop_answers(lead.uuid, [name])

    def _note_refusal(self, lead: Attempt, name: str, fault: UserError) -> None:
        self._refused[lead.uuid] += 1
        if self._refused[lead.uuid] <= _MOST_REFUSALS:
            shown = ascii(name)[1:-1]  # the job has chosen it
            _log.warning("a lead's message cannot be read", task=lead.task, file=shown, fault=str(fault))
