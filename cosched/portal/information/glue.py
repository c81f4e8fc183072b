"""GLUE 2.0 entities describe the domain to grids (OGF GFD.147, sections 5 and 6).

A host is a slot, a class of hosts an ExecutionEnvironment, a catalogue entry an ApplicationEnvironment;
`glue_formats.py` writes the entities down.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from cosched.app.domain_status import DomainDescription

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.api.documents import HostView

__all__ = ["VALIDITY", "GlueEntity", "glue_entities"]

VALIDITY = 300
"""Seconds for which a description is worth reading."""

_UNKNOWN, _UNKNOWN_NUMBER, _UNKNOWN_BOOLEAN = "UNDEFINEDVALUE", "999999999", "undefined"  # GFD.147, appendix A
_QUALITY = "pre-production"
_PRODUCTS = {"local": "fork"}  # GLUE's word for jobs that are plain processes; the other connectors have GLUE's names
_RUNNING, _WAITING = ("dispatching", "running", "cancelling"), ("queued",)
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlueEntity:
    """An object of GLUE 2.0.

    Attributes are in the order of the XML rendering; text is limited to characters that XML can carry.

    Attributes:
        kind: its class.
        base: the class of the conceptual model that this one specialises; empty for none.
        id: a URI, in characters that need no escape in XML, LDIF and distinguished names.
        parent: identifier of the entity below which a directory has it; empty at the top.
        name: for people; empty for none.
        general: attributes that `base` defines.
        special: attributes that `kind` defines.
        associations: the XML rendering's, as name of the element and identifier.
        keys: the LDAP rendering's foreign keys, as the two classes' names together and identifier.
    """

    kind: str
    base: str = ""
    id: str
    parent: str = ""
    name: str = ""
    general: Mapping[str, str] = field(default_factory=dict)
    special: Mapping[str, str] = field(default_factory=dict)
    associations: tuple[tuple[str, str], ...] = ()
    keys: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _GlueIds:
    """The identifiers of a domain's entities; `endpoint` is empty where there is none."""

    domain: str
    service: str
    endpoint: str
    share: str
    manager: str
    classes: tuple[str, ...]
    applications: tuple[str, ...]


def glue_entities(published: DomainDescription, address: str) -> list[GlueEntity]:
    """Return a domain's entities, parents first, in the order of the XML rendering.

    Args:
        published: the domain.
        address: URL of its API on a network; empty where it has none, and then there is no endpoint.
    """
    classes: defaultdict[str, list[HostView]] = defaultdict(list)
    for host in published.hosts:
        classes[_text(host.host_class)].append(host)
    names = _names(published, sorted(classes), address)
    found = [_domain(published, names), _service(published, names)]
    if address:
        found.append(_endpoint(published, names, address))
    found += [_share(published, names), _manager(published, names, len(classes))]
    found += [
        _environment(names, key, name, classes[name]) for key, name in zip(names.classes, sorted(classes), strict=True)
    ]
    pairs = zip(names.applications, published.applications, strict=True)
    return found + [_application(names, key, name, description) for key, (name, description) in pairs]


def _names(published: DomainDescription, classes: Iterable[str], address: str) -> _GlueIds:
    def urn(kind: str, name: str = "") -> str:
        return ":".join(("urn:cosched", kind, published.domain, *([quote(name, safe="")] if name else [])))

    return _GlueIds(
        urn("AdminDomain"),
        urn("ComputingService"),
        urn("ComputingEndpoint") if address else "",
        urn("ComputingShare"),
        urn("ComputingManager"),
        tuple(urn("ExecutionEnvironment", name) for name in classes),
        tuple(urn("ApplicationEnvironment", name) for name, _ in published.applications),
    )


def _domain(published: DomainDescription, names: _GlueIds) -> GlueEntity:
    return GlueEntity(
        kind="AdminDomain",
        base="Domain",
        id=names.domain,
        name=published.domain,
        associations=(("ServiceID", names.service),),
    )


def _service(published: DomainDescription, names: _GlueIds) -> GlueEntity:
    return GlueEntity(
        kind="ComputingService",
        base="Service",
        id=names.service,
        parent=names.domain,
        name=published.domain,
        general={
            "Capability": "executionmanagement.jobexecution",
            "Type": "cosched",
            "QualityLevel": _QUALITY,
        },
        special=_jobs(published),
        associations=(
            *_if_there("EndpointID", names.endpoint),
            ("ShareID", names.share),
            ("ManagerID", names.manager),
        ),
        keys=(("ServiceAdminDomain", names.domain),),
    )


def _endpoint(published: DomainDescription, names: _GlueIds, address: str) -> GlueEntity:
    faults = _text("; ".join(published.faults))
    return GlueEntity(
        kind="ComputingEndpoint",
        base="Endpoint",
        id=names.endpoint,
        parent=names.service,
        general={
            "URL": address,
            "Capability": "executionmanagement.jobexecution",
            "Technology": "REST",
            "InterfaceName": "cosched",
            "InterfaceVersion": "1",
            "ImplementationName": "cosched",
            "ImplementationVersion": published.version,
            "QualityLevel": _QUALITY,
            "HealthState": "warning" if faults else "ok",
            "HealthStateInfo": faults,
            "ServingState": "production",
        },
        associations=(("ServiceID", names.service), ("ShareID", names.share)),
        keys=(("EndpointService", names.service), ("ComputingEndpointComputingService", names.service)),
    )


def _share(published: DomainDescription, names: _GlueIds) -> GlueEntity:
    up = [host for host in published.hosts if host.up]
    used = sum(_used(host) for host in up)
    keys = [
        ("ShareService", names.service),
        ("ComputingShareComputingService", names.service),
        *_if_there("ShareEndpoint", names.endpoint),
        *_if_there("ComputingShareComputingEndpoint", names.endpoint),
    ]
    for key in names.classes:
        keys += [("ShareResource", key), ("ComputingShareExecutionEnvironment", key)]
    return GlueEntity(
        kind="ComputingShare",
        base="Share",
        id=names.share,
        parent=names.service,
        name=published.domain,
        special={
            "MaxSlotsPerJob": str(len(up)),
            "ServingState": "production",
            **_jobs(published),
            "FreeSlots": str(len(up) - used),
            "UsedSlots": str(used),
        },
        associations=(
            *_if_there("EndpointID", names.endpoint),
            *(("ResourceID", key) for key in names.classes),
            ("ServiceID", names.service),
        ),
        keys=tuple(keys),
    )


def _manager(published: DomainDescription, names: _GlueIds, classes: int) -> GlueEntity:
    return GlueEntity(
        kind="ComputingManager",
        base="Manager",
        id=names.manager,
        parent=names.service,
        name=published.connector,
        general={"ProductName": _PRODUCTS.get(published.connector, published.connector)},
        special={"TotalSlots": str(len(published.hosts)), "Homogeneous": "true" if classes < 2 else "false"},
        associations=(
            ("ServiceID", names.service),
            *(("ResourceID", key) for key in names.classes),
            *(("ApplicationEnvironmentID", key) for key in names.applications),
        ),
        keys=(("ManagerService", names.service), ("ComputingManagerComputingService", names.service)),
    )


def _environment(names: _GlueIds, key: str, name: str, hosts: list[HostView]) -> GlueEntity:
    """Return a host class as a GLUE entity, with GLUE's words for unknown values.

    A resource model does not have all that GLUE requires. Cores and memory are those that each of the hosts has at
    least, where the manager says it of all.
    """
    cores, memory = _least(host.cores for host in hosts), _least(host.memory for host in hosts)
    return GlueEntity(
        kind="ExecutionEnvironment",
        base="Resource",
        id=key,
        parent=names.manager,
        name=name,
        special={
            "Platform": _UNKNOWN,
            "TotalInstances": str(len(hosts)),
            "UsedInstances": str(sum(host.up and _used(host) for host in hosts)),
            "UnavailableInstances": str(sum(not host.up for host in hosts)),
            "LogicalCPUs": cores,
            "MainMemorySize": memory or _UNKNOWN_NUMBER,
            "OSFamily": _UNKNOWN,
            "ConnectivityIn": _UNKNOWN_BOOLEAN,
            "ConnectivityOut": _UNKNOWN_BOOLEAN,
        },
        associations=(
            ("ManagerID", names.manager),
            ("ShareID", names.share),
            *(("ApplicationEnvironmentID", application) for application in names.applications),
        ),
        keys=(("ResourceManager", names.manager), ("ExecutionEnvironmentComputingManager", names.manager)),
    )


def _application(names: _GlueIds, key: str, name: str, description: str) -> GlueEntity:
    classes = names.classes
    return GlueEntity(
        kind="ApplicationEnvironment",
        id=key,
        parent=names.manager,
        special={"AppName": name, "Description": _text(description)},
        associations=(*(("ResourceID", each) for each in classes), ("ManagerID", names.manager)),
        keys=(
            ("ApplicationEnvironmentComputingManager", names.manager),
            *(("ApplicationEnvironmentExecutionEnvironment", each) for each in classes),
        ),
    )


def _jobs(published: DomainDescription) -> dict[str, str]:
    running, waiting = (sum(published.tasks.get(state, 0) for state in states) for states in (_RUNNING, _WAITING))
    return {"TotalJobs": str(running + waiting), "RunningJobs": str(running), "WaitingJobs": str(waiting)}


def _used(host: HostView) -> bool:
    return host.busy


def _least(amounts: Iterable[int | None]) -> str:
    """Return the least of some amounts; empty where one is not known."""
    known = list(amounts)
    found = [amount for amount in known if amount is not None]
    return str(min(found)) if found and len(found) == len(known) else ""


def _if_there(name: str, key: str) -> tuple[tuple[str, str], ...]:
    return ((name, key),) if key else ()


def _text(text: str) -> str:
    """Return text with a replacement character for each that XML cannot carry."""
    return _NO_XML.sub("\ufffd", text)
