"""Form fields and uploaded files become task requests and changes; form fields win over a file."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.api.arrays import array_element
from cosched.api.deadlines import parse_deadline_field, parse_typed_deadline
from cosched.api.documents import ElasticRequest, ShapeFigure, TaskChange, TaskRequest
from cosched.api.runtimes import parse_runtime, parse_shape_runtimes
from cosched.api.sweeps import swept
from cosched.app.submission.similar_requests import request_like_task
from cosched.connector import LaunchMode
from cosched.connector.array_indices import parse_array
from cosched.connector.userfiles import UserFileOrigin, array_places, load_user_file_reader, manager_of_user_file
from cosched.errors import UserError
from cosched.licence_requests import licences_text, parse_licences

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from cosched.api.documents import TaskDetail
    from cosched.connector.userfiles import UserJob

__all__ = [
    "COPIED",
    "PARAMETER",
    "fields_like_task",
    "local_minute",
    "read_change",
    "read_profile",
    "read_request",
    "requests_of_form",
    "requests_of_upload",
    "resubmit_request",
]


PARAMETER = "p."
"""What the names of fields begin with that hold an application's parameters."""

COPIED = "copied"
"""Field that nobody sees, with those parts of a copied task of which the lines of other fields do not tell."""

_FORM = "%Y-%m-%dT%H:%M:%S"
_FIGURES = ("runtime", "profile")  # how long it takes, said in two ways
_NUMBERS = ("retries", "priority", "memory", "cores", "processes", "gpus")
_PER_PROCESS = ("memory_per_process", "cores_per_process", "gpus_per_process")
# What a user's own file says when its job is submitted once more; the form says the rest.
_OF_THE_FILE = (
    "application",
    "command",
    "parameters",
    "model",
    "prepare",
    "after",
    "native",
    "memory",
    "cores",
    "gpus",
)


def requests_of_form(fields: Mapping[str, str], zone: tzinfo | None) -> list[TaskRequest]:
    """Return the task of the form, or those of its array or sweep.

    Raises:
        UserError: a field cannot be read; readable values are checked later, with the requests.
    """
    request = read_request(fields, zone)
    array = fields.get("array", "").replace(" ", "")
    sweep = [line for line in fields.get("sweep", "").splitlines() if line.strip()]
    if sweep and array:
        raise UserError("a sweep and many tasks of one index each: give one of them")
    if sweep:
        return swept(request, sweep, "the sweep")
    if not array:
        return [request]
    indices, at_most = parse_array(array)
    return [array_element(request, index, at_most) for index in indices]


def read_request(fields: Mapping[str, str], zone: tzinfo | None) -> TaskRequest:
    """Return the request that the fields of the form stand for.

    Raises:
        UserError: a field cannot be read; readable values are checked later, with the request.
    """
    application = fields.get("application", "")
    command = _lines(fields, "command")
    return TaskRequest(
        application=application,
        command=() if application else command,
        parameters=_parameters(fields),
        deadline=parse_deadline_field(fields.get("deadline", ""), zone),
        begin=parse_deadline_field(fields.get("begin", ""), zone),
        hosts=_host_counts(fields) or None,
        model="" if application else fields.get("model", ""),
        profile=_run_times(fields),
        shapes=_shapes(fields),
        name=fields.get("name", "").strip(),
        after=tuple(fields.get("after", "").replace(",", " ").split()),
        environment=_pairs(_lines(fields, "environment"), "environment variable"),
        prepare=_lines(fields, "prepare"),
        notify=tuple(fields.get("notify", "").replace(",", " ").split()),
        directory=fields.get("directory", "").strip(),
        stdin=fields.get("stdin", "").strip(),
        best_effort=fields.get("best_effort", "") == "on",
        time_limit=fields.get("time_limit", "").strip() or None,
        launch=_launch_mode(fields.get("launch", "")),
        processes_per_host=_whole(fields.get("processes_per_host", "").strip() or "1", "processes on each host"),
        retries=_whole(fields.get("retries", "").strip(), "retries"),
        requeue=fields.get("no_requeue", "") != "on",
        priority=_priority(fields.get("priority", "").strip()),
        memory=fields.get("memory", "").strip() or 0,
        cores=_whole_or_range(fields.get("cores", ""), "cores"),
        processes=_whole_or_range(fields.get("processes", ""), "processes"),
        gpus=_whole(fields.get("gpus", "").strip(), "GPUs"),
        memory_per_process=fields.get("memory_per_process", "").strip() or 0,
        cores_per_process=_whole(fields.get("cores_per_process", "").strip(), "cores of each rank"),
        gpus_per_process=_whole(fields.get("gpus_per_process", "").strip(), "GPUs of each rank"),
        exclusive=fields.get("exclusive", "") == "on",
        licences=parse_licences(fields.get("licences", "")),
        least_quality=_quality(fields.get("least_quality", "").strip()),
        elastic=_elastic(fields),
    )


def _elastic(fields: Mapping[str, str]) -> ElasticRequest | None:
    """Return how the task changes its hosts, where the form names a worker's command or says that it is restarted."""
    worker = _lines(fields, "worker")
    grace, cost = fields.get("grace", "").strip(), fields.get("restart_cost", "").strip()
    if fields.get("restart", "") == "on":
        force = fields.get("force_stop", "") == "on"
        return ElasticRequest(kind="restart", worker=worker, grace=grace or None, cost=cost or None, force=force)
    if cost or fields.get("force_stop", "") == "on":
        raise UserError("a restart's cost and its force are of programs that checkpoint: tick that it does")
    if grace and not worker:
        raise UserError("a grace is of elastic tasks: give their worker's command, too")
    return ElasticRequest(worker=worker, grace=grace or None) if worker else None


def _quality(text: str) -> float:
    try:
        return float(text or "0")
    except ValueError as error:
        raise UserError(f"the least quality is {text[:80]!r}: write a number, such as 0.9") from error


def read_change(fields: Mapping[str, str], zone: tzinfo | None) -> TaskChange:
    """Return what the fields of a task's page change; empty ones change nothing.

    Raises:
        UserError: a field cannot be read; readable values are checked later.
    """
    given = {name: text.strip() for name, text in fields.items() if text.strip()}

    def number(name: str, what: str) -> int | None:
        return _whole(given[name], what) if name in given else None

    return TaskChange(
        deadline=parse_deadline_field(fields.get("deadline", ""), zone),
        begin=parse_deadline_field(fields.get("begin", ""), zone),
        hosts=_host_counts(fields) or None,
        runtime=given.get("runtime"),
        priority=_priority(given["priority"]) if "priority" in given else None,
        name=given.get("name"),
        memory=given.get("memory"),
        cores=_whole_or_range(given["cores"], "cores") if "cores" in given else None,
        processes=_whole_or_range(given["processes"], "processes") if "processes" in given else None,
        gpus=number("gpus", "GPUs"),
        exclusive=_choice(given, "exclusive"),
        licences=_new_licences(given["licences"]) if "licences" in given else None,
        retries=number("retries", "retries"),
        time_limit=given.get("time_limit"),
        array_at_most=number("at_most", "tasks at once"),
        requeue=_choice(given, "requeue"),
        best_effort=_choice(given, "best_effort"),
    )


def _new_licences(text: str) -> dict[str, int]:
    return {} if text == "none" else parse_licences(text)


def _choice(given: Mapping[str, str], name: str) -> bool | None:
    return given[name] == "yes" if name in given else None


def _run_times(fields: Mapping[str, str]) -> tuple[float | None, ...] | None:
    """Return the user's own figures, however they are written."""
    runtime, figures = fields.get("runtime", "").strip(), read_profile(fields.get("profile", ""))
    if not runtime:
        return figures
    if figures is not None:
        raise UserError("the run time and the figures both say how long it takes: leave one of them empty")
    if _shapes(fields):
        return None
    return parse_runtime(runtime, _host_counts(fields), option="")


def _shapes(fields: Mapping[str, str]) -> tuple[ShapeFigure, ...]:
    """Return the user's own figures for several numbers of cores of a host."""
    return parse_shape_runtimes(fields.get("runtime", "").strip(), option="")


def _host_counts(fields: Mapping[str, str]) -> str:
    return fields.get("hosts", "").replace(" ", "").replace("–", "-")


def _launch_mode(text: str) -> LaunchMode:
    try:
        return LaunchMode(text or LaunchMode.EACH)
    except ValueError as error:
        raise UserError(f"the launch is {text[:80]!r}: choose one of {', '.join(LaunchMode)}") from error


def _priority(text: str) -> int:
    return _whole(text.removeprefix("-"), "priorities") * (-1 if text.startswith("-") else 1)


def _whole(text: str, what: str) -> int:
    if text and not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UserError(f"the {what} are {text[:80]!r}: write a number")
    return int(text or 0)


def _whole_or_range(text: str, what: str) -> int | str:
    """Return a number, or a range as it was typed without blanks."""
    text = text.replace(" ", "").replace("–", "-")
    ends = [_whole(end or "-", what) for end in text.split("-", 1)] if text else [0]
    return ends[0] if len(ends) == 1 else text


def local_minute(moment: float, zone: tzinfo | None) -> str:
    """Return a time as the value of a datetime field, rounded up to a second."""
    return datetime.fromtimestamp(math.ceil(moment)).astimezone(zone).strftime(_FORM)


def fields_like_task(task: TaskDetail, now: float, zone: tzinfo | None, *, catalogued: bool) -> dict[str, str]:
    """Return the fields that submit a task like this one again, with as much time; of a stage, its application."""
    if task.chain is not None:
        return _application_fields(task, now, zone)
    values, parts = _parameter_texts(task.parameters), dict[str, Sequence[str]]()
    if task.native is not None:
        fields = {"own": "job", "job_of": task.id, "command": "\n".join(task.command)}
    elif catalogued:
        fields = {"application": task.application}
    else:
        fields = {"own": "command"}
        parts["command"] = task.command
    if "application" in fields:
        fields |= {f"{PARAMETER}{name}": value for name, value in values.items()}
    elif task.model:
        fields["model"] = task.model
        parts["settings"] = [f"{name}={value}" for name, value in values.items()]
    if task.deadline is not None:
        fields["deadline"] = local_minute(now + task.deadline - task.submitted, zone)
    if task.name != task.application:
        fields["name"] = task.name
    fields |= _time_and_size_fields(task, now, catalogued=catalogued)
    fields |= {"licences": licences_text(task.licences)} if task.licences else {}
    fields |= {name: "on" for name in ("best_effort", "exclusive") if getattr(task, name)}
    fields |= {"directory": task.directory} if task.directory else {}
    fields |= {"stdin": task.stdin} if task.stdin else {}
    fields |= {} if task.requeue else {"no_requeue": "on"}
    if "application" not in fields:  # an entry of the catalogue brings its own
        parts["environment"] = [f"{name}={value}" for name, value in task.environment.items()]
        parts["prepare"] = task.prepare
    if task.elastic is not None:
        fields["grace"] = f"{_exact(float(task.elastic.grace or 0.0))}s"
        parts["worker"] = task.elastic.worker
        fields |= {"restart": "on"} if task.elastic.kind == "restart" else {}
        fields |= {"force_stop": "on"} if task.elastic.force else {}
        fields |= {} if task.elastic.cost is None else {"restart_cost": f"{_exact(float(task.elastic.cost))}s"}
    fields |= {"notify": " ".join(task.notify)} if task.notify else {}
    return fields | _copy(parts) | ({"time_limit": _exact(task.time_limit)} if task.time_limit else {})


def _parameter_texts(parameters: Mapping[str, float | str]) -> dict[str, str]:
    return {name: _exact(value) if isinstance(value, float) else str(value) for name, value in parameters.items()}


def _exact(number: float) -> str:
    """Return a number with all of its digits, and without an exponent, which durations have not."""
    return f"{Decimal(repr(float(number))):f}".removesuffix(".0")


def _application_fields(task: TaskDetail, now: float, zone: tzinfo | None) -> dict[str, str]:
    """Return the fields of the tunable application of which a task is a stage."""
    assert task.chain is not None
    like = request_like_task(task, now, catalogued=True)
    fields = {"application": like.application, "directory": like.directory}
    fields |= {f"{PARAMETER}{name}": text for name, text in _parameter_texts(like.parameters).items()}
    if task.chain.deadline is not None:
        fields["deadline"] = local_minute(now + task.chain.deadline - task.submitted, zone)
    fields |= {"name": like.name} if like.name != like.application else {}
    fields |= {"least_quality": _exact(like.least_quality)} if like.least_quality else {}
    return fields | ({"best_effort": "on"} if task.best_effort else {})


def _time_and_size_fields(task: TaskDetail, now: float, *, catalogued: bool) -> dict[str, str]:
    """Return the fields that say how long it takes, and on how much of how many hosts."""
    if task.cores_range or task.processes:
        return _shape_fields(task, now, catalogued=catalogued)
    fields = {name: str(value) for name in _NUMBERS if (value := getattr(task, name))} | _launch_fields(task)
    if task.profile is not None and (task.profile.source == "user" or not (catalogued or task.model)):
        fields["profile"] = ", ".join("" if value is None else _exact(value) for value in task.profile.seconds)
    elif (hosts := request_like_task(task, now, catalogued=catalogued).hosts) is not None and (
        task.profile is not None or task.count > 1 or task.hosts_range
    ):
        fields["hosts"] = str(hosts)
    return fields


def _shape_fields(task: TaskDetail, now: float, *, catalogued: bool) -> dict[str, str]:
    """Return the fields of a task of which cosched chooses what it takes of each host."""
    like = request_like_task(task, now, catalogued=catalogued)
    fields = {name: str(value) for name in (*_NUMBERS, *_PER_PROCESS) if (value := getattr(like, name))}
    if like.shapes:
        fields["runtime"] = ",".join(f"{each.hosts}x{each.cores}:{_exact(each.seconds)}s" for each in like.shapes)
    if like.hosts:
        fields["hosts"] = str(like.hosts)
    return fields | ({} if task.launch == "each" else {"launch": str(task.launch)})


def _launch_fields(task: TaskDetail) -> dict[str, str]:
    if task.launch == "each":
        return {}
    return {"launch": str(task.launch), "processes_per_host": str(task.processes_per_host)}


def resubmit_request(
    task: TaskDetail, fields: Mapping[str, str], zone: tzinfo | None, *, catalogued: bool
) -> TaskRequest:
    """Return the request of a user's own file once more, changed by the form.

    Raises:
        UserError: a field that cannot be read.
    """
    earlier = request_like_task(task, 0.0, catalogued=catalogued)
    return replace(read_request(fields, zone), **{name: getattr(earlier, name) for name in _OF_THE_FILE})


def _parameters(fields: Mapping[str, str]) -> dict[str, float | str]:
    found: dict[str, float | str] = dict(_pairs(_lines(fields, "settings"), "parameter"))
    return found | {
        name.removeprefix(PARAMETER): value
        for name, value in fields.items()
        if name.startswith(PARAMETER) and value != ""
    }


def _lines(fields: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return the lines of a field that are not empty; of a copied task's field the parts that were copied.

    Raises:
        UserError: the field has been changed, and its lines do not tell such parts as it had.
    """
    text, copied = fields.get(name, "").replace("\r\n", "\n"), _copied(fields).get(name)
    if copied is None or not text:
        return tuple(filter(None, text.split("\n")))
    if text != _shown(copied):
        raise UserError(
            f"the {name} was copied from a task, and has an empty part or one of several lines, which are one each "
            "here: leave it as it is, empty it, or write it into a script"
        )
    return tuple(copied)


def _copied(fields: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the parts of fields which their lines do not tell, as `_copy` wrote them."""
    try:
        found = json.loads(fields.get(COPIED) or "{}")
    except (ValueError, RecursionError):
        found = None
    parts = found.values() if isinstance(found, dict) else (None,)
    if not all(isinstance(each, list) and all(isinstance(part, str) for part in each) for each in parts):
        raise UserError("the form is not as it was sent: open it anew")
    return dict(found or {})


def _copy(parts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return fields whose lines are such parts, with one that nobody sees for those of which lines would be others."""
    texts = {name: _shown(each) for name, each in parts.items()}
    hidden = {name: list(each) for name, each in parts.items() if tuple(each) != _lines({name: texts[name]}, name)}
    return texts | ({COPIED: json.dumps(hidden)} if hidden else {})


def _shown(parts: Sequence[str]) -> str:
    """Return parts as lines, with the ends that browsers give them."""
    return "\n".join(parts).replace("\r\n", "\n").replace("\r", "\n")


def _pairs(lines: Sequence[str], what: str) -> dict[str, str]:
    """Return what lines NAME=value set; `what` they should set is for the error."""
    found = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if not equals:
            raise UserError(f"{line[:80]!r} sets no {what}: write NAME=value")
        found[name.strip()] = value
    return found


def read_profile(text: str) -> tuple[float | None, ...] | None:
    """Return run times on 1, 2, … hosts from comma-separated text, or None.

    None means that the text is empty.

    A count that cannot be used is None.

    Raises:
        UserError: not numbers.
    """
    words = [word.strip() for word in text.replace("\n", ",").split(",")]
    if not any(words):
        return None
    try:
        return tuple(None if word in ("", "-") else float(word) for word in words)
    except ValueError as error:
        raise UserError(
            f"the run times {text[:80]!r} are not numbers: write seconds on 1, 2, … hosts, separated by commas"
        ) from error


_NOWHERE = Path("/")


def requests_of_upload(
    text: str, name: str, fields: Mapping[str, str], now: float, zone: tzinfo | None
) -> list[TaskRequest]:
    """Return the tasks that a file asks for.

    Nothing in it may reach files or run commands here: it comes from another machine.

    Args:
        text: text of the file.
        name: name of the file, for errors.
        fields: fields of the form.
        now: seconds since the epoch, from which times in the file count.
        zone: time zone of the user.

    Raises:
        UserError: the file or a field is at fault.
    """
    place = UserFileOrigin(_NOWHERE, {}, Path(name or "the file").name, trusted=False)
    form = read_request({**fields, **dict.fromkeys(("application", "command", *_FIGURES), "")}, zone)
    figures = {name: fields[name] for name in _FIGURES if fields.get(name)}
    jobs = load_user_file_reader(manager_of_user_file(text, place.name))(text, place)
    return [
        replace(_uploaded_request(job, form, figures, now, zone), array_index=index, array_at_most=at_most)
        for job, (index, at_most) in zip(jobs, array_places(jobs), strict=True)
    ]


def _uploaded_request(
    job: UserJob, form: TaskRequest, figures: Mapping[str, str], now: float, zone: tzinfo | None
) -> TaskRequest:
    requests = dict(job.requests)
    hosts = str(form.hosts or requests.get("hosts") or job.hosts or "")

    def moment(picked: float | str | None, text: str, what: str) -> float | str | None:
        return parse_typed_deadline(text, now, what, zone)[0] if picked is None and text else picked

    settings = (value.partition("=") for name, value in job.requests if name == "set")
    return replace(
        form,
        application=requests.get("application", ""),
        command=job.command,
        native=job.native,
        parameters={key.strip(): value for key, _, value in settings},
        deadline=moment(form.deadline, requests.get("deadline", ""), "deadline"),
        begin=moment(form.begin, requests.get("begin", "") or job.begin, "begin"),
        hosts=hosts or None,
        profile=_run_times({**(figures or requests), "hosts": hosts}),
        name=form.name or requests.get("name", "") or job.name,
        directory=form.directory or ("" if job.directory == str(_NOWHERE) else job.directory),
        environment=dict(job.environment),
        after=tuple(dict.fromkeys([*job.after, *form.after])),
        best_effort=form.best_effort or "best-effort" in requests,
        time_limit=form.time_limit or job.time_limit,
        retries=form.retries or _whole(requests.get("retries", ""), "retries"),
        requeue=form.requeue and "no-requeue" not in requests,
        priority=form.priority or _priority(requests.get("priority", "")),
        memory=job.needs.memory,
        cores=job.needs.cores,
        gpus=job.needs.gpus,
        licences=form.licences or parse_licences(requests.get("licences", "")),
        exclusive=form.exclusive or (job.whole_hosts and job.needs.cores > 0),
    )
