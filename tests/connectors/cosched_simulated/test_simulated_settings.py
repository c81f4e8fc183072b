"""The settings of the simulated connector."""

from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched_simulated import SimulatedConnector
from cosched_simulated.simulated_settings import SimulatedSettings


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"host": 3}, "no setting 'host': choose from hosts, spool, seed, error, failures, unpredicted, latency"),
        ({"hosts": 0}, "hosts = 0 "),
        ({"hosts": {}}, "how many hosts of each class"),
        ({"hosts": {"a": 0}}, "how many hosts of each class"),
        ({"hosts": {"a": True}}, "how many hosts of each class"),
        ({"hosts": {"a": "2"}}, "how many hosts of each class"),
        ({"hosts": {"": 2}}, "how many hosts of each class"),
        ({"hosts": {"a": 4096, "b": 1}}, "how many hosts of each class, 4096 at most"),
        ({"hosts": {"$a": 1}}, "a class of hosts contains '$'"),
        ({"hosts": {"a,b": 1}}, "how many hosts of each class"),
        ({"spool": "relative"}, "the absolute path of a folder"),
        ({"seed": -1}, "seed = -1 "),
        ({"seed": 0.5}, "seed = 0.5 "),
        ({"error": -0.1}, "error = -0.1 "),
        ({"failures": 1.1}, "a number from 0 to 1"),
        ({"unpredicted": "1m"}, "a number of seconds"),
        ({"latency": float("nan")}, "latency = nan "),
        ({"grace": -1}, "grace = -1 "),
        ({"keep_days": -1}, "keep_days = -1 "),
        ({"busy": 2}, "busy = 2 "),
        ({"lost": True}, "lost = True "),
        ({"repeat": "often"}, "repeat = 'often' "),
    ],
)
def test_a_bad_setting_is_named_with_what_was_expected(table: dict[str, object], words: str) -> None:
    with pytest.raises(UserError) as caught:
        SimulatedConnector(table)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_hosts_have_what_is_said_of_them() -> None:
    settings = SimulatedSettings.read({"cores": 64, "memory": "256G", "gpus": 4})
    assert (settings.cores, settings.memory, settings.gpus) == (64, 262144, 4)
    plain = SimulatedSettings.read({})
    assert (plain.cores, plain.memory, plain.gpus) == (None, None, None)
    with pytest.raises(UserError, match="memory = 'much' is not usable: give a size"):
        SimulatedSettings.read({"memory": "much"})


def test_hosts_are_a_number_names_or_classes() -> None:
    assert len(SimulatedSettings.read({}).hosts) == 16
    assert SimulatedSettings.read({"hosts": ["b", "a"]}).hosts == {"b": "", "a": ""}
    assert SimulatedSettings.read({"hosts": {"SunUltra10": 2, "sgi": 1}}).hosts == {
        "host01": "SunUltra10",
        "host02": "SunUltra10",
        "host03": "sgi",
    }
