from __future__ import annotations

import math
import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cosched import resources
from cosched.agents.protocol.letter_xml import read_task_document, write_task_document
from cosched.api.documents import ShapeFigure, TaskRequest
from cosched.app.neighbours.forwarding_status import forwarding_obstacle
from cosched.app.neighbours.guest_tasks import CarriedModels, GuestTerms, GuestValidator, ModelKnowledge, model_digest
from cosched.app.submission.admission import DomainState
from cosched.app.submission.validation import TaskValidator
from cosched.connector.hosts import Host
from cosched.connector.jobs import LaunchMode
from cosched.connector.values import NativeDescription
from cosched.coscheduler.handovers import (
    DocumentParameter,
    DocumentShape,
    ModelBundle,
    ModelBundleFile,
    TaskDocument,
)
from cosched.errors import UserError
from cosched.prediction.catalogue import Catalogue
from cosched.prediction.model_predictor import ModelPredictor
from cosched.prediction.profile import PredictionSource, Profile
from tests.tasks import change_task, make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.coscheduler.task import Task

HARDWARE = "sgi_origin2000"
NOW = 1_750_000_000.0
ENTRY = """
model = "sweep3d"
command = ["/opt/{place}/sweep3d", "{{iterations}}"]
hosts = {{ min = 1, max = 16 }}
[parameters.iterations]
type = "integer"
default = 12
"""


class Domain:
    """A domain with one application in its catalogue, of which it has the model or not."""

    def __init__(self, folder: Path, place: str, terms: GuestTerms, manager: str = "") -> None:
        applications = folder / place / "applications.d"
        applications.mkdir(parents=True)
        (applications / "sweep3d.toml").write_text(ENTRY.format(place=place))
        self.catalogue = Catalogue([applications])
        library, predictor = [resources.models()], ModelPredictor([resources.models()])
        self.models = CarriedModels(folder / place / "carried", library, predictor)
        self.intake = TaskValidator(self.catalogue, predictor, HARDWARE, manager)
        self.guests = GuestValidator(self.intake, self.catalogue, self.models, terms, HARDWARE)
        self.knowledge = ModelKnowledge(self.catalogue, self.models)
        self.state = DomainState(NOW, 8)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Domain]:
    domain = Domain(tmp_path, "home", GuestTerms())
    yield domain
    domain.knowledge.close()


@pytest.fixture
def away(tmp_path: Path) -> Domain:
    return Domain(tmp_path, "away", GuestTerms())


def a_task(domain: Domain, iterations: int = 12) -> Task:
    entry = domain.catalogue.get("sweep3d")
    values = entry.values({"iterations": iterations})
    profile = ModelPredictor([resources.models()]).profile(entry, values, HARDWARE, 8)
    return make_task(
        7,
        name="s",
        application="sweep3d",
        command=entry.arguments(values),
        submitted=NOW,
        owner="ann",
        parameters=values,
        deadline=NOW + 60,
        profile=profile,
    )


def test_a_guest_whose_jobs_the_manager_takes_from_nobody_is_declined(home: Domain, tmp_path: Path) -> None:
    """A Slurm domain with `identity = "user"` offered, got the task, and the task failed for good when it started."""
    asked = []

    def check_task(owner: str, launch: LaunchMode) -> None:
        asked.append((owner, launch))
        raise UserError("jobs here run under their owners' names")

    there = Domain(tmp_path, "there", GuestTerms(check_task=check_task))
    document = home.knowledge.document(a_task(home), 8)
    assert document is not None
    with pytest.raises(UserError, match="under their owners' names"):
        there.guests.task(document, "home", there.state)
    assert asked == [("ann:home", LaunchMode.EACH)]


def test_a_task_travels_with_its_model_and_runs_the_other_domains_command(home: Domain, away: Domain) -> None:
    task = a_task(home, 24)
    document = home.knowledge.document(task, 8)
    assert document is not None
    assert document.model is not None
    assert {file.name for file in document.model.files} > {"sweep3d.psl"}
    guest = away.guests.task(replace(document, deadline=60.0), "home", away.state)
    assert guest.spec.command == ("/opt/away/sweep3d", "24")
    assert guest.owner == "ann:home"
    assert guest.spec.deadline == NOW + 60.0
    assert task.profile is not None
    assert guest.profile is not None
    assert guest.profile.seconds == pytest.approx(task.profile.seconds)


def a_document(**changes: object) -> TaskDocument:
    document = TaskDocument("t", "sweep3d", "ann", 60.0, seconds=(10.0, 5.0))
    return replace(document, **changes)  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"application": "unknown"}, "'unknown' is not run for others"),
        ({"owner": "ann\nroot"}, r"owner 'ann\\nroot' is no user name"),
        ({"owner": "x" * 4096}, "is no user name"),
        ({"least": 9}, "at least 9 hosts"),
        ({"seconds": ()}, "neither a model nor figures"),
        ({"parameters": (DocumentParameter("volume", "3", True),)}, "volume"),
        ({"seconds": (math.inf,)}, "no host count"),
        ({"model": ModelBundle("m", (ModelBundleFile("m.psl", "nonsense"),))}, "m.psl"),
        ({"model": ModelBundle("m", (ModelBundleFile("x.psl", ""),))}, "no file m.psl"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(away: Domain, changes: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        away.guests.task(a_document(**changes), "home", away.state)
    assert "\n" not in str(caught.value)


def test_a_command_of_a_neighbour_runs_only_where_that_is_allowed(tmp_path: Path, away: Domain) -> None:
    document = a_document(application="their own", command=("/bin/true", "x"))
    with pytest.raises(UserError, match="not run for others"):
        away.guests.task(document, "home", away.state)
    open_domain = Domain(tmp_path, "open", GuestTerms(commands=True))
    assert open_domain.guests.task(document, "home", open_domain.state).spec.command == ("/bin/true", "x")


def test_what_is_not_just_as_the_catalogue_has_it_travels_as_a_command(home: Domain, away: Domain) -> None:
    task = a_task(home)
    for changed in (
        change_task(task, command=("/home/ann/sweep3d",)),
        change_task(task, prepare=("/bin/fetch",)),
        change_task(task, environment={"SIZE": "5"}),
        change_task(task, directory="/data"),
    ):
        document = home.knowledge.document(changed, 8)
        assert document is not None
        assert document.application == ""
        with pytest.raises(UserError, match="commands of others are not run"):
            away.guests.task(replace(document, deadline=60.0), "home", away.state)


def test_a_command_takes_its_preparation_along(home: Domain, tmp_path: Path) -> None:
    task = change_task(a_task(home), command=("/bin/own", "1"), prepare=("/bin/fetch", "x"), environment={"SIZE": "5"})
    document = home.knowledge.document(task, 8)
    assert document is not None
    there = Domain(tmp_path, "open", GuestTerms(commands=True))
    guest = there.guests.task(replace(document, deadline=60.0), "home", there.state)
    assert (guest.spec.command, guest.spec.prepare, guest.spec.environment) == (
        task.spec.command,
        task.spec.prepare,
        task.spec.environment,
    )
    assert guest.correction == ""  # what this command teaches says nothing of any other


def test_a_users_own_model_travels_as_any(home: Domain, tmp_path: Path) -> None:
    text = (resources.models() / "applications/jacobi.psl").read_text()
    predicted = ModelPredictor([resources.models()]).text_profile(text, {}, HARDWARE, 8)
    task = make_task(
        8,
        name="own",
        application="run",
        command=("/opt/run",),
        submitted=NOW,
        owner="ann",
        deadline=NOW + 60,
        profile=predicted,
        model=text,
    )
    document = home.knowledge.document(task, 8)
    assert document is not None
    assert document.model is not None
    there = Domain(tmp_path, "open", GuestTerms(commands=True))
    guest = there.guests.task(replace(document, deadline=60.0), "home", there.state)
    assert guest.profile is not None
    assert guest.profile.seconds == pytest.approx(predicted.seconds)
    assert home.knowledge.document(change_task(task, model="nonsense"), 8) is None


def test_a_guests_ranks_are_those_that_its_launcher_starts(home: Domain, tmp_path: Path) -> None:
    text = "application quarter { proc exec init { step cpu { confdev 80 s / Nproc; } } }"
    predicted = ModelPredictor([resources.models()]).text_profile(text, {}, HARDWARE, 2, 4)
    task = make_task(9, name="own", command=("/opt/run",), profile=predicted, model=text, deadline=NOW + 60)
    task = change_task(task, launch=LaunchMode.OPENMPI, processes_per_host=4)
    document = home.knowledge.document(task, 2)
    assert document is not None
    there = Domain(tmp_path, "ranks", GuestTerms(commands=True))
    guest = there.guests.task(replace(document, deadline=60.0), "home", there.state)
    assert guest.profile is not None
    assert guest.profile.seconds[:2] == pytest.approx((20.0, 10.0))
    assert home.knowledge.profile(document, HARDWARE, 2) is None
    home.knowledge._pool.shutdown(wait=True)
    found = home.knowledge.profile(document, HARDWARE, 2)
    assert found is not None
    assert found.seconds == pytest.approx((20.0, 10.0))


def nodes(number: int, cores: int) -> DomainState:
    """Return a domain of so many hosts that tasks share."""
    sizes = tuple(Host(f"n{each}", memory=4096 * cores, cores=cores, gpus=4) for each in range(number))
    return DomainState(NOW, number, sizes=sizes, shares_hosts=True)


def away_and_back(request: TaskRequest, home: Domain, there: Domain, at_home: DomainState, away: DomainState) -> Task:
    """Return what a neighbour makes of a task of ours, as it is written and read on the way."""
    task = replace(home.intake.task(request, at_home), id="9", number=9, owner="ann")
    assert forwarding_obstacle(task) == ""
    assert not task.stays
    document = home.knowledge.document(task, at_home.hosts)
    assert document is not None
    text = write_task_document(replace(document, deadline=60.0))
    return there.guests.task(read_task_document(text), "home", away)


def shapes(task: Task) -> dict[tuple[int, int], float]:
    """Return the seconds of a task in each of its shapes, by hosts and cores."""
    return {
        (count, each.spec.cores): seconds
        for each in task.shapes()
        if each.profile is not None
        for count, seconds in enumerate(each.profile.seconds, 1)
        if math.isfinite(seconds)
    }


def test_of_a_range_of_cores_the_other_domain_takes_what_its_own_hosts_have(home: Domain, tmp_path: Path) -> None:
    text = "application part { proc exec init { step cpu { confdev 80 s / Nproc; } } }"
    request = TaskRequest(
        command=("/bin/own",), model=text, cores="8-32", hosts="1-2", memory="8G", gpus=1, deadline=NOW + 60
    )
    there = Domain(tmp_path, "there", GuestTerms(commands=True))
    guest = away_and_back(request, home, there, nodes(4, 16), nodes(2, 64))
    assert (guest.spec.cores_range, guest.spec.memory, guest.spec.gpus) == ("8-32", 8192, 1)
    found = shapes(guest)
    assert {cores for _, cores in found} == {8, 12, 16, 24, 32}  # at home there are 16
    assert {hosts for hosts, _ in found} <= {1, 2}
    assert found == {(hosts, cores): pytest.approx(80 / (hosts * cores)) for hosts, cores in found}
    assert guest.correction == ""
    small = away_and_back(request, home, there, nodes(4, 16), nodes(2, 8))
    assert {cores for _, cores in shapes(small)} == {8}
    with pytest.raises(UserError, match="cores for a job"):
        away_and_back(request, home, there, nodes(4, 16), nodes(2, 4))


def test_a_users_figures_travel_with_the_shapes_that_they_are_for(home: Domain, tmp_path: Path) -> None:
    figures = tuple([ShapeFigure(hosts=n, cores=c, seconds=100.0 / (n * c) ** 0.5) for n in (1, 2) for c in (4, 16)])
    request = TaskRequest(command=("/bin/own",), cores="4-16", shapes=figures, deadline=NOW + 60)
    there = Domain(tmp_path, "there", GuestTerms(commands=True))
    guest = away_and_back(request, home, there, nodes(4, 16), nodes(2, 64))
    assert shapes(guest) == {(each.hosts, each.cores): each.seconds for each in figures}
    alone = away_and_back(request, home, there, nodes(4, 16), nodes(1, 8))
    assert shapes(alone) == {(1, 4): 50.0}


def test_of_processes_what_each_needs_travels(home: Domain, tmp_path: Path) -> None:
    text = "application ranks { proc exec init { step cpu { confdev 80 s / Nproc; } } }"
    request = TaskRequest(
        command=("/bin/own",),
        model=text,
        launch=LaunchMode.OPENMPI,
        processes="8-32",
        cores_per_process=2,
        memory_per_process="1G",
        gpus=1,
        deadline=NOW + 60,
    )
    there = Domain(tmp_path, "there", GuestTerms(commands=True))
    guest = away_and_back(request, home, there, nodes(2, 32), nodes(1, 64))
    assert (guest.spec.processes, guest.spec.launch) == ("8-32", LaunchMode.OPENMPI)
    assert len(guest.alternatives) > 1
    for each in guest.alternatives:
        assert (each.cores, each.memory, each.gpus) == (2 * each.processes_per_host, 1024 * each.processes_per_host, 1)
        assert each.profile.seconds == pytest.approx((80 / each.processes_per_host,))


def test_of_processes_of_which_one_shape_is_left_that_one_travels(home: Domain, tmp_path: Path) -> None:
    """Nobody knows any more whether its memory was asked for each process or each host."""
    figures = (ShapeFigure(hosts=2, cores=8, seconds=30.0),)
    request = TaskRequest(
        command=("/bin/own",),
        shapes=figures,
        launch=LaunchMode.MPICH,
        processes=16,
        memory="2G",
        deadline=NOW + 60,
    )
    there = Domain(tmp_path, "there", GuestTerms(commands=True))
    guest = away_and_back(request, home, there, nodes(2, 8), nodes(4, 64))
    assert shapes(guest) == {(2, 8): 30.0}
    assert (guest.spec.processes_per_host, guest.spec.memory, guest.alternatives) == (8, 2048, ())


@pytest.mark.parametrize(
    "change",
    [
        {"environment": {"PS1": "\x1b[1m$ "}},
        {"environment": {f"V{number}": "" for number in range(1001)}},
        {"time_limit": 1e10},
    ],
)
def test_a_task_that_no_letter_holds_is_not_offered(home: Domain, change: dict[str, Any]) -> None:
    """It was offered again and again, and each neighbour "has not answered", or refused the letter."""
    task = change_task(a_task(home), command=("/bin/own",))
    assert home.knowledge.document(task, 8) is not None
    assert home.knowledge.document(change_task(task, **change), 8) is None


def test_how_long_shapes_take_elsewhere_is_known_of_figures_alone(home: Domain) -> None:
    figures = tuple([DocumentShape(hosts, cores, 80.0 / hosts / cores) for hosts in (1, 3) for cores in (4, 8)])
    document = a_document(seconds=(), cores_range="4-8", shapes=figures)
    found = home.knowledge.profile(document, "anything", 8)
    assert found is not None
    assert found.seconds == (10.0, math.inf, 80.0 / 24)
    model = ModelBundle("m", (ModelBundleFile("m.psl", "application m {}"),))
    assert home.knowledge.profile(replace(document, model=model, shapes=()), HARDWARE, 8) is None
    assert not home.knowledge._known  # nothing is evaluated for it


NATIVE = NativeDescription("slurm", {"partition": "long", "mem": "2G"}, "#!/bin/sh\nsrun ./sweep3d\n")


def test_a_users_own_file_travels_to_a_domain_of_the_same_manager(home: Domain, tmp_path: Path) -> None:
    document = home.knowledge.document(change_task(a_task(home), native=NATIVE), 8)
    assert document is not None
    assert document.application == ""  # what runs is the file, whatever the catalogue has there
    there = Domain(tmp_path, "there", GuestTerms(commands=True), "slurm")
    guest = there.guests.task(replace(document, deadline=60.0), "home", there.state)
    assert guest.spec.native == NATIVE
    assert guest.profile is not None


@pytest.mark.parametrize(
    ("terms", "manager", "native", "words"),
    [
        (GuestTerms(commands=True), "condor", NATIVE, "written for 'slurm', and this domain's .* 'condor'"),
        (GuestTerms(), "slurm", NATIVE, "files of others' users are not run for others"),
        (GuestTerms(commands=True), "slurm", NativeDescription("slurm", {"x\n#SBATCH": "1"}), "names are letters"),
        (GuestTerms(commands=True), "slurm", NativeDescription("slurm", {"comment": "a\nb"}), "leave it out"),
    ],
)
def test_a_users_own_file_is_refused_where_it_does_not_fit(
    home: Domain, tmp_path: Path, terms: GuestTerms, manager: str, native: NativeDescription, words: str
) -> None:
    document = home.knowledge.document(change_task(a_task(home), native=native), 8)
    assert document is not None
    there = Domain(tmp_path, "there", terms, manager)
    with pytest.raises(UserError, match=words):
        there.guests.task(replace(document, deadline=60.0), "home", there.state)


def test_a_command_is_checked_as_any_users(tmp_path: Path) -> None:
    domain = Domain(tmp_path, "open", GuestTerms(commands=True))
    with pytest.raises(UserError, match="absolute path"):
        domain.guests.task(a_document(application="x", command=("-h",)), "home", domain.state)


def test_what_is_allowed_may_be_some_of_the_catalogue(tmp_path: Path) -> None:
    domain = Domain(tmp_path, "narrow", GuestTerms(applications=("fft",)))
    with pytest.raises(UserError, match="not run for others"):
        domain.guests.task(a_document(), "home", domain.state)


def test_times_on_other_hardware_are_found_out_beside_the_engine(home: Domain) -> None:
    document = home.knowledge.document(a_task(home), 8)
    assert document is not None
    assert home.knowledge.profile(document, HARDWARE, 4) is None
    home.knowledge._pool.shutdown(wait=True)
    found = home.knowledge.profile(document, HARDWARE, 4)
    assert found is not None
    assert len(found.seconds) == 4


def test_models_of_one_name_are_told_apart(home: Domain) -> None:
    text = "application model { var numeric: Nproc; proc exec init { step cpu { confdev %d * 1e6 / Nproc; } } }"
    documents = [
        a_document(model=ModelBundle("model", (ModelBundleFile("model.psl", text % work),))) for work in (80, 160)
    ]
    for document in documents:
        home.knowledge.profile(document, HARDWARE, 1)
    home.knowledge._pool.submit(lambda: None).result(60)
    first, second = (home.knowledge.profile(document, HARDWARE, 1) for document in documents)
    assert first is not None
    assert second is not None
    assert second.seconds == pytest.approx((2 * first.shortest,))


def test_nothing_more_is_found_out_once_the_daemon_ends(home: Domain) -> None:
    document = home.knowledge.document(a_task(home), 8)
    assert document is not None
    home.knowledge.close()
    assert home.knowledge.profile(document, HARDWARE, 4) is None
    assert home.knowledge.profile(document, HARDWARE, 4) is None


def test_figures_of_the_user_hold_anywhere(home: Domain) -> None:
    assert home.knowledge.profile(a_document(), "anything", 1) == Profile((10.0,), PredictionSource.USER)


@pytest.mark.parametrize("seconds", [(1e-300,), (math.nan,), (math.inf,), ()])
def test_figures_that_nobody_can_plan_with_are_no_profile(home: Domain, seconds: tuple[float, ...]) -> None:
    """One ended the receiving domain's daemon: the error was raised in the engine's thread."""
    assert home.knowledge.profile(replace(a_document(), seconds=seconds), "anything", 1) is None


def carried(folder: Path, library: list[Path]) -> CarriedModels:
    return CarriedModels(folder, library, ModelPredictor(library))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    shutil.copytree(resources.models(), folder)
    return folder


def test_a_model_travels_with_all_that_it_includes(tmp_path: Path, library: Path) -> None:
    model = carried(tmp_path / "a", [library]).gathered("sweep3d")
    there = carried(tmp_path / "b", [library / "hardware"])
    found = there.profile(model, {}, HARDWARE, 2)
    assert len(found.seconds) == 2
    assert there.profile(model, {}, HARDWARE, 2) is found


def test_a_model_is_read_again_when_one_of_its_files_has_changed(tmp_path: Path, library: Path) -> None:
    models = carried(tmp_path / "a", [library])
    first = models.gathered("jacobi")
    assert models.gathered("jacobi") is first
    path = library / "applications/jacobi.psl"
    path.write_text(path.read_text() + "\n")
    assert models.gathered("jacobi") != first


def test_a_text_is_a_model_like_any(tmp_path: Path, library: Path) -> None:
    models = carried(tmp_path / "a", [library])
    named, text = models.gathered("jacobi"), (library / "applications/jacobi.psl").read_text()
    given = models.gathered_text(text)
    assert given.name == "model"
    assert len(given.files) == len(named.files)
    assert models.profile(given, {}, HARDWARE, 4).seconds == models.profile(named, {}, HARDWARE, 4).seconds


def test_models_that_nobody_asks_for_any_more_go_and_may_come_again(tmp_path: Path, library: Path) -> None:
    models = carried(tmp_path / "a", [library])
    assert models.prune(3600.0) == 0
    old, new = (models.gathered(name) for name in ("jacobi", "sweep3d"))
    for model in (old, new):
        models.profile(model, {}, HARDWARE, 2)
    os.utime(tmp_path / "a" / model_digest(old), (0, 0))
    assert models.prune(3600.0) == 1
    assert [folder.name for folder in (tmp_path / "a").iterdir()] == [model_digest(new)]
    assert len(models.profile(old, {}, HARDWARE, 3).seconds) == 3  # on another number of hosts: it is read anew


def test_a_model_that_is_asked_for_stays(tmp_path: Path, library: Path) -> None:
    models = carried(tmp_path / "a", [library])
    model = models.gathered("jacobi")
    models.profile(model, {}, HARDWARE, 2)
    os.utime(tmp_path / "a" / model_digest(model), (0, 0))
    models.profile(model, {}, HARDWARE, 3)
    assert models.prune(3600.0) == 0


@pytest.mark.parametrize("name", ["../x.psl", "a/x.psl"])
def test_no_file_is_written_outside_its_folder(tmp_path: Path, name: str) -> None:
    models = carried(tmp_path / "a", [resources.models()])
    with pytest.raises(UserError, match="plain name"):
        models.profile(ModelBundle("x", (ModelBundleFile(name, "text"),)), {}, HARDWARE, 1)
    assert not (tmp_path / "x.psl").exists()


def test_two_files_of_one_name_cannot_travel_together(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "main.psl").write_text(
        'application main { include other; option { hrduse = "h"; } proc exec init { } }\n'
    )
    models = carried(tmp_path / "kept", [tmp_path])
    with pytest.raises(UserError):
        models.gathered("main")
