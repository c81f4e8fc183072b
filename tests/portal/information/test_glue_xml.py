from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from cosched.portal.information.glue import glue_entities
from cosched.portal.information.glue_formats import GLUE_NAMESPACE, glue_xml
from tests.portal.information.glue_makers import ADDRESS, MIXED, host, published

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
