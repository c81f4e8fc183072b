"""`cosched plan PROBLEM`: a schedule for a queue given as a file, without a daemon."""

from __future__ import annotations

import math
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cosched.cli.output import JsonOption, clean, console, emit_json, figure, finite, print_table
from cosched.cli.plan import elastic, tunable
from cosched.cli.plan.lanes import lanes
from cosched.cli.plan.text import summarise
from cosched.drawing.gantt import GanttBar
from cosched.drawing.gantt import gantt as draw
from cosched.errors import SystemFault, UserError
from cosched.scheduling import kernel_cache
from cosched.scheduling.bounds import proved_optimal
from cosched.scheduling.elastic.pieces import check_pieces
from cosched.scheduling.elastic.promising import promise_hosts
from cosched.scheduling.exact.partner import solver_installed
from cosched.scheduling.exact.whole_problem import uncovered
from cosched.scheduling.formats.etc_file import parse_etc
from cosched.scheduling.formats.input_file import read_file, read_json
from cosched.scheduling.formats.problem_file import problem_from_document
from cosched.scheduling.formats.tunable_file import is_tunable, tunable_from_document
from cosched.scheduling.objective.comparison import describe_difference
from cosched.scheduling.objective.objective import measure, measure_pieces
from cosched.scheduling.objective.slowdown import with_waits
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.policies import POLICIES, Policy, PolicyName, find_policy, refuse_misfit
from cosched.scheduling.policies import plan as make_plan
from cosched.scheduling.schedule import check_schedule
from cosched.scheduling.search.run import Limit
from cosched.scheduling.tunable.planning import check_tunable
from cosched.scheduling.tunable.tasks import TunableQueue
from cosched.sizes import format_memory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.objective.comparison import SearchProgress
    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule, TaskPiece
    from cosched.scheduling.search.run import SearchStatistics

__all__ = ["command"]

_EXACT_BUDGET = 3.0  # seconds of search from which on the exact partner is of use: it takes one of them to start
_STAND_IN = 0.3  # seconds that heuristics go on for where a search was asked for: an answer is wanted within a second


def _tell_policies(wanted: bool) -> None:
    """Print every policy with its method, and end."""
    if wanted:
        rows = [(name, policy.summary, "yes" if policy.served else "") for name, policy in POLICIES.items()]
        print_table(("policy", "how it plans", "for domains"), rows)
        raise typer.Exit


def command(
    problem: Annotated[Path, typer.Argument(help="JSON file with hosts and tasks, or an ETC matrix.")],
    policy: Annotated[
        PolicyName, typer.Option(metavar="POLICY", help=f"How the plan is made: {', '.join(PolicyName)}.")
    ] = PolicyName.GENETIC,
    objective: Annotated[
        ObjectiveName, typer.Option(help="What the genetic search minimises.")
    ] = ObjectiveName.BALANCED,
    budget: Annotated[
        float | None, typer.Option(help="Seconds that a search may take; 1 unless given.", min=0.0, max=86400.0)
    ] = None,
    generations: Annotated[
        int | None,
        typer.Option(help="End after this many; with --seed the same plan anywhere.", min=0, max=10**9),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all random numbers.", min=0, max=2**63 - 1)] = 0,
    quantile: Annotated[
        float, typer.Option(help="Plan with times that this share of runs stays below, where they are uncertain.")
    ] = 0.5,
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--no-exact",
            help="Prove how short the plan can be, with OR-Tools; unless given, where it is installed and "
            f"--budget is {_EXACT_BUDGET:g} or more.",
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Tell of each better plan as it is found, on standard error.")
    ] = False,
    json: JsonOption = False,
    gantt: Annotated[Path | None, typer.Option(help="Draw the schedule into this SVG file.")] = None,
    _policies: Annotated[
        bool,
        typer.Option("--policies", help="Say what each policy does, and end.", is_eager=True, callback=_tell_policies),
    ] = False,
) -> None:
    """Make a schedule for a queue given as a file."""
    if not 0 < quantile < 1:
        raise UserError(f"--quantile {quantile:g}: give a number between 0 and 1")
    queue = read_file(problem, lambda text: _parse(text, quantile, problem.parent))
    if isinstance(queue, TunableQueue):
        if quantile != 0.5:
            raise UserError("the times of tunable tasks are certain: leave --quantile out")
        _plan_tunable(queue, problem.name, policy, gantt, json=json)
        return
    wanted = find_policy(find_policy(policy).delegate(queue))
    refuse_misfit(queue, wanted)
    policy = _answerable(wanted)
    queue = with_waits(queue, objective.weights)
    seconds = budget if budget is not None else 1.0 if generations is None else math.inf
    limit = Limit(min(seconds, _STAND_IN) if policy is not wanted.name else seconds, generations)
    together = _exact(exact, queue, policy, limit)
    on_progress = _tell if verbose else None
    schedule, statistics = make_plan(queue, policy, limit, seed, objective.weights, on_progress, exact=together)
    schedule, pieces = _with_pieces(queue, policy, schedule, objective.weights)
    document = _document(queue, policy, schedule, pieces, statistics)
    if json:
        emit_json(document)
    else:
        _print(document, statistics)
    if gantt is not None:  # last: a plan that took long is not lost where its picture has no place
        title = f"{problem.name}: {policy}, makespan {figure(document['makespan'], 6)} s"
        _draw(gantt, title, queue, schedule, pieces)


def _with_pieces(
    queue: Problem, policy: PolicyName, schedule: Schedule, weights: Weights
) -> tuple[Schedule, Sequence[TaskPiece]]:
    """Return a checked schedule, and where tasks change their hosts the pieces in which they run."""
    pieces: Sequence[TaskPiece] = schedule.pieces
    if pieces:
        _refuse_infeasible(policy, check_pieces(queue, None, pieces))
        return schedule, pieces
    if queue.elastic:
        chosen = promise_hosts(queue, schedule, weights)
        schedule, pieces = chosen.promised, chosen.pieces
        _refuse_infeasible(policy, check_pieces(queue, schedule, pieces))
    _refuse_infeasible(policy, check_schedule(queue, schedule))
    return schedule, pieces


def _draw(path: Path, title: str, queue: Problem, schedule: Schedule, pieces: Sequence[TaskPiece]) -> None:
    rows: Sequence[str] = queue.hosts
    held = {item.task: item.hosts for item in schedule.assignments}
    if queue.packing is not None:
        rows, held = lanes(queue, queue.packing, schedule)
    bars = _piece_bars(queue, pieces) if pieces else _bars(queue, schedule, rows, held)
    _write(path, draw(bars, rows, title, origin=0.0))


def _exact(wanted: bool | None, queue: Problem, policy: PolicyName, limit: Limit) -> bool:
    """Return whether the exact partner takes part: as asked, or where it can help."""
    if wanted is False:
        return False
    if limit.generations is not None:
        obstacle: str | None = "--generations asks for the same plan anywhere, and it takes as long as it takes"
    elif policy != PolicyName.GENETIC:
        obstacle = f"it works beside the genetic search, and here {policy} plans"
    else:
        obstacle = uncovered(queue)
    if wanted and obstacle is not None:
        raise UserError(f"--exact: the exact solver cannot help here, {obstacle}: leave --exact out")
    if wanted and not solver_installed():
        raise UserError("--exact needs OR-Tools: pip install 'cosched[exact]'")
    return wanted or (obstacle is None and limit.seconds >= _EXACT_BUDGET and solver_installed())


def _answerable(policy: Policy) -> PolicyName:
    """Return the policy, or a quick one where this one must be compiled first."""
    if policy.ready():
        return policy.name
    more = "It is being compiled now: ask again in a minute"
    if not kernel_cache.keep_in_background():
        more = "What is compiled can be kept nowhere: set NUMBA_CACHE_DIR to a folder that you can write"
    sys.stderr.write(
        f"cosched: {policy.name} has not been compiled on this machine yet: "
        f"this is the plan of the best heuristic. {more}\n"
    )
    return PolicyName.HEURISTIC


def _refuse_infeasible(policy: PolicyName, faults: Sequence[str]) -> None:
    """Check a schedule before it is printed, by code that shares nothing with its maker."""
    if faults:
        raise SystemFault(
            f"{policy} made a schedule that cannot be, {faults[0]}: choose another policy, and report "
            "this with the file"
        )


def _tell(progress: SearchProgress) -> None:
    figures = progress.figures
    said = progress.why or f"makespan {figure(figures.makespan, 6)} s, {figures.late} late"
    sys.stderr.write(f"{progress.elapsed:9.3f} s  generation {progress.generations}: {said}\n")


def _parse(text: str, quantile: float, beside: Path) -> Problem | TunableQueue:
    if not text.lstrip().startswith("{"):
        return parse_etc(text)
    document = read_json(text)
    if is_tunable(document):
        return tunable_from_document(document, tunable.chains_beside(beside))
    return problem_from_document(document, quantile)


def _plan_tunable(queue: TunableQueue, name: str, policy: PolicyName, gantt: Path | None, *, json: bool) -> None:
    if policy not in (PolicyName.GENETIC, PolicyName.TUNABLE):
        raise UserError(f"{policy} does not plan tunable tasks: leave --policy out")
    document, plan = tunable.document(queue)
    _refuse_infeasible(PolicyName.TUNABLE, check_tunable(queue, plan))
    if json:
        emit_json(document)
    else:
        tunable.show(document)
    if gantt is not None:
        title = f"{name}: tunable, {len(plan.placements)} of {len(queue.tasks)} tasks admitted"
        _write(gantt, draw(tunable.bars(plan), queue.hosts, title, origin=0.0))


def _document(
    problem: Problem,
    policy: PolicyName,
    schedule: Schedule,
    pieces: Sequence[TaskPiece],
    statistics: SearchStatistics,
) -> dict[str, Any]:
    """Return the plan as a document for machines."""
    metrics = measure_pieces(problem, schedule, pieces) if pieces else measure(problem, schedule)
    resources = () if problem.packing is None else problem.packing.resources
    document: dict[str, Any] = {
        "policy": str(policy),
        "makespan": metrics.makespan,
        "lower_bound": statistics.bound,
        "gap": metrics.makespan / statistics.bound - 1,
        # Loans may end elastic tasks sooner than the plan that the bound is for.
        "optimal": not problem.elastic and proved_optimal(metrics.makespan, statistics.bound),
        "on_time": metrics.on_time_share,
        "idle": metrics.idle,
        "average_delay": metrics.average_delay,
        **({} if metrics.slowdown is None else {"slowdown": metrics.slowdown}),
        "evaluations": statistics.evaluations,
        "generations": statistics.generations,
        "elapsed": statistics.elapsed,
        "improvements": [
            {
                "elapsed": item.elapsed,
                "generations": item.generations,
                "evaluations": item.evaluations,
                "makespan": item.figures.makespan,
                "late": item.figures.late,
                "lateness": item.figures.lateness,
                **({"slowdown": item.figures.slowdown} if item.figures.slowdown else {}),
                "why": item.why,
            }
            for item in statistics.progress
        ],
        "assignments": [
            {"task": item.task, "hosts": list(item.hosts), "start": item.start, "end": item.end}
            | dict(zip(resources, item.taken, strict=True))
            for item in schedule.assignments
        ],
    }
    return elastic.with_pieces(document, problem, pieces, promised=not schedule.pieces) if pieces else document


def _print(document: dict[str, Any], statistics: SearchStatistics) -> None:
    assignments = document["assignments"]
    shared = assignments and "cores" in assignments[0]
    promises = assignments and "promised_end" in assignments[0]
    rows = [
        (
            item["task"],
            figure(item["start"], 6),
            figure(item["end"], 6),
            str(len(item["hosts"])),
            *((str(item["cores"]), format_memory(item["memory"]), str(item["gpus"])) if shared else ()),
            *((figure(item["promised_end"], 6),) if promises else ()),
            _short(item["hosts"]),
        )
        for item in assignments
    ]
    taken = ("cores", "memory", "GPUs") if shared else ("promised end (s)",) if promises else ()
    print_table(("task", "start (s)", "end (s)", "count", *taken, "hosts"), rows)
    summarise(document)
    if len(statistics.progress) > 1:
        gained = describe_difference(statistics.progress[0].figures, statistics.progress[-1].figures)
        better = len(statistics.progress) - 1
        console.print(f"since the {_begun(document['policy'])}: {gained}, in {better} better plan{'s' * (better > 1)}")


def _begun(policy: str) -> str:
    """Return what a search begins with."""
    return "best heuristic's plan" if policy == PolicyName.GENETIC else "first plan"


def _short(hosts: list[str]) -> str:
    return " ".join(hosts) if len(hosts) <= 4 else f"{hosts[0]} {hosts[1]} … {hosts[-1]}"


def _bars(
    problem: Problem, schedule: Schedule, rows: Sequence[str], held: Mapping[str, tuple[str, ...]]
) -> list[GanttBar]:
    """Return the bars of tasks on the rows that they have, and of hosts that are not there."""
    due = dict(zip(problem.tasks, problem.deadline.tolist(), strict=True))
    last = schedule.makespan
    away = [(problem.hosts[period.host], period.begin, min(period.end, last)) for period in problem.unavailability]
    away += [(host, 0.0, min(free, last)) for host, free in zip(problem.hosts, problem.free.tolist(), strict=True)]
    of_host = defaultdict(list)
    for row in rows:
        of_host[row if problem.packing is None else row.rpartition(" ")[0]].append(row)
    gone = [
        GanttBar("not there", "not there", tuple(of_host[host]), begin, end, absent=True)
        for host, begin, end in away
        if begin < end
    ]
    return gone + [
        GanttBar(item.task, _application(item.task), held[item.task], item.start, item.end, finite(due[item.task]))
        for item in schedule.assignments
    ]


def _piece_bars(problem: Problem, pieces: Sequence[TaskPiece]) -> list[GanttBar]:
    """Return a bar for each piece; the last of a task has its deadline."""
    due = dict(zip(problem.tasks, problem.deadline.tolist(), strict=True))
    last = {piece.task: piece for piece in pieces}
    return [
        GanttBar(
            piece.task,
            _application(piece.task),
            piece.hosts,
            piece.start,
            piece.end,
            finite(due[piece.task]) if piece is last[piece.task] else None,
        )
        for piece in pieces
    ]


def _application(task: str) -> str:
    """Return the application in a task's id: the id without its last number."""
    return re.sub(r"[-_.#: ]*\d+$", "", task) or "tasks"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{clean(str(path))}: cannot be written: {error.strerror}") from error
