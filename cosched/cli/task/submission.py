"""Task requests are made of command-line arguments, and of a user's own submit file.

What the command line says wins over the file.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.api.deadlines import parse_typed_deadline
from cosched.api.documents import ElasticRequest, TaskRequest
from cosched.api.runtimes import parse_runtime, parse_shape_runtimes
from cosched.client.dask_commands import dask_command, dask_worker_command
from cosched.connector.jobs import LaunchMode
from cosched.connector.userfiles import (
    UserFileOrigin,
    array_places,
    load_user_file_reader,
    manager_of_user_file,
    read_user_file,
)
from cosched.durations import format_duration, parse_duration
from cosched.errors import UserError
from cosched.licence_requests import parse_licences
from cosched.sizes import parse_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.cli.task.options import SubmitOptions
    from cosched.connector.userfiles import UserJob

__all__ = [
    "name_and_value",
    "number_or_range",
    "request_of",
    "requests_of_file",
    "time_limit_note",
    "whole_number",
    "whole_priority",
]


def request_of(options: SubmitOptions, command: Sequence[str], now: float) -> tuple[TaskRequest, str]:
    """Return the request, with a note on assumptions about its deadline.

    The note is empty where nothing was assumed.

    Args:
        options: as typed.
        command: program and arguments, none with an application; the program is looked up like a shell does.
        now: seconds since the epoch.

    Raises:
        UserError: a word cannot be read; says how to write it.
    """
    if options.dask:
        options, command = _on_dask(options, command)
    _refuse_contradictions(options, command)
    deadline, note = parse_typed_deadline(options.deadline, now) if options.deadline else (None, "")
    begin, begins = parse_typed_deadline(options.begin, now, "begin") if options.begin else (None, "")
    profile = tuple(map(_profile_value, options.profile.split(","))) if options.profile else None
    shapes = parse_shape_runtimes(options.runtime) if options.runtime else ()
    if options.runtime and not shapes:
        profile = parse_runtime(options.runtime, options.hosts)
    request = TaskRequest(
        application=options.application,
        command=(_program(command[0]), *command[1:]) if command else (),
        parameters=dict(name_and_value(word, "--set") for word in options.settings),
        deadline=deadline,
        begin=begin,
        hosts=options.hosts or None,
        model=_model_text(options) if options.model else "",
        profile=profile,
        shapes=shapes,
        name=options.name,
        environment=dict(map(_variable, options.environment)),
        directory=_directory(options, "." if command else ""),
        stdin=_input_file(options) if options.stdin else "",
        best_effort=options.best_effort,
        prepare=_words(options.prepare, "--prepare") if options.prepare else (),
        notify=tuple(word if ":" in word else f"mailto:{word}" for word in options.notify),
        after=tuple(options.after),
        time_limit=parse_duration(options.time_limit, "--time-limit") if options.time_limit else None,
        launch=_launch_mode(options.launch, options.mpi),
        processes_per_host=options.processes_per_host,
        retries=whole_number(options.retries, "--retries") if options.retries else 0,
        requeue=options.requeue is not False,
        priority=whole_priority(options.priority) or 0,
        memory=parse_memory(options.memory or 0),
        cores=number_or_range(options.cores, "--cores"),
        processes=number_or_range(options.processes, "--processes"),
        gpus=whole_number(options.gpus or "0", "--gpus"),
        memory_per_process=parse_memory(options.memory_per_process or 0),
        cores_per_process=whole_number(options.cores_per_process or "0", "--cores-per-process"),
        gpus_per_process=whole_number(options.gpus_per_process or "0", "--gpus-per-process"),
        exclusive=options.exclusive,
        elastic=_elastic(options),
        licences=parse_licences(options.licences),
        least_quality=_quality(options.least_quality),
    )
    return request, "; ".join(filter(None, (begins, note)))


def _refuse_contradictions(options: SubmitOptions, command: Sequence[str]) -> None:
    """Refuse options that say two things of one, or nothing of what is needed."""
    if options.application and command:
        raise UserError(
            f"{options.application} is to be an application of the catalogue, and a command stands after --: give one "
            "of them"
        )
    if not options.application and not command:
        raise UserError(
            "name an application of the catalogue, or put a command after --: "
            "`cosched task submit -- /path/program argument`"
        )
    _refuse_needs_of_nothing(options)
    if options.profile and options.runtime:
        raise UserError("--profile and --runtime both say how long it takes: give one of them")


def _refuse_needs_of_nothing(options: SubmitOptions) -> None:
    """Refuse a need of 0, which is all of a host elsewhere (`--mem=0` of Slurm) and would be no wish here."""
    for option, text in (
        ("--memory", options.memory),
        ("--cores", options.cores),
        ("--processes", options.processes),
        ("--memory-per-process", options.memory_per_process),
        ("--cores-per-process", options.cores_per_process),
    ):
        if _NOTHING.fullmatch(text.strip()):
            raise UserError(
                f"{option} is {text[:80]!r}: ask for more, leave it out for what the site has set, or give --exclusive "
                "for whole hosts"
            )


def _quality(text: str) -> float:
    """Return a least quality as it was typed; 0 for an empty text."""
    try:
        return float(text or "0")
    except ValueError as error:
        raise UserError(f"--least-quality is {text[:80]!r}: write a number, such as 0.9") from error


def time_limit_note(request: TaskRequest) -> str:
    """Return what to say of a time limit below the user's own run times; empty where there is nothing to say."""
    times = [each for each in request.profile or () if each is not None] + [each.seconds for each in request.shapes]
    limit = 0.0 if request.time_limit is None else parse_duration(request.time_limit)
    if not times or not 0 < limit < min(times):
        return ""
    return (
        f"it may be ended after {format_duration(limit)}, its time limit, and is to run {format_duration(min(times))}: "
        "raise --time-limit, or leave it out"
    )


def whole_number(text: str, option: str) -> int:
    """Return a number from 0 as it was typed for an option.

    Raises:
        UserError: it is none.
    """
    if not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise UserError(f"{option} is {text[:80]!r}: write a number from 0 on")
    return int(text)


def number_or_range(text: str, option: str) -> int | str:
    """Return a number from 0 as it was typed for an option, or a range as it is.

    Raises:
        UserError: it is neither.
    """
    least, dash, most = text.partition("-")
    if not dash:
        return whole_number(text or "0", option)
    if not _RANGE.fullmatch(text):
        raise UserError(f"{option} is {text[:80]!r}: write a number, or a range such as 8-32")
    if int(least) > int(most):
        raise UserError(f"{option} is {text!r}: write the smaller number first")
    return text


def whole_priority(text: str) -> int | None:
    """Return a priority as it was typed, None for an empty text.

    Raises:
        UserError: it is no number.
    """
    if not text:
        return None
    if not _SIGNED.fullmatch(text):
        raise UserError(f"--priority is {text[:80]!r}: write a number, such as 5 or -5")
    return int(text)


def _launch_mode(launch: str, mpi: str) -> LaunchMode:
    if launch in _MPIS and mpi in ("", launch):  # as the API has it, and what it says of a number of processes
        return LaunchMode(launch)
    if launch not in ("", *_LAUNCHES):
        raise UserError(f"--launch is {launch!r}: write each or once, or the kind of MPI: {', '.join(_MPIS)}")
    if mpi not in ("", *_MPIS):
        raise UserError(f"--mpi is {mpi!r}: write {', '.join(_MPIS[:-1])} or {_MPIS[-1]}")
    if mpi and launch == LaunchMode.EACH:
        raise UserError("--mpi starts the program once: leave --launch each out")
    return LaunchMode(mpi or launch or LaunchMode.EACH)


def _elastic(options: SubmitOptions) -> ElasticRequest | None:
    if not options.elastic:
        if options.worker or options.grace:
            raise UserError("--worker and --grace are of elastic tasks: give --elastic workers with them")
        if options.restart_cost or options.force_stop:
            raise UserError("--restart-cost and --force-stop are of elastic tasks: give --elastic restart with them")
        return None
    grace = parse_duration(options.grace, "--grace") if options.grace else None
    if options.elastic == "restart":
        if options.worker:
            raise UserError("--elastic restart has no workers: leave --worker out")
        cost = parse_duration(options.restart_cost, "--restart-cost") if options.restart_cost else None
        return ElasticRequest(kind="restart", grace=grace, cost=cost, force=options.force_stop)
    if options.elastic != "workers":
        raise UserError(f"--elastic is {options.elastic[:80]!r}: write workers or restart")
    if options.restart_cost or options.force_stop:
        raise UserError("--restart-cost and --force-stop are of --elastic restart: leave them out")
    if not options.worker:
        raise UserError("--elastic workers needs --worker 'PROGRAM ARGUMENT…', which runs on each host but the first")
    return ElasticRequest(worker=_words(options.worker, "--worker"), grace=grace)


def _on_dask(options: SubmitOptions, arguments: Sequence[str]) -> tuple[SubmitOptions, Sequence[str]]:
    """Return the options and the command of an elastic task that runs a script with a Dask cluster."""
    if options.application or options.elastic or options.worker:
        raise UserError("--dask SCRIPT is an elastic task of its own: leave APP, --elastic and --worker out")
    script = Path(options.dask)
    if not script.is_file():
        raise UserError(f"--dask {options.dask}: there is no such file: give a Python script; its arguments after --")
    worker = shlex.join(dask_worker_command())
    name = options.name or script.name
    return replace(options, elastic="workers", worker=worker, name=name), dask_command(script, arguments)


def _words(text: str, option: str) -> tuple[str, ...]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"{option} {text!r} cannot be split into words ({error}): close its quotes") from error
    if not words:
        raise UserError(f"{option} is empty: give a program, or leave it out")
    return (_program(words[0]), *words[1:])


def _program(word: str) -> str:
    found = shutil.which(word)
    if found is None and Path(word).is_file():
        raise UserError(
            f"the program {word!r} is not executable: `chmod +x {shlex.quote(word)}`, or name its interpreter before it"
        )
    if found is None:
        raise UserError(f"there is no program {word!r} here: give its path, or correct PATH")
    return str(Path(found).absolute())


def name_and_value(word: str, option: str) -> tuple[str, str]:
    """Return the two halves of NAME=VALUE.

    Args:
        word: as typed.
        option: the option that it belongs to, for the error.

    Raises:
        UserError: it is something else.
    """
    name, equals, value = word.partition("=")
    if not equals or not name:
        raise UserError(f"{option} {word!r} is not NAME=VALUE: write both, with = between")
    return name, value


def _variable(word: str) -> tuple[str, str]:
    """Return a variable and its value: the one that it has here, where none is written."""
    if "=" not in word and word in os.environ:
        return word, os.environ[word]
    if "=" not in word:
        raise UserError(f"--env {word!r}: it has no value here: leave it out, or write NAME=VALUE")
    return name_and_value(word, "--env")


def _profile_value(word: str) -> float | None:
    if word.strip() == "-":
        return None
    try:
        return float(word)
    except ValueError as error:
        raise UserError(
            f"--profile has {word!r}: write seconds on 1, 2, … hosts, such as 50,40,30, "
            "and - for a count that cannot be used"
        ) from error


def _model_text(options: SubmitOptions) -> str:
    if options.application:
        raise UserError("--model goes with a command: an application of the catalogue has a model of its own")
    if options.profile or options.runtime:
        raise UserError("--model predicts how long it takes: leave --runtime and --profile out")
    try:
        return Path(options.model).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UserError(f"--model {options.model}: cannot be read ({why}): give a file of PSL") from error


def _directory(options: SubmitOptions, otherwise: str) -> str:
    where = options.directory or otherwise
    if options.directory and not options.after and not Path(where).is_dir():  # what runs before it may make it
        raise UserError(f"--directory {where}: there is no such folder: make it, or give one that the hosts have, too")
    return str(Path(where).absolute()) if where else ""


def _input_file(options: SubmitOptions) -> str:
    path = Path(options.stdin).absolute()
    made_later = options.after or options.prepare  # by what runs before it
    if not made_later and not path.is_file():
        raise UserError(f"--stdin {options.stdin}: there is no such file: give one that the hosts can read, too")
    return str(path)


_LAUNCHES = (LaunchMode.EACH, LaunchMode.ONCE)
_MPIS = (LaunchMode.OPENMPI, LaunchMode.MPICH, LaunchMode.INTEL)
_MOST_DIGITS = 9
_RANGE = re.compile(rf"\d{{1,{_MOST_DIGITS}}}-\d{{1,{_MOST_DIGITS}}}", re.ASCII)
_SIGNED = re.compile(rf"-?\d{{1,{_MOST_DIGITS}}}", re.ASCII)
_NOTHING = re.compile(r"0+(\.0+)?\s*[KMGT]?(i?B)?", re.ASCII | re.IGNORECASE)  # as `cosched.sizes` reads it


def requests_of_file(path: Path, options: SubmitOptions, now: float) -> tuple[list[TaskRequest], str]:
    """Return the tasks of a file, with a note on assumptions about their deadline, and on what nothing heeds.

    The note is empty where there is neither.

    Args:
        path: the file.
        options: as typed; they override the file.
        now: seconds since the epoch.

    Raises:
        UserError: the file or an option is at fault.
    """
    text = read_user_file(path)
    if options.stdin:
        raise UserError("--stdin goes with an application or a command: a file says itself what its program reads")
    if options.elastic or options.dask:
        raise UserError("--elastic goes with an application or a command: a file describes one job")
    if options.prepare:
        raise UserError("--prepare goes with an application or a command: put it into the file")
    if any((options.memory, options.cores, options.processes, options.gpus)) or any(
        (options.memory_per_process, options.cores_per_process, options.gpus_per_process)
    ):
        raise UserError("--memory, --cores and --gpus go with a command: a file says itself what its job needs")
    place = UserFileOrigin(Path.cwd(), dict(os.environ), path.name)
    jobs = load_user_file_reader(manager_of_user_file(text, path.name))(text, place)
    for job in jobs:
        if not (options.after or job.after):  # what runs before it may make them
            _check_files(job, path.name)
    made = [_file_request(job, options, now) for job in jobs]
    note = "; ".join(filter(None, (made[0][1], jobs[0].remark)))
    if len(made) == 1:
        return [made[0][0]], note
    requests = [
        replace(request, array_index=index, array_at_most=at_most)
        for (request, _), (index, at_most) in zip(made, array_places(jobs), strict=True)
    ]
    return requests, note


def _check_files(job: UserJob, name: str) -> None:
    """Refuse a job of a file with files or folders that are not here."""
    for command, path in job.files:
        if not Path(path).exists():
            raise UserError(
                f"{name}: {command} names {path}, which is not there: correct it, or make it before (a task that makes "
                "it stands in --after)"
            )


def _file_request(job: UserJob, options: SubmitOptions, now: float) -> tuple[TaskRequest, str]:
    requests = dict(job.requests)
    chosen = replace(
        options,
        application=options.application or requests.get("application", ""),
        deadline=options.deadline or requests.get("deadline", ""),
        begin=options.begin or requests.get("begin", "") or job.begin,
        hosts=options.hosts or requests.get("hosts", "") or job.hosts,
        profile=options.profile or ("" if options.runtime else requests.get("profile", "")),
        runtime=options.runtime or ("" if options.profile else requests.get("runtime", "")),
        name=options.name or requests.get("name", "") or job.name,
        directory=options.directory or job.directory,
        environment=(*(f"{key}={value}" for key, value in job.environment.items()), *options.environment),
        settings=(*(value for name, value in job.requests if name == "set"), *options.settings),
        after=tuple(dict.fromkeys([*job.after, *options.after])),
        best_effort=options.best_effort or "best-effort" in requests,
        retries=options.retries or requests.get("retries", ""),
        requeue="no-requeue" not in requests if options.requeue is None else options.requeue,
        priority=options.priority or requests.get("priority", ""),
        memory=f"{job.needs.memory}M" if job.needs.memory else "",
        cores=str(job.needs.cores or ""),
        gpus=str(job.needs.gpus or ""),
        licences=options.licences or requests.get("licences", ""),
        exclusive=options.exclusive or (job.whole_hosts and job.needs.cores > 0),
    )
    request, note = request_of(chosen, () if chosen.application else ("/bin/true",), now)
    limit = request.time_limit if options.time_limit else job.time_limit
    return replace(request, command=job.command, native=job.native, time_limit=limit), note
