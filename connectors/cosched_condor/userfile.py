"""A user's submit file becomes tasks; a confined process interprets it.

The requests to cosched are taken out of it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.connector import HostShare
from cosched.connector.userfiles import UserFileOrigin, UserJob
from cosched.connector.values import NativeDescription, check_native_description
from cosched.errors import UserError
from cosched.sizes import parse_memory
from cosched_condor import userfile_interpreter
from cosched_condor.submit_commands import check_command, is_known_command, meant_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["read"]

_SECONDS = 30.0  # for a file whose commands take their time
_LARGEST_ANSWER = 64 << 20
_MOST_DIGITS = 9
_COSCHED_REQUESTS = {
    "after": "after",
    "application": "application",
    "begin": "begin",
    "besteffort": "best-effort",
    "deadline": "deadline",
    "hosts": "hosts",
    "licences": "licences",
    "name": "name",
    "norequeue": "no-requeue",
    "priority": "priority",
    "profile": "profile",
    "retries": "retries",
    "runtime": "runtime",
}
_FLAGS = ("besteffort", "norequeue")
_REQUEST = re.compile(r"(my\.cosched|cosched_)(\w+)", re.IGNORECASE)
# Commands of HTCondor's that cosched does itself.
_REQUESTS_OF_COMMANDS = {"max_retries": "retries", "priority": "priority", "prio": "priority"}
# Commands that cosched decides: where and when the job runs, and how it is followed.
_COSCHED_COMMANDS = (
    "hold",
    "max_materialize",
    "max_idle",
    "submit_event_notes",
    "dagman_log",
    "dagman_workflow_mask",
    "machine_count",
    "getenv",
    "process",
    "procid",
    "itemindex",
    "cosched.queued",
    "universe",
    "priority",
    "prio",
    "max_retries",
)
_AMOUNT = re.compile(r"[\d.]+\s*[A-Za-z]+", re.ASCII)
_NO_CORES = re.compile(r"0+(\.0*)?|-\d+", re.ASCII)
_UNIVERSES = {
    "": "",
    "vanilla": "",
    "5": "",
    "docker": "docker",
    "container": "container",
    "java": "java",
    "parallel": "parallel",
    "11": "parallel",
}
# The library says no more, and where it stopped it prints for itself.
_NOT_PARSED = "parse_up_to_q_line"
_UNREADABLE = "HTCondor cannot read it up to its queue statement: correct its lines, and have each included file there"
_PLAIN_UNIVERSES = ("", "vanilla", "5", "parallel", "11")
_QUEUE = re.compile(r"[ \t]*queue\b", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"\$ENV\(\s*([A-Za-z_][A-Za-z0-9_]*)\s*(:?)", re.IGNORECASE)
# All lines that a file from elsewhere may have: any other may reach files or run commands.
_HARMLESS_LINE = re.compile(r"\s*(#.*|\+?[A-Za-z_][A-Za-z0-9_.]*\s*=.*|queue(\s+\d+)?\s*)?", re.IGNORECASE)


def read(text: str, origin: UserFileOrigin) -> list[UserJob]:
    """Return the tasks that a submit file asks for.

    `queue N` and `queue … from …` are tasks of their own, each on one host; with `+CoschedHosts`, or in the parallel
    universe, the file is one task on that many hosts. A request to cosched is an attribute (`+CoschedDeadline`) or a
    command (`cosched_deadline`), as `condor_submit` takes it where jobs are adopted.

    Raises:
        UserError: the file is at fault, or asks for what cosched cannot keep.
    """
    _check_text(text, origin)
    interpreted = _interpreted(text, origin)
    remark = _remark(interpreted[0], text, origin)
    jobs = [replace(_job(commands, place, origin), remark=remark) for place, commands in enumerate(interpreted)]
    for job in jobs:
        check_native_description(job.native)
        for name, value in job.native.settings.items():
            check_command(name, value)
    return jobs


def _check_text(text: str, origin: UserFileOrigin) -> None:
    lines = text.splitlines()
    queues = [number for number, line in enumerate(lines, 1) if _QUEUE.match(line)]
    if len(queues) > 1:
        raise UserError(f"{origin.name}:{queues[1]}: a second queue statement: give each a file of its own")
    for number, line in enumerate(lines, 1) if not origin.trusted else ():
        if not _HARMLESS_LINE.fullmatch(line) or line.rstrip().endswith("\\") or "$ENV" in line.upper():
            raise UserError(
                f"{origin.name}:{number}: {line.strip()[:60]!r} may reach beyond the file: submit it with "
                "`cosched task submit --file`, which reads it with your own rights"
            )
    for name, default in _ENVIRONMENT.findall(text):
        if name not in origin.environment and not default:
            raise UserError(
                f"{origin.name} uses $ENV({name}), which is not set here: set it, or write $ENV({name}:default)"
            )


def _remark(commands: Mapping[str, str], text: str, origin: UserFileOrigin) -> str:
    """Return a line on the names that are nearly commands of HTCondor's and that nothing in the file uses.

    `condor_submit` warns of every line that is unused.
    """
    slips = {
        name: meant
        for name in map(str.lower, commands)
        if not is_known_command(name)
        and name not in _COSCHED_COMMANDS
        and len(re.findall(rf"(?<![\w.]){re.escape(name)}(?![\w.])", text, re.IGNORECASE)) == 1
        and (meant := meant_command(name))
    }
    lines = [f"{origin.name}: nothing uses {name}: did you mean {meant}?" for name, meant in slips.items()]
    return " ".join(lines)


def _interpreted(text: str, origin: UserFileOrigin) -> list[dict[str, str]]:
    variables = {name: origin.environment[name] for name, _ in _ENVIRONMENT.findall(text) if name in origin.environment}
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        **variables,
        "CONDOR_CONFIG": "/dev/null",
    }
    command = [*_without_network(), sys.executable, "-I", str(Path(userfile_interpreter.__file__))]
    with subprocess.Popen(
        command,
        env=environment,
        cwd=origin.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(text.encode(), timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            raise UserError(
                f"{origin.name} was not interpreted within {_SECONDS:.0f} s: what do its commands wait for?"
            ) from None
        finally:
            _kill_interpreter(process)
    try:
        answer = json.loads(output[:_LARGEST_ANSWER])
    except ValueError:
        raise UserError(
            f"{origin.name} cannot be interpreted: it needs more time or memory than a submit file may have"
        ) from None
    if "error" in answer:
        raise UserError(f"{origin.name}: {_UNREADABLE if _NOT_PARSED in answer['error'] else answer['error']}")
    tasks: list[dict[str, str]] = answer["tasks"]
    return tasks


def _kill_interpreter(process: subprocess.Popen[bytes]) -> None:
    """End the process and what its commands left behind."""
    with contextlib.suppress(ProcessLookupError):  # all of it has ended
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@functools.cache
def _without_network() -> tuple[str, ...]:
    """Return the command prefix that cuts off the network, where this machine allows it."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    words = (unshare, "--user", "--map-current-user", "--net", "--")
    done = subprocess.run([*words, "true"], capture_output=True, check=False, timeout=10)
    return words if done.returncode == 0 else ()


def _job(commands: Mapping[str, str], place: int, origin: UserFileOrigin) -> UserJob:
    lower = {key.lower(): value.strip() for key, value in commands.items()}
    _check_hold(lower.get("hold", ""), origin)
    folder = origin.folder / lower.get("initialdir", lower.get("initial_dir", ""))
    settings = {key: value for key, value in lower.items() if is_known_command(key) and not _is_taken(key)}
    settings.pop("initial_dir", None)
    program = _program(lower, settings, origin)
    universe = _universe(lower.get("universe", ""), origin)
    if universe:
        settings["universe"] = universe
    settings.pop("initialdir", None)
    return UserJob(
        NativeDescription("condor", settings),
        command=(program,),
        name=Path(program).name,
        hosts=_hosts(lower, universe, origin),
        directory=str(folder.absolute()),
        environment=_environment(lower.get("getenv", ""), origin),
        needs=_needs(settings, origin),
        array=(place, _at_most(lower.get("max_materialize", ""), origin)),
        requests=tuple(_cosched_requests(commands, origin)),
        files=tuple(_files(lower, folder, origin)),
    )


def _files(lower: Mapping[str, str], folder: Path, origin: UserFileOrigin) -> Iterator[tuple[str, str]]:
    """Yield what HTCondor takes from the machine where it is submitted, with the commands that name it.

    A name with a macro is known once the job has a number; programs of other universes may be in their images.
    """
    named = [(key, folder, lower[key]) for key in ("initialdir", "initial_dir") if key in lower]
    if lower.get("universe", "").lower() in _PLAIN_UNIVERSES and _is_transferred(lower, "executable"):
        named.append(("executable", origin.folder, lower.get("executable", "")))
    if _is_transferred(lower, "input"):
        named += [(key, folder, lower[key]) for key in ("input", "stdin") if key in lower]
    named += [("transfer_input_files", folder, name) for name in lower.get("transfer_input_files", "").split(",")]
    for key, where, name in named:
        path = name.strip().strip('"')
        if path and "$" not in path and "://" not in path:
            yield key, str((folder if key.startswith("initial") else where / path).absolute())


def _is_transferred(lower: Mapping[str, str], what: str) -> bool:
    return lower.get(f"transfer_{what}", "").lower() not in ("false", "0", "no")


def _check_hold(text: str, origin: UserFileOrigin) -> None:
    if text.lower() not in ("", "false", "f", "no", "n", "0"):
        raise UserError(
            f"{origin.name}: hold = {text[:40]} would keep the job from the hosts that are planned for it: leave it "
            "out, and hold the task itself with `cosched task hold`"
        )


def _needs(settings: Mapping[str, str], origin: UserFileOrigin) -> HostShare:
    """Return what a job takes of its host; 0 for what it does not say, or says by an expression.

    Of cores it has one unless it says otherwise, as HTCondor gives it.
    """
    memory, wanted = 0, settings.get("request_memory", "")
    try:
        memory = parse_memory(wanted)
    except UserError:
        if _AMOUNT.fullmatch(wanted):  # no expression, and HTCondor refuses it too
            raise UserError(
                f"{origin.name}: request_memory is {wanted[:40]!r}: write 4G, 512M, or a number of MiB"
            ) from None
    cores, gpus = settings.get("request_cpus", "1"), settings.get("request_gpus", "")
    if _NO_CORES.fullmatch(cores):
        raise UserError(f"{origin.name}: request_cpus is {cores[:40]}: ask for 1 or more, or leave it out")
    return HostShare(memory, _whole(cores), _whole(gpus))


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else 0


def _at_most(text: str, origin: UserFileOrigin) -> int:
    """Return how many jobs of a file may run at once; 0: all.

    HTCondor bounds how many are in the queue: as many may run.
    """
    if text and (not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS or not int(text)):
        raise UserError(f"{origin.name}: max_materialize is {text[:40]!r}: give a number from 1, or leave it out")
    return int(text or 0)


def _is_taken(key: str) -> bool:
    return key in _COSCHED_COMMANDS or key.startswith("my.cosched")


def _program(lower: Mapping[str, str], settings: dict[str, str], origin: UserFileOrigin) -> str:
    program = lower.get("executable", "")
    if not program:
        if lower.get("universe", "").lower() in ("docker", "container"):
            return "/container"
        raise UserError(f"{origin.name} names no executable")
    if _is_transferred(lower, "executable"):
        program = settings["executable"] = str((origin.folder / program).absolute())
    return program if program.startswith("/") else f"/{program}"


def _universe(name: str, origin: UserFileOrigin) -> str:
    known = _UNIVERSES.get(name.lower())
    if known is None:
        raise UserError(
            f"{origin.name} asks for universe {name!r}, whose jobs run on no host of the pool: give it to condor_submit"
        )
    return known


def _hosts(lower: Mapping[str, str], universe: str, origin: UserFileOrigin) -> str:
    chosen = "my.coschedhosts" in lower or "cosched_hosts" in lower
    if universe == "parallel" and not chosen:
        count = lower.get("machine_count", "1")
        if not count.isdecimal() or int(count) < 1:
            raise UserError(f"{origin.name}: machine_count is {count!r}: give a number from 1")
        return count
    if chosen and lower.get("cosched.queued", "1") != "1":
        return lower["cosched.queued"]
    return "" if chosen else "1"


def _cosched_requests(commands: Mapping[str, str], origin: UserFileOrigin) -> Iterator[tuple[str, str]]:
    for key, value in commands.items():
        if key.lower() in _REQUESTS_OF_COMMANDS:
            yield _REQUESTS_OF_COMMANDS[key.lower()], value.strip()
        if not (request := _REQUEST.fullmatch(key)):
            continue
        name, value = request[2], value.strip()
        text = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
        if name.lower().startswith("set_"):
            yield "set", f"{name[len('set_') :]}={text}"
            continue
        word = name.lower().replace("_", "")
        if word not in _COSCHED_REQUESTS:
            known = ", ".join(f"+Cosched{each.title()}" for each in _COSCHED_REQUESTS)
            shown = key if request[1].lower() == "cosched_" else f"+Cosched{name}"
            raise UserError(f"{origin.name}: {shown} is unknown: write one of {known}, +CoschedSet_NAME")
        if word not in _FLAGS:
            yield _COSCHED_REQUESTS[word], text
        elif text.lower() == "true":
            yield _COSCHED_REQUESTS[word], ""


def _environment(getenv: str, origin: UserFileOrigin) -> dict[str, str]:
    """Return the variables that `getenv` takes over: all, none, or those that match its patterns."""
    word = getenv.lower()
    if word in ("", "false", "no", "0"):
        return {}
    patterns = ["*"] if word in ("true", "yes", "1") else [part for part in re.split(r"[\s,]+", getenv) if part]
    wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
    unwanted = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    if not all(re.fullmatch(r"[A-Za-z0-9_*?]+", pattern) for pattern in (*wanted, *unwanted)):
        raise UserError(f"{origin.name}: getenv = {getenv}: write true, or names of variables")
    return {
        name: value
        for name, value in origin.environment.items()
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
        and not name.startswith("COSCHED_")
        and any(fnmatchcase(name, pattern) for pattern in wanted)
        and not any(fnmatchcase(name, pattern) for pattern in unwanted)
    }
