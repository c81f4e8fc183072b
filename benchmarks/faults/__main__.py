"""Thousands of faults, each history checked from what the jobs wrote: 0 lost, 0 twice, 0 shown to others.

    python -m benchmarks.faults [--connector local|simulated|condor|slurm|federation|virtual] [--faults 10000]
                                [--least 100] [--minutes 60] [--seed 1] [--results FILE] [--keep FOLDER]
                                [--set KEY=JSON …]

Sessions of some faults each, with a new site; what a file of results has is not done again, so that a run can be
stopped and taken up. Ends when there are so many faults of the connector, so many of each kind at least, or the minutes
are over. A simulated pool's weather can be bad as well (`--set busy=0.1 --set lost=0.2 --set repeat=0.5`).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from benchmarks.faults import federation_session, site_session, virtual_session
from benchmarks.faults.harm import KINDS_OF
from benchmarks.faults.results import Results, Session

_KINDS_OF = {**KINDS_OF, "federation": federation_session.KINDS, "virtual": virtual_session.KINDS}
_AT_ONCE = 60  # faults in a session


def main() -> None:
    """Do harm, check, print the sums; exit code 1 where something is wrong or missing."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--connector", choices=tuple(_KINDS_OF), default="local")
    parser.add_argument("--faults", type=int, default=10_000, help="in all, with those in the results")
    parser.add_argument("--least", type=int, default=0, help="of each kind")
    parser.add_argument("--minutes", type=float, default=60.0, help="no more faults after this")
    parser.add_argument("--seed", type=int, default=1, help="of the first session")
    parser.add_argument("--results", type=Path, help="file to take up and to write")
    parser.add_argument("--keep", type=Path, help="folder for all files of a session in which something is wrong")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=JSON", help="setting of the connector")
    options = parser.parse_args()
    more = {key: json.loads(value) for key, _, value in (word.partition("=") for word in options.set)}
    kinds, until = _KINDS_OF[options.connector], time.monotonic() + 60 * options.minutes
    results = Results.read(options.results)

    def left() -> int:
        done = sum(results.faults(options.connector).values())
        return max(int(options.faults) - done, sum(results.missing(options.connector, kinds, options.least).values()))

    while left() > 0 and time.monotonic() < until:
        seed = results.seed(options.connector, options.seed)
        count = min(left(), _AT_ONCE)
        if options.connector == "federation":
            session = _federation(count, until, seed)
        elif options.connector == "virtual":
            session = virtual_session.run(seed)
        else:
            session = site_session.run(options.connector, count, until, seed, more, keep=options.keep)
        results.sessions.append(session)
        if options.results:
            results.write(options.results)
    document = results.document()
    missing = results.missing(options.connector, kinds, options.least)
    print(json.dumps({**document, "sessions": len(results.sessions), "missing": missing}, indent=2))
    raise SystemExit(1 if document["wrong"] or left() > 0 else 0)


def _federation(count: int, until: float, seed: int) -> Session:
    report = federation_session.run(count, until - time.monotonic(), seed, domains=3)
    return Session("federation", report.seed, report.faults, report.tasks, report.seconds, report.wrong)


if __name__ == "__main__":
    main()
