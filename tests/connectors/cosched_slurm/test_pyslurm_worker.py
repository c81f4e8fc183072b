from __future__ import annotations

import pytest

from cosched.errors import SystemFault
from cosched_slurm.pyslurm_worker import _check_version


@pytest.mark.parametrize(
    ("library", "controller"), [("25.11.2", "25.11.7"), ("25.11.0", "25.11"), ("25.5.0", "25.05.3")]
)
def test_a_library_is_for_a_release_of_slurm(library: str, controller: str) -> None:
    _check_version(library, controller)


@pytest.mark.parametrize("controller", ["22.05.8", "25.05.1", "26.05.0", "24.11.5-rc1", "", "unknown"])
def test_another_release_is_refused_with_what_to_do(controller: str) -> None:
    with pytest.raises(SystemFault, match=r"^pyslurm 25\.11\.2 is for Slurm 25\.11 and .*: install .*interface = "):
        _check_version("25.11.2", controller)
