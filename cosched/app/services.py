"""The services of a domain in one value, for routes and pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.app.host_loads import HostLoadService
from cosched.app.recordings import RecordingService

if TYPE_CHECKING:
    from cosched.app.administration import AdministrationService
    from cosched.app.domain_notices import NoticeService
    from cosched.app.domain_status import DomainStatus
    from cosched.app.elastic.service import ElasticService
    from cosched.app.event_feed import EventFeed
    from cosched.app.history import DomainHistory
    from cosched.app.model_queries import ModelQueries
    from cosched.app.neighbours.neighbour_access import NeighbourAccess
    from cosched.app.reservations import ReservationService
    from cosched.app.share_service import ShareService
    from cosched.app.submission.saved_forms import FormService
    from cosched.app.submission.submissions import SubmissionService
    from cosched.app.task_service import TaskService

__all__ = ["DomainServices"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainServices:
    """The services of one domain, one for each subject.

    Their methods may block and may be called from several threads at once. They raise `UserError` where the request
    is at fault (`NotFoundError`, `ConflictError` … where that fits), `SystemFault` where daemon, resource manager or
    database is. The first argument is the principal: of another user's task only operators learn more than which hosts
    it takes until when.

    Attributes:
        submissions: new tasks.
        tasks: accepted tasks.
        reservations: hosts kept for others.
        domain: hosts, plan and status.
        neighbours: neighbouring domains and our agent.
        models: catalogue and model library.
        history: runs, log, accuracy of predictions, earlier plans.
        feed: live events, for followers of the event stream.
        shares: what users and groups are entitled to, and have had.
        notices: lines of administrators for everybody.
        forms: submit forms that users keep.
        administration: the daemon's configuration and health.
        recordings: recordings of the core's events.
        elastic: workers of elastic tasks, and the word of their leads.
        loads: what owners and foreign jobs take of hosts.
    """

    submissions: SubmissionService
    tasks: TaskService
    reservations: ReservationService
    domain: DomainStatus
    neighbours: NeighbourAccess
    models: ModelQueries
    history: DomainHistory
    feed: EventFeed
    shares: ShareService
    notices: NoticeService
    forms: FormService
    administration: AdministrationService
    elastic: ElasticService
    recordings: RecordingService = field(default_factory=RecordingService)
    loads: HostLoadService = field(default_factory=HostLoadService)
