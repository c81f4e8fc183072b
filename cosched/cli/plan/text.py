"""Summarise a plan for people: how good it is, and what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cosched.cli.output import console, figure

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["summarise"]


def summarise(document: Mapping[str, Any]) -> None:
    """Print the figures of the document that `--json` prints."""
    proved = " (optimal)" if document.get("optimal") else ""
    console.print()
    console.print(
        f"makespan {figure(document['makespan'], 6)} s, lower bound {figure(document['lower_bound'], 6)} s, "
        f"gap {document['gap']:.2%}{proved}, idle {document['idle']:.1%}"
    )
    if document["on_time"] is not None:
        console.print(f"on time {document['on_time']:.1%}{_delay(document['average_delay'])}")
    if "slowdown" in document:
        console.print(f"mean slowdown {figure(document['slowdown'], 4)}")
    generations = document["generations"]
    rate = f", {generations / document['elapsed']:.0f} generations a second" if generations else ""
    evaluations = document["evaluations"]
    compared = f"{evaluations} plan{'s' * (evaluations > 1)} compared"
    console.print(f"{document['policy']}: {compared} in {document['elapsed']:.3g} s{rate}")


def _delay(delay: float | None) -> str:
    if delay is None:  # nobody with a deadline runs
        return ""
    return f", on average {figure(abs(delay), 6)} s {'before' if delay >= 0 else 'after'} the deadline"
