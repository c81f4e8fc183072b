"""The catalogue and the models, over HTTP."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from cosched.access.principal import Scope
from cosched.portal.answers import UNCHANGED, Answer
from cosched.portal.documents import ApplicationView, CurvesView, ModelText, ModelView, ParameterView
from cosched.portal.identity import needs
from cosched.portal.insight import Insight
from cosched.portal.reading import read_values
from cosched.prediction.catalogue import Application

__all__ = ["MOST_HOSTS", "routes"]

MOST_HOSTS = 256
"""Up to how many hosts a model is evaluated for whoever asks."""

_EVERY = 1_000_000  # hosts: an entry of the catalogue that names no limit has this
_APPLICATIONS, _MODELS = Answer[list[ApplicationView]](list[ApplicationView]), Answer[list[ModelView]](list[ModelView])
_TEXT, _CURVES = Answer[ModelText](ModelText), Answer[CurvesView](CurvesView)
_Name = Annotated[str, Path(max_length=255)]


def routes(insight: Insight) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["library"], dependencies=[needs(Scope.READ)])

    @router.get("/applications", response_model=list[ApplicationView], responses=UNCHANGED)
    def applications(request: Request) -> Response:
        """List the catalogue: what can be submitted by name."""
        return _APPLICATIONS.tagged(request, list(map(_application, insight.applications())))

    @router.get("/models", response_model=list[ModelView], responses=UNCHANGED)
    def models(request: Request) -> Response:
        """List the models of applications, templates and hardware."""
        return _MODELS.tagged(request, list(insight.models()))

    @router.get("/models/{kind}/{name}", response_model=ModelText, responses=UNCHANGED)
    def model(request: Request, kind: _Name, name: _Name) -> Response:
        """Show the text of a model; `kind` is applications, templates or hardware."""
        return _TEXT.tagged(request, ModelText(kind=kind, name=name, text=insight.source(kind, name)))

    @router.get("/models/applications/{name}/curves", response_model=CurvesView, responses=UNCHANGED)
    def curves(
        request: Request,
        name: _Name,
        set_: Annotated[
            list[str] | None, Query(alias="set", description="A parameter: NAME=VALUE.", max_length=64)
        ] = None,
        hosts: Annotated[int, Query(ge=1, le=MOST_HOSTS, description="Up to how many.")] = 16,
    ) -> Response:
        """Predict the run times of an application model on every hardware."""
        insight.source("applications", name)  # a name of the library, and no path
        return _CURVES.tagged(request, insight.curves(name, _values(set_ or ()), hosts))

    return router


def _values(settings: Sequence[str]) -> dict[str, float]:
    pairs = [setting.partition("=") for setting in settings]
    return read_values((name.strip(), value) for name, _, value in pairs)


def _application(entry: Application) -> ApplicationView:
    parameters = tuple(
        ParameterView(
            name=name,
            type=kind.type,
            default=kind.default,
            min=kind.min,
            max=kind.max,
            choices=kind.choices,
            help=kind.help,
        )
        for name, kind in entry.parameters.items()
    )
    most = entry.hosts.max if entry.hosts.max < _EVERY else None
    return ApplicationView(
        name=entry.name,
        description=entry.description,
        model=entry.model,
        least=entry.hosts.min,
        most=most,
        parameters=parameters,
    )
