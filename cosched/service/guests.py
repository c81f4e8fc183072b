"""From documents of other domains to tasks of ours and back: what the agent has to know of applications and models."""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.agent.knowledge import document_of
from cosched.connector.native import Native
from cosched.errors import CoschedError, UserError
from cosched.portal.documents import TaskRequest
from cosched.prediction.profile import Profile, Source, slowest
from cosched.service.carried_models import digest
from cosched.service.travelling import obstacle

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.agent.messages import NativeJob, TaskDocument
    from cosched.coscheduler.task import Task
    from cosched.prediction.catalogue import Application, Catalogue
    from cosched.service.carried_models import CarriedModels
    from cosched.service.intake import DomainState, Intake

__all__ = ["GuestIntake", "ModelKnowledge", "Terms"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What this domain runs for others.

    Attributes:
        applications: names in our catalogue; empty: all of it. What runs is our own entry's command.
        commands: whether commands run as they are given, for applications that are not in our catalogue.
    """

    applications: tuple[str, ...] = ()
    commands: bool = False


class GuestIntake:
    """Makes tasks of documents; everything that could be wrong with them is found here."""

    def __init__(
        self, intake: Intake, catalogue: Catalogue, models: CarriedModels, terms: Terms, hardware: str
    ) -> None:
        self._intake = intake
        self._catalogue = catalogue
        self._models = models
        self._terms = terms
        self._hardware = hardware

    def task(self, document: TaskDocument, peer: str, domain: DomainState) -> Task:
        """Return the task that a document describes, with its profile on our hardware.

        Raises:
            UserError: this domain will not run it; says why.
            SystemFault: it cannot be said now.
        """
        profile = self._profile(document, domain)
        request = self._request(document, profile)
        task = self._intake.task(request, domain)
        learns = document.model is not None and document.application
        correction = f"{document.application}@{peer}/{profile.hardware}" if learns else ""
        return replace(
            task,
            owner=f"{document.owner}@{peer}",
            deadline=domain.time + document.deadline,
            best_effort=document.best_effort,
            profile=profile.limited(document.most or domain.hosts, document.least),
            correction=correction,
        )

    def _profile(self, document: TaskDocument, domain: DomainState) -> Profile:
        if document.least > domain.hosts:
            raise UserError(f"the task needs at least {document.least} hosts and the domain has {domain.hosts}")
        if document.model is None:
            if not document.seconds:
                raise UserError("the task has neither a model nor figures: its end cannot be foreseen")
            return Profile(document.seconds[: domain.hosts], Source.USER)
        values = {one.name: one.entry for one in document.parameters if one.entry is not None}
        classes = domain.classes or (self._hardware,)
        most = min(document.most or domain.hosts, domain.hosts)
        model = document.model
        profiles = [replace(self._models.profile(model, values, name, most), hardware=name) for name in classes]
        return slowest(profiles, "+".join(classes))

    def _request(self, document: TaskDocument, profile: Profile) -> TaskRequest:
        known = {entry.name for entry in self._catalogue.applications()}
        allowed = set(self._terms.applications) or known
        common = TaskRequest(
            name=document.name,
            hosts=f"{document.least}-{document.most}" if document.most else None,
            profile=tuple(value if math.isfinite(value) else None for value in profile.seconds),
            best_effort=True,
            time_limit=document.time_limit,
        )
        if document.native is None and document.application in known & allowed:
            parameters = {one.name: float(one.value) if one.number else one.value for one in document.parameters}
            return replace(common, application=document.application, parameters=parameters)
        if not self._terms.commands:
            raise UserError(f"{_called(document)} not run for others here")
        environment = {variable.name: variable.value for variable in document.environment}
        return replace(
            common,
            command=document.command,
            directory=document.directory,
            environment=environment,
            prepare=document.prepare,
            native=_native(document.native),
        )


def _called(document: TaskDocument) -> str:
    if document.native is not None:
        return "files of others' users are"
    return f"the application {document.application!r} is" if document.application else "commands of others are"


def _native(job: NativeJob | None) -> Native | None:
    """Return what our own users would submit; it is checked as theirs is, now and by the connector once more."""
    if job is None:
        return None
    return Native(job.manager, {setting.name: setting.value for setting in job.settings}, job.script)


class ModelKnowledge:
    """What the agent asks of models; see `cosched.agent.knowledge`. Never waits for an evaluation."""

    def __init__(self, catalogue: Catalogue, models: CarriedModels) -> None:
        self._catalogue = catalogue
        self._models = models
        self._known: dict[tuple[str, str, str, int], Profile | None] = {}
        self._guard = threading.Lock()
        self._pool = ThreadPoolExecutor(1, "foresee-elsewhere")
        self._closed = False

    def document(self, task: Task, hosts: int) -> TaskDocument | None:
        """Return the task's document, with its model where it has one; None where it cannot run elsewhere."""
        if task.profile is None or obstacle(task):
            return None
        entry = self._entry(task)
        if task.profile.source is Source.USER:
            document = document_of(task, hosts, seconds=task.profile.seconds)
        else:
            try:
                document = self._modelled(task, hosts)
            except (CoschedError, OSError):
                return None  # its model has gone from the catalogue, or is at fault by now
        return document if entry is not None else replace(document, application="")

    def _entry(self, task: Task) -> Application | None:
        """Return the catalogue's entry that a task runs just as it stands there; a command may have its name alone."""
        if task.native is not None:
            return None
        try:
            entry = self._catalogue.get(task.application)
            values = entry.values(task.parameters)
        except CoschedError:
            return None
        asked = (task.command, task.prepare, dict(task.environment), task.directory)
        same = asked == (entry.arguments(values), entry.preparation(values), entry.environment, "")
        return entry if same else None

    def _modelled(self, task: Task, hosts: int) -> TaskDocument:
        if task.model:
            model = self._models.gathered_text(task.model)
            entries = {name: float(value) for name, value in task.parameters.items()}
        else:
            entry = self._catalogue.get(task.application)
            model = self._models.gathered(entry.model)
            entries = entry.model_parameters(task.parameters)
        document = document_of(task, hosts)
        parameters = tuple(replace(one, entry=entries.get(one.name)) for one in document.parameters)
        return replace(document, model=model, parameters=parameters)

    def profile(self, document: TaskDocument, hardware: str, hosts: int) -> Profile | None:
        """Return what is known of a task on other hardware; what is not is found out for the next time."""
        if document.model is None:
            seconds = document.seconds[:hosts]
            return Profile(seconds, Source.USER) if any(map(math.isfinite, seconds)) else None
        hosts = min(hosts, document.most or hosts)
        key = (digest(document.model), repr(document.parameters), hardware, hosts)
        with self._guard:
            if key in self._known or self._closed:  # the engine goes on asking until it has ended, too
                return self._known.get(key)
            if len(self._known) > 4096:
                self._known.clear()
            self._known[key] = None
            self._pool.submit(self._find_out, key, lambda: self._evaluated(document, hardware, hosts))
        return None

    def close(self) -> None:
        """End the evaluations; what is not known by now stays unknown."""
        with self._guard:
            self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _evaluated(self, document: TaskDocument, hardware: str, hosts: int) -> Profile:
        assert document.model is not None
        values = {one.name: one.entry for one in document.parameters if one.entry is not None}
        return self._models.profile(document.model, values, hardware, hosts).limited(hosts, document.least)

    def _find_out(self, key: tuple[str, str, str, int], evaluate: Callable[[], Profile]) -> None:
        try:
            found: Profile | None = evaluate()
        except CoschedError:
            found = None  # hardware that is not described here: an offer will tell
        with self._guard:
            self._known[key] = found
