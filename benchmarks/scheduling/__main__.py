"""Plan quality and speed against peers: `python -m benchmarks.scheduling [--braun FOLDER] [--json FILE]`, half an hour.

Queues of the seven kernels, the same for every policy. Quality is makespan ÷ lower bound, the mean over the seeds;
with deadlines also the share of tasks on time. The search's time includes its heuristics but no compiling.
Independent tasks on heterogeneous machines are drawn as by Braun et al.; their own twelve matrices are read from
FOLDER. With --json each row is kept as it comes; --only measures some sections anew and leaves the others there.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from benchmarks.scheduling import gap, independent, peers, queues, references, speed
from benchmarks.scheduling.figures import Figures
from benchmarks.scheduling.largest_queue import largest_queue
from cosched.scheduling.mapping.dual_price import warm_up as warm_up_prices
from cosched.scheduling.search.genetic_search import warm_up

_SECTIONS = {
    "queues": queues.quality,
    "long": queues.long_queues,
    "classes": queues.several_classes,
    "drawn": independent.drawn,
    "peers": peers.against_references,
    "deadlines": peers.deadlines,
    "gap": gap.shown_gaps,
    "highs": independent.mixed_integer_program,
    "largest": largest_queue,
    "generations": speed.generations,
    "decodes": speed.decodes,
}


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scheduling", description=__doc__)
    parser.add_argument("--braun", type=Path, metavar="FOLDER", help="with u_c_hihi.0 and the other eleven")
    parser.add_argument("--processor-time", action="store_true", help="budgets in processor time: on a busy machine")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures there, row by row")
    parser.add_argument("--only", nargs="+", choices=[*_SECTIONS, "braun"], metavar="SECTION", help="these sections")
    parser.add_argument(
        "--references",
        type=int,
        nargs="*",
        metavar="SEED",
        help="have CP-SAT work on these queues (or all of which the optimum is not known), and end",
    )
    parser.add_argument("--kinds", nargs="+", choices=references.KINDS, default=references.KINDS, help="of references")
    parser.add_argument("--seconds", type=float, default=60.0, help="of two cores, for each of them")
    options = parser.parse_args()
    figures = Figures(options.json, processor_time=options.processor_time)
    sections = dict(_SECTIONS)
    if options.braun:
        sections["braun"] = partial(independent.braun, folder=options.braun)
    if options.only and not sections.keys() >= set(options.only):
        parser.error("the section braun needs --braun FOLDER")
    print("; ".join(f"{key}: {value}" for key, value in figures.circumstances().items()))
    warm_up()
    warm_up_prices()
    if options.references is not None:
        references.compute(options.kinds, options.references, options.seconds, figures.clock)
        return
    for name, measure in sections.items():
        if not options.only or name in options.only:
            measure(figures)


if __name__ == "__main__":
    main()
