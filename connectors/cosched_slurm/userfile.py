"""A user's batch script becomes tasks: its `#SBATCH` and `#COSCHED` lines are read.

They are read as sbatch reads them, and not run.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.connector import HostShare
from cosched.connector.array_indices import parse_array
from cosched.connector.userfiles import UserFileOrigin, UserJob
from cosched.connector.values import NativeDescription, check_native_description, safe
from cosched.errors import UserError
from cosched_slurm.scripts.sbatch_options import (
    USER_OPTIONS,
    check_user_option,
    long_name,
    parse_begin,
    parse_time_limit,
    takes_value,
)
from cosched_slurm.scripts.script_needs import script_needs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["cosched_requests", "read"]

_COSCHED_REQUESTS = {
    "after": True,
    "application": True,
    "begin": True,
    "best-effort": False,
    "deadline": True,
    "hosts": True,
    "licences": True,
    "name": True,
    "no-requeue": False,
    "priority": True,
    "profile": True,
    "retries": True,
    "runtime": True,
    "set": True,
}
# Variables of the submitting environment that a job takes over, where its script has no --export.
_USUAL_VARIABLES = (
    "PATH",
    "LD_LIBRARY_PATH",
    "MANPATH",
    "MODULEPATH",
    "MODULESHOME",
    "LOADEDMODULES",
    "_LMFILES_",
    "SHELL",
    "LANG",
    "LC_ALL",
    "TZ",
)
_NODES = re.compile(r"([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def read(text: str, origin: UserFileOrigin) -> list[UserJob]:
    """Return the tasks that a script asks for, one for each array index.

    Without an array it is one task.

    Raises:
        UserError: it is no batch script, or an option cannot be understood or kept; names the line.
    """
    if not text.startswith("#!"):
        raise UserError(
            f"{origin.name} is not a batch script: its first line must be #! and the path of an interpreter"
        )
    if "\r" in text:
        raise UserError(f"{origin.name} has lines that end as on DOS (\\r\\n), which no interpreter takes: convert it")
    options, requests = _directives(text, origin)
    settings = {name: value for name, value in options.items() if name in USER_OPTIONS}
    hosts, settings = _host_count(options, settings)
    needs = script_needs(settings, hosts)
    job = UserJob(
        NativeDescription("slurm", settings, text),
        command=(str(origin.folder / origin.name),),
        name=_job_name(options.get("job-name", ""), origin),
        hosts=hosts,
        directory=str(origin.folder / options.get("chdir", "")),
        environment=_environment(options.get("export"), origin.environment),
        time_limit=parse_time_limit(options["time"]) if "time" in options else None,
        begin=parse_begin(options["begin"]) if "begin" in options else "",
        needs=needs or HostShare(),
        whole_hosts=needs is None or "exclusive" in options,
        requests=(*requests, *((("no-requeue", ""),) if "no-requeue" in options else ())),
        files=tuple(_files(options, origin)),
    )
    jobs = [job] if "array" not in options else list(_array_tasks(job, *parse_array(options["array"])))
    for each in jobs[:1]:
        check_native_description(each.native)
    return jobs


def _files(options: Mapping[str, str], origin: UserFileOrigin) -> Iterator[tuple[str, str]]:
    """Yield the folder and the input that a script names; a name with a pattern is known once the job has a number."""
    folder = (origin.folder / options.get("chdir", "")).absolute()
    if "chdir" in options:
        yield "--chdir", str(folder)
    if "input" in options and "%" not in options["input"]:
        yield "--input", str(folder / options["input"])


def _directives(text: str, origin: UserFileOrigin) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the options and cosched's own requests, up to the first command.

    So does sbatch.
    """
    options: dict[str, str] = {}
    requests: list[tuple[str, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            break
        try:
            if re.match(r"#SBATCH\s", line):
                options.update(_options(shlex.split(line[len("#SBATCH") :], comments=True)))
            elif re.match(r"#COSCHED\s", line):
                requests += cosched_requests(shlex.split(line[len("#COSCHED") :], comments=True))
        except ValueError as error:
            raise UserError(f"{origin.name}:{number}: {error}: close the quotes") from error
        except UserError as error:
            raise UserError(f"{origin.name}:{number}: {error}") from error
    return options, requests


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    rest = iter(words)
    for word in rest:
        name, value = long_name(word)
        if value is None and takes_value(name):
            value = next(rest, None)
            if value is None:
                raise UserError(f"--{name} lacks its value")
        if name in USER_OPTIONS:
            check_user_option(name, value or "")
        yield name, value or ""


def cosched_requests(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what words such as --deadline=now+2h ask of cosched.

    Raises:
        UserError: a word is none of these.
    """
    rest = iter(words)
    for word in rest:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in _COSCHED_REQUESTS:
            raise UserError(
                f"#COSCHED has {word!r}: write one of {', '.join(f'--{known}' for known in _COSCHED_REQUESTS)}"
            )
        if _COSCHED_REQUESTS[name] and not equals:
            value = next(rest, "")
        if _COSCHED_REQUESTS[name] != bool(value):
            raise UserError(f"#COSCHED --{name} {'lacks its value' if _COSCHED_REQUESTS[name] else 'takes no value'}")
        yield name, value


def _host_count(options: Mapping[str, str], settings: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Return the number of hosts, and the settings with processes counted for each host."""
    nodes = options.get("nodes", "")
    if not nodes:
        return ("" if "ntasks" not in settings else "1"), settings
    match = _NODES.fullmatch(nodes)
    if match is None or int(match[1]) > int(match[2] or match[1]):
        raise UserError(f"--nodes={nodes} is not a number of hosts: write 4 or 2-8")
    if "ntasks" in settings and "ntasks-per-node" not in settings:
        # The number of hosts is cosched's to choose: processes are counted for each of them.
        tasks = settings.pop("ntasks")
        if not tasks.isdecimal() or int(tasks) < 1:
            raise UserError(f"--ntasks={tasks} is not a number of processes: write 1 or more")
        settings["ntasks-per-node"] = str(-(-int(tasks) // int(match[2] or match[1])))
    return nodes, settings


def _job_name(name: str, origin: UserFileOrigin) -> str:
    return str(safe(name, "the job's name")) if name else Path(origin.name).name


def _environment(export: str | None, given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of --export; its `ALL` stands for those that programs usually need."""
    found: dict[str, str] = {}
    for word in ["ALL"] if export is None else export.split(","):
        name, equals, value = word.partition("=")
        if equals:
            found[_variable(name)] = value
        elif word in ("ALL", "NIL", "NONE"):
            found.update({key: given[key] for key in _USUAL_VARIABLES if key in given and word == "ALL"})
        elif _variable(word) in given:
            found[word] = given[word]
    return found


def _variable(name: str) -> str:
    if not _NAME.match(name):
        raise UserError(f"--export names a variable {name!r}: use letters, digits and underscores")
    return name


def _array_tasks(job: UserJob, numbers: list[int], at_most: int) -> Iterator[UserJob]:
    common = {
        "SLURM_ARRAY_TASK_COUNT": str(len(numbers)),
        "SLURM_ARRAY_TASK_MIN": str(numbers[0]),
        "SLURM_ARRAY_TASK_MAX": str(numbers[-1]),
    }
    for number in numbers:
        settings = {
            key: value.replace("%a", str(number)).replace("%A", "%j") if key in ("output", "error", "input") else value
            for key, value in job.native.settings.items()
        }
        yield replace(
            job,
            native=NativeDescription("slurm", settings, job.native.script),
            name=f"{job.name}-{number}",
            environment={**job.environment, **common, "SLURM_ARRAY_TASK_ID": str(number)},
            array=(number, at_most),
        )
