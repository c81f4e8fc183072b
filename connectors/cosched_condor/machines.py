"""The pool's machines: slot ClassAds to hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cosched.connector import Host

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["machines", "projection"]

_OUT_OF_USE = ("Drained", "Draining", "Delete", "Shutdown", "Backfill")


def projection(class_attribute: str) -> list[str]:
    """Return the attributes that `machines` reads."""
    read = ["Machine", "Name", "State", "Activity", "Offline", "Draining", "DrainReason", "Start"]
    return [*read, class_attribute] if class_attribute else read


def machines(slots: Iterable[Mapping[str, Any]], class_attribute: str) -> list[Host]:
    """Return one host for each machine, sorted by name.

    Args:
        slots: ads of slots; a machine with several is up when one of them is.
        class_attribute: the attribute that names a machine's class; empty for none.
    """
    hosts: dict[str, Host] = {}
    for slot in slots:
        name = str(slot.get("Machine", ""))
        if not name or "," in name:
            continue
        reason = _reason(slot)
        host_class = str(slot.get(class_attribute, "")) if class_attribute else ""
        if name not in hosts or (not reason and not hosts[name].up):
            hosts[name] = Host(name, host_class, up=not reason, reason=reason)
    return [hosts[name] for name in sorted(hosts)]


def _reason(slot: Mapping[str, Any]) -> str:
    """Return why a slot takes no jobs; empty if it does."""
    if slot.get("Offline") is True:
        return "offline: it sleeps or was switched off"
    if slot.get("Draining") is True or slot.get("State") == "Drained":
        words = " ".join(str(slot.get("DrainReason", "")).split())
        return f"draining: {words}" if words else "draining: it takes no new jobs"
    if slot.get("Start") is False:
        return "its policy (START) lets no job begin"
    state = str(slot.get("State", ""))
    return f"in state {state}" if state in _OUT_OF_USE else ""
