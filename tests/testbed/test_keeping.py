"""A manager of the testbed is kept until a signal, and its settings can be pasted."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cosched.daemon.config.loading import load_configuration
from tests.testbed.keeping import printed_settings, settings_text

if TYPE_CHECKING:
    from pathlib import Path

_KEPT = """
from contextlib import contextmanager
from types import SimpleNamespace
from tests.testbed.keeping import keep

@contextmanager
def pool():
    yield SimpleNamespace(settings={"config": "/etc/pool"}, hosts=("node01", "node02"))

keep("condor", pool, shared=True)
"""


def test_a_pool_in_the_background_stays_although_its_input_is_at_its_end() -> None:
    """It ended at once under nohup, or as `… &`, without a word and with exit code 0."""
    command = [sys.executable, "-c", _KEPT]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as keeper:
        assert keeper.stdout is not None
        assert printed_settings(keeper.stdout, "condor") == {"config": "/etc/pool"}
        with pytest.raises(subprocess.TimeoutExpired):
            keeper.wait(0.3)
        keeper.send_signal(signal.SIGTERM)
        assert keeper.wait() == 0


@pytest.mark.parametrize("shared", [False, True])
def test_the_settings_of_a_pool_are_a_configuration(tmp_path: Path, shared: bool) -> None:
    """They were JSON, with keys that no connector has."""
    file = tmp_path / "cosched.toml"
    file.write_text(settings_text("slurm", {"config": "/a/slurm.conf", "bin": "/b", "spool": "/c"}, shared=shared))
    read = load_configuration(file)
    assert (read.connector.kind, read.planning.share_hosts) == ("slurm", shared)
