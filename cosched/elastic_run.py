"""Run any program as the lead of an elastic task: `python -m cosched.elastic_run [OPTION…] -- PROGRAM ARGUMENT…`.

    --address ADDRESS    where workers find it, for {lead} in their command
    --hosts-file FILE    is kept up to date: the host of each worker that stays, one a line
    --on-resize COMMAND  run for each worker that comes and each that is to leave
    --signal NAME        sent to the program when it is asked to checkpoint and stop, with --elastic restart

The command sees COSCHED_RESIZE_EVENT (join or leave), COSCHED_RESIZE_WORKER and COSCHED_RESIZE_HOST. A worker that is
to leave goes once the command has ended with code 0; with another code it goes at the end of its grace. Without the
command, workers that are to leave get SIGTERM at once. Signals go to the program, whose exit code is handed on. A
program that ends by the signal of `--signal`, once that was sent, has checkpointed: the code is then 85.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.elastic_lead import Lead
from cosched.errors import CoschedError, UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.elastic_lead import LeadOffer, LeadOrder

__all__ = ["Follower", "main"]

_CHECKPOINTED = 85
_PASSED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class Follower:
    """Carries out what offers say of workers, for a program that does not listen itself."""

    def __init__(self, lead: Lead, hosts_file: Path | None, on_resize: Sequence[str]) -> None:
        """Set up.

        Args:
            lead: hears and answers.
            hosts_file: is kept up to date; None for none.
            on_resize: argument vector for each worker that comes or is to leave; empty for none.
        """
        self._lead = lead
        self._hosts_file = hosts_file
        self._on_resize = tuple(on_resize)
        self._joined: set[int] = set()
        self._left: set[int] = set()

    def follow(self) -> None:
        """Follow offers for ever; of one that cannot be carried out, as a disk is full, it is said why."""
        for offer in self._lead.offers():
            try:
                self.take(offer)
            except OSError as error:
                sys.stderr.write(f"elastic_run: an offer is not carried out: {error}\n")

    def take(self, offer: LeadOffer) -> None:
        """Carry one offer out; what an earlier one has said is not done twice."""
        if self._hosts_file is not None:
            self._write_hosts(self._hosts_file, offer)
        if not self._on_resize:
            return
        for each in offer.staying:
            if each.worker not in self._joined:
                self._joined.add(each.worker)
                self._run("join", each)
        for each in offer.leaving:
            if each.worker in self._left:
                continue
            self._left.add(each.worker)
            code = self._run("leave", each)
            if code == 0:
                self._lead.drained(each.worker)
            else:
                self._lead.refuse(each.worker, f"{self._on_resize[0]} ended with code {code}")

    def _write_hosts(self, file: Path, offer: LeadOffer) -> None:
        aside = file.with_name(f"{file.name}.new")
        try:
            aside.write_text("".join(f"{each.host}\n" for each in offer.staying), encoding="utf-8")
            aside.replace(file)
        except OSError as error:  # workers leave in good order all the same
            sys.stderr.write(f"elastic_run: the hosts file {file} cannot be written: {error.strerror}\n")

    def _run(self, event: str, order: LeadOrder) -> int:
        more = {
            "COSCHED_RESIZE_EVENT": event,
            "COSCHED_RESIZE_WORKER": str(order.worker),
            "COSCHED_RESIZE_HOST": order.host,
        }
        try:
            return subprocess.run(self._on_resize, env={**os.environ, **more}, check=False).returncode
        except OSError as error:
            sys.stderr.write(f"elastic_run: {self._on_resize[0]}: {error.strerror}\n")
            return 127


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code, or 128 + n for signal n."""
    parser = argparse.ArgumentParser("python -m cosched.elastic_run", description=__doc__.partition(":")[0])
    parser.add_argument("--address", default="", help="where workers find it")
    parser.add_argument("--hosts-file", type=Path, help="kept up to date with the workers' hosts")
    parser.add_argument("--on-resize", default="", metavar="COMMAND", help="run for each worker that comes or leaves")
    parser.add_argument("--signal", default="", metavar="NAME", help="sent to a program that is to checkpoint and stop")
    parser.add_argument("program", nargs="+", help="the program and its arguments")
    given = parser.parse_args(arguments)
    on_resize = shlex.split(given.on_resize)
    try:
        stop = _signal(given.signal)
        lead = Lead()
        if stop is None:
            lead.announce(given.address, drains=bool(on_resize))
    except CoschedError as error:
        sys.stderr.write(f"elastic_run: {error}\n")
        return 2
    child: subprocess.Popen[bytes] | None = None
    asked = threading.Event()
    early: list[int] = []

    def pass_on(number: int, _frame: object) -> None:
        if child is None:
            early.append(number)
        else:
            child.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in _PASSED}  # from then on none is lost
    try:
        child = subprocess.Popen(given.program)
        for number in early:
            child.send_signal(number)
        if stop is None:
            threading.Thread(target=Follower(lead, given.hosts_file, on_resize).follow, daemon=True).start()
        else:
            threading.Thread(target=_pass_stop, args=(lead, child, stop, asked), daemon=True).start()
        code = child.wait()
    except OSError as error:
        sys.stderr.write(f"elastic_run: cannot start {given.program[0]}: {error.strerror}\n")
        return 127
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    code = code if code >= 0 else 128 - code
    return _CHECKPOINTED if stop is not None and asked.is_set() and code == 128 + stop else code


def _signal(name: str) -> signal.Signals | None:
    """Return the signal of a name such as TERM or SIGUSR1; None for an empty one."""
    if not name:
        return None
    found = getattr(signal, name if name.startswith("SIG") else f"SIG{name}", None)
    if not isinstance(found, signal.Signals):
        raise UserError(f"--signal is {name[:40]!r}: write TERM, USR1 or another signal's name")
    return found


def _pass_stop(lead: Lead, child: subprocess.Popen[bytes], stop: signal.Signals, asked: threading.Event) -> None:
    """Send a program the signal once it is asked to checkpoint and stop."""
    for offer in lead.offers():
        if offer.stop_by is not None:
            asked.set()
            child.send_signal(stop)
            return


if __name__ == "__main__":
    sys.exit(main())
