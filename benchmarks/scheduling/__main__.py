"""Plan quality and speed against peers, and the goals: `python -m benchmarks.scheduling --keep FOLDER --resume`.

    python -m benchmarks.scheduling [--braun FOLDER] [--trace FILE] [--processor-time] [--keep FOLDER [--resume]]
                                    [--only PART ...]

Queues of the seven kernels, the same for every policy. Quality is makespan ÷ lower bound, the mean over the seeds;
with deadlines also the share of tasks on time. The search's time includes its heuristics but no compiling.
Independent tasks on heterogeneous machines are drawn as by Braun et al.; their own twelve matrices are read from
FOLDER, a recorded year (KTH-SP2-1996-2) from FILE.

All of it takes an hour or two. With --keep each part is kept as it ends, and --resume measures only those that the
folder has not yet; --only measures some. In the end stands what the folder has of each goal: today's figure, the goal,
and the strongest peer's figure; `python -m benchmarks.readme_rows FOLDER` makes README's rows of the same.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures import Figures, kept_sections
from benchmarks.scheduling import comparison, gap, independent, objectives, queues, references, speed, traces
from benchmarks.scheduling.goals import goal_table
from benchmarks.scheduling.largest_queue import largest_queue
from cosched.scheduling.mapping.dual_price import warm_up as warm_up_prices
from cosched.scheduling.search.genetic_search import warm_up

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS: dict[str, Callable[[Figures], None]] = {
    "queues": queues.quality,
    "long": queues.long_queues,
    "classes": queues.several_classes,
    "drawn": independent.drawn,
    "peers": comparison.against_references,
    "deadlines": comparison.deadlines,
    "classes-peer": comparison.classes,
    "slowdown": objectives.slowdown,
    "tardiness": objectives.tardiness,
    "deadlines-cost": objectives.deadlines_cost,
    "gap-30": partial(gap.shown_gaps, tasks=30, name="tuned on"),
    "gap-30-held-out": partial(gap.shown_gaps, tasks=30, name="held out"),
    "gap-200": partial(gap.shown_gaps, tasks=200, name="tuned on"),
    "gap-200-held-out": partial(gap.shown_gaps, tasks=200, name="held out"),
    "highs": independent.mixed_integer_program,
    "largest": largest_queue,
    "generations": speed.generations,
    "decodes": speed.decodes,
}
_FROM_FILES = ("braun", "traces", "ranges")


def main() -> None:
    """Measure what is to be measured still, and print all goals."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scheduling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--braun", type=Path, metavar="FOLDER", help="with u_c_hihi.0 and the other eleven")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="KTH-SP2-1996-2.swf.gz")
    parser.add_argument("--processor-time", action="store_true", help="budgets in processor time: on a busy machine")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep each part there as it ends")
    parser.add_argument("--resume", action="store_true", help="measure only parts that are not kept yet")
    parser.add_argument("--only", nargs="+", choices=[*PARTS, *_FROM_FILES], metavar="PART", help="these parts")
    parser.add_argument(
        "--references",
        type=int,
        nargs="*",
        metavar="SEED",
        help="find out more of these queues (or of all of which the optimum is not known), judge by it the plans that "
        "the part peers in FOLDER was measured with, and end",
    )
    parser.add_argument("--anew", action="store_true", help="ask CP-SAT about all of them again")
    parser.add_argument("--kinds", nargs="+", choices=references.KINDS, default=references.KINDS, help="of references")
    parser.add_argument("--seconds", type=float, default=10.0, help="of two cores, for CP-SAT on each of them")
    parser.add_argument("--proof", type=float, default=60.0, metavar="SECONDS", help="of one core, for the partner")
    options = parser.parse_args()
    if options.resume and options.keep is None:
        parser.error("--resume needs the folder of the earlier parts: --keep FOLDER")
    figures = Figures(options.keep, processor_time=options.processor_time)
    parts = dict(PARTS)
    if options.braun:
        parts["braun"] = partial(independent.braun, folder=options.braun)
    if options.trace:
        parts["traces"] = partial(traces.replays, file=options.trace)
        parts["ranges"] = partial(traces.ranges, file=options.trace)
    for part in options.only or ():
        if part not in parts:
            parser.error(f"the part {part} needs {'--braun FOLDER' if part == 'braun' else '--trace FILE'}")
    print("; ".join(f"{key}: {value}" for key, value in figures.circumstances().items()))
    warm_up()
    warm_up_prices()
    if options.references is not None:
        budgets = options.seconds, options.proof
        references.compute(options.kinds, options.references, budgets, figures.clock, anew=options.anew)
        figures.change("peers", partial(comparison.judged_anew, known=references.known("makespan")))
        return
    for part, measure in parts.items():
        if part in (options.only or parts) and not (options.resume and figures.keeps(part)):
            figures.measure(part, measure)
    if options.keep is not None:
        print("\n" + "\n".join(goal_table(kept_sections(options.keep))))


if __name__ == "__main__":
    main()
