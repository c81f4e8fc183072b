"""Documents that the API takes and gives, under the same names as everywhere else.

Times are seconds since the epoch, durations seconds. Plain dataclasses: the server checks and prints them, the client
reads them, and importing them costs nothing.
"""

from cosched.api.documents.access import (
    AccountChange,
    AccountRequest,
    AccountView,
    AuditEntryView,
    LoginLink,
    Me,
    NewToken,
    TokenRequest,
    TokenView,
)
from cosched.api.documents.administration import (
    ConfigurationEntry,
    HealthCheck,
    HealthReport,
    MistakeView,
    NoticeRequest,
    NoticeView,
    ProcessView,
)
from cosched.api.documents.domain import ForwardedPlacement, LicenceView, PlacementView, PlanView, SearchPoint, Status
from cosched.api.documents.elastic import (
    ElasticRequest,
    LeadMessage,
    OfferView,
    OverheadReport,
    PromiseView,
    RestartsView,
    StageOrder,
    StopOrder,
    WorkerOrder,
    WorkersView,
    WorkerView,
)
from cosched.api.documents.explanations import ExplanationView, HostMoveView, RescueView
from cosched.api.documents.hosts import FreeView, HostLoadView, HostView, ReservationRequest, ReservationView
from cosched.api.documents.library import ApplicationView, CurvesView, ModelText, ModelView, ParameterView
from cosched.api.documents.neighbours import (
    AdvertisingView,
    AdviceView,
    ExchangeView,
    NetworkView,
    OutlookView,
    PeerView,
)
from cosched.api.documents.predictions import AlternativeView, Effect, Evidence, Forecast, NearRun, ProfileView
from cosched.api.documents.runs import Accuracy, DeadlineOutcome, LearntApplication, LearntRunView, RunView, UsageView
from cosched.api.documents.shares import ShareChange, ShareView
from cosched.api.documents.stages import ChainView, StageView, WayView
from cosched.api.documents.task_requests import ShapeFigure, TaskChange, TaskRequest
from cosched.api.documents.tasks import AttemptView, HandoverView, PlanPoint, RecordView, TaskDetail, TaskPage, TaskView
from cosched.api.documents.utilisation import GroupUseView, ResourceUseView, UtilisationView

__all__ = [
    "AccountChange",
    "AccountRequest",
    "AccountView",
    "Accuracy",
    "AdvertisingView",
    "AdviceView",
    "AlternativeView",
    "ApplicationView",
    "AttemptView",
    "AuditEntryView",
    "ChainView",
    "ConfigurationEntry",
    "CurvesView",
    "DeadlineOutcome",
    "Effect",
    "ElasticRequest",
    "Evidence",
    "ExchangeView",
    "ExplanationView",
    "Forecast",
    "ForwardedPlacement",
    "FreeView",
    "GroupUseView",
    "HandoverView",
    "HealthCheck",
    "HealthReport",
    "HostLoadView",
    "HostMoveView",
    "HostView",
    "LeadMessage",
    "LearntApplication",
    "LearntRunView",
    "LicenceView",
    "LoginLink",
    "Me",
    "MistakeView",
    "ModelText",
    "ModelView",
    "NearRun",
    "NetworkView",
    "NewToken",
    "NoticeRequest",
    "NoticeView",
    "OfferView",
    "OutlookView",
    "OverheadReport",
    "ParameterView",
    "PeerView",
    "PlacementView",
    "PlanPoint",
    "PlanView",
    "ProcessView",
    "ProfileView",
    "PromiseView",
    "RecordView",
    "RescueView",
    "ReservationRequest",
    "ReservationView",
    "ResourceUseView",
    "RestartsView",
    "RunView",
    "SearchPoint",
    "ShapeFigure",
    "ShareChange",
    "ShareView",
    "StageOrder",
    "StageView",
    "Status",
    "StopOrder",
    "TaskChange",
    "TaskDetail",
    "TaskPage",
    "TaskRequest",
    "TaskView",
    "TokenRequest",
    "TokenView",
    "UsageView",
    "UtilisationView",
    "WayView",
    "WorkerOrder",
    "WorkerView",
    "WorkersView",
]
