"""Templates print checked values only."""

from __future__ import annotations

import pytest

from cosched.connector import safe
from cosched.connector.templating import render


def test_a_value_that_was_not_checked_is_not_printed() -> None:
    values = {"count": 1, "script": safe("/run", "it"), "srun": safe("/srun", "it"), "scontrol": safe("", "it")}
    assert "exec '/run'" in render("slurm", "job.sh", values)
    with pytest.raises(TypeError, match="not checked"):
        render("slurm", "job.sh", {**values, "script": "/run"})
