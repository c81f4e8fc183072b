from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import HostView, TokenRequest
from cosched.cli.hardware.jobs import chosen_hosts
from cosched.cli.main import run
from cosched.errors import UserError
from tests.connectors.measured_hosts import measure_two_hosts
from tests.testbed.forked.nursery import QuickSite

if TYPE_CHECKING:
    from pathlib import Path

IDLE = HostView(name="n1", host_class="fast", up=True, reason="", task="", free_at=None)
HOSTS = [
    replace(IDLE, name="n0", task="7", free_at=9.0, busy=True),
    IDLE,
    *(replace(IDLE, name=f"n{number}") for number in (2, 3, 4)),
    replace(IDLE, name="s1", host_class="slow", up=False, reason="drained"),
]


def test_three_idle_hosts_stand_for_a_class_and_names_for_themselves() -> None:
    assert chosen_hosts(HOSTS, "fast", "") == ("n1", "n2", "n3")
    assert chosen_hosts(HOSTS, "", "n4, n2,n4") == ("n4", "n2")


@pytest.mark.parametrize(
    ("host_class", "named", "message"),
    [
        ("fest", "", "no host is of class 'fest': did you mean fast?"),
        ("slow", "", "no host of class 'slow' is idle"),
        ("", ",", "--hosts names none"),
        ("", "n1,n9", "there is no host 'n9': `cosched host list` has their names"),
        ("", "n0", "host n0 is busy"),
        ("", "s1", r"host s1 is down \(drained\)"),
    ],
)
def test_hosts_that_cannot_be_measured_are_named(host_class: str, named: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        chosen_hosts(HOSTS, host_class, named)


def test_places_to_measure_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hardware", "measure", "a", "--here", "--hosts", "b"]) == 1
    assert "--here, --samples, --class and --hosts exclude each other" in capsys.readouterr().err


@pytest.mark.daemon
@pytest.mark.slow
def test_hosts_of_local_slots_are_measured_by_tasks_of_administrators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with QuickSite("local", scale=0.05, hosts=3) as site, site.client() as client:
        token = client.create_token(TokenRequest(user="ann", role="user")).token
        with monkeypatch.context() as patch:
            patch.setenv("COSCHED_TOKEN", token)
            words = ["hardware", "measure", "a", "--hosts", "host01", "--folder", str(tmp_path)]
            assert run([*words, "--server", site.server]) == 1
        assert "this token may not be used for that" in capsys.readouterr().err
        assert (client.tasks().total, list(tmp_path.iterdir())) == (0, [])
        measure_two_hosts(site, client, tmp_path, monkeypatch)
        said = capsys.readouterr().out
        assert {"hosts", "deviations", "built"} <= set(json.loads(said))
