from __future__ import annotations

import pytest

from cosched.api.command_names import command_name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("/usr/bin/heat", "5"), "heat"),
        (("python3", "runs/heat.py", "5"), "heat.py"),
        (("python3.11", "-c", "pass"), "python3.11"),
        (("/bin/sh",), "sh"),
    ],
)
def test_a_command_is_called_by_its_program_or_its_script(command: tuple[str, ...], name: str) -> None:
    assert command_name(command) == name
