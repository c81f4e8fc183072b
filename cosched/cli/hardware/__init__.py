"""`cosched hardware` measures machines and compares what was measured."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import math
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from cosched.cli.connection import ServerOption, connect
from cosched.cli.hardware.jobs import chosen_hosts, measure_hosts
from cosched.cli.output import JsonOption, clean, console, emit_json, print_answer, print_table
from cosched.errors import SystemFault, UserError
from cosched.evaluation import load_hardware
from cosched.measurement.host_class import HostDeviation, class_samples, deviations
from cosched.measurement.host_program import HostProgram
from cosched.measurement.machine import CompilerChoice, MachineBench, compiler_version, found_mpi
from cosched.measurement.samples import Samples, ratio_interval
from cosched.measurement.writing import TOOL, MachineFacts, MeasuredMachine, read_samples

__all__ = ["app"]

app = typer.Typer()

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}", re.ASCII)
_SECONDS, _JOB_SECONDS, _QUICK_SECONDS = 10.0, 8.0, 1.0
_DIFFERENT, _NOISE_DIFFERENT = 0.05, 1.0
_SHOWN = 20
_STAND_IN = "sockets over the loopback, which stand in until two hosts are measured"


@app.command()
def measure(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call this class of hosts.")],
    here: Annotated[bool, typer.Option("--here", help="On this machine: the default.")] = False,
    host_class: Annotated[str, typer.Option("--class", metavar="C", help="On idle hosts of a class, by tasks.")] = "",
    hosts: Annotated[str, typer.Option(metavar="A,B,…", help="On these hosts, by tasks.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="In seconds, less exactly.")] = False,
    cc: Annotated[str, typer.Option(metavar="COMPILER", help="Compiles the programs: cc.")] = "cc",
    cflags: Annotated[str, typer.Option(metavar="FLAGS", help="As your programs are compiled: -O2.")] = "-O2",
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the files go: here.")] = Path(),
    samples: Annotated[Path | None, typer.Option(metavar="FILE", help="Measured before; measures nothing.")] = None,
    server: ServerOption = "",
    json: JsonOption = False,
) -> None:
    """Measure this machine or hosts of the pool; write the resource model and its samples."""
    if (here or samples is not None) + bool(host_class) + bool(hosts) > 1:
        raise UserError("--here, --samples, --class and --hosts exclude each other: give one of them")
    if not _NAME.fullmatch(name):
        raise UserError(f"{name[:80]!r} cannot name a resource model: use letters, digits and '_'")
    file, kept = folder / f"{name}.hmcl", folder / f"{name}.samples.json"
    _check_ours(file)
    if not folder.is_dir():
        raise UserError(f"--folder {folder}: there is no such folder: make it first")
    off: list[HostDeviation] = []
    tell = _say_nothing if json else _say
    if host_class or hosts:
        facts, found, off = _measured_by_tasks(
            CompilerChoice(cc, cflags), _QUICK_SECONDS if quick else _JOB_SECONDS, server, (host_class, hosts), tell
        )
    elif samples is None:
        facts, found = _measured(CompilerChoice(cc, cflags), _QUICK_SECONDS if quick else _SECONDS, tell)
    else:
        facts, found = read_samples(_text(samples), str(samples))
    machine = MeasuredMachine(name, facts, found)
    try:
        text = machine.hmcl()
    except KeyError as error:
        raise UserError(f"{samples} lacks the samples of {error}: measure once more") from error
    except ValueError as error:
        raise UserError(f"{samples} has samples of no test ({error}): measure once more") from error
    try:
        file.write_text(text, encoding="utf-8")
        if samples is None:
            kept.write_text(machine.samples_text(), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{file} cannot be written ({error.strerror}): choose another --folder") from error
    load_hardware(file)  # what was written can be read
    document = {
        "file": str(file),
        **asdict(facts),
        **_figures(machine),
        "deviations": [{**asdict(each), "off": each.off} for each in off],
    }
    print_answer(json, document, lambda: [*_summary(machine, file), *_about_hosts(off)])


def _measured(compiler: CompilerChoice, seconds: float, tell: Callable[[str], None]) -> tuple[MachineFacts, Samples]:
    found, within = Samples(), ""

    def messages_within() -> None:
        nonlocal within
        within = found_mpi()
        try:
            bench.messages(found, "shm", "mpi" if within else "local")
        except SystemFault as fault:
            tell(f"{fault}; messages within the host are timed by sockets, which take longer: measure again when idle")
            within = _plain(f"sockets, as {fault}")
            bench.messages(found, "shm", "local")

    with MachineBench(compiler, seconds) as bench:
        parts: tuple[tuple[str, Callable[[], None]], ...] = (
            ("operations", lambda: bench.operations(found)),
            ("memory", lambda: bench.memory(found)),
            ("noise", lambda: bench.noise(found)),
            ("messages within the host", messages_within),
            ("messages between hosts", lambda: bench.messages(found, "network", "tcp")),
        )
        for what, part in parts:
            begin = time.monotonic()
            part()
            tell(f"{what}: {time.monotonic() - begin:.1f} s")
        facts = MachineFacts(
            processors=len(os.sched_getaffinity(0)),
            measured=datetime.now(UTC).strftime("%Y-%m-%d"),
            compiler=f"{compiler_version(compiler)} {compiler.flags}",
            within=within or "sockets, as there is no MPI here",
            between=_STAND_IN,
            others=round(bench.others(), 3),
        )
    return facts, found


def _measured_by_tasks(
    compiler: CompilerChoice, seconds: float, server: str, which: tuple[str, str], tell: Callable[[str], None]
) -> tuple[MachineFacts, Samples, list[HostDeviation]]:
    """Measure hosts of a class, or those named, through the daemon."""
    shipped: dict[str, bytes] = {}
    shipped_by = ""
    with suppress(UserError), MachineBench(compiler, 0.0) as bench:  # hosts may have the compiler that is not here
        shipped, shipped_by = bench.compiled(), f"{compiler_version(compiler)} {compiler.flags}"
    program = HostProgram(compiler, shipped, shipped_by, round(seconds))
    with connect(server) as client:
        found = measure_hosts(client, program, chosen_hosts(client.hosts(), *which), tell)
    first = found.hosts[0]
    samples = class_samples((*found.hosts, *found.pairs))
    names = ", ".join(each.host for each in found.hosts)
    facts = MachineFacts(
        processors=min(each.processors for each in found.hosts),
        measured=datetime.now(UTC).strftime("%Y-%m-%d"),
        compiler=_plain(", ".join(dict.fromkeys(each.compiler for each in found.hosts))),
        within="sockets",
        between=_plain("sockets, not MPI, between " + ", ".join(each.host for each in found.pairs))
        if found.pairs
        else _STAND_IN,
        others=0.0,
        hosts=_plain(names),
        built=", ".join(dict.fromkeys(each.built for each in (first, *found.hosts))),
    )
    return facts, samples, deviations(found.hosts) if len(found.hosts) > 1 else []


def _plain(text: str) -> str:
    """Return a text as HMCL may quote it, and its comments hold it."""
    return re.sub(r'[^ -~]|["*]', "", text)[:300]


def _about_hosts(found: list[HostDeviation]) -> list[str]:
    lines = [
        f"{each.host} is off its class: {each.group} takes {each.ratio:.2f} times as long; it is ill or of another one"
        for each in found
        if each.off
    ]
    widest = max((abs(each.ratio - 1) for each in found), default=0.0)
    return [*lines, f"hosts differ from the middle one of their class by {widest:.1%} at most"] if found else []


def _say(text: str) -> None:
    sys.stderr.write(f"cosched: {clean(text)}\n")


def _say_nothing(_text: str) -> None:
    return


def _figures(machine: MeasuredMachine) -> dict[str, Any]:
    return {
        "opcodes": len(machine.operations),
        "caches": [list(level) for level in machine.memory.caches],
        "noise": machine.noise,
        "spread": {name: round(machine.spread(name), 4) for name in ("operation", "memory", "shm", "network")},
        "worst": {"shm": round(machine.within.worst, 4), "network": round(machine.between.worst, 4)},
    }


def _summary(machine: MeasuredMachine, file: Path) -> list[str]:
    facts, within, between = machine.facts, machine.within, machine.between
    levels = ", ".join([*(f"{size // 1024} KiB" for size, _ in machine.memory.caches), "main"])
    return [
        f"processor  {len(machine.operations)} opcodes; {facts.compiler}; spread {machine.spread('operation'):.1%}",
        f"memory     {len(machine.group('memory'))} sizes: {levels}; spread {machine.spread('memory'):.1%}",
        *(
            []
            if machine.noise is None
            else [f"noise      equal phases on all processors differ by {machine.noise:.1%}"]
        ),
        f"messages   {within.sizes} sizes within the host: {facts.within}; lines up to {within.worst:.0%} off",
        f"           {between.sizes} sizes between hosts: {facts.between}; {between.worst:.0%}",
        f"hosts      {facts.hosts}; programs compiled {facts.built}"
        if facts.hosts
        else f"others used {facts.others:.2f} processors meanwhile",
        f"wrote {file} and its samples; `cosched model predict APP --hardware {file}` uses it",
    ]


@app.command()
def compare(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A resource model that was measured.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Another one.")],
    everything: Annotated[bool, typer.Option("--all", help="What is the same, too.")] = False,
    json: JsonOption = False,
) -> None:
    """Compare two measurements; exit 1 where a cost surely differs by more than 5 %."""
    before, after = (read_samples(_text(kept), str(kept))[1] for kept in (_samples_file(old), _samples_file(new)))
    found = [_compared(name, before, after) for name in before if name in set(after) and " empty" not in name]
    if not found:
        raise UserError(f"{old} and {new} have no test in common: measure one of them once more")
    differing = [each for each in found if each["differs"]]
    if json:
        emit_json({"tests": len(found), "differing": len(differing), "ratios": found})
    else:
        rows = [
            (each["test"], f"{each['ratio']:.2f}", f"{each['low']:.2f} to {each['high']:.2f}")
            for each in sorted(found if everything else differing, key=lambda each: -abs(math.log(each["ratio"])))
        ]
        print_table(("TEST", "TIMES AS LONG", "95 %"), rows if everything else rows[:_SHOWN])
        console.print(f"{len(differing)} of {len(found)} tests differ by more than {_DIFFERENT:.0%}", markup=False)
    if differing:
        raise typer.Exit(1)


def _compared(name: str, before: Samples, after: Samples) -> dict[str, Any]:
    if name.startswith("memory "):  # a rate
        before, after = after, before
    low, high = ratio_interval(before.of(name), after.of(name))
    limit = _NOISE_DIFFERENT if name.startswith("noise ") else _DIFFERENT
    ratio = after.value(name) / before.value(name)
    return {
        "test": name,
        "ratio": round(ratio, 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "differs": low > 1 + limit or high < 1 / (1 + limit),
    }


def _samples_file(file: Path) -> Path:
    return file if file.suffix == ".json" else file.with_suffix(".samples.json")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UserError(f"{file} cannot be read ({why}): give a file that `{TOOL}` wrote") from error


def _check_ours(file: Path) -> None:
    """Refuse to write over a resource model that somebody wrote by hand."""
    if file.exists() and TOOL not in _text(file):
        raise UserError(f"{file} was not written by `{TOOL}`: choose another name or --folder")
