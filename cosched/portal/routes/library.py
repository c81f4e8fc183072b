"""The catalogue and the models, over HTTP."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import Path, Query, Request, Response

from cosched.access.principals import Scope
from cosched.api.documents import ApplicationView, CurvesView, ModelText, ModelView, ParameterView
from cosched.portal.dependencies import Reader, Services, needs
from cosched.portal.request_bodies import read_parameter_values
from cosched.portal.responses import NOT_MODIFIED, DocumentResponder
from cosched.portal.routes import api_router
from cosched.portal.state import portal_of
from cosched.prediction.catalogue import CatalogueEntry

__all__ = ["MOST_HOSTS", "router"]

MOST_HOSTS = 256
"""Largest host count for which a model is evaluated on request."""

_EVERY = 1_000_000  # hosts: an entry of the catalogue that names no limit has this
_APPLICATIONS, _MODELS = (
    DocumentResponder[list[ApplicationView]](list[ApplicationView]),
    DocumentResponder[list[ModelView]](list[ModelView]),
)
_TEXT, _CURVES = DocumentResponder[ModelText](ModelText), DocumentResponder[CurvesView](CurvesView)
_Name = Annotated[str, Path(max_length=255)]


router = api_router("library", needs=needs(Scope.READ))


@router.get("/applications", response_model=list[ApplicationView], responses=NOT_MODIFIED)
def applications(request: Request, services: Services) -> Response:
    """List the catalogue: what can be submitted by name."""
    return _APPLICATIONS.tagged(request, list(map(_application, services.models.applications())))


@router.get("/models", response_model=list[ModelView], responses=NOT_MODIFIED)
def models(request: Request, services: Services) -> Response:
    """List the models of applications, templates and hardware."""
    return _MODELS.tagged(request, list(services.models.models()))


@router.get("/models/{kind}/{name}", response_model=ModelText, responses=NOT_MODIFIED)
def model(request: Request, services: Services, kind: _Name, name: _Name) -> Response:
    """Show the text of a model; `kind` is applications, templates or hardware."""
    return _TEXT.tagged(request, ModelText(kind=kind, name=name, text=services.models.source(kind, name)))


@router.get("/models/applications/{name}/curves", response_model=CurvesView, responses=NOT_MODIFIED)
async def curves(
    request: Request,
    principal: Reader,
    name: _Name,
    set_: Annotated[list[str] | None, Query(alias="set", description="A parameter: NAME=VALUE.", max_length=64)] = None,
    hosts: Annotated[int, Query(ge=1, le=MOST_HOSTS, description="Up to how many.")] = 16,
) -> Response:
    """Predict the run times of an application model on every hardware."""
    portal = portal_of(request)
    models = portal.services.models

    def work(check: Callable[[], None]) -> Response:
        models.source("applications", name)  # a name of the library, and no path
        return _CURVES.tagged(request, models.curves(name, _values(set_ or ()), hosts, check))

    return await portal.computations.run(request, principal, work)


def _values(settings: Sequence[str]) -> dict[str, float]:
    pairs = [setting.partition("=") for setting in settings]
    return read_parameter_values((name.strip(), value) for name, _, value in pairs)


def _application(entry: CatalogueEntry) -> ApplicationView:
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
        observe=entry.observe,
    )
