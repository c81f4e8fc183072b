from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from cosched.portal.information.glue import glue_entities
from cosched.portal.information.glue_formats import GLUE_NAMESPACE, glue_ldif, glue_xml
from cosched.resources import etc
from tests.portal.information.glue_makers import ADDRESS, MIXED, host, published
from tests.testbed.software.slapd import Directory, directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.app.domain_status import DomainDescription

NAMES = {"g": GLUE_NAMESPACE}


def test_the_document_is_flat_and_dated() -> None:
    root = etree.fromstring(glue_xml(glue_entities(MIXED, ADDRESS), MIXED.time))
    assert root.tag == f"{{{GLUE_NAMESPACE}}}GLUE2"
    kinds = [etree.QName(child).localname for child in root]
    assert kinds[:5] == ["AdminDomain", "ComputingService", "ComputingEndpoint", "ComputingShare", "ComputingManager"]
    assert kinds[5:] == ["ExecutionEnvironment", "ExecutionEnvironment", "ApplicationEnvironment"]
    assert {child.get("CreationTime") for child in root} == {"2017-07-14T02:40:00Z"}
    assert [child.get("BaseType") for child in list(root)[-3:]] == ["Resource", "Resource", None]


def test_an_entity_has_its_parts_in_the_order_of_the_schema() -> None:
    root = etree.fromstring(glue_xml(glue_entities(MIXED, ADDRESS), MIXED.time))
    share = root.find("g:ComputingShare", NAMES)
    assert share is not None
    assert [etree.QName(child).localname for child in share] == [
        "ID",
        "Name",
        "MaxSlotsPerJob",
        "ServingState",
        "TotalJobs",
        "RunningJobs",
        "WaitingJobs",
        "FreeSlots",
        "UsedSlots",
        "Associations",
    ]
    associations = share.find("g:Associations", NAMES)
    assert associations is not None
    assert [etree.QName(child).localname for child in associations] == [
        "EndpointID",
        "ResourceID",
        "ResourceID",
        "ServiceID",
    ]


@given(st.text(st.characters(exclude_categories=()), max_size=12))
def test_whatever_a_name_is_the_document_can_be_read_and_says_it(name: str) -> None:
    domain = published(host("h", f"<{name}&"), applications=(("app", name),))
    root = etree.fromstring(glue_xml(glue_entities(domain, ADDRESS), domain.time))
    read = root.findtext("g:ExecutionEnvironment/g:Name", namespaces=NAMES)
    said = glue_entities(domain, ADDRESS)[5].name
    assert read == said
    assert len(said) == len(name) + 2


def tree(domain: DomainDescription, address: str = ADDRESS) -> str:
    return glue_ldif(glue_entities(domain, address), domain.time)


def unfolded(text: str) -> list[str]:
    return text.replace("\n ", "").splitlines()


def values(text: str, attribute: str) -> list[str]:
    """What an attribute has, in the order of the records."""
    found = []
    for line in unfolded(text):
        name, _, value = line.partition(":")
        if name == attribute:
            found.append(base64.b64decode(value[2:]).decode() if value.startswith(": ") else value[1:])
    return found


def test_what_is_not_plain_text_is_base64() -> None:
    text = tree(published(host("h", "größe")))
    encoded = base64.b64encode("größe".encode()).decode()
    assert f"GLUE2EntityName:: {encoded}" in unfolded(text)
    assert "GLUE2ManagerProductName: fork" in unfolded(text)


@pytest.mark.parametrize("value", [" first", "last ", ":colon", "<url", "two\nlines", "tab\t", "é"])
def test_what_a_reader_would_take_for_something_else_is_base64(value: str) -> None:
    text = tree(published(applications=(("a", value),)))
    assert f"GLUE2ApplicationEnvironmentDescription:: {base64.b64encode(value.encode()).decode()}" in unfolded(text)


@given(st.text(min_size=1, max_size=80))
def test_every_value_is_read_as_it_was_and_lines_are_short(value: str) -> None:
    domain = published(applications=(("a", value),))
    text = tree(domain)
    assert text.isascii()
    assert max(map(len, text.split("\n"))) <= 76
    assert values(text, "GLUE2ApplicationEnvironmentDescription") == [
        glue_entities(domain, "")[-1].special["Description"]
    ]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Directory]:
    """A real slapd with the mixed domain, whose schema is the one that cosched ships."""
    schema = etc() / "ldap" / "glue2.schema"
    with directory(tmp_path_factory.mktemp("slapd"), schema, "o=glue", tree(MIXED)) as running:
        yield running


def test_a_directory_takes_the_tree_and_counts_as_we_do(loaded: Directory) -> None:
    found = loaded.search("o=glue", "sub", "(objectClass=GLUE2Entity)", "1.1")
    assert len(values(found, "dn")) == len(glue_entities(MIXED, ADDRESS))
    classes = loaded.search("o=glue", "sub", "(objectClass=GLUE2ExecutionEnvironment)")
    totals = values(classes, "GLUE2ExecutionEnvironmentTotalInstances")
    assert sum(map(int, totals)) == len(MIXED.hosts)
    assert set(values(classes, "GLUE2EntityName")) == {"fast", "größe, x+y"}
    assert values(
        loaded.search("o=glue", "sub", "(objectClass=GLUE2ComputingShare)"), "GLUE2ComputingShareFreeSlots"
    ) == ["1"]


def test_a_directory_compares_numbers_as_numbers_and_text_by_its_letters(loaded: Directory) -> None:
    more = loaded.search("o=glue", "sub", "(GLUE2ExecutionEnvironmentTotalInstances>=3)", "GLUE2EntityName")
    assert values(more, "GLUE2EntityName") == ["fast"]
    described = loaded.search("o=glue", "sub", "(GLUE2ApplicationEnvironmentDescription=*für <alle>*)")
    assert values(described, "GLUE2ApplicationEnvironmentAppName") == ["sweep3d"]


def test_a_directory_takes_a_domain_without_hosts_and_endpoint(tmp_path: Path) -> None:
    text = tree(published(applications=()), "")
    with directory(tmp_path, etc() / "ldap" / "glue2.schema", "o=glue", text) as running:
        below = running.search("GLUE2GroupID=resource,o=glue", "one", "(objectClass=GLUE2AdminDomain)")
        assert values(below, "GLUE2EntityName") == ["north"]
