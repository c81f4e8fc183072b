from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cosched.app.host_loads import HostLoadService
from cosched.cli.main import run
from cosched.connector.hosts import Host
from cosched.coscheduler.events import HostsObserved
from cosched.daemon.load_watch import LoadWatch
from cosched.store import Store
from cosched.store.host_loads import HostLoadTable
from tests.daemon.makers import serving
from tests.store.new_database import new_database

if TYPE_CHECKING:
    from pathlib import Path


BEGIN = 400_000 * 3600.0  # a whole hour


def test_hosts_are_listed_with_what_is_wrong_with_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path) as (daemon, address):
        hosts = (Host("h1"), Host("h2", up=False, reason="drained"))
        daemon.inbox.apply(HostsObserved(daemon.clock.now(), hosts)).result(60)
        capsys.readouterr()  # what the daemon said as it started
        assert run(["host", "list", "--server", address]) == 0
        assert capsys.readouterr().out == "HOST  STATE  REASON\nh1    up\nh2    down   drained\n"
        assert run(["host", "list", "--server", address, "--json"]) == 0
        assert [host["up"] for host in json.loads(capsys.readouterr().out)] == [True, False]


def test_hosts_are_listed_with_their_clusters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path) as (daemon, address):
        hosts = (Host("h1", cluster="delft"), Host("h2"))
        daemon.inbox.apply(HostsObserved(daemon.clock.now(), hosts)).result(60)
        capsys.readouterr()
        assert run(["host", "list", "--server", address]) == 0
        assert capsys.readouterr().out == "HOST  CLUSTER  STATE\nh1    delft    up\nh2             up\n"
        assert run(["host", "list", "--server", address, "--json"]) == 0
        assert [host["cluster"] for host in json.loads(capsys.readouterr().out)] == ["delft", ""]


def test_the_domain_is_described_for_information_services(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path, hosts=3) as (_, address):
        assert run(["host", "glue", "--server", address]) == 0
        assert "<TotalInstances>3</TotalInstances>" in capsys.readouterr().out
        assert run(["host", "glue", "--ldif", "--server", address]) == 0
        assert "GLUE2ExecutionEnvironmentTotalInstances: 3\n" in capsys.readouterr().out


def test_hosts_are_reserved_shown_and_released(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path, hosts=2) as (_, address):
        capsys.readouterr()
        words = ["host", "reserve", "h01", "--until", "now+1h", "--name", "course", "--server", address]
        assert run(words) == 0
        *_, made = capsys.readouterr().out.splitlines()  # ahead of it is what the daemon logs
        identifier, said = made.split(": ", 1)
        assert said.startswith("h01 reserved from 2")
        assert run(["host", "list", "--server", address]) == 0
        assert capsys.readouterr().out == "HOST  STATE     REASON\nh01   reserved  course\nh02   up\n"
        assert run(["host", "reservations", "--server", address]) == 0
        assert capsys.readouterr().out.splitlines()[1].split()[:3] == [identifier, "course", "h01"]
        assert run(["host", "reservations", "--json", "--server", address]) == 0
        (listed,) = json.loads(capsys.readouterr().out)
        assert listed["end"] - listed["start"] == pytest.approx(3600, abs=60)
        assert run(["host", "release", identifier, "--server", address]) == 0
        assert capsys.readouterr().out.endswith(f"reservation {identifier} released\n")
        assert run(["host", "release", identifier, "--server", address]) == 1
        assert "there is no reservation" in capsys.readouterr().err


def test_a_reservation_with_a_wrong_time_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path, hosts=2) as (_, address):
        capsys.readouterr()
        assert run(["host", "reserve", "h01", "--until", "soon", "--server", address]) == 1
        assert "the end of the reservation 'soon' is not a time" in capsys.readouterr().err
        words = ["host", "reserve", "h01", "--from", "now+2h", "--until", "now+1h", "--server", address]
        assert run(words) == 1
        assert "not after it begins" in capsys.readouterr().err


def test_a_host_that_its_owner_takes_nearly_all_the_time_is_called_saturated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, last = Store(new_database(tmp_path / "loads")), BEGIN + 60 * 3000
    watch = LoadWatch(HostLoadTable(store), lambda: last, planned=True)
    for tick in range(3001):
        pair = Host("h01", owner_takes=float(tick % 200 > 0)), Host("h02", owner_takes=float(tick % 10 < 5))
        watch.look(pair, BEGIN + 60 * tick)
    with serving(tmp_path, hosts=2, loads=HostLoadService(watch, lambda: last)) as (_, address):
        capsys.readouterr()
        assert run(["host", "load", "--server", address]) == 0
        rows = {row.split()[0]: row for row in capsys.readouterr().out.splitlines()}
    assert "(saturated)" in rows["h01"]
    assert "(saturated)" not in rows["h02"]
    store.close()


def test_loads_of_hosts_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(new_database(tmp_path / "loads"))
    watch = LoadWatch(HostLoadTable(store), lambda: BEGIN + 6000, planned=True)
    with serving(tmp_path, hosts=2, loads=HostLoadService(watch, lambda: BEGIN + 6000)) as (_, address):
        capsys.readouterr()
        assert run(["host", "load", "--server", address]) == 0
        assert capsys.readouterr().out == "Nobody else was seen at these hosts.\n"
        assert run(["host", "load", "h07", "--server", address]) == 1
        assert "there is no host 'h07'" in capsys.readouterr().err
        for tick in range(101):  # the owner of h01 comes for five of ten minutes
            watch.look((Host("h01", owner_takes=float(tick % 10 < 5)),), BEGIN + 60 * tick)
        assert run(["host", "load", "--server", address]) == 0
        heading, row = capsys.readouterr().out.splitlines()
        assert heading.split("  ")[0] == "HOST"
        assert row.split()[:4] == ["h01", "its", "owner", "100%"]
        assert row.endswith("times an hour  5 min")
        assert run(["host", "load", "h01", "--server", address]) == 0
        assert "its owner, hour by hour from now: " in capsys.readouterr().out
        assert run(["host", "load", "h01", "--json", "--server", address]) == 0
        (load,) = json.loads(capsys.readouterr().out)
        assert (load["host"], load["cause"], load["mean"], load["deviation"]) == ("h01", "owner", 300, 0)
        assert 0 < load["coming"][0] < 0.5
        assert len(load["coming"]) == 24
    store.close()
