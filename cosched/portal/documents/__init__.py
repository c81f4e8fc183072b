"""What the API takes and gives, under the same names as everywhere else.

Times are seconds since the epoch, durations seconds. Plain dataclasses: the server checks and prints them, the client
reads them, and importing them costs nothing.
"""

from cosched.portal.documents.access import (
    AccountChange,
    AccountRequest,
    AccountView,
    DeedView,
    LoginLink,
    Me,
    NewToken,
    TokenRequest,
    TokenView,
)
from cosched.portal.documents.domain import (
    Accuracy,
    HostView,
    PeerView,
    ReservationRequest,
    ReservationView,
    Status,
)
from cosched.portal.documents.library import (
    ApplicationView,
    CurvesView,
    ModelText,
    ModelView,
    ParameterView,
)
from cosched.portal.documents.network import AdvertisingView, AdviceView, NetworkView, OutlookView
from cosched.portal.documents.schedule import (
    Placement,
    PlanView,
    RunView,
    SearchPoint,
)
from cosched.portal.documents.submission import (
    Effect,
    Forecast,
    ProfileView,
    TaskRequest,
)
from cosched.portal.documents.task import (
    AttemptView,
    Explanation,
    HandoverView,
    PlanPoint,
    RecordView,
    TaskDetail,
    TaskPage,
    TaskView,
)

__all__ = [
    "AccountChange",
    "AccountRequest",
    "AccountView",
    "Accuracy",
    "AdvertisingView",
    "AdviceView",
    "ApplicationView",
    "AttemptView",
    "CurvesView",
    "DeedView",
    "Effect",
    "Explanation",
    "Forecast",
    "HandoverView",
    "HostView",
    "LoginLink",
    "Me",
    "ModelText",
    "ModelView",
    "NetworkView",
    "NewToken",
    "OutlookView",
    "ParameterView",
    "PeerView",
    "Placement",
    "PlanPoint",
    "PlanView",
    "ProfileView",
    "RecordView",
    "ReservationRequest",
    "ReservationView",
    "RunView",
    "SearchPoint",
    "Status",
    "TaskDetail",
    "TaskPage",
    "TaskRequest",
    "TaskView",
    "TokenRequest",
    "TokenView",
]
