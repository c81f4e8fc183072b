from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from cosched.portal.information.glue import GlueEntity, glue_entities
from tests.portal.information.glue_makers import ADDRESS, MIXED, host, published

if TYPE_CHECKING:
    from cosched.app.domain_status import DomainDescription

PLAIN_URI = re.compile(r"[A-Za-z0-9:._~%-]+")


def of_kind(found: list[GlueEntity], kind: str) -> list[GlueEntity]:
    return [entity for entity in found if entity.kind == kind]


def test_a_domain_has_a_service_and_each_host_class_and_application_an_environment() -> None:
    found = glue_entities(MIXED, ADDRESS)
    assert Counter(entity.kind for entity in found) == {
        "AdminDomain": 1,
        "ComputingService": 1,
        "ComputingEndpoint": 1,
        "ComputingShare": 1,
        "ComputingManager": 1,
        "ExecutionEnvironment": 2,
        "ApplicationEnvironment": 1,
    }


def test_hosts_are_counted_by_class_and_together() -> None:
    found = glue_entities(MIXED, ADDRESS)
    wanted = ("TotalInstances", "UsedInstances", "UnavailableInstances")
    counts = {each.name: [each.special[name] for name in wanted] for each in of_kind(found, "ExecutionEnvironment")}
    assert counts == {"fast": ["3", "1", "1"], "größe, x+y": ["2", "1", "1"]}
    (share,), (manager,) = of_kind(found, "ComputingShare"), of_kind(found, "ComputingManager")
    assert [share.special[name] for name in ("FreeSlots", "UsedSlots", "MaxSlotsPerJob")] == ["1", "2", "3"]
    assert (manager.special["TotalSlots"], manager.special["Homogeneous"]) == ("5", "false")


def test_cores_and_memory_of_a_class_are_what_each_of_its_hosts_has() -> None:
    sized = [replace(host(name, "node"), cores=cores, memory=cores * 1024) for name, cores in (("a", 64), ("b", 48))]
    unsaid = [replace(host("c", "part"), cores=8, memory=8192), host("d", "part")]
    found = of_kind(glue_entities(published(*sized, *unsaid), ADDRESS), "ExecutionEnvironment")
    told = {each.name: (each.special["LogicalCPUs"], each.special["MainMemorySize"]) for each in found}
    assert told == {"node": ("48", "49152"), "part": ("", "999999999")}


def test_tasks_that_are_elsewhere_or_have_ended_are_not_counted() -> None:
    for entity in glue_entities(MIXED, ADDRESS):
        if entity.kind in ("ComputingService", "ComputingShare"):
            jobs = [entity.special[name] for name in ("TotalJobs", "RunningJobs", "WaitingJobs")]
            assert jobs == ["7", "4", "3"]


def test_without_an_address_there_is_no_endpoint_and_nobody_names_one() -> None:
    found = glue_entities(MIXED, "")
    assert not of_kind(found, "ComputingEndpoint")
    assert not [name for entity in found for name, _ in entity.associations + entity.keys if "Endpoint" in name]


def test_faults_show_in_the_health_of_the_endpoint() -> None:
    (well,) = of_kind(glue_entities(published(), ADDRESS), "ComputingEndpoint")
    (ill,) = of_kind(glue_entities(published(faults=("no pool", "no \x00disk")), ADDRESS), "ComputingEndpoint")
    assert (well.general["HealthState"], well.general["HealthStateInfo"]) == ("ok", "")
    assert (ill.general["HealthState"], ill.general["HealthStateInfo"]) == ("warning", "no pool; no \ufffddisk")


def test_the_manager_has_the_name_that_glue_has_for_it() -> None:
    for connector, product in (("local", "fork"), ("slurm", "slurm"), ("theirs", "theirs")):
        found = glue_entities(replace(published(), connector=connector), "")
        assert of_kind(found, "ComputingManager")[0].general["ProductName"] == product


_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
_HOSTS = st.lists(st.builds(host, st.just("h"), _TEXT, up=st.booleans(), free_at=st.none() | st.just(1.0)), max_size=6)


@given(_HOSTS, _TEXT)
def test_entities_are_named_once_after_their_parents_and_refer_to_what_is_there(hosts: list[object], text: str) -> None:
    domain: DomainDescription = published(*hosts, applications=(("a", text), ("b", "")))  # type: ignore[arg-type]  # hosts
    found = glue_entities(domain, ADDRESS)
    known = {""}
    for entity in found:
        assert PLAIN_URI.fullmatch(entity.id)
        assert entity.id not in known
        assert entity.parent in known
        known.add(entity.id)
    assert {key for entity in found for _, key in entity.associations + entity.keys} <= known
    instances = [int(each.special["TotalInstances"]) for each in of_kind(found, "ExecutionEnvironment")]
    assert sum(instances) == len(hosts)
