"""Models that nobody wrote: the machine is measured, programs are watched, and runs become models and a catalogue."""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cosched.errors import SystemFault
from demo.commands import command, program_output
from demo.programs import environment, environment_line, interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from demo.programs import RealProgram

__all__ = ["CHECKED", "HARDWARE", "Workshop"]

HARDWARE = "node"
CHECKED = "right"  # what a program says of a result that is
_TRIES = 3  # of a run that others disturbed
_QUIET = 0.05  # part of the run time waited for a processor, from which a run is watched again
_AGAIN = 40.0  # seconds of that
_FOLDERS = ("programs", "models/hardware", "models/applications", "applications.d")


@dataclass(frozen=True, slots=True)
class Workshop:
    """A folder in which models are made, and which a daemon then reads.

    Attributes:
        folder: with `programs`, `models` and `applications.d`; any user may read it, as the pool's own user must.
        hosts: how many a parallel program may have.
        console: where it says what it does.
    """

    folder: Path
    hosts: int
    console: Console

    def __post_init__(self) -> None:
        for name in _FOLDERS:
            (self.folder / name).mkdir(parents=True)
        self.folder.chmod(0o755)

    @property
    def programs(self) -> Path:
        """Where the programs are."""
        return self.folder / "programs"

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """What a daemon's configuration says so that it knows models and programs."""
        return {
            "domain": {"hardware": HARDWARE},
            "models": {"folders": [str(self.folder / "models")]},
            "applications": {"folders": [str(self.folder / "applications.d")]},
        }

    def measure(self) -> None:
        """Measure this machine."""
        with _programs_environment():
            said = command("hardware", "measure", HARDWARE, "--quick", "--folder", str(self.folder / "models/hardware"))
        self.console.print(said.rstrip(), markup=False, highlight=False)

    def observe(self, programs: Sequence[RealProgram], seconds: float = _AGAIN) -> None:
        """Watch runs of programs, on one rank and of parallel ones on as many as there are hosts.

        Those that others disturbed most are run again, for so many seconds in all.

        Raises:
            SystemFault: a run's result is wrong.
        """
        seen = [
            _Watched(program, values, ranks, self._observed(program, values, ranks))
            for program in programs
            for values in program.watched()
            for ranks in ((1, self.hosts) if program.parallel else (1,))
        ]
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            worst = max(seen, key=lambda each: each.disturbance)
            if worst.disturbance < _QUIET:
                break
            record = self._observed(worst.program, worst.values, worst.ranks)
            worst.tries += 1
            if _disturbance(record) < _disturbance(worst.record):
                worst.record = record
        for each in seen:
            with self._records(each.program).open("a") as records:
                records.write(json.dumps(each.record) + "\n")

    def derive(self, program: RealProgram) -> dict[str, Any]:
        """Make the skeleton of a program's model from its source; return what `cosched model derive --json` says."""
        with _programs_environment():
            said = command(*program.derivation(self.hosts), "--json", "--out", str(self.folder / f"{program.name}.psl"))
        found: dict[str, Any] = json.loads(said)
        return found

    def fit(self, program: RealProgram) -> dict[str, Any]:
        """Make a program's model of its runs, or learn the costs of its derived one; return what the command says."""
        skeleton = self.folder / f"{program.name}.psl"
        machine = self.folder / "models" / "hardware" / f"{HARDWARE}.hmcl"
        said = command(
            *("model", "fit", program.name, str(self._records(program)), "--disturbed", "--json"),
            *(("--derived", str(skeleton)) if skeleton.exists() else ()),
            *("--hardware", str(machine)),
            *("--out", str(self.folder / "models" / "applications" / f"{program.name}.psl")),
        )
        found: dict[str, Any] = json.loads(said)
        return found

    def enter(self, program: RealProgram, connector: str) -> None:
        """Write a program's entry in the catalogue."""
        python, variables = interpreter(connector) if program.interpreted else ("", {})
        words = (*program.command(self.programs, python), *program.words.split())
        lines = [
            f"name = {json.dumps(program.name)}",
            f"model = {json.dumps(program.name)}",
            f"command = {json.dumps(words)}",
            f"hosts = {{ min = 1, max = {self.hosts if program.parallel else 1} }}",
            environment_line(environment(connector) | variables),
            *(['launch = "openmpi"'] if program.parallel else []),
            *(line for name in ("n", "steps") for line in (f"[parameters.{name}]", 'type = "integer"')),
        ]
        (self.folder / "applications.d" / f"{program.name}.toml").write_text("\n".join(lines) + "\n")

    def _records(self, program: RealProgram) -> Path:
        return self.folder / f"{program.name}.jsonl"

    def _observed(self, program: RealProgram, values: Mapping[str, int], ranks: int) -> dict[str, Any]:
        file = self.folder / "tries.jsonl"
        numbers = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
        started = ["mpirun", "-np", str(ranks)] if program.parallel else []
        with _programs_environment(), program_output() as lines:
            command(
                *("model", "observe", "--application", program.name, "--class", HARDWARE, *numbers),
                *("--out", str(file), "--", *started),
                *program.command(self.programs),
                *program.arguments(values),
            )
        if not any(f": {CHECKED}," in line for line in lines):
            raise SystemFault(f"{program.name} {values} on {ranks}: the result is wrong: {' '.join(lines)}")
        record: dict[str, Any] = json.loads(file.read_text().splitlines()[-1])
        return record


@dataclass(slots=True)
class _Watched:
    """A run of a program with the least disturbed record of it."""

    program: RealProgram
    values: Mapping[str, int]
    ranks: int
    record: dict[str, Any]
    tries: int = 1

    @property
    def disturbance(self) -> float:
        return _disturbance(self.record) if self.tries < _TRIES else 0.0


def _disturbance(record: Mapping[str, Any]) -> float:
    """Return the part of a run that it waited for processors."""
    return float(record["delay"]) / float(record["wall"])


@contextmanager
def _programs_environment() -> Iterator[None]:
    """Let programs find their MPI here."""
    before = dict(os.environ)
    os.environ.update(environment("local"))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
