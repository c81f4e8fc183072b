from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi.testclient import TestClient
from lxml import etree

from cosched.access import Principal, ProofOfIdentity, Role, Scope
from cosched.connector.hosts import Host
from cosched.coscheduler.events import HostsObserved
from cosched.errors import UserError
from cosched.portal.application import build_application
from cosched.portal.information.glue_formats import GLUE_NAMESPACE
from tests.access.memory import Trusting
from tests.daemon.makers import daemon
from tests.portal.test_application import Recorder, services_of

if TYPE_CHECKING:
    from pathlib import Path


def nowhere() -> str:
    raise UserError("cosched listens on no port")


def test_the_domain_is_described_as_xml_and_as_ldif() -> None:
    client = TestClient(build_application(services_of(Recorder()), Trusting(), pages_address=lambda: "http://here:1"))
    xml, ldif = client.get("/api/v1/glue2"), client.get("/api/v1/glue2/ldif")
    assert (xml.status_code, xml.headers["content-type"]) == (200, "application/xml")
    assert etree.fromstring(xml.content).findtext(f".//{{{GLUE_NAMESPACE}}}URL") == "http://here:1/api/v1"
    assert ldif.headers["content-type"].startswith("text/ldif")
    assert "GLUE2EndpointURL: http://here:1/api/v1\n" in ldif.text


def test_a_daemon_at_a_socket_alone_has_no_endpoint() -> None:
    client = TestClient(build_application(services_of(Recorder()), Trusting(), pages_address=nowhere))
    assert b"ComputingEndpoint" not in client.get("/api/v1/glue2").content


def test_who_may_not_read_is_refused() -> None:
    access = Trusting()
    client = TestClient(build_application(services_of(Recorder()), access))
    for scope, status in ((Scope.SUBMIT, 403), (Scope.READ, 200)):
        access.principal = Principal("ann", Role.USER, frozenset({scope}), ProofOfIdentity.TOKEN)
        assert client.get("/api/v1/glue2").status_code == status
        assert client.get("/api/v1/glue2/ldif").status_code == status


def test_a_real_domain_is_counted_as_its_hosts_are_listed(tmp_path: Path) -> None:
    with daemon(tmp_path, hosts=0) as running:
        hosts = (Host("h1", host_class="fast"), Host("h2", host_class="fast", up=False), Host("h3", host_class="slow"))
        running.inbox.apply(HostsObserved(running.clock.now(), hosts)).result(60)
        client = TestClient(build_application(running.services, Trusting()))
        listed = client.get("/api/v1/hosts").json()
        root = etree.fromstring(client.get("/api/v1/glue2").content)
        names = {"g": GLUE_NAMESPACE}
        totals = {
            each.findtext("g:Name", namespaces=names): each.findtext("g:TotalInstances", namespaces=names)
            for each in root.findall("g:ExecutionEnvironment", names)
        }
        assert totals == {"fast": "2", "slow": "1"}
        assert root.findtext(".//g:FreeSlots", namespaces=names) == str(sum(each["up"] for each in listed))
        applications = [each.text for each in root.iterfind(".//g:AppName", names)]
        assert applications == ["broken", "halving", "plain"]
