"""A launch becomes sbatch's options and script: start at `sbatch_arguments`, for arrays at `array_shape`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.connector import HostShare, SafeValue, parallel, safe
from cosched.connector.launches import shown_application, shown_deadline
from cosched.connector.templating import render
from cosched.errors import UserError
from cosched_slurm.allocations import gpu_count
from cosched_slurm.jobs import job_comment
from cosched_slurm.owners import account_name
from cosched_slurm.scripts.sbatch_options import check_user_option
from cosched_slurm.scripts.script_needs import SIZE_OPTIONS, script_needs, tasks_per_host

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cosched.connector import Launch
    from cosched_slurm.slurm_settings import SlurmSettings

__all__ = [
    "ArrayShape",
    "array_arguments",
    "array_shape",
    "job_script",
    "limit_group",
    "process_count",
    "sbatch_arguments",
]

_NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")  # no ranges, no lists, no names of files


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """Common properties of one array's attempts, which share a comment.

    Attributes:
        options: sbatch's options that the attempts share.
        application: their tasks' application.
        has_deadline: whether their tasks have deadlines. These may differ: else few would share an array.
        owner: the array's owner; empty for the daemon's own user.
    """

    options: tuple[str, ...]
    application: str
    has_deadline: bool
    owner: str


def array_arguments(shape: ArrayShape, array: str, folder: Path, launches: Sequence[Launch]) -> list[str]:
    """Return sbatch's options for an array.

    Args:
        shape: the result of `array_shape`, equal for all of its attempts.
        array: its UUID.
        folder: its folder.
        launches: its attempts.
    """
    place = safe(str(folder), "the spool")
    comment = job_comment(
        array,
        process_count(launches[0]),
        array=True,
        deadline=min((at for launch in launches if (at := shown_deadline(launch)) is not None), default=None),
        application=shape.application,
    )
    return [
        *shape.options,
        f"--array=0-{len(launches) - 1}",
        "--job-name=cosched",
        f"--comment={safe(comment, 'the comment')}",
        f"--chdir={place}",
        f"--output={place}/slurm-%a.log",
    ]


def array_shape(launch: Launch, folder: Path, settings: SlurmSettings) -> ArrayShape | None:
    """Return the shape of the arrays that an attempt may join; None for none.

    Slurm pins all elements of an array to the same nodes, and a user's own script is its own job.

    Raises:
        UserError: a value cannot be carried safely.
    """
    if launch.hosts or launch.native is not None:
        return None
    own = ("--job-name=", "--comment=", "--chdir=", "--output=")
    return ArrayShape(
        tuple(option for option in sbatch_arguments(launch, folder, settings) if not option.startswith(own)),
        shown_application(launch),
        launch.deadline is not None,
        launch.owner if settings.identity == "user" else "",
    )


def limit_group(launch: Launch) -> object:
    """Return a key that is equal for launches under the same known limits of Slurm."""
    own = {} if launch.native is None else launch.native.settings
    return launch.owner, *(own.get(option) for option in ("account", "partition", "qos"))


def sbatch_arguments(launch: Launch, folder: Path, settings: SlurmSettings) -> list[str]:
    """Return sbatch's options for a launch.

    Args:
        launch: the attempt.
        folder: the attempt's folder.
        settings: settings of the connector.

    Raises:
        UserError: a value cannot be carried safely.
    """
    count = launch.count
    safe(launch.directory, "the working directory")
    own = _user_options(launch)
    comment = job_comment(
        launch.attempt,
        process_count(launch),
        deadline=shown_deadline(launch),
        application=shown_application(launch),
    )
    given = {
        **_default_options(own, launch, folder, settings),
        **own,
        "job-name": safe(launch.name, "the task's name"),
        "comment": safe(comment, "the comment"),
        "chdir": safe(str(folder), "the spool"),
        "nodes": str(count),
        "nodelist": ",".join(_node_name(name) for name in launch.hosts),
        "time": _time_limit(launch.time_limit),
    }
    if settings.identity == "account":
        given["account"] = account_name(launch.owner)
    if launch.native is None:
        ranks = launch.processes_per_host
        given |= {"ntasks": str(count * ranks), "ntasks-per-node": str(ranks)}
    sizes = _size_options(launch, given)
    if launch.shared and sizes.get("cpus-per-task") and launch.cores % tasks_per_host(given):
        sizes["cpus-per-task"] = str(launch.cores)
        own |= {"overcommit": ""}  # then these are the node's, however many tasks it has
    named = [f"--{option}={value}" for option, value in (given | sizes).items() if value]
    flags = [f"--{option}" for option, value in own.items() if not value]
    return [*([] if launch.shared else ["--exclusive"]), "--no-requeue", *named, *flags]


def _size_options(launch: Launch, given: Mapping[str, str]) -> dict[str, str]:
    """Return the options that say what the job takes of each host.

    The words of a user's own file stand where they say the same.
    """
    if not (launch.memory or launch.cores or launch.gpus):
        return {}
    own = None if launch.native is None else script_needs(launch.native.settings, str(launch.count))
    asked = own or HostShare()
    found: dict[str, str] = {}
    if launch.memory and launch.memory != asked.memory:
        found |= {**dict.fromkeys(SIZE_OPTIONS["memory"], ""), "mem": f"{launch.memory}M"}
    if launch.cores and launch.cores != asked.cores:
        found |= dict.fromkeys(SIZE_OPTIONS["cores"], "")
        # Beside GPUs Slurm gives a core in place of --mincpus. A job with the whole node has all cores anyway.
        option, tasks = ("cpus-per-task", tasks_per_host(given)) if launch.shared else ("mincpus", 1)
        found[option] = str(launch.cores // tasks or 1)
    if launch.gpus != asked.gpus and (launch.gpus or launch.shared):
        others = _without_gpus(given["gres"]) if launch.shared else given["gres"]
        gpus = f"gpu:{launch.gpus}" if launch.gpus else ""
        found |= {**dict.fromkeys(SIZE_OPTIONS["gpus"], ""), "gres": ",".join(filter(None, (others, gpus)))}
    return found


def _default_options(own: Mapping[str, str], launch: Launch, folder: Path, settings: SlurmSettings) -> dict[str, str]:
    """Return the options that hold where the user's own file does not set them."""
    memory = launch.shared or any(name.startswith("mem-per-") for name in own)
    return {
        "output": safe(str(folder / "slurm.log"), "the spool"),
        "mem": "" if memory else "0",  # all of the host's
        "partition": settings.partition,
        "account": settings.account,
        "qos": settings.qos,
        "reservation": settings.reservation,
        "gres": _without_gpus(settings.gres) if launch.shared else settings.gres,
    }


def _without_gpus(gres: str) -> str:
    return ",".join(part for part in gres.split(",") if not gpu_count(part.removeprefix("gres:")))


def _user_options(launch: Launch) -> dict[str, str]:
    """Return the options of the user's own file, its relative file names made absolute.

    Raises:
        UserError: an option that is not the user's to give.
    """
    if launch.native is None:
        return {}
    for name, value in launch.native.settings.items():
        try:
            check_user_option(name, value)
        except UserError as error:
            raise UserError(f"task {launch.name!r}: {error}") from None
    folder = launch.directory.replace("%", "%%")
    return {
        name: f"{folder}/{value}" if name in ("output", "error", "input") and not value.startswith("/") else value
        for name, value in launch.native.settings.items()
    }


def process_count(launch: Launch) -> int:
    """Return the number of processes that cosched follows.

    A user's own script runs once, on the first host.
    """
    return parallel.process_count(launch) if launch.native is None else 1


def job_script(count: int, script: Path, srun: str, scontrol: str = "") -> str:
    """Return the job's script from its template.

    Args:
        count: number of processes.
        script: script of each process.
        srun: path of Slurm's program that starts them.
        scontrol: path of Slurm's program that names the job's nodes; empty where they are known, or there is but one.
    """
    values = {
        "count": count,
        "script": safe(str(script), "the spool"),
        "srun": safe(srun, "the path of srun"),
        "scontrol": safe(scontrol, "the path of scontrol"),
    }
    return render("slurm", "job.sh", values)


def _node_name(name: str) -> SafeValue:
    if not _NODE_NAME.match(name):
        raise UserError(f"host {name!r} is not the name of a Slurm node: use letters, digits, '.', '-' and '_'")
    return safe(name, "a host's name")


def _time_limit(limit: float | None) -> str:
    """Return a time limit in Slurm's form; it rounds up to minutes by itself."""
    return "" if limit is None else f"0:{max(1, math.ceil(limit))}"
