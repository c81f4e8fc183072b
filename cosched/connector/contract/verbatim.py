"""Text given to a job arrives unchanged, and nothing of it is executed."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector.contract.bench import ContractBase
from cosched.connector.interface import ConnectorError
from cosched.connector.jobs import JobState
from cosched.errors import UserError

if TYPE_CHECKING:
    from cosched.connector.contract.bench import Bench
    from cosched.connector.jobs import Launch

__all__ = ["VerbatimContract"]

_AWKWARD = (
    "two words",
    "",
    "'single'",
    '"double"',
    "$(touch hacked)",
    "`touch hacked`",
    "$HOME ${HOME} $$(Memory) $ENV(PATH)",
    "a\nqueue 500\ninclude command : touch hacked",
    "tab\there",
    "back\\slash",
    "; touch hacked #",
    "| touch hacked",
    "-h",
    "--help",
    "*",
    "~",
    "%s%n",
    "grüße ☃ 𓀀",
    "\u202eover",
    "\r",
    "#SBATCH --uid=0",
)

_AWKWARD_VALUES = ("a b", "", "'\"", "$HOME $(touch hacked) `touch hacked`", "one\ntwo", "a;b=c")
_UNSAFE_NAMES = ("x\n#SBATCH --uid=0", "a\rb", "nul\0", "$ENV(PATH)", "$(touch hacked)", "-h")
_NO_ARGUMENTS = ("nul\0byte", "\ud800")
_NO_VARIABLES = ("", "A=B", "A B", "A\nB", "$A", "1A")
_NO_PROGRAMS = ("/no/such/program", "no-such-program", "-h", "../../etc/passwd", "/etc")


class VerbatimContract(ContractBase):
    """Text given to a job arrives unchanged, and nothing of it is executed."""

    def test_arguments_arrive_verbatim(self, bench: Bench) -> None:
        """Spaces, quotes, dollars, backticks, newlines and letters of the world are text and nothing else."""
        file = bench.workplace / "arguments"
        script = r'''for a; do printf '%s\000' "$a"; done > "$0"'''
        launch = bench.shell(script, str(file), *_AWKWARD, hosts=bench.up(1))
        launch = replace(launch, directory=str(bench.workplace))
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        assert tuple(file.read_bytes().decode().split("\0")[:-1]) == _AWKWARD
        assert not list(bench.workplace.rglob("hacked"))

    def test_environment_arrives_verbatim(self, bench: Bench) -> None:
        """A value of the environment is text and nothing else."""
        file = bench.workplace / "values"
        given = {f"MINE_{number}": value for number, value in enumerate(_AWKWARD_VALUES)}
        shown = " ".join(f'"${name}"' for name in given)
        launch = bench.shell(f'printf "%s\\000" {shown} > "$0"', str(file), hosts=bench.up(1))
        bench.submit(replace(launch, environment=given, directory=str(bench.workplace)))
        bench.until(launch, JobState.COMPLETED)
        assert tuple(file.read_text().split("\0")[:-1]) == _AWKWARD_VALUES
        assert not list(bench.workplace.rglob("hacked"))

    def test_the_environment_cannot_change_its_place(self, bench: Bench) -> None:
        """The COSCHED_ variables win over the user's environment."""
        launch, diary = bench.diary(hosts=bench.up(1))
        bench.submit(replace(launch, environment={"COSCHED_RANK": "99"}))
        bench.until(launch, JobState.COMPLETED)
        assert diary.read_text() == "0\n"

    def test_unsafe_names_are_refused(self, bench: Bench) -> None:
        """A name with control characters, `$` or a leading dash never reaches the manager."""
        launches = [bench.diary(hosts=bench.up(1)) for _ in _UNSAFE_NAMES]
        for (launch, diary), name in zip(launches, _UNSAFE_NAMES, strict=True):
            _assert_refused(bench, replace(launch, name=name))
            assert not diary.exists()

    def test_arguments_that_no_system_can_pass_are_refused(self, bench: Bench) -> None:
        """NUL and lone surrogates cannot be in an argument vector."""
        for argument in _NO_ARGUMENTS:
            _assert_refused(bench, bench.launch("/bin/echo", argument, hosts=bench.up(1)))

    def test_bad_names_of_variables_are_refused(self, bench: Bench) -> None:
        """A variable's name is letters, digits and underscores."""
        for variable in _NO_VARIABLES:
            launch = replace(bench.launch("/bin/true", hosts=bench.up(1)), environment={variable: "x"})
            _assert_refused(bench, launch)

    def test_an_empty_command_is_refused(self, bench: Bench) -> None:
        """There must be something to run."""
        _assert_refused(bench, bench.launch(hosts=bench.up(1)))

    def test_an_unknown_host_does_not_run_it(self, bench: Bench) -> None:
        """A job for an unknown host is refused or waits; it runs nowhere else."""
        launch, diary = bench.diary(hosts=("no-such-host",))
        try:
            bench.submit(launch)
        except (UserError, ConnectorError) as error:
            assert "no-such-host" in str(error)  # noqa: PT017  an error is one of two right answers
        time.sleep(self.quiet)
        assert not diary.exists()

    def test_a_program_that_cannot_start_fails_with_a_reason(self, bench: Bench) -> None:
        """A command that cannot be executed fails or is refused: it neither hangs nor completes."""
        taken = []
        for executable in _NO_PROGRAMS:
            launch = bench.launch(executable)
            try:
                bench.submit(launch)
            except (UserError, ConnectorError) as error:
                assert str(error)  # noqa: PT017  an error is one of two right answers
            else:
                taken.append(launch)
        for launch in taken:
            report = bench.until(launch, JobState.FAILED, JobState.HELD)
            assert report.reason or report.exit_code in (126, 127), launch.command


def _assert_refused(bench: Bench, launch: Launch) -> None:
    try:
        bench.submit(launch)
    except UserError:
        assert bench.report(launch).state is JobState.UNKNOWN
    else:
        pytest.fail(f"not refused: {launch}")
