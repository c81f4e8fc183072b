"""Which of an idle job's requirements no slot meets, in words.

`condor_q -better-analyze` does the same for people. Start at `why_idle`. Used in the process that runs HTCondor's
library alone: ads and expressions are the library's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["conjuncts", "pinned_machines", "why_idle"]

_PINNED = re.compile(r'TARGET\.Machine == "([^"]+)"|member\(TARGET\.Machine, ?\{([^}]*)\}\)', re.IGNORECASE)
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|&&|\|\||\?|[()\[\]{}]|.', re.DOTALL)
_MOST_NAMED = 3  # requirements in one sentence
_LONGEST = 200  # characters of one
_RESOURCES = {"Cpus": "cores", "Memory": "MiB of memory", "Disk": "KiB of disk", "GPUs": "GPUs"}


def pinned_machines(requirements: str) -> tuple[str, ...]:
    """Return the machines that requirements name, or those of the slots; () for those that leave the choice."""
    found: list[str] = []
    for one, several in _PINNED.findall(requirements):
        found += [one] if one else re.findall(r'"([^"]+)"', several)
    return tuple(dict.fromkeys(name.rpartition("@")[2] for name in found))


def conjuncts(expression: str) -> list[str]:
    """Return the parts of an expression that must all be true."""
    text = expression.strip()
    while _is_enclosed(text):
        text = text[1:-1].strip()
    parts, depth, begin = [], 0, 0
    for token in _TOKEN.finditer(text):
        word = token.group()
        depth += (word in "([{") - (word in ")]}")
        if depth == 0 and word in ("||", "?"):
            return [text]  # these bind less than `&&`
        if depth == 0 and word == "&&":
            parts.append(text[begin : token.start()])
            begin = token.end()
    if not parts:
        return [text]
    return [each for part in (*parts, text[begin:]) for each in conjuncts(part)]


def _is_enclosed(text: str) -> bool:
    """Return whether one pair of parentheses encloses the text."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += (token.group() == "(") - (token.group() == ")")
        if depth == 0:
            return token.end() == len(text)
    return False


def why_idle(job: Any, slots: Sequence[Any], parse: Callable[[str], Any]) -> str:
    """Return why no slot can run a job; empty where one could.

    Args:
        job: its ad.
        slots: ads of the slots that it may have.
        parse: makes an expression of a text.
    """
    where = ", ".join(pinned_machines(str(job.lookup("Requirements")))[:_MOST_NAMED])
    if not slots:
        return f"no slot of {where or 'the pool'} is known to HTCondor's collector"
    clauses = [(text, parse(text)) for text in conjuncts(str(job.lookup("Requirements")))]
    unmet = [([one for one in clauses if one[1].eval(job, slot) is not True], slot) for slot in slots]
    fewest, slot = min(unmet, key=lambda each: len(each[0]))
    if fewest:
        named = "; ".join(_described(text, tree, job, slot, "slot") for text, tree in fewest[:_MOST_NAMED])
        return f"no slot of {where or 'the pool'} meets its requirements: {named}"
    fitting = [slot for missing, slot in unmet if not missing]
    if not any(_accepts(slot, job) for slot in fitting):
        # HTCondor's own expression for this names a dozen attributes, most of them undefined.
        if lacking := "; ".join(_lacking(fitting[0], job)):
            return f"{fitting[0].get('Name', where)} has too little left: {lacking}"
        policy = next(_refusals(fitting[0], job, parse), "")
        return f"the policy of {fitting[0].get('Name', where)} refuses the job{f': {policy}' if policy else ''}"
    return ""


def _accepts(slot: Any, job: Any) -> bool:
    if "Requirements" not in slot:  # all slots were asked for, by the names in the job's requirements alone
        return True
    expression = slot.lookup("Requirements")
    return not hasattr(expression, "eval") or expression.eval(slot, job) is True


def _lacking(slot: Any, job: Any) -> Iterator[str]:
    """Yield the resources of which a slot has less than the job asks for, in words."""
    for name, words in _RESOURCES.items():
        asked, left = (_number(ad, key) for ad, key in ((job, f"Request{name}"), (slot, name)))
        if asked is not None and left is not None and left < asked:
            yield f"the job asks for {asked:g} {words}, and it has {left:g}"


def _number(ad: Any, name: str) -> float | None:
    value = ad.eval(name) if name in ad else None
    return float(value) if isinstance(value, int | float) and type(value).__name__ != "Value" else None


def _refusals(slot: Any, job: Any, parse: Callable[[str], Any]) -> Iterator[str]:
    """Yield the parts of a slot's own requirements that the job does not meet."""
    for text in conjuncts(str(slot.lookup("Requirements"))):
        if parse(text).eval(slot, job) is not True:
            yield _described(text, parse(text), slot, job, "job")


def _described(text: str, tree: Any, ad: Any, other: Any, whose: str) -> str:
    """Return a requirement with the values of what it names in both ads."""
    own = {name: ad.eval(name) for name in ad.internalRefs(tree) if name in ad}
    others = {name: other.eval(name) if name in other else None for name in map(_bare, ad.externalRefs(tree))}
    values = [f"{name} is {_shown(value)}" for name, value in own.items()]
    values += [f"the {whose}'s {name} is {_shown(value)}" for name, value in others.items()]
    known = ", ".join(values)
    return f"{text[:_LONGEST]} ({known})" if known else text[:_LONGEST]


def _bare(name: str) -> str:
    return name.rpartition(".")[2]


def _shown(value: object) -> str:
    return (
        str(value)[:_LONGEST]
        if isinstance(value, str | int | float) and type(value).__name__ != "Value"
        else "undefined"
    )
