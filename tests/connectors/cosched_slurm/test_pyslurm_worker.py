from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from cosched.errors import SystemFault
from cosched_slurm.pyslurm_worker import _check_version, _PyslurmVerbs


@pytest.mark.parametrize(
    ("library", "controller"), [("25.11.2", "25.11.7"), ("25.11.0", "25.11"), ("25.5.0", "25.05.3")]
)
def test_a_library_is_for_a_release_of_slurm(library: str, controller: str) -> None:
    _check_version(library, controller)


@pytest.mark.parametrize("controller", ["22.05.8", "25.05.1", "26.05.0", "24.11.5-rc1", "", "unknown"])
def test_another_release_is_refused_with_what_to_do(controller: str) -> None:
    with pytest.raises(SystemFault, match=r"^pyslurm 25\.11\.2 is for Slurm 25\.11 and .*: install .*interface = "):
        _check_version("25.11.2", controller)


def test_a_job_has_an_environment_where_pyslurm_finds_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: Slurm took no job from a Python that links statically, as Debian's: pyslurm found no environment."""
    given: list[dict[str, object]] = []

    class Description:
        def __init__(self, **description: object) -> None:
            given.append(description)

        def submit(self) -> int:
            return 17

    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    verbs = _PyslurmVerbs()
    verbs._loaded = SimpleNamespace(JobSubmitDescription=Description)
    assert verbs.submit({"name": "night"}) == 17
    assert given == [{"environment": dict(os.environ), "name": "night"}]
    assert os.environ["SLURM_CONF"] == "/etc/slurm/slurm.conf"
