"""Tasks, forecasts and explanations as text for people."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

from cosched.api.documents.tasks import FINAL_STATES
from cosched.api.times import format_optional_time
from cosched.cli.output import clean
from cosched.cli.task.chains import chain_lines, chain_text, way_lines
from cosched.cli.task.workers import promise_lines
from cosched.counts import plural
from cosched.durations import format_duration
from cosched.licence_requests import format_licences
from cosched.sizes import format_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.api.documents import (
        AlternativeView,
        AttemptView,
        Evidence,
        ExplanationView,
        Forecast,
        HostMoveView,
        PlacementView,
        PlanView,
        ProfileView,
        RescueView,
        TaskDetail,
        TaskView,
    )

__all__ = ["accepted_lines", "explanation_lines", "forecast_lines", "task_lines", "task_rows"]

_NAMED = 6  # elements of an array that are all named
_LISTED = 100  # accepted tasks that are named one by one
_MANY = 6  # hosts that a line names one by one


def accepted_lines(tasks: Sequence[TaskView], profile: ProfileView | None = None) -> list[str]:
    """Describe accepted tasks: a line for each, or one for very many.

    Args:
        tasks: all that were accepted together.
        profile: prediction of the first, which is then told.
    """
    told = f"prediction{f' of {tasks[0].id}' if len(tasks) > 1 else ''}:"
    predicted = [] if profile is None else [f"{told:<12} {_profile_text(profile)}"]
    if len(tasks) > _LISTED:
        notices = dict.fromkeys(task.notice for task in tasks if task.notice)
        array = f", array {tasks[0].array}{_at_once(tasks[0])}" if tasks[0].array else ""
        summary = f"{len(tasks)} tasks accepted: {tasks[0].id} … {tasks[-1].id}{array}"
        return [summary, *map(clean, notices), *predicted]
    lines = [
        f"task {task.id} ({clean(task.name)}) accepted{f': {clean(task.notice)}' if task.notice else ''}"
        for task in tasks
    ]
    first = tasks[0]
    array_line = [f"array {first.array}: {_elements(tasks)}{_at_once(first)}"] if first.array else []
    return [*lines, *array_line, *predicted]


def _elements(tasks: Sequence[TaskView]) -> str:
    names = [f"{task.array}_{task.array_index}" for task in tasks]
    return " ".join(names) if len(names) < _NAMED else f"{names[0]} … {names[-1]}"


def task_rows(tasks: Sequence[TaskView], plan: PlanView) -> list[tuple[str, ...]]:
    """Return the rows of a list; END is the actual or predicted end.

    The prediction is that of the current plan, or of the domain that has the task; a run without one has no end yet.
    """
    placements, ends = {place.task: place for place in plan.placements}, plan.expected_ends()
    widths = Counter[str]()  # hosts that an elastic task is lent are places of their own
    for each in plan.placements:
        widths[each.task] += len(each.hosts)
    rows: list[tuple[str, ...]] = []
    for task in tasks:
        place = placements.get(task.id)
        end = ends.get(task.id) if task.finished is None else task.finished
        promised = end is not None and (place is None or place.certain) and task.state not in ("failed", "cancelled")
        in_hand = task.deadline - end if task.deadline is not None and end is not None and promised else None
        if in_hand is None and task.finished is None and (task.deadline or plan.time) < plan.time:
            in_hand = (task.deadline or plan.time) - plan.time  # so far
        ended = (
            format_optional_time(end) if task.finished is not None or end is None else f"~{format_optional_time(end)}"
        )
        cores = place.cores if place and not place.running else task.host_cores
        hosts = str(widths[task.id] if place else task.count) + (f"x{cores}" if cores else "")
        rows.append(
            (
                task.id,
                task.name,
                task.owner,
                task.state,
                hosts,
                format_optional_time(task.deadline),
                ended,
                format_duration(in_hand),
                _note(task, place),
            )
        )
    return rows


def _note(task: TaskView, place: PlacementView | None) -> str:
    """Tell a task's origin and destination, what it lacks, and its reason."""
    ways = ((f"from {task.origin}", task.origin), (f"in {task.peer}", task.peer))
    held = f"held by {task.held_by}" if task.held_by else ""
    waits = task.state == "queued" and task.array_at_most
    array = f"{task.array}_{task.array_index}{_at_once(task)}" if waits else ""
    where = ", ".join([*(text for text, known in ways if known), *filter(None, (held, array))])
    return ": ".join(text for text in (where, _trouble(place), task.reason) if text)


def _trouble(place: PlacementView | None) -> str:
    """Tell what of a running task is not as planned."""
    if place is not None and place.unstarted:
        return f"not begun for {format_duration(place.unstarted)}"
    if place is not None and place.overrun:
        return f"{format_duration(place.overrun)} longer than predicted"
    return "" if place is None or place.certain or place.running else "no end is promised"


def _array_text(task: TaskView) -> str:
    if not task.array:
        return ""
    return f"{task.array}, index {task.array_index}{_at_once(task)}"


def _at_once(task: TaskView) -> str:
    return f", at most {task.array_at_most} at once" if task.array_at_most else ""


def _claim_text(task: TaskDetail | Forecast) -> str:
    """Tell what a deadline claims of a budget."""
    if task.claim is None:
        return ""
    if not task.claim:
        return "none: it takes turns with tasks without a deadline"
    return f"{task.claim / 3600:.3g} host-hours of the budget"


def _restarts_text(task: TaskDetail) -> str:
    """Tell how often a task that checkpoints was started again, why the last time, and whether it stopped by itself."""
    known = task.restarts
    if task.elastic is None or task.elastic.kind != "restart":
        return ""
    if known is None:
        return "" if task.state in FINAL_STATES else "it may be asked to checkpoint, and go on on other hosts"
    why = f": {known.reason}" if known.reason else ""
    parts = [f"{known.count}, the last with {round(known.left * 100)} % of its work left{why}" if known.count else ""]
    if known.unheeded:
        parts.append(f"asked {plural(known.unheeded, 'time')} in vain, and let go on")
    if known.forced:
        parts.append(f"ended by force {plural(known.forced, 'time')}, for it had not stopped when it was asked")
    return "; ".join(filter(None, parts))


def task_lines(task: TaskDetail) -> list[str]:
    """Return all that is known of a task."""
    pairs = [
        ("task", f"{task.id} {task.name}"),
        ("owner", task.owner),
        ("array", _array_text(task)),
        ("stage", "" if task.chain is None else chain_text(task.chain)),
        ("application", task.application),
        ("command", shlex.join(task.command)),
        ("parameters", ", ".join(f"{name}={value}" for name, value in task.parameters.items())),
        ("workers", "" if task.elastic is None else shlex.join(task.elastic.worker)),
        ("restarts", _restarts_text(task)),
        ("launch", _launch_text(task)),
        ("directory", task.directory),
        ("reads", task.stdin),
        ("after", ", ".join(task.after)),
        ("state", f"{task.state}{f': {task.reason}' if task.reason else ''}"),
        ("asked for", _asked_text(task)),
        ("needs", _needs_text(task, alone=task.exclusive)),
        ("licences", format_licences(task.licences)),
        ("chosen from", _range_of_shapes(task)),
        ("priority", str(task.priority or "")),
        ("failures", f"{task.failures}, of {task.retries + 1} tries at most" if task.failures or task.retries else ""),
        ("lost host", "" if task.requeue else "not run again (--no-requeue)"),
        ("held by", task.held_by),
        ("origin", task.origin),
        ("adopted job", task.adopted),
        ("peer", task.peer),
        ("prediction", _prediction_text(task)),
        ("submitted", format_optional_time(task.submitted)),
        ("begin", format_optional_time(task.begin)),
        ("deadline", _deadline_text(task)),
        ("claim", _claim_text(task)),
        ("dispatched", format_optional_time(task.dispatched)),
        ("started", format_optional_time(task.started)),
        ("finished", format_optional_time(task.finished)),
        ("hosts", _placed_text(task)),
        ("predicted", format_duration(task.predicted)),
        ("actual", format_duration(task.actual)),
        ("exit code", "" if task.exit_code is None else str(task.exit_code)),
        ("its errors", f"cosched task err {task.id}" if task.state == "failed" and task.started is not None else ""),
    ]
    lines = [f"{label + ':':13}{clean(text)}" for label, text in pairs if text]
    lines += [f"{'shape:':13}{_shape_text(each)}" for each in task.alternatives]
    lines += [
        f"attempt:     {attempt.uuid} {attempt.state} {clean(' '.join(filter(None, _attempt_words(attempt))))}".rstrip()
        for attempt in task.tries
    ]
    lines += [
        f"handed over: {format_optional_time(one.created)} to {one.peer} ({one.state}): {clean(one.why)}"
        f"{f'; {clean(one.outcome)}' if one.outcome else ''}"
        for one in task.handovers
    ]
    lines += [
        f"log:         {format_optional_time(line.time)} {clean(f'{line.kind}: {line.detail}')}" for line in task.log
    ]
    return lines


def _placed_text(task: TaskDetail) -> str:
    """Tell on which hosts a task is or was, or on how many one without a prediction will be."""
    if task.hosts:
        return f"{_hosts_text(task.hosts)}{_with_cores(task.host_cores)}"
    passes = task.profile is None and task.state not in FINAL_STATES and not task.peer and not task.origin
    return _any_hosts(task.count, task.processes_per_host) if passes and task.chain is None else ""


def _asked_text(task: TaskDetail) -> str:
    asked = task.hosts_range
    return f"{asked} host{'s' * (asked != '1')}" if asked else ""


def _attempt_words(attempt: AttemptView) -> tuple[str, ...]:
    takes = _needs_text(attempt)
    return attempt.job, f"({takes})" if takes else "", attempt.reason


def _needs_text(task: TaskDetail | AttemptView | Forecast, *, alone: bool = False) -> str:
    """Tell what it needs, or takes, on each host."""
    parts = [f"{format_memory(task.memory)} of memory"] if task.memory else []
    parts += [f"{task.cores} core{'s' * (task.cores > 1)}"] if task.cores else []
    parts += [f"{task.gpus} GPU{'s' * (task.gpus > 1)}"] if task.gpus else []
    text = ", ".join(parts) + (" on each host" if parts else "")
    return "; ".join(filter(None, (text, "its hosts for itself" if alone else "")))


def _range_of_shapes(task: TaskDetail) -> str:
    """Tell among which shapes cosched chooses, or has chosen."""
    if task.processes:
        return f"{task.processes} processes on all hosts together"
    return f"{task.cores_range} cores on each host" if task.cores_range else ""


def _shape_text(shape: AlternativeView) -> str:
    """Tell what a shape takes of each host, and how long the task runs then."""
    each = f" ({shape.processes_per_host} processes)" if shape.processes_per_host > 1 else ""
    times = [
        f"{_time_text(shape.profile, count)} on {plural(count, 'host')}"
        for count, seconds in enumerate(shape.profile.seconds, 1)
        if seconds is not None
    ]
    shown = [*times[:_MANY], *(["…"] if len(times) > _MANY else [])]
    return f"{plural(shape.cores, 'core')} of each host{each}: {', '.join(shown)}"


def _launch_text(task: TaskDetail) -> str:
    if task.launch == "each":
        return ""
    return f"{task.launch}, {task.processes_per_host} on each host" if task.processes_per_host > 1 else task.launch


def explanation_lines(explanation: ExplanationView) -> list[str]:
    """Return why a task is where it is, or how it ended."""
    has_ended = explanation.state in FINAL_STATES
    begun = has_ended or explanation.state == "running"
    says = "how it ended:" if has_ended else "it waits for:" if explanation.state == "queued" else "what it does:"
    lines = [f"task {explanation.task} is {explanation.state}"]
    lines += [f"{says:14} {clean(sentence)}" for sentence in explanation.waits_for]
    if explanation.state == "failed":
        lines += [f"its errors:    {clean(line)}" for line in explanation.errors]
        if explanation.planned_start is not None:
            lines.append(f"read them all: `cosched task err {explanation.task}`")
    lines += [_move_line(explanation.task, each) for each in explanation.host_moves]
    if explanation.planned_start is not None:
        where = _hosts_text(explanation.planned_hosts)
        place = f" on {clean(where)}{_with_cores(explanation.planned_cores)}" if where else ""
        lines.append(f"{'started:' if begun else 'start:':14} {format_optional_time(explanation.planned_start)}{place}")
    if explanation.planned_end is not None:
        end = format_optional_time(explanation.planned_end)
        lines.append(f"{'ended:' if has_ended else 'end:':14} {end}{_range_text(explanation)}")
    if explanation.slack is not None:
        late = explanation.slack < 0
        lines.append(
            f"deadline:      {'missed by' if late else 'met with'} {format_duration(abs(explanation.slack))}"
            f"{' so far' if late and explanation.planned_end is None else '' if late else ' in hand'}"
        )
    lines += [f"would change:  {clean(sentence)}" for sentence in explanation.would_change]
    lines += [_rescue_line(explanation.task, each) for each in explanation.rescues]
    return lines + [clean(line) for line in (() if explanation.chain is None else chain_lines(explanation.chain))]


def _with_cores(cores: int) -> str:
    return f", {plural(cores, 'core')} of each" if cores else ""


def _move_line(task: str, move: HostMoveView) -> str:
    when = "which are being left" if move.time is None else format_optional_time(move.time)
    hosts = clean(_hosts_text(move.hosts))
    if move.giver == task:
        return f"gave hosts:    {hosts} to task {move.taker}, {when}"
    return f"took hosts:    {hosts} from task {move.giver}, {when}"


def _rescue_line(task: str, rescue: RescueView) -> str:
    called = f" ({clean(rescue.name)})" if rescue.name else ""
    what = {
        "hold": f"`cosched task hold {rescue.task}`{called}: it would end {format_optional_time(rescue.end)}",
        "hosts": f"`cosched task edit {task} --hosts {rescue.hosts}`: it would end {format_optional_time(rescue.end)}",
        "first": f"first in the queue it would end {format_optional_time(rescue.end)}",
        "deadline": f"`cosched task edit {task} --deadline '{format_optional_time(rescue.end)}'`",
    }[rescue.kind]
    late = rescue.made_late
    others = f"; {late} other task{'s' * (late > 1)} would then be late" if late else ""
    return f"{'would save it:' if rescue.saves else 'would help:   '} {what}{others}"


def _range_text(explanation: ExplanationView) -> str:
    if explanation.end_low is None or explanation.end_high is None:
        return ""
    low, high = format_optional_time(explanation.end_low), format_optional_time(explanation.end_high)
    return f" ({low} to {high} in nine runs of ten)"


def forecast_lines(forecast: Forecast) -> list[str]:
    """Return what a submission would lead to."""
    if forecast.ways:
        return [clean(line) for line in (*way_lines(forecast.ways), *_times_of(forecast))]
    if forecast.profile is None:
        lines = [
            f"{clean(forecast.name)} has no model: it would go to the resource manager as it is",
            f"hosts:         {_any_hosts(forecast.count, forecast.processes_per_host)}",
            *_needs_lines(forecast),
        ]
        if forecast.more_runs:
            runs = f"{forecast.more_runs} more run{'s' if forecast.more_runs > 1 else ''}"
            lines.append(f"prediction:    after {runs} of this program, from what they took")
        if forecast.deadline is not None:
            due = format_optional_time(forecast.deadline)
            lines.append(f"deadline:      {due}, nothing plans towards it: give its run time (`--runtime`)")
        return lines
    lines = [f"prediction:    {_profile_text(forecast.profile)}"]
    if forecast.evidence is not None:
        lines += [f"               {text}" for text in _evidence_texts(forecast.evidence)]
    if forecast.planned_start is None or forecast.planned_end is None:
        lines.append("start:         not now, too few hosts are up")
    else:
        lines.append(
            f"start:         {format_optional_time(forecast.planned_start)} on {_hosts_text(forecast.planned_hosts)}"
            f"{_with_cores(forecast.planned_cores)}"
        )
        lines.append(f"end:           {format_optional_time(forecast.planned_end)}")
    lines += _needs_lines(forecast)
    if forecast.meets_deadline is not None:
        lines.append(
            f"deadline:      {format_optional_time(forecast.deadline)}, "
            f"{'met' if forecast.meets_deadline else 'missed'} as things stand"
            f"{': neighbouring domains would be asked' if forecast.offered else ''}"
        )
    if claim := _claim_text(forecast):
        lines.append(f"claim:         {claim}")
    return [clean(line) for line in (*lines, *promise_lines(forecast.promises))]


def _needs_lines(forecast: Forecast) -> list[str]:
    needs = _needs_text(forecast, alone=forecast.exclusive)
    return [f"needs:         {needs}"] if needs else []


def _any_hosts(count: int, processes: int) -> str:
    """Tell of how many hosts a task will be that the resource manager is to choose, and how many processes of each."""
    each = f", with {processes} processes on each" if processes > 1 else ""
    return f"{count} that the resource manager chooses{each}"


def _times_of(forecast: Forecast) -> list[str]:
    """Return start, end and deadline of a tunable application."""
    lines = [
        f"start:         {format_optional_time(forecast.planned_start)}",
        f"end:           {format_optional_time(forecast.planned_end)}",
    ]
    if forecast.meets_deadline is not None:
        met = "would be guaranteed" if forecast.meets_deadline else "cannot be guaranteed now"
        lines.append(f"deadline:      {format_optional_time(forecast.deadline)}, {met}")
    return lines


def _evidence_texts(evidence: Evidence) -> list[str]:
    """Return on which runs a prediction rests, and what was not seen."""
    near = []
    for run in evidence.nearest:
        numbers = " ".join(f"{number:g}" for number in run.numbers)
        near.append(
            f"{format_duration(run.seconds)} on {plural(run.hosts, 'host')}{f' with {numbers}' if numbers else ''}"
        )
    lines = [f"nearest runs: {', '.join(near)}"] if near else []
    lines += evidence.beyond
    if evidence.untried:
        noun = "host" if list(evidence.untried) == [1] else "hosts"
        lines.append(f"nothing like it has run on {_counts_text(evidence.untried)} {noun}: run one there to be surer")
    return lines


def _counts_text(counts: Sequence[int]) -> str:
    """Return ascending numbers with ranges, as "1, 3-5"."""
    parts: list[list[int]] = []
    for count in counts:
        if parts and count == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], count]
        else:
            parts.append([count])
    return ", ".join("-".join(map(str, part)) for part in parts)


def _prediction_text(task: TaskDetail) -> str:
    if task.profile is not None:
        return _profile_text(task.profile)
    return "none: it cannot run here and only goes through" if task.origin else "none: the resource manager places it"


def _profile_text(profile: ProfileView) -> str:
    times = {count: seconds for count, seconds in enumerate(profile.seconds, start=1) if seconds is not None}
    best = min(times, key=lambda count: (times[count], count))
    first = next(iter(times))
    text = f"{_time_text(profile, first)} on {plural(first, 'host')}"
    if best != first:
        text += f", at best {_time_text(profile, best)} on {plural(best, 'host')}"
    source = f"from {plural(profile.runs, 'run')} like it" if profile.runs else profile.source
    off = ""
    if profile.runs and profile.source != "history":
        off = _correction_text(profile, best)
        source = f"{profile.source}, corrected by {plural(profile.runs, 'run')} like it{off}"
    elif not profile.runs and profile.stated:
        source = f"{profile.source}, with the start-up of other programs"
    if profile.changed:
        source += f" since run {profile.changed}" if off else f", changed at run {profile.changed}"
    if profile.explores:
        source += f", tries {plural(best, 'host')} to learn how long that takes"
    return f"{text} ({source}{f', {profile.hardware}' if profile.hardware else ''})"


def _correction_text(profile: ProfileView, count: int) -> str:
    """Say how much longer or shorter runs took than was said.

    Empty where they took about as long.
    """
    seconds, stated = profile.seconds[count - 1], None if profile.stated is None else profile.stated[count - 1]
    if seconds is None or stated is None:
        return ""
    ratio = seconds / stated
    text = f"{max(ratio, 1 / ratio):.1f}"
    return "" if text == "1.0" else f", {text} times {'longer' if ratio > 1 else 'shorter'}"


def _time_text(profile: ProfileView, count: int) -> str:
    low, high = (None if side is None else side[count - 1] for side in (profile.low, profile.high))
    likely = "" if low is None or high is None else f" ({format_duration(low)} to {format_duration(high)})"
    return f"{format_duration(profile.seconds[count - 1])}{likely}"


def _deadline_text(task: TaskDetail) -> str:
    if task.deadline is None or task.finished is None or task.on_time is None:
        return format_optional_time(task.deadline)
    apart = format_duration(abs(task.deadline - task.finished))
    outcome = f"met with {apart} in hand" if task.on_time else f"missed by {apart}"
    return f"{format_optional_time(task.deadline)}, {outcome}"


def _hosts_text(hosts: Sequence[str]) -> str:
    if len(hosts) <= _MANY:
        return ", ".join(hosts)
    return f"{', '.join(hosts[:_MANY])} and {len(hosts) - _MANY} more"
