"""A remark on a model that was made for other hosts than a domain has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.language import Source, parse_psl
from cosched.language.syntax import Text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from cosched.api.documents import HostView, ProfileView

__all__ = ["hosts_of", "model_note"]


def hosts_of(hosts: Iterable[HostView], profile: ProfileView | None) -> set[str]:
    """Return the classes that a domain's hosts have; where their manager names none, what they are predicted as.

    Args:
        hosts: of the domain.
        profile: of a task there.
    """
    classes = {host.host_class for host in hosts} - {""}
    return classes or ({profile.hardware} if profile else set())


def model_note(text: str, classes: Collection[str]) -> str:
    """Return a remark where a model names other hardware than a domain's hosts; else an empty text.

    Args:
        text: the model; of one with faults nothing is said here.
        classes: those of the hosts.
    """
    try:
        objects = parse_psl(Source("your model", text))
    except UserError:
        return ""
    named = [item.option("hrduse") for item in objects if item.kind == "application"]
    made_for = {option.value.value for option in named if option is not None and isinstance(option.value, Text)}
    known = set(classes) - {""}
    if not made_for or not known or made_for & known:
        return ""
    return (
        f"your model is made for {', '.join(sorted(made_for))}, and the hosts are {', '.join(sorted(known))}: "
        "measured times are taken as they are, other costs are those of the hosts"
    )
