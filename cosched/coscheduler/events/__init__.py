"""Events tell the core what happened to its domain; each module has those of one source.

Every event carries its time; the core never reads a clock. Start at `Event`.
"""

from cosched.coscheduler.events.from_daemon import Restored, SavedState, ScheduleImproved, SearchAwaited, Tick
from cosched.coscheduler.events.from_leads import (
    HostsWished,
    LeadAnnounced,
    LeadEvent,
    OverheadsMeasured,
    ResizeWished,
    SpeedsMeasured,
    StageDone,
    WorkerDrained,
    WorkerRefused,
    WorkReported,
)
from cosched.coscheduler.events.from_manager import (
    AdoptedJobGone,
    AdoptedJobStarted,
    AttemptAbsent,
    AttemptBegun,
    AttemptDiagnosed,
    AttemptMissing,
    AttemptSubmitted,
    HostsObserved,
    JobReported,
    ManagerEvent,
    PredictionPassed,
    SubmitFailed,
)
from cosched.coscheduler.events.from_neighbours import (
    NeighboursChanged,
    OfferEnded,
    PeerReported,
    StartPermitted,
    TaskForwarded,
    TaskReturned,
)
from cosched.coscheduler.events.from_users import (
    CancelRequested,
    EditRequested,
    HoldRequested,
    HostsReserved,
    ReleaseRequested,
    ReservationReleased,
    SharesChanged,
    TaskSubmitted,
)

__all__ = [
    "AdoptedJobGone",
    "AdoptedJobStarted",
    "AttemptAbsent",
    "AttemptBegun",
    "AttemptDiagnosed",
    "AttemptMissing",
    "AttemptSubmitted",
    "CancelRequested",
    "EditRequested",
    "Event",
    "HoldRequested",
    "HostsObserved",
    "HostsReserved",
    "HostsWished",
    "JobReported",
    "LeadAnnounced",
    "LeadEvent",
    "ManagerEvent",
    "NeighboursChanged",
    "OfferEnded",
    "OverheadsMeasured",
    "PeerReported",
    "PredictionPassed",
    "ReleaseRequested",
    "ReservationReleased",
    "ResizeWished",
    "Restored",
    "SavedState",
    "ScheduleImproved",
    "SearchAwaited",
    "SharesChanged",
    "SpeedsMeasured",
    "StageDone",
    "StartPermitted",
    "SubmitFailed",
    "TaskForwarded",
    "TaskReturned",
    "TaskSubmitted",
    "Tick",
    "WorkReported",
    "WorkerDrained",
    "WorkerRefused",
]

Event = (
    Restored
    | TaskSubmitted
    | CancelRequested
    | EditRequested
    | HoldRequested
    | ReleaseRequested
    | AdoptedJobGone
    | AdoptedJobStarted
    | HostsObserved
    | HostsReserved
    | ReservationReleased
    | SharesChanged
    | ScheduleImproved
    | SearchAwaited
    | ManagerEvent
    | LeadEvent
    | TaskForwarded
    | TaskReturned
    | PeerReported
    | StartPermitted
    | OfferEnded
    | NeighboursChanged
    | Tick
)
