"""`cosched simulate EXPERIMENT…`: the papers' experiments, by the daemon's own core in virtual time."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from cosched.cli.output import JsonOption, clean, console, emit_json, figure, print_table
from cosched.errors import UserError
from cosched.scheduling import kernel_cache
from cosched.scheduling.formats.elastic_jobs_file import read_elastic_jobs
from cosched.scheduling.formats.input_file import LONGEST
from cosched.scheduling.formats.swf import read_swf
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.policies import PolicyName
from cosched.simulation.elastic_replay import ElasticChoice
from cosched.simulation.experiment import INTERVAL_SUFFIX, averaged_rows
from cosched.simulation.experiments import EXPERIMENT_NAMES, load_experiment
from cosched.simulation.experiments.trace import REPLAY_POLICIES, trace_experiment
from cosched.simulation.seed_runs import tables_by_seed
from cosched.simulation.trace_predictions import Predictions
from cosched.simulation.trace_replay import Moldability

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.formats.swf import WorkloadTrace
    from cosched.simulation.experiment import Experiment, ResultRow

__all__ = ["command"]


def command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[EXPERIMENT…]", help="Which; without any they are listed.")
    ] = None,
    json: JsonOption = False,
    seed: Annotated[int, typer.Option(help="Of all random numbers.", min=0, max=2**31)] = 1,
    seeds: Annotated[int, typer.Option(help="Average over this many seeds from --seed on.", min=1, max=1000)] = 1,
    processes: Annotated[int, typer.Option(help="Seeds at once; 0: one a processor.", min=0, max=256)] = 0,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set an option.")] = None,
    plot: Annotated[list[Path] | None, typer.Option(help="Draw into this folder, or into this .svg file.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Replay this trace (SWF, may be .gz) in place of one.")] = None,
    policy: Annotated[
        list[PolicyName] | None,
        typer.Option(
            metavar="POLICY", help=f"Of the replay; may be given several times: {', '.join(REPLAY_POLICIES)}."
        ),
    ] = None,
    moldability: Annotated[Moldability, typer.Option(help="Run times on other counts.")] = Moldability.RIGID,
    predictions: Annotated[Predictions, typer.Option(help="Of the replay's run times.")] = Predictions.RECORDED,
    objective: Annotated[
        ObjectiveName, typer.Option(help="What the search minimises in the replay.")
    ] = ObjectiveName.BALANCED,
    malleable: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Part of the replay's jobs that are elastic, 0 to 1.")
    ] = None,
    elastic_file: Annotated[
        Path | None, typer.Option(help="Elastic jobs of the replay (CSV: job, least, most, preferred, cost).")
    ] = None,
    resize_cost: Annotated[
        float | None, typer.Option(help="Seconds without progress at each change of an elastic job.")
    ] = None,
    requested: Annotated[bool, typer.Option("--requested", help="The same as --predictions requested.")] = False,
) -> None:
    """Run an experiment, or replay a trace, in virtual time by the daemon's own core."""
    origin = Predictions.REQUESTED if requested else predictions
    replay = _Replay(policy or None, moldability, origin, objective, malleable, elastic_file, resize_cost)
    if trace is not None and not names:
        chosen = [replay.of(trace)]
    elif replay != _Replay():
        raise UserError(
            "--policy, --moldability, --predictions, --objective, --malleable, --elastic-file, --resize-cost are for "
            "the replay of a trace: give --trace FILE, and no experiment"
        )
    elif trace is not None:
        chosen = _on_trace(names or [], trace)
    elif names:
        chosen = [load_experiment(name) for name in dict.fromkeys(names)]
    elif set_ or plot:
        raise UserError(f"--set and --plot are for an experiment: name one of {', '.join(EXPERIMENT_NAMES)}")
    else:
        _list(json=json)
        return
    settings = _settings(chosen, _pairs(set_ or []))
    titles = " and ".join(each.name for each in chosen)
    _refuse_places(sum(each.pictures for each in chosen), titles, plot or [])
    _compile_search(chosen)
    tables = []
    for each, options in zip(chosen, settings, strict=True):
        every = tables_by_seed(each, range(seed, seed + seeds), options, processes or len(os.sched_getaffinity(0)))
        tables.append(averaged_rows(every, each.keys))
        if not json:
            _print(each, tables[-1], seed, seeds)
    if json:
        shown = zip(chosen, settings, tables, strict=True)
        documents = [_document(each, options, rows, seed, seeds) for each, options, rows in shown]
        emit_json(documents if len(documents) > 1 else documents[0])
    if plot:  # last: what took long is not lost where a picture has no place
        pictures = {
            f"{each.name}-{key}": text
            for each, options, rows in zip(chosen, settings, tables, strict=True)
            for key, text in each.charts(rows, seed, options).items()
        }
        _draw(pictures, titles, plot)


class _Replay(NamedTuple):
    """What is asked of the replay of a trace; the defaults where nothing is."""

    policies: Sequence[PolicyName] | None = None
    moldability: Moldability = Moldability.RIGID
    predictions: Predictions = Predictions.RECORDED
    objective: ObjectiveName = ObjectiveName.BALANCED
    malleable: float | None = None
    elastic_file: Path | None = None
    resize_cost: float | None = None

    def of(self, trace: Path) -> Experiment:
        """Return the replay of a trace."""
        workload = read_swf(trace)
        elastic = _elastic_jobs(workload, self.malleable, self.elastic_file, self.resize_cost)
        policies = self.policies or [PolicyName.MARGINAL if elastic.any else PolicyName.GENETIC]
        return trace_experiment(
            workload,
            trace.name,
            list(dict.fromkeys(policies)),
            self.moldability,
            self.predictions,
            self.objective,
            elastic,
        )


def _elastic_jobs(trace: WorkloadTrace, share: float | None, file: Path | None, cost: float | None) -> ElasticChoice:
    """Return which jobs of a replay are elastic, as the options say."""
    if share is not None and file is not None:
        raise UserError("--malleable and --elastic-file both say which jobs are elastic: give one of them")
    if share is not None and not 0 <= share <= 1:
        raise UserError(f"--malleable {share:g}: give the part of the jobs that are elastic, from 0 to 1")
    if cost is not None and not 0 <= cost <= LONGEST:
        raise UserError(f"--resize-cost {cost:g}: give seconds from 0 to {LONGEST:.0f}")
    if cost is not None and share is None and file is None:
        raise UserError("--resize-cost is what changes cost elastic jobs: say which are, with --malleable SHARE")
    listed = None if file is None else read_elastic_jobs(file, {record.number for record in trace.records})
    return ElasticChoice(share or 0.0, listed, cost or 0.0)


def _compile_search(chosen: Sequence[Experiment]) -> None:
    if any(each.searches for each in chosen) and not kernel_cache.ready():
        sys.stderr.write("cosched: the search has not been compiled on this machine yet: first that, about a minute\n")
        kernel_cache.keep()


def _document(
    chosen: Experiment, options: Mapping[str, float], rows: Sequence[ResultRow], seed: int, seeds: int
) -> dict[str, Any]:
    return {
        "experiment": chosen.name,
        "reproduces": chosen.reproduces,
        "seed": seed,
        "seeds": seeds,
        "options": options,
        "rows": rows,
        "paper": list(chosen.paper),
    }


def _settings(chosen: Sequence[Experiment], given: Mapping[str, str]) -> list[dict[str, float]]:
    """Return the options of each experiment: of several each takes those that it has, and one of them every one."""
    if len(chosen) > 1:
        known = {name for each in chosen for name in each.options}
        if unknown := [name for name in given if name not in known]:
            raise UserError(f"no option {unknown[0]!r}: there are {', '.join(sorted(known))}")
    return [
        each.settings({name: value for name, value in given.items() if len(chosen) == 1 or name in each.options})
        for each in chosen
    ]


def _on_trace(names: Sequence[str], trace: Path) -> list[Experiment]:
    """Return experiments that replay a trace, on this one."""
    replays = {}
    for name in names:
        replays[name] = load_experiment(name).for_trace
        if replays[name] is None:
            raise UserError(f"give either {name} or --trace, not both")
    workload = read_swf(trace)
    return [replay(workload, trace.name) for replay in replays.values() if replay is not None]


def _refuse_places(pictures: int, name: str, places: Sequence[Path]) -> None:
    """Refuse places where so many pictures cannot go."""
    if places and not pictures:
        raise UserError(f"{name} has no picture: leave --plot out")
    if pictures > 1 and (files := [place for place in places if place.suffix == ".svg"]):
        raise UserError(f"{name} has {pictures} pictures: give --plot a folder, not {clean(str(files[0]))}")


def _draw(pictures: Mapping[str, str], name: str, places: Sequence[Path]) -> None:
    """Write the pictures, by their names, into each place: a folder, or a file for just one."""
    _refuse_places(len(pictures), name, places)
    for place in places:
        into_file = place.suffix == ".svg"
        files = {(place if into_file else place / f"{key}.svg"): text for key, text in pictures.items()}
        try:
            next(iter(files)).parent.mkdir(parents=True, exist_ok=True)
            for path, text in files.items():
                path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UserError(f"{clean(str(place))}: cannot be written: {error.strerror}") from error


def _list(*, json: bool) -> None:
    found = [load_experiment(name) for name in EXPERIMENT_NAMES]
    if json:
        emit_json(
            [{"experiment": item.name, "reproduces": item.reproduces, "options": _defaults(item)} for item in found]
        )
        return
    print_table(("experiment", "what it reproduces"), [(item.name, item.reproduces) for item in found])


def _defaults(chosen: Experiment) -> dict[str, Any]:
    return {
        name: {"default": option.default, "help": option.help, "least": option.least, "most": option.most}
        for name, option in chosen.options.items()
    }


def _pairs(words: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UserError(f"--set {word}: give NAME=VALUE")
        pairs[name] = value
    return pairs


def _print(chosen: Experiment, rows: Sequence[ResultRow], seed: int, seeds: int) -> None:
    console.print(f"{chosen.reproduces}\n", style="bold", markup=False)
    beside = [_published(row, chosen) for row in rows]
    _table(rows, beside, chosen.keys)
    of = f"seed {seed}" if seeds == 1 else f"means over seeds {seed} to {seed + seeds - 1} ± 95 % confidence"
    console.print(of, markup=False)
    if any(beside):
        console.print("in brackets: as published", markup=False)
    if chosen.note:
        console.print(chosen.note, markup=False)


def _published(row: ResultRow, chosen: Experiment) -> ResultRow:
    """Return the paper's row with the same keys as ours, or an empty one."""
    same = (paper for paper in chosen.paper if all(paper.get(key, row[key]) == row[key] for key in chosen.keys))
    return next(same, {})


def _table(rows: Sequence[ResultRow], beside: Sequence[ResultRow], keys: Sequence[str]) -> None:
    """Print our rows, in each measured cell the paper's value where `beside` has one."""
    columns = [
        column for column in dict.fromkeys(key for row in rows for key in row) if not column.endswith(INTERVAL_SUFFIX)
    ]
    table = []
    for row, paper in zip(rows, beside, strict=True):
        known = [column not in keys and paper.get(column) is not None for column in columns]
        table.append(
            [
                _cell(row, column) + (f" ({_cell(paper, column)})" if there else "")
                for column, there in zip(columns, known, strict=True)
            ]
        )
    print_table(columns, table)


def _cell(row: ResultRow, column: str) -> str:
    value, half = row.get(column), row.get(column + INTERVAL_SUFFIX)
    text = figure(value, 4) if isinstance(value, float) else "" if value is None else str(value)
    return f"{text} ± {half:.2g}" if isinstance(half, float) else text
