"""A user's own submit commands on their way into cosched's submit description: text that means only what it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cosched.connector import SafeValue
from cosched.connector.launches import environment
from cosched.connector.native import check_native
from cosched.errors import UserError

if TYPE_CHECKING:
    from cosched.connector import Launch, Native

__all__ = ["conjunction", "lines", "merged_environment"]

_KEY = re.compile(r"(my\.)?[a-z_][a-z0-9_]*\Z")
_LATER = re.compile(r"\$\(DOLLAR\)\((ProcId|ClusterId|Node)\)")
# Words of the language that are no commands, and what is cosched's to say.
_FORBIDDEN = (
    "queue",
    "include",
    "use",
    "if",
    "elif",
    "else",
    "endif",
    "warning",
    "getenv",
    "hold",
    "submit_event_notes",
    "dagman_log",
    "accounting_group_user",
    "max_materialize",
    "max_idle",
    "machine_count",
)
_COMBINED = ("requirements", "periodic_remove", "environment", "env")


def lines(launch: Launch) -> list[SafeValue]:
    """Return the user's commands as lines of a submit description; those that cosched adds to are left out.

    Raises:
        UserError: a command that is not the user's to give, or a value that could become a line of its own.
    """
    if launch.native is None:
        return []
    _check(launch.native)
    found = [f"{key} = {_text(value)}" for key, value in launch.native.settings.items() if key not in _COMBINED]
    return [SafeValue(line) for line in found]


def conjunction(native: Native | None, key: str, own: str, word: str) -> SafeValue:
    """Return an expression of the user's (where there is one) together with cosched's own.

    Args:
        native: the user's job.
        key: the command that has the expression.
        own: cosched's; empty for none.
        word: how to put them together: "&&" or "||".
    """
    users = "" if native is None else _text(native.settings.get(key, ""))
    return SafeValue(f"({users}) {word} ({own})" if users and own else users or own)


def merged_environment(launch: Launch) -> SafeValue:
    """Return the value of `environment`: the user's with the variables of cosched."""
    given = environment(launch)
    parallel = launch.native is not None and launch.native.settings.get("universe") == "parallel"
    rank = "Node" if parallel else "CoschedRank"
    given.pop("COSCHED_RANK", None)
    users = "" if launch.native is None else launch.native.settings.get("environment", "")
    users = users or ("" if launch.native is None else launch.native.settings.get("env", ""))
    words = [_variable(name, value) for name, value in given.items()] + [f"COSCHED_RANK=$({rank})"]
    if users.startswith('"') and users.endswith('"') and len(users) > 1:
        inner = _text(users[1:-1])
    else:  # the old form: NAME=value;NAME=value
        inner = " ".join(_variable(*_old(part)) for part in users.split(";") if part.strip())
    return SafeValue('"' + " ".join(filter(None, (inner, *words))) + '"')


def _check(native: Native) -> None:
    check_native(native)
    for key, value in native.settings.items():
        if not _KEY.match(key) or key in _FORBIDDEN or key.removeprefix("my.").startswith("cosched"):
            raise UserError(f"the submit command {key} is not a user's to give to cosched: leave it out")
        if value.endswith("\\"):
            raise UserError(f"the submit command {key} ends with a backslash, which joins it to the next: leave it out")


def _text(value: str) -> str:
    """Return a value in which no macro is left but those that only HTCondor can fill in."""
    # `$$(Attribute)` is filled in on the host, by HTCondor; nothing here looks at it.
    plain = "$$(".join(part.replace("$", "$(DOLLAR)") for part in value.split("$$("))
    return _LATER.sub(r"$(\1)", plain)


def _old(part: str) -> tuple[str, str]:
    name, _, value = part.strip().partition("=")
    return name, value


def _variable(name: str, value: str) -> str:
    if any(ord(character) < 32 for character in value):
        raise UserError(
            f"the environment variable {name} has a line break or another control character, "
            "which a submit file cannot carry: leave it out"
        )
    if "$(dollar)" in value.lower():  # what stands for its dollar would be expanded once more, however it is written
        raise UserError(
            f"the environment variable {name} has the text $(DOLLAR), which a submit file cannot carry: leave it out"
        )
    quoted = value.replace("'", "''").replace('"', '""')
    return f"{name}='{_text(quoted)}'"
