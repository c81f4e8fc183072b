"""Keeping a manager of the testbed until a signal comes, with the settings for cosched beside it on paper.

Start at `keep`.
"""

from __future__ import annotations

import json
import signal
import threading
import tomllib
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import FrameType

__all__ = ["Kept", "keep", "printed_settings", "settings_text"]

_LAST_LINE = "# It runs until Ctrl-C or SIGTERM"


class Kept(Protocol):
    """A manager of the testbed: a connector's settings for it, and the names of its hosts."""

    @property
    def settings(self) -> Mapping[str, str]: ...

    @property
    def hosts(self) -> Sequence[str]: ...


def settings_text(kind: str, settings: Mapping[str, str], *, shared: bool) -> str:
    """Return cosched's configuration beside a manager, as TOML."""
    lines = ["[connector]", f"kind = {json.dumps(kind)}", "", f"[connector.{kind}]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    lines += ["", "[planning]", "share_hosts = true"] if shared else []
    return "\n".join(lines)


def keep(kind: str, start: Callable[[], AbstractContextManager[Kept]], *, shared: bool) -> None:
    """Start a manager, print the settings for it and keep it until SIGINT, SIGTERM or SIGHUP.

    Its standard input is never read: it may be at its end, as under `nohup` and in the background.
    """
    over = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        over.set()

    # Before the start, so that an early Ctrl-C still removes what was started.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    with start() as manager:
        print(settings_text(kind, manager.settings, shared=shared))
        print(f"{_LAST_LINE}, with the hosts {', '.join(manager.hosts)}", flush=True)
        over.wait()


def printed_settings(lines: Iterable[str], kind: str) -> dict[str, str]:
    """Return the connector's settings that `keep` prints, as soon as they are there."""
    text = ""
    for line in lines:
        text += line
        if line.startswith(_LAST_LINE):
            break
    found: dict[str, str] = tomllib.loads(text)["connector"][kind]
    return found
