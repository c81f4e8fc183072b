"""cosched: a predictive co-scheduler that runs beside HTCondor and Slurm and schedules towards deadlines.

`import cosched` offers what users need, each name loaded when it is first used. ARCHITECTURE.md is the map of the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from cosched.errors import SystemFault, UserError
from cosched.version import __version__

if TYPE_CHECKING:
    from cosched.api.documents import (
        ExplanationView,
        Forecast,
        HostView,
        PlacementView,
        PlanView,
        ReservationRequest,
        ReservationView,
        RunView,
        Status,
        TaskDetail,
        TaskPage,
        TaskRequest,
        TaskView,
    )
    from cosched.client import Client, NotRunningError
    from cosched.elastic_lead import Lead, LeadOverhead, LeadStage, stages
    from cosched.evaluation import load, predict
    from cosched.language import check_files as check
    from cosched.scheduling.policies import plan
    from cosched.scheduling.problem import Problem

__all__ = [
    "Client",
    "ExplanationView",
    "Forecast",
    "HostView",
    "Lead",
    "LeadOverhead",
    "LeadStage",
    "NotRunningError",
    "PlacementView",
    "PlanView",
    "Problem",
    "ReservationRequest",
    "ReservationView",
    "RunView",
    "Status",
    "SystemFault",
    "TaskDetail",
    "TaskPage",
    "TaskRequest",
    "TaskView",
    "UserError",
    "__version__",
    "check",
    "load",
    "plan",
    "predict",
    "stages",
]

_MODULES = {
    "cosched.api.documents": (
        "ExplanationView",
        "Forecast",
        "HostView",
        "PlacementView",
        "PlanView",
        "ReservationRequest",
        "ReservationView",
        "RunView",
        "Status",
        "TaskDetail",
        "TaskPage",
        "TaskRequest",
        "TaskView",
    ),
    "cosched.client": ("Client", "NotRunningError"),
    "cosched.elastic_lead": ("Lead", "LeadOverhead", "LeadStage", "stages"),
    "cosched.evaluation": ("load", "predict"),
    "cosched.language": ("check",),
    "cosched.scheduling.policies": ("plan",),
    "cosched.scheduling.problem": ("Problem",),
}
_RENAMED = {"check": "check_files"}
# No name of a submodule may stand here: importing the submodule would replace the value.
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    # Late: most of what imports cosched needs neither an HTTP client nor models nor numpy.
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'cosched' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), _RENAMED.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
