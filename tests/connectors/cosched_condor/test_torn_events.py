"""Event logs that HTCondor could not write whole, as on a full disk, read by HTCondor's own library."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched_condor.htcondor_worker import _CondorVerbs

if TYPE_CHECKING:
    from pathlib import Path

_BODIES = {
    0: "Job submitted from host: <127.0.0.1:1?addrs=127.0.0.1-1&alias=vm>\n    cosched a 1 0",
    1: "Job executing on host: <127.0.0.1:2?addrs=127.0.0.1-2&alias=node01>\n\tSlotName: slot1@node01\n\tCpus = 1",
    5: "Job terminated.\n\t(1) Normal termination (return value 3)\n"
    + "".join(
        f"\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  {whose} {where} Usage\n"
        for whose in ("Run", "Total")
        for where in ("Remote", "Local")
    )
    + "".join(f"\t0  -  {whose} Bytes {which} By Job\n" for whose in ("Run", "Total") for which in ("Sent", "Received"))
    + "\tPartitionable Resources :    Usage  Request Allocated \n"
    + "\t   Cpus                 :        0        1         1 ",
}


def _event(kind: int, cluster: int) -> bytes:
    return f"{kind:03d} ({cluster:03d}.000.000) 2026-11-28 16:34:57.801Z {_BODIES[kind]}\n...\n".encode()


def _job(cluster: int) -> bytes:
    return b"".join(_event(kind, cluster) for kind in _BODIES)


@pytest.mark.parametrize(
    "torn", [_event(0, 9)[:5], _event(1, 9)[:58], _event(5, 9)[:-30], b"\0\0\0\0garbage", b"\0" * 9]
)
def test_an_event_that_was_not_written_whole_costs_at_most_the_one_behind_it(tmp_path: Path, torn: bytes) -> None:
    """All that came after it was lost, until the next log was begun: each start and end was seen a minute late."""
    log, verbs = tmp_path / "events.log", _CondorVerbs("")
    log.write_bytes(_job(1))
    told = [_told(verbs, log)]
    for more in (torn, *(_event(kind, 2) for kind in _BODIES), b"", _job(3)):
        with log.open("ab") as file:
            file.write(more)
        told.append(_told(verbs, log))
    told.append(_told(verbs, log))
    found = [each for events in told for each in events if each[1] != 9]
    assert found[:3] == [(kind, 1) for kind in _BODIES]
    assert found[-5:] == [(1, 2), (5, 2), *((kind, 3) for kind in _BODIES)]
    assert len(found) <= 9


def test_an_event_that_is_still_being_written_is_waited_for(tmp_path: Path) -> None:
    log, verbs, event = tmp_path / "events.log", _CondorVerbs(""), _event(5, 1)
    log.write_bytes(_event(0, 1))
    assert _told(verbs, log) == [(0, 1)]
    for part in (event[:100], event[100:-4]):
        with log.open("ab") as file:
            file.write(part)
        assert _told(verbs, log) == _told(verbs, log) == []
    with log.open("ab") as file:
        file.write(event[-4:])
    assert _told(verbs, log) == [(5, 1)]


def _told(verbs: _CondorVerbs, log: Path) -> list[tuple[int, int]]:
    return [(event["EventTypeNumber"], event["Cluster"]) for event in verbs.follow([str(log)], 0.0)]
