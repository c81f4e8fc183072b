"""Guest tasks are made of other domains' documents, and documents of our tasks.

Models travel with them. Start at `GuestValidator.task`; `ModelKnowledge` answers what the agent asks.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import structlog

from cosched import evaluation
from cosched.agents.protocol.letter_xml import read_task_document, write_task_document
from cosched.agents.tickets import describe_task
from cosched.api.documents import ShapeFigure, TaskRequest
from cosched.app.neighbours.forwarding_status import forwarding_obstacle
from cosched.coscheduler.handovers import ModelBundle, ModelBundleFile, spec_of
from cosched.counts import plural
from cosched.errors import CoschedError, SystemFault, UserError
from cosched.prediction.profile import PredictionSource, Profile, slowest_profile
from cosched.shared_values import shared_values
from cosched.user_names import guest_owner, is_user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.app.submission.admission import DomainState
    from cosched.app.submission.validation import TaskValidator
    from cosched.connector.jobs import LaunchMode
    from cosched.coscheduler.handovers import TaskDocument
    from cosched.coscheduler.task import Task, TaskSpec
    from cosched.language.linker import Linked
    from cosched.prediction.catalogue import Catalogue, CatalogueEntry
    from cosched.prediction.model_predictor import ModelPredictor

__all__ = ["CarriedModels", "GuestTerms", "GuestValidator", "ModelKnowledge", "model_digest"]

_log = structlog.get_logger("cosched.agents")
_MOST_REMEMBERED = 4096
_MOST_GATHERED = 256
_Stamp = tuple[Path, int, int]
_EACH_PROCESS = ("memory_per_process", "cores_per_process", "gpus_per_process")


class CarriedModels:
    """Keeps each model that came once, by its content. May be used from several threads."""

    def __init__(self, folder: Path, library: Sequence[Path], predictor: ModelPredictor) -> None:
        """Set up.

        Args:
            folder: for models that come from others.
            library: folders of our own models.
            predictor: evaluates models, and knows our hardware.
        """
        self._folder = folder
        self._library = tuple(library)
        self._predictor = predictor
        self._guard = threading.Lock()
        self._profiles: OrderedDict[tuple[object, ...], Profile] = OrderedDict()
        self._gathered: dict[str, tuple[tuple[_Stamp, ...], ModelBundle]] = {}

    def gathered(self, name: str) -> ModelBundle:
        """Return one of our own models with every file that it includes.

        Raises:
            UserError: there is no such model, it has faults, or two of its files have one name.
        """
        known = self._gathered.get(name)
        if known is not None and _unchanged(known[0]):
            return known[1]
        application = evaluation.load(name, self._library)
        files: dict[str, Path] = {}
        _collect(application.root, files)
        stamps = tuple(map(_stamp, files.values()))
        texts = tuple(ModelBundleFile(name, path.read_text("utf-8-sig")) for name, path in sorted(files.items()))
        model = ModelBundle(Path(application.file).stem, texts)
        if len(self._gathered) >= _MOST_GATHERED:
            self._gathered.clear()
        self._gathered[name] = stamps, model
        return model

    def gathered_text(self, text: str) -> ModelBundle:
        """Return a user's model with every file of ours that it includes; errors as `gathered`."""
        return self.gathered(str(self._kept(ModelBundle("model", (ModelBundleFile("model.psl", text),)))))

    def profile(
        self, model: ModelBundle, values: Mapping[str, float], hardware: str, hosts: int, ranks: int = 0
    ) -> Profile:
        """Return what a model that came with a task predicts on 1…hosts hosts.

        Each host gets so many `ranks`; 0: one for each processor.

        Raises:
            UserError: the model or the hardware is at fault, in one line.
            SystemFault: the model cannot be written down.
        """
        key = (model_digest(model), hardware, hosts, ranks, tuple(sorted(values.items())))
        with self._guard:
            known = self._profiles.get(key)
        if known is None:  # evaluated without the guard: known profiles need not wait for others' models
            known = self._predictor.file_profile(self._kept(model), values, hardware, hosts, ranks)
            with self._guard:
                self._profiles[key] = known
                if len(self._profiles) > _MOST_REMEMBERED:
                    self._profiles.popitem(last=False)
        return known

    def prune(self, age: float) -> int:
        """Delete the models that were not used for `age` seconds; return how many.

        Raises:
            SystemFault: one cannot be deleted.
        """
        before, gone = time.time() - age, 0
        try:
            for folder in [*self._folder.iterdir()] if self._folder.is_dir() else ():
                with self._guard:  # one that is asked for just now is younger when its turn comes
                    if folder.stat().st_mtime < before:
                        shutil.rmtree(folder)
                        gone += 1
        except OSError as error:
            raise SystemFault(f"{error.filename} cannot be deleted ({error.strerror})") from error
        if gone:
            _log.info("forgot", models=gone)
        return gone

    def _kept(self, model: ModelBundle) -> Path:
        """Write a model's files into the folder of its content; return the application's."""
        folder = self._folder / model_digest(model)
        with self._guard:
            return self._written(model, folder)

    @staticmethod
    def _written(model: ModelBundle, folder: Path) -> Path:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for file in model.files:
                if Path(file.name).name != file.name:
                    raise UserError(f"the model's file {file.name!r} is a path: a plain name is wanted")
                if not (folder / file.name).exists():
                    _write_whole(folder / file.name, file.text)
            os.utime(folder)  # so is known when it was asked for last
        except OSError as error:
            raise SystemFault(f"{folder} cannot be written ({error.strerror})") from error
        if model.name + ".psl" not in {file.name for file in model.files}:
            raise UserError(f"the model {model.name} has no file {model.name}.psl")
        return folder / f"{model.name}.psl"


def _write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all: an existing one is never written again."""
    with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        file.write(text)
    Path(file.name).replace(path)


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return path, status.st_mtime_ns, status.st_size


def _unchanged(stamps: tuple[_Stamp, ...]) -> bool:
    try:
        return all(_stamp(one[0]) == one for one in stamps)
    except OSError:
        return False


def model_digest(model: ModelBundle) -> str:
    """Return a digest that differs with the content: models of users all have one name."""
    content = hashlib.sha256(model.name.encode())
    for file in model.files:
        for text in (file.name, file.text):
            content.update(str(len(text)).encode() + b":" + text.encode())
    return content.hexdigest()


def _collect(linked: Linked, files: dict[str, Path]) -> None:
    path = Path(linked.object.source.file)
    if files.setdefault(path.name, path) != path:
        raise UserError(f"the model uses {path} and {files[path.name]}: files of one name cannot travel together")
    for included in linked.includes.values():
        _collect(included, files)


@dataclass(frozen=True, slots=True)
class GuestTerms:
    """Rules about the tasks that this domain runs for others.

    Attributes:
        applications: names in our catalogue; empty: all of it. What runs is our own entry's command.
        commands: whether commands run as they are given, for applications that are not in our catalogue.
        check_task: raises UserError where the resource manager takes no tasks of an owner, or none launched so.
    """

    applications: tuple[str, ...] = ()
    commands: bool = False
    check_task: Callable[[str, LaunchMode], None] = lambda _owner, _launch: None


class GuestValidator:
    """Makes tasks of documents; everything that could be wrong with them is found here."""

    def __init__(
        self, validator: TaskValidator, catalogue: Catalogue, models: CarriedModels, terms: GuestTerms, hardware: str
    ) -> None:
        self._validator = validator
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
        if document.owner and not is_user_name(document.owner):  # none in databases of before there were users
            raise UserError(f"the task's owner {document.owner[:80]!r} is no user name: submit it as another")
        if document.least > domain.hosts:
            raise UserError(
                f"the task needs at least {plural(document.least, 'host')} and the domain has {domain.hosts}"
            )
        if document.model is None and not (document.seconds or document.shapes):
            raise UserError("the task has neither a model nor figures: its end cannot be foreseen")
        asked = spec_of(document, domain.time)
        task = self._ranged(document, asked, domain) if asked.ranged else self._rigid(document, asked, domain)
        assert task.profile is not None
        owner = guest_owner(document.owner, peer)
        self._terms.check_task(owner, task.spec.launch)
        learns = document.model is not None and document.application
        correction = f"{document.application}@{peer}/{task.profile.hardware}" if learns else ""
        return replace(
            task,
            owner=owner,
            spec=replace(task.spec, deadline=asked.deadline, best_effort=asked.best_effort),
            correction=correction,
        )

    def _rigid(self, document: TaskDocument, asked: TaskSpec, domain: DomainState) -> Task:
        """Return the task of a document with one shape; its sender has chosen it."""
        if document.model is None:
            profile = Profile(document.seconds[: domain.hosts], PredictionSource.USER)
        else:
            profile = self._model_profile(document.model, document, domain, _ranks(document))
        figures = tuple(value if math.isfinite(value) else None for value in profile.seconds)
        hosts = f"{document.least}-{document.most}" if document.most else None
        request = replace(self._request(document, asked), hosts=hosts, profile=figures)
        task = self._validator.task(request, domain)
        return replace(task, profile=profile.limited(document.most or domain.hosts, document.least))

    def _ranged(self, document: TaskDocument, asked: TaskSpec, domain: DomainState) -> Task:
        """Return the task of a document that leaves its shape to us, with those that are worth it on our hosts."""
        shapes: dict[str, Any] = {
            "cores": document.cores_range or 0,
            "processes": document.processes or 0,
            "shapes": tuple([ShapeFigure(**shared_values(each, ShapeFigure)) for each in document.shapes]),
            **{name: getattr(document, name) or 0 for name in _EACH_PROCESS},
        }
        hosts = f"{document.least}-{document.most or domain.hosts}"
        request = replace(self._request(document, asked), hosts=hosts, **shapes)
        model = document.model
        if model is None:
            return self._validator.task(request, domain)
        return self._validator.task(
            request, domain, predict=lambda ranks: self._model_profile(model, document, domain, ranks)
        )

    def _model_profile(self, model: ModelBundle, document: TaskDocument, domain: DomainState, ranks: int) -> Profile:
        values = {one.name: one.entry for one in document.parameters if one.entry is not None}
        classes = domain.classes or (self._hardware,)
        most = min(document.most or domain.hosts, domain.hosts)
        profiles = [replace(self._models.profile(model, values, name, most, ranks), hardware=name) for name in classes]
        return slowest_profile(profiles, "+".join(classes))

    def _request(self, document: TaskDocument, asked: TaskSpec) -> TaskRequest:
        known = {entry.name for entry in self._catalogue.applications()}
        allowed = set(self._terms.applications) or known
        given: dict[str, Any] = {
            "best_effort": True,  # the domain that hands it over judges its deadline
            "deadline": None,
            "processes": 0,
        }
        request = TaskRequest(**(shared_values(asked, TaskRequest) | given))
        if document.native is None and document.application in known & allowed:
            return replace(request, command=(), directory="", environment={}, prepare=())  # our own entry's
        if not self._terms.commands:
            raise UserError(f"{_refused_subject(document)} not run for others here")
        return replace(request, application="", parameters={})


def _ranks(document: TaskDocument) -> int:
    return 0 if document.launch is None else document.launch.ranks(document.processes_per_host or 1)


def _refused_subject(document: TaskDocument) -> str:
    if document.native is not None:
        return "files of others' users are"
    return f"the application {document.application!r} is" if document.application else "commands of others are"


def _travels(document: TaskDocument) -> bool:
    """Return whether every neighbour can be sent a document: its text is of XML, and no more than that of a letter."""
    try:
        read_task_document(write_task_document(document))
    except UserError:
        return False
    return True


def _users_profile(seconds: tuple[float, ...]) -> Profile | None:
    """Return a user's own figures as a profile; None if they allow no host count.

    None, too, where the user gave no figures.
    """
    try:
        return Profile(seconds, PredictionSource.USER)
    except UserError:
        return None


class ModelKnowledge:
    """Answer the agent's questions about models; see `cosched.agents.tickets`. Never waits for an evaluation."""

    def __init__(self, catalogue: Catalogue, models: CarriedModels) -> None:
        self._catalogue = catalogue
        self._models = models
        self._known: dict[tuple[str, str, str, int, int], Profile | None] = {}
        self._guard = threading.Lock()
        self._pool = ThreadPoolExecutor(1, "foresee-elsewhere")
        self._closed = False

    def document(self, task: Task, hosts: int) -> TaskDocument | None:
        """Return the task's document, with its model; None where it cannot run elsewhere, or no letter holds it."""
        if task.profile is None or forwarding_obstacle(task):
            return None
        entry = self._entry(task)
        if task.profile.source is PredictionSource.USER:
            document = describe_task(task, hosts, seconds=task.profile.seconds)
        else:
            try:
                document = self._modelled(task, hosts)
            except (CoschedError, OSError):
                return None  # its model has gone from the catalogue, or is at fault by now
        document = document if entry is not None else replace(document, application="")
        return document if _travels(document) else None

    def _entry(self, task: Task) -> CatalogueEntry | None:
        """Return the catalogue's entry that a task runs unchanged; a command has its name alone."""
        if task.spec.native is not None:
            return None
        try:
            entry = self._catalogue.get(task.spec.application)
            values = entry.values(task.spec.parameters)
        except CoschedError:
            return None
        asked = (task.spec.command, task.spec.prepare, dict(task.spec.environment), task.spec.directory)
        same = asked == (entry.arguments(values), entry.preparation(values), entry.environment, "")
        return entry if same else None

    def _modelled(self, task: Task, hosts: int) -> TaskDocument:
        if task.spec.model:
            model = self._models.gathered_text(task.spec.model)
            entries = {name: float(value) for name, value in task.spec.parameters.items()}
        else:
            entry = self._catalogue.get(task.spec.application)
            model = self._models.gathered(entry.model)
            entries = entry.model_parameters(task.spec.parameters)
        document = describe_task(task, hosts)
        parameters = tuple(replace(one, entry=entries.get(one.name)) for one in document.parameters)
        return replace(document, model=model, parameters=parameters)

    def profile(self, document: TaskDocument, hardware: str, hosts: int) -> Profile | None:
        """Return a task's known times on other hardware; evaluate unknown ones for later.

        An unknown profile is None until it has been evaluated.
        """
        if document.model is None:
            return _users_profile(document.figures(hosts))
        if document.cores_range or document.processes:
            return None  # they depend on how many cores its hosts have: an offer will tell
        hosts = min(hosts, document.most or hosts)
        key = (model_digest(document.model), repr(document.parameters), hardware, hosts, _ranks(document))
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
        found = self._models.profile(document.model, values, hardware, hosts, _ranks(document))
        return found.limited(hosts, document.least)

    def _find_out(self, key: tuple[str, str, str, int, int], evaluate: Callable[[], Profile]) -> None:
        try:
            found: Profile | None = evaluate()
        except CoschedError:
            found = None  # hardware that is not described here: an offer will tell
        with self._guard:
            self._known[key] = found
