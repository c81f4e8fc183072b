from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from cosched.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.daemon


@pytest.fixture
def config(tmp_path: Path) -> Path:
    config = tmp_path / "cosched.toml"
    config.write_text(
        f'[domain]\nstate = "{tmp_path}/state"\n[planning]\npolicy = "fcfs-maximum"\n'
        f'[connector.local]\nspool = "{tmp_path}/spool"\nhosts = 2\n'
    )
    return config


@contextmanager
def serving(config: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the daemon until it has said that it serves; gives it and that line."""
    command = [sys.executable, "-m", "cosched.cli.main", "serve", "--config", str(config), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as daemon:
        assert daemon.stderr is not None
        try:
            yield daemon, next((line for line in daemon.stderr if "serving" in line), "")
        finally:
            daemon.kill()


def test_it_serves_until_it_is_told_to_end(config: Path, tmp_path: Path) -> None:
    socket = tmp_path / "state" / "cosched.sock"
    with serving(config) as (daemon, said):
        assert str(socket) in said
        with Client(f"unix:{socket}") as client:
            assert client.status().policy == "fcfs-maximum"
        daemon.terminate()
        assert daemon.wait(60) == 0
    assert not socket.exists()


def test_the_log_is_one_object_a_line_where_that_is_wished_and_ctrl_c_ends_it(config: Path) -> None:
    with serving(config, "--log-json") as (daemon, said):
        line = json.loads(said)
        daemon.send_signal(signal.SIGINT)
        assert daemon.stderr is not None
        events = [json.loads(text)["event"] for text in daemon.stderr]
        assert daemon.wait(60) == 0
    assert (line["event"], line["level"], line["connector"]) == ("serving", "info", "local")
    assert line["timestamp"].endswith("Z")
    assert "stopping" in events


def test_a_fault_of_the_configuration_is_one_line(config: Path) -> None:
    config.write_text(config.read_text() + "[plannning]\nseed = 1\n")
    command = [sys.executable, "-m", "cosched.cli.main", "serve", "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "plannning" in done.stderr
    assert str(config) in done.stderr


def test_hardware_that_the_library_does_not_have_is_told_at_the_start(config: Path) -> None:
    text = config.read_text().replace("[domain]\n", '[domain]\nhardware = "epyc_64"\n')
    config.write_text(text.replace("hosts = 2", "hosts = 0"))  # refused, so that it ends at once
    command = [sys.executable, "-m", "cosched.cli.main", "serve", "--config", str(config)]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert "domain.hardware: models foretell nothing on 'epyc_64' until [models] folders" in ended.stderr
