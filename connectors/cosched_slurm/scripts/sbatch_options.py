"""The options of sbatch that a user's script may have, and how each is written.

`USER_OPTIONS` are passed on as they are; the others cosched decides itself. Start at `long_name`.
"""

from __future__ import annotations

import re

from cosched.errors import UserError

__all__ = [
    "USER_OPTIONS",
    "check_user_option",
    "long_name",
    "parse_begin",
    "parse_time_limit",
    "takes_value",
]

_SHORT_OPTIONS = {
    "A": "account",
    "a": "array",
    "B": "extra-node-info",
    "b": "begin",
    "C": "constraint",
    "c": "cpus-per-task",
    "D": "chdir",
    "d": "dependency",
    "e": "error",
    "F": "nodefile",
    "G": "gpus",
    "H": "hold",
    "i": "input",
    "J": "job-name",
    "k": "no-kill",
    "L": "licenses",
    "m": "distribution",
    "N": "nodes",
    "n": "ntasks",
    "O": "overcommit",
    "o": "output",
    "p": "partition",
    "Q": "quiet",
    "q": "qos",
    "S": "core-spec",
    "s": "oversubscribe",
    "t": "time",
    "v": "verbose",
    "W": "wait",
    "w": "nodelist",
    "x": "exclude",
}
# Passed on as they are: resources, files and accounts of the job. True: the option takes a value.
# No file that sbatch itself opens may be named (bbf), and nothing that only an operator may ask for (priority): cosched
# may be one.
USER_OPTIONS = {
    **dict.fromkeys(
        (
            "account",
            "acctg-freq",
            "batch",
            "bb",
            "constraint",
            "container",
            "core-spec",
            "cores-per-socket",
            "cpu-freq",
            "cpus-per-gpu",
            "cpus-per-task",
            "delay-boot",
            "dependency",
            "distribution",
            "error",
            "extra-node-info",
            "gpu-bind",
            "gpu-freq",
            "gpus",
            "gpus-per-node",
            "gpus-per-socket",
            "gpus-per-task",
            "gres",
            "gres-flags",
            "hint",
            "input",
            "licenses",
            "mail-type",
            "mail-user",
            "mcs-label",
            "mem",
            "mem-bind",
            "mem-per-cpu",
            "mem-per-gpu",
            "mincpus",
            "network",
            "nice",
            "ntasks",
            "ntasks-per-core",
            "ntasks-per-gpu",
            "ntasks-per-node",
            "ntasks-per-socket",
            "open-mode",
            "output",
            "partition",
            "prefer",
            "profile",
            "propagate",
            "qos",
            "reservation",
            "signal",
            "sockets-per-node",
            "switches",
            "thread-spec",
            "threads-per-core",
            "tmp",
            "tres-bind",
            "tres-per-task",
            "wait-all-nodes",
            "wckey",
        ),
        True,
    ),
    **dict.fromkeys(("contiguous", "no-kill", "overcommit", "spread-job", "use-min-nodes"), False),
}
# Decided by cosched, or meaningless for it.
_COSCHED_OPTIONS = {
    **dict.fromkeys(
        (
            "array",
            "begin",
            "chdir",
            "comment",
            "export",
            "job-name",
            "nodes",
            "time",
            "time-min",
        ),
        True,
    ),
    **dict.fromkeys(("exclusive", "oversubscribe", "requeue", "no-requeue", "parsable", "quiet", "verbose"), False),
}
_HOST_OPTIONS = ("exclude", "nodefile", "nodelist")
_OPTIONAL_VALUE = ("exclusive", "no-kill", "oversubscribe")
_TIME_LIMIT = re.compile(
    r"(?:(?P<days>\d{1,6})-)?(?P<first>\d{1,9})(?::(?P<second>\d{1,9}))?(?::(?P<third>\d{1,9}))?", re.ASCII
)
_BEGIN_OFFSET = re.compile(r"now(?:\+(\d{1,9})([smhdw])?[a-z]*)?", re.ASCII)
_BEGIN_UNITS = {None: "s", "s": "s", "m": "m", "h": "h", "d": "d", "w": "d"}
_NICE = re.compile(r"\d{1,9}", re.ASCII)  # only an operator may ask for less than 0


def long_name(word: str) -> tuple[str, str | None]:
    """Return an option's long name from a script, with its value if it has one.

    Raises:
        UserError: no option, or one that has no place in a file for cosched.
    """
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        found, given = name, value if equals else None
    elif len(word) > 1 and word[0] == "-" and word[1] in _SHORT_OPTIONS:
        found, given = _SHORT_OPTIONS[word[1]], word[2:] or None
    else:
        raise UserError(f"{word!r} is no option of sbatch")
    if found in _HOST_OPTIONS:
        raise UserError(f"sbatch's option --{found} names hosts, and cosched chooses them: leave it out")
    if found not in USER_OPTIONS and found not in _COSCHED_OPTIONS:
        raise UserError(f"sbatch's option --{found} has no place in a task of cosched: leave it out")
    if given is not None and found not in _OPTIONAL_VALUE and not takes_value(found):
        raise UserError(f"--{found} takes no value")
    return found, given


def check_user_option(name: str, value: str) -> None:
    """Refuse an option or a value that users may not give.

    Args:
        name: long name of the option.
        value: the given value; empty for an option without one.

    Raises:
        UserError: says what to do.
    """
    if name not in USER_OPTIONS or bool(value) != USER_OPTIONS[name]:
        raise UserError(f"the option --{name}{f'={value}' if value else ''} cannot be passed to sbatch: leave it out")
    if name == "nice" and not _NICE.fullmatch(value):
        raise UserError(f"--nice={value}: only a number from 0 on may be given, which makes a job wait for others")


def takes_value(name: str) -> bool:
    """Return whether an option must be given a value."""
    return USER_OPTIONS[name] if name in USER_OPTIONS else _COSCHED_OPTIONS[name]


def parse_time_limit(text: str) -> float | None:
    """Return a time limit of Slurm's in seconds; None for one without end.

    Raises:
        UserError: not a time.
    """
    if text.upper() in ("UNLIMITED", "INFINITE", "-1", "0"):
        return None
    match = _TIME_LIMIT.fullmatch(text)
    if match is None:
        raise UserError(f"--time={text} is not a time: write minutes, hours:minutes:seconds or days-hours:minutes")
    parts = [int(match[name]) for name in ("first", "second", "third") if match[name] is not None]
    if match["days"] is not None:  # days-hours[:minutes[:seconds]]
        hours, minutes, rest = [*parts, 0, 0][:3]
        return float(((int(match["days"]) * 24 + hours) * 60 + minutes) * 60 + rest)
    if len(parts) == 3:
        return float((parts[0] * 60 + parts[1]) * 60 + parts[2])
    return float(parts[0] * 60 + (parts[1] if len(parts) == 2 else 0))


def parse_begin(text: str) -> str:
    """Return a --begin of Slurm's as `cosched task submit --begin` takes it: "now+1hour" is "now+1h".

    Raises:
        UserError: an offset that is not understood; other times are read, and refused, later.
    """
    if not text.startswith("now"):
        return text
    match = _BEGIN_OFFSET.fullmatch(text)
    if match is None:
        raise UserError(f"--begin={text} is not understood: write now+2hours, 16:00 or 2030-01-31T18:00")
    return "" if match[1] is None else f"now+{int(match[1]) * (7 if match[2] == 'w' else 1)}{_BEGIN_UNITS[match[2]]}"
