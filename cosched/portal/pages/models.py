"""The pages of models: catalogue, library, coloured sources and curves on every hardware."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import math
from collections.abc import Callable, Mapping, Sequence

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter

from cosched.access.principals import Principal, Scope
from cosched.api.documents import Accuracy, CurvesView
from cosched.app.services import DomainServices
from cosched.drawing.axes import AxisKind
from cosched.drawing.plot import Line, line_plot
from cosched.errors import UserError
from cosched.language.highlighting import HmclLexer, PslLexer
from cosched.portal.dependencies import Portal, Reader, Services, needs
from cosched.portal.pages import page_router
from cosched.portal.pages.curves import plottable
from cosched.portal.pages.forms import PARAMETER
from cosched.portal.pages.rendering import render_page
from cosched.portal.request_bodies import read_parameter_values
from cosched.portal.routes.library import MOST_HOSTS

__all__ = ["router"]

_HOSTS = 16


router = page_router(needs(Scope.READ))


@router.get("/models")
def models(request: Request, services: Services) -> Response:
    return render_page(request, "models.html", entries=services.models.applications(), files=services.models.models())


@router.get("/models/{kind}/{name}")
async def model(
    request: Request, portal: Portal, principal: Reader, kind: str, name: str, hosts: int = _HOSTS
) -> Response:
    services = portal.services
    if kind != "applications":
        return await run_in_threadpool(_model_page, request, services, principal, kind, name, hosts)
    return await portal.computations.run(
        request, principal, lambda check: _model_page(request, services, principal, kind, name, hosts, check)
    )


def _model_page(
    request: Request,
    services: DomainServices,
    principal: Principal,
    kind: str,
    name: str,
    hosts: int,
    check: Callable[[], None] = lambda: None,
) -> Response:
    source = services.models.source(kind, name)
    curves, fault = None, ""
    if kind == "applications":
        try:
            curves = services.models.curves(name, _values(request), min(max(hosts, 1), MOST_HOSTS), check)
        except UserError as error:
            fault = str(error)
    users = [entry.name for entry in services.models.applications() if kind == "applications" and entry.model == name]
    measured = {} if curves is None else services.history.measured(principal, users, _parameters(curves))
    return render_page(
        request,
        "model.html",
        kind=kind,
        name=name,
        source=_coloured(kind, source),
        curves=curves,
        fault=fault,
        picture=None if curves is None or not curves.profiles else _picture(name, curves, measured),
        hosts=hosts,
        users=users,
        lines=source.count("\n"),
        contentions=_contentions(services, users),
    )


def _contentions(services: DomainServices, applications: Sequence[str]) -> list[Accuracy]:
    """Return the accuracy of applications of which it is known how much slower they are beside others."""
    if not applications:
        return []
    return [
        each for each in services.history.accuracy() if each.application in applications and each.contention is not None
    ]


def _values(request: Request) -> dict[str, float]:
    return read_parameter_values(
        (name.removeprefix(PARAMETER), text)
        for name, text in request.query_params.items()
        if name.startswith(PARAMETER) and text.strip()
    )


def _coloured(kind: str, source: str) -> Markup:
    lexer = HmclLexer() if kind == "hardware" else PslLexer()
    # Classes of the style sheet; it escapes the text.
    formatter = HtmlFormatter(linenos="inline", cssclass="source", anchorlinenos=False)
    return Markup(highlight(source, lexer, formatter))  # noqa: S704  the formatter escapes


def _parameters(curves: CurvesView) -> dict[str, float | None]:
    """Return the values of all parameters that the curves are of; None where the model computes one."""
    stated = {each.name: each.default if isinstance(each.default, float | int) else None for each in curves.parameters}
    return {**stated, **curves.values}


def _picture(name: str, curves: CurvesView, measured: Mapping[str, Sequence[tuple[int, float]]]) -> Markup:
    """Draw the curve of each hardware, and what runs with the same parameters took.

    Hardware with equal times is one line, and one line alone has a band: several would hide one another.
    """
    alike: dict[tuple[float | None, ...], list[str]] = {}
    for hardware, profile in curves.profiles.items():
        alike.setdefault(profile.seconds, []).append(hardware)
    lines = []
    for names in alike.values():
        profile = curves.profiles[names[0]]
        seconds, alone = plottable(profile.seconds), len(alike) == 1
        low, high = (plottable(side) if side is not None and alone else None for side in (profile.low, profile.high))
        words = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more alike"
        lines.append(Line(words, range(1, len(seconds) + 1), seconds, low, high))
    for hardware, runs in measured.items():
        lines.append(Line(f"measured: {hardware}", [run[0] for run in runs], [run[1] for run in runs], joined=False))
    spread = [value for line in lines for value in line.y if math.isfinite(value)]
    log = bool(spread) and max(spread) > 30 * min(spread)
    upwards, label = (AxisKind.LOGARITHMIC, "seconds") if log else (AxisKind.DURATION, "run time")
    return Markup(  # noqa: S704  it escapes
        line_plot(
            lines, f"{name} by number of hosts", "hosts", label, across=AxisKind.COUNT, upwards=upwards, styled=False
        )
    )
