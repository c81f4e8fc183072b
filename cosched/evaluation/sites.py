"""Number an application's steps, so that columns of steps can name their statements."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from cosched.language.syntax import Step, walk
from cosched.language.vocabulary import DEVICES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.language.diagnostics import Source
    from cosched.language.linker import Linked
    from cosched.language.syntax import Confdev, Position

__all__ = ["Site", "Sites", "linked_objects", "sites"]


class Site(NamedTuple):
    """One use of a device in a model: its file, position and cost group.

    `group` is the HMCL group of its costs, empty for work.
    """

    source: Source
    at: Position
    group: str


class Sites:
    """All uses of devices in an application and what it includes, in a fixed order."""

    def __init__(self, root: Linked) -> None:
        self.all: list[Site] = []
        self._numbers: dict[int, int] = {}
        for linked in linked_objects(root):
            source = linked.object.source
            for procedure in linked.object.procedures:
                for node, _ in walk(*procedure.body):
                    if isinstance(node, Step):
                        for confdev in node.confdevs:
                            self._numbers[id(confdev)] = len(self.all)
                            self.all.append(Site(source, confdev.at, DEVICES[node.device].group))

    def number(self, confdev: Confdev) -> int:
        """Return the number of a use: its index in `all`."""
        return self._numbers[id(confdev)]

    @property
    def groups(self) -> list[str]:
        """The groups of costs that the application's messages use, sorted."""
        return sorted({place.group for place in self.all} - {""})


@lru_cache(maxsize=64)
def sites(root: Linked) -> Sites:
    """Return the sites of an application's steps.

    Its cache keeps the tree alive, whose nodes are known by identity.
    """
    return Sites(root)


def linked_objects(root: Linked) -> Iterator[Linked]:
    """Yield an object and everything below it, each once."""
    seen, waiting = {root}, [root]
    while waiting:
        linked = waiting.pop()
        yield linked
        new = [below for below in dict.fromkeys(linked.includes.values()) if below not in seen]
        seen.update(new)
        waiting.extend(new)
