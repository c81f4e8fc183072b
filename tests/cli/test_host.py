from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cosched.cli.main import run
from cosched.connector.interface import Host
from cosched.coscheduler.events import HostsObserved
from tests.service.makers import serving

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_hosts_are_listed_with_what_is_wrong_with_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path) as (daemon, address):
        hosts = (Host("h1"), Host("h2", up=False, reason="drained"))
        daemon.engine.do(HostsObserved(daemon.clock.now(), hosts)).result(10)
        capsys.readouterr()  # what the daemon said as it started
        assert run(["host", "list", "--server", address]) == 0
        assert capsys.readouterr().out == "HOST  STATE  REASON\nh1    up\nh2    down   drained\n"
        assert run(["host", "list", "--server", address, "--json"]) == 0
        assert [host["up"] for host in json.loads(capsys.readouterr().out)] == [True, False]


def test_the_domain_is_described_for_information_services(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path, hosts=3) as (_, address):
        assert run(["host", "glue", "--server", address]) == 0
        assert "<TotalInstances>3</TotalInstances>" in capsys.readouterr().out
        assert run(["host", "glue", "--ldif", "--server", address]) == 0
        assert "GLUE2ExecutionEnvironmentTotalInstances: 3\n" in capsys.readouterr().out
