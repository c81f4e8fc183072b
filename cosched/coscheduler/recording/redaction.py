"""Leave secrets out of a recording, and replace names and texts when it is saved.

`SECRETS`, `redaction` and `DIGESTED` are rules for a `Codec`. The digest of an outcome leaves out what a redaction
changes, so that a redacted recording replays to the same digests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cosched.coscheduler.events import CancelRequested
from cosched.coscheduler.recording.codec import Omitted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["DIGESTED", "SECRETS", "Rules", "redaction"]

Rules = dict[tuple[str, str], Any]
"""(class, field) → a function of the value that gives what is written in its place, or `Omitted`."""

_REDACTED = "(redacted)"
_OWN_WORDS = ("not started yet: ", "held by the resource manager: ")  # what follows is the manager's
_OWN_REASON = CancelRequested.__dataclass_fields__["reason"].default

# Variables of jobs, addresses with keys in them, scripts: the core reads none of these. Hand-overs and guests hold
# whole documents, and belong to the agent.
SECRETS: Rules = {
    ("TaskSpec", "environment"): Omitted,
    ("TaskSpec", "native"): Omitted,
    ("TaskSpec", "notify"): Omitted,
    ("StageWork", "environment"): Omitted,
    ("SavedState", "handovers"): Omitted,
    ("SavedState", "guests"): Omitted,
    ("SavedState", "ended"): Omitted,
}

# Lines for people, of our own or the manager's making.
_LINES = (
    ("HostChoice", "model"),
    ("LeadAnnounced", "address"),
    ("LeadStatus", "address"),
    ("TaskStatus", "reason"),
    ("Attempt", "reason"),
    ("Host", "reason"),
    ("JobReport", "reason"),
    ("OwnerLimit", "why"),
    ("PeerReported", "reason"),
    ("Reservation", "name"),
    ("SetbackRecord", "last"),
    ("SubmitFailed", "message"),
    ("StartDiagnosis", "reason"),
    ("TaskSpec", "adopted"),
    ("TaskSpec", "directory"),
    ("TaskSpec", "model"),
    ("TaskSpec", "program_digest"),
    ("TaskSpec", "stdin"),
    ("TaskForwarded", "reason"),
    ("TaskReturned", "reason"),
    ("UnstartedAttempt", "reason"),
    ("WorkerRefused", "reason"),
)


_CHANGES = ("EditRequested", "HoldRequested", "ReleaseRequested")


class _Pseudonyms:
    """Gives everybody and every application another name, the same one throughout a recording."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._known: dict[str, str] = {"": ""}

    def __call__(self, name: str) -> str:
        return self._known.setdefault(name, f"{self._kind}-{len(self._known)}")


def redaction() -> Rules:
    """Return rules that replace owners, applications, commands and texts, for one recording.

    Names of hosts and domains, identifiers, times and predictions stay.
    """
    owner, application, group = _Pseudonyms("owner"), _Pseudonyms("application"), _Pseudonyms("group")
    name = _Pseudonyms("name")

    def correction(key: str) -> str:
        """Rename the application in a key such as "name@peer/hardware"."""
        first, slash, hardware = key.partition("/")
        model, at, peer = first.partition("@")
        return f"{application(model)}{at}{peer}{slash}{hardware}"

    def contention(key: str) -> str:
        """Rename user and application in a key such as "ann sim/hardware", or as `correction` does."""
        user, space, rest = key.partition(" ")
        if not space:
            return correction(key)
        program, slash, hardware = rest.rpartition("/")
        return f"{owner(user)} {application(program)}{slash}{hardware}"

    return {
        **SECRETS,
        **dict.fromkeys(_LINES, _hidden),
        ("TaskStatus", "reason"): _hidden_reason,
        ("CancelRequested", "reason"): lambda reason: reason if reason == _OWN_REASON else _hidden(reason),
        ("Task", "owner"): owner,
        ("TaskStatus", "held_by"): owner,
        **dict.fromkeys(((event, "by") for event in _CHANGES), owner),
        ("Reservation", "owner"): owner,
        ("AttemptsSnapshot", "limits"): _renamed_keys(owner),
        ("UserUsage", "user"): lambda user: user if user.startswith("@") else owner(user),
        ("Shares", "users"): _renamed_keys(owner),
        ("ElasticSettings", "users"): _renamed_keys(owner),
        ("ElasticSettings", "applications"): _renamed_keys(application),
        ("Shares", "groups"): _renamed_keys(group),
        ("Shares", "members"): lambda members: {owner(user): group(its) for user, its in members.items()},
        ("TaskSpec", "application"): application,
        ("TaskSpec", "name"): name,
        ("TaskEdit", "name"): lambda new: new and name(new),  # an edit to the name that it has changes nothing
        ("Task", "correction"): correction,
        ("HostChoice", "correction"): correction,
        ("CoreSnapshot", "corrections"): _renamed_keys(correction),
        ("CoreSnapshot", "contentions"): _renamed_keys(contention),
        ("StageInChain", "title"): name,
        ("StageWork", "name"): name,
        ("StageWork", "title"): name,  # as its task is called in `TaskSpec`
        ("StageWork", "correction"): correction,
        ("StageWork", "command"): _hidden_arguments,
        ("StageWork", "parameters"): _hidden_values,
        ("TaskSpec", "command"): _hidden_arguments,
        ("TaskSpec", "prepare"): _hidden_arguments,
        ("Elastic", "worker"): _hidden_arguments,
        ("TaskSpec", "file_sizes"): lambda sizes: dict(enumerate(sizes.values())),
        ("TaskSpec", "parameters"): _hidden_values,
    }


def _hidden(text: str) -> str:
    return text and _REDACTED


def _hidden_reason(text: str) -> str:
    """Hide a task's reason but for words of the core's, which it writes again before what is hidden in an event."""
    own = next((words for words in _OWN_WORDS if text.startswith(words)), "")
    return own + _hidden(text[len(own) :])


def _hidden_values(values: Mapping[str, float | str]) -> dict[str, float | str]:
    return {name: _hidden(value) if isinstance(value, str) else value for name, value in values.items()}


def _hidden_arguments(arguments: tuple[str, ...]) -> tuple[str, ...]:
    return arguments and (_REDACTED,)


def _renamed_keys(rename: Callable[[str], str]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    return lambda values: {rename(key): value for key, value in values.items()}


# What was asked changes by edits alone, which are events; a profile is long and changes only with the hosts chosen,
# which are digested.
DIGESTED: Rules = {
    **dict.fromkeys(redaction(), Omitted),
    **dict.fromkeys((("Task", name) for name in ("spec", "profile", "alternatives", "stage")), Omitted),
    **dict.fromkeys((("TaskStatus", name) for name in ("avoids", "claimed_at")), Omitted),  # in no earlier digest
}
