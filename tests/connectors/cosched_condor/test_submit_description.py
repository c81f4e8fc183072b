"""What is handed to HTCondor: nothing that a user wrote may become submit language or shell."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

import htcondor2

from cosched.connector import Launch, NativeDescription
from cosched.errors import UserError
from cosched_condor.condor_settings import CondorSettings
from cosched_condor.submit_description import (
    SubmitDescription,
    cluster_batches,
    combined_expression,
    describe,
    merged_environment,
    user_commands,
)

if TYPE_CHECKING:
    from cosched_condor.spool import CondorAttemptFolders

_BAD = (
    "1\ninclude command : touch /tmp/x",
    "10\nqueue 500",
    "$ENV(PATH)",
    "$$(Memory)",
    '" || true',
    "a\u202eb",
    "\ud800",
)


def _launch(*command: str, hosts: tuple[str, ...] = ("node01", "node02")) -> Launch:
    return Launch(str(uuid.uuid4()), "17", "jacobi", command or ("/bin/true",), hosts=hosts, count=len(hosts) or 2)


def _describe(attempts: CondorAttemptFolders, launch: Launch) -> SubmitDescription:
    return describe(launch, CondorSettings.read({"spool": str(attempts.root)}), attempts)


def test_a_group_has_what_it_needs_on_each_host(attempts: CondorAttemptFolders) -> None:
    text = _describe(attempts, replace(_launch(), memory=4096, cores=8, gpus=2)).text
    lines = {"request_memory = 4096", "request_cpus = 8", "request_gpus = 2"}
    assert lines <= set(text.splitlines())
    assert not lines & set(_describe(attempts, _launch()).text.splitlines())


def test_launches_of_different_sizes_that_share_hosts_share_a_cluster(attempts: CondorAttemptFolders) -> None:
    one, two = (
        _describe(attempts, replace(_launch(), shared=True, memory=memory, cores=cores, gpus=1))
        for memory, cores in ((4096, 8), (512, 1))
    )
    assert one.text == two.text
    assert {"request_cpus = $(CoschedCores)", "request_gpus = $(CoschedGpus)"} <= set(one.text.splitlines())
    assert [(each.items[0]["CoschedCores"], each.items[1]["CoschedMemory"]) for each in (one, two)] == [
        ("8", "4096"),
        ("1", "512"),
    ]


def test_a_file_that_says_nothing_of_cores_has_the_sites_on_whole_hosts_and_one_beside_others(
    attempts: CondorAttemptFolders,
) -> None:
    settings = CondorSettings.read({"spool": str(attempts.root), "request_cpus": 8})
    silent = NativeDescription("condor", {"executable": "/bin/true", "request_memory": "1500"})
    for native, shared, asked in (
        (silent, False, "8"),
        (silent, True, "$(CoschedCores)"),
        (replace(silent, settings={**silent.settings, "request_cpus": "2"}), False, "2"),
    ):
        launch = replace(_launch(), native=native, cores=int(native.settings.get("request_cpus", "1")), shared=shared)
        described = describe(launch, settings, attempts)
        lines = [line for line in described.text.splitlines() if line.startswith("request_cpus")]
        assert lines[-1] == f"request_cpus = {asked}"
        assert not shared or {item["CoschedCores"] for item in described.items} == {"1"}


def test_a_shared_launch_takes_what_it_says_and_not_what_the_settings_say(attempts: CondorAttemptFolders) -> None:
    settings = CondorSettings.read({"spool": str(attempts.root), "request_gpus": 1, "request_memory": 4096})
    lines = describe(replace(_launch(), shared=True, cores=2), settings, attempts).text.splitlines()
    assert not [line for line in lines if line.startswith(("request_gpus", "request_memory"))]
    assert "keep_claim_idle = 0" in lines


@pytest.mark.parametrize("groups", ["pinned", "parallel"])
def test_where_slots_are_hosts_jobs_are_pinned_by_their_names(attempts: CondorAttemptFolders, groups: str) -> None:
    settings = CondorSettings.read({"spool": str(attempts.root), "static_slots": "hosts", "groups": groups})
    described = describe(replace(_launch(), hosts=("slot2@node01", "node02")), settings, attempts)
    lines = described.text.splitlines()
    (requirements,) = [line for line in lines if line.startswith("requirements")]
    assert ("TARGET.Name ==" if groups == "pinned" else "member(TARGET.Name,") in requirements
    assert "My.CoschedSlotHosts = true" in lines
    if groups == "pinned":
        assert [item["CoschedHost"] for item in described.items] == ["slot2@node01", "node02"]
    else:
        assert "slot2@node01" in requirements


def test_a_group_is_pinned(attempts: CondorAttemptFolders) -> None:
    described = _describe(attempts, _launch())
    line = 'requirements = TARGET.Machine == "$(CoschedHost)" && (NumShadowStarts ?: 0) == 0'
    assert line in described.text.splitlines()
    assert [(item["CoschedHost"], item["CoschedRank"]) for item in described.items] == [
        ("node01", "0"),
        ("node02", "1"),
    ]


@pytest.mark.parametrize(
    ("owner", "user"), [("ann", "ann"), ("ann@site.org", "ann@site.org"), ("ann:north", "ann@north")]
)
def test_the_owner_is_the_user_of_the_accounting_group(attempts: CondorAttemptFolders, owner: str, user: str) -> None:
    settings = CondorSettings.read({"spool": str(attempts.root), "accounting_group": "physics"})
    described = describe(replace(_launch(), owner=owner), settings, attempts)
    assert f"accounting_group_user = {user}\n" in described.text


def test_what_a_host_needs_is_carried_where_nothing_is_shared(attempts: CondorAttemptFolders) -> None:
    settings = CondorSettings.read({"spool": str(attempts.root), "files": "spooled", "keep_days": 2})
    text = describe(replace(_launch(), directory="/home/ann"), settings, attempts).text
    assert "transfer_input_files = $(CoschedFolder)/run.sh" in text
    assert "initialdir = $(CoschedFolder)/$(CoschedRank)" in text
    assert "should_transfer_files = YES" in text
    assert "172800" in next(line for line in text.splitlines() if line.startswith("leave_in_queue"))
    assert not any(line.startswith(("log", "hold", "dagman_log")) for line in text.splitlines())


def test_groups_are_one_job_of_the_parallel_universe_where_that_is_configured(attempts: CondorAttemptFolders) -> None:
    settings = CondorSettings.read({"spool": str(attempts.root), "groups": "parallel"})
    launches = {
        name: describe(_launch(hosts=hosts), settings, attempts)
        for name, hosts in (("group", ("a", "b")), ("one", ("a",)))
    }
    group = launches["group"]
    expected = {
        "universe = parallel",
        "machine_count = 2",
        'requirements = member(TARGET.Machine, {"a", "b"}) && (NumShadowStarts ?: 0) == 0',
        'My.ParallelShutdownPolicy = "WAIT_FOR_ALL"',
        'environment = "COSCHED_RANK=$(Node)"',
    }
    assert expected <= set(group.text.splitlines())
    assert group.alone
    assert [item["CoschedProcesses"] for item in group.items] == ["1"]
    assert "universe = vanilla" in launches["one"].text.splitlines()


def test_without_hosts_nothing_is_pinned(attempts: CondorAttemptFolders) -> None:
    described = _describe(attempts, _launch(hosts=()))
    assert "requirements = (NumShadowStarts ?: 0) == 0" in described.text.splitlines()
    assert len(described.items) == 2


def test_the_uuid_travels_with_the_job_and_in_the_log(attempts: CondorAttemptFolders) -> None:
    launch = _launch()
    described = _describe(attempts, launch)
    assert 'My.CoschedAttempt = "$(CoschedAttemptId)"' in described.text
    assert "submit_event_notes = $(CoschedNote)" in described.text
    assert described.items[1]["CoschedAttemptId"] == launch.attempt
    assert described.items[1]["CoschedNote"] == f"cosched {launch.attempt} 2 1"


def test_deadline_and_application_travel_with_each_process(attempts: CondorAttemptFolders) -> None:
    described = _describe(attempts, replace(_launch(), deadline=1795215376.9, application="jacobi"))
    assert "My.CoschedDeadlineTime = $(CoschedDue)" in described.text
    assert 'My.CoschedApplication = "$(CoschedProgram)"' in described.text
    assert {(item["CoschedDue"], item["CoschedProgram"]) for item in described.items} == {("1795215376", "jacobi")}


def test_a_task_without_a_deadline_has_an_undefined_one(attempts: CondorAttemptFolders) -> None:
    described = _describe(attempts, replace(_launch(), application="run$(x).sh"))
    assert {(item["CoschedDue"], item["CoschedProgram"]) for item in described.items} == {("undefined", "")}


def test_launches_with_other_deadlines_and_applications_are_one_cluster(attempts: CondorAttemptFolders) -> None:
    launches = [
        _launch(),
        replace(_launch(), deadline=1795215376.0),
        replace(_launch(), deadline=1795215999.0, application="jacobi"),
    ]
    (batch,) = cluster_batches({launch.attempt: _describe(attempts, launch) for launch in launches}, 1000)
    assert [item["CoschedDue"] for item in batch.items[::2]] == ["undefined", "1795215376", "1795215999"]
    assert len({frozenset(item) for item in batch.items}) == 1


def test_a_time_limit_is_whole_seconds(attempts: CondorAttemptFolders) -> None:
    assert "JobCurrentStartDate > 2\n" in _describe(attempts, replace(_launch(), time_limit=1.2)).text
    assert "periodic_remove" not in _describe(attempts, _launch()).text


def test_each_line_is_one_command(attempts: CondorAttemptFolders) -> None:
    described = _describe(attempts, replace(_launch(), directory="/with space", time_limit=3.0))
    assert all(" = " in line for line in described.text.splitlines())


def test_launches_that_differ_in_place_and_command_are_one_cluster(attempts: CondorAttemptFolders) -> None:
    launches = [replace(_launch("/bin/echo", str(place)), name=f"task {place}") for place in range(3)]
    (batch,) = cluster_batches({launch.attempt: _describe(attempts, launch) for launch in launches}, 1000)
    assert batch.firsts == {launch.attempt: 2 * place for place, launch in enumerate(launches)}
    assert [item["CoschedTitle"] for item in batch.items] == [launch.name for launch in launches for _ in range(2)]


def test_launches_under_other_conditions_have_clusters_of_their_own(attempts: CondorAttemptFolders) -> None:
    native = NativeDescription("condor", {"arguments": "$(DOLLAR)(ProcId)", "executable": "/bin/echo"})
    launches = [
        _launch(),
        _launch(hosts=()),
        replace(_launch(), time_limit=9.0),
        replace(_launch(), owner="ann"),
        replace(_launch(), native=native),
        replace(_launch(), native=native),
    ]
    found = cluster_batches({launch.attempt: _describe(attempts, launch) for launch in launches}, 1000)
    assert [list(batch.firsts) for batch in found] == [[launch.attempt] for launch in launches]


@given(st.lists(st.integers(1, 5), max_size=12), st.integers(1, 8))
def test_clusters_are_not_larger_than_they_may_be(sizes: list[int], most: int) -> None:
    described = {
        f"attempt {place}": SubmitDescription("same", ({"CoschedRank": "0"},) * size)
        for place, size in enumerate(sizes)
    }
    found = cluster_batches(described, most)
    assert [attempt for batch in found for attempt in batch.firsts] == list(described)
    assert sum(len(batch.items) for batch in found) == sum(sizes)
    assert all(len(batch.items) <= most or len(batch.firsts) == 1 for batch in found)


@pytest.mark.parametrize("value", _BAD)
@pytest.mark.parametrize("place", ["name", "task", "directory", "hosts"])
def test_values_that_are_submit_language_are_refused(attempts: CondorAttemptFolders, place: str, value: str) -> None:
    launch = replace(_launch(hosts=("node01",)), count=1)
    bad = replace(launch, hosts=(value,)) if place == "hosts" else replace(launch, **{place: value})  # type: ignore[arg-type]  # the place is one of text
    with pytest.raises(UserError):
        _describe(attempts, bad)


LAUNCH = Launch("12345678-1234-1234-1234-123456789abc", "17", "n", ("/x",), native=NativeDescription("condor", {}))
NAMES = st.from_regex(r"[A-Z_]{1,5}", fullmatch=True)
VALUES = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20)


def _with(**settings: str) -> Launch:
    return replace(LAUNCH, native=NativeDescription("condor", settings))


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_a_value_comes_out_of_htcondor_as_it_went_in_or_is_refused(value: str) -> None:
    try:
        (line,) = user_commands(_with(arguments=value))
    except UserError:
        return
    assert "\n" not in line
    if "$$(" in value or "(ProcId)" in value or "(ClusterId)" in value or "(Node)" in value:
        return  # filled in by HTCondor itself
    submit = htcondor2.Submit(f"executable = /x\n{line}\nqueue\n")
    assert list(submit.keys()) == ["executable", "arguments"] or not value.strip()
    if value.strip():
        assert submit.expand("arguments") == value.strip(" \t")


@given(
    st.dictionaries(
        st.from_regex(r"[A-Z_]{1,5}", fullmatch=True),
        st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20).filter(
            lambda text: "$(dollar)" not in text.lower()  # refused, see below
        ),
        max_size=3,
    )
)
def test_environments_are_merged_whatever_is_in_them(variables: dict[str, str]) -> None:
    value = merged_environment(
        replace(LAUNCH, environment=variables, native=NativeDescription("condor", {"environment": '"A=1"'}))
    )
    expanded = htcondor2.Submit(f"executable = /x\nenvironment = {value}\nqueue\n").expand("environment")
    for name, text in variables.items():
        quoted = text.replace("'", "''").replace('"', '""')
        assert f"{name}='{quoted}'" in expanded
    assert expanded.startswith('"A=1 ')


def test_the_one_text_that_a_submit_file_cannot_carry_is_refused() -> None:
    """It arrived as a single dollar."""
    with pytest.raises(UserError, match="leave it out"):
        merged_environment(
            replace(LAUNCH, environment={"B": "a$(Dollar)"}, native=NativeDescription("condor", {"environment": ""}))
        )


def test_a_users_own_job_on_any_host_is_told_which_by_the_manager() -> None:
    native = NativeDescription("condor", {})
    anywhere = merged_environment(replace(LAUNCH, native=native))
    assert "COSCHED_HOSTS='$$(Machine)'" in anywhere
    assert "$$" not in merged_environment(replace(LAUNCH, hosts=("node01",), native=native))


def test_the_old_form_of_an_environment_is_understood() -> None:
    value = merged_environment(_with(environment="A=1;B=x y"))
    assert value.startswith("\"A='1' B='x y' COSCHED_")
    assert value.endswith(' COSCHED_RANK=$(CoschedRank)"')


def test_expressions_are_put_together() -> None:
    assert combined_expression(_with(requirements="a || b").native, "requirements", "c", "&&") == "(a || b) && (c)"
    assert combined_expression(_with().native, "requirements", "c", "&&") == "c"
    assert combined_expression(None, "requirements", "", "&&") == ""


@pytest.mark.parametrize(
    "settings",
    [
        {"queue": "1"},
        {"my.coschedtask": "1"},
        {"coschedrank": "1"},
        {"a b": "1"},
        {"arguments": "a\\"},
        {"arguments": "a\nb"},
    ],
)
def test_what_is_not_the_users_is_refused(settings: dict[str, str]) -> None:
    with pytest.raises(UserError):
        user_commands(_with(**settings))
