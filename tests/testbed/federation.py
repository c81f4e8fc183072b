"""Real daemons that are neighbours over mutual TLS, each reached through a wire of its own; one history of all runs.

Every task has a label that travels with it as a parameter of its application. What runs writes the label into one file,
wherever it runs: so that file, and no daemon, says how often each task ran. One whose label begins with "failing" ends
at once, with exit code 3.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosched.simulation.kernels import KERNELS
from demo.grid import await_neighbours, certify, peer
from demo.ports import free_ports
from tests import history
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Domain", "Federation", "federation"]

# The hosts of all domains have the same names: in the history they bear their domain's.
_SCRIPT = """#!/bin/sh
kernel=$1 COSCHED_TASK=$2 COSCHED_HOSTS=$(printf %s "${{COSCHED_HOSTS:-}}" | sed 's/[^,][^,]*/{name}-&/g')
shift 2
export COSCHED_TASK COSCHED_HOSTS
case $COSCHED_TASK in failing*) exit 3 ;; esac
exec {folder}/kernel "$kernel" "$@"
"""


class Domain(QuickSite):
    """A daemon beside local slots, with an agent.

    Attributes:
        name: of the domain.
        port: where its agent listens.
    """

    def __init__(
        self, name: str, hosts: int, scale: float, past: Path, configured: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Describe a domain.

        Args:
            name: of it.
            hosts: how many slots.
            scale: seconds of a kernel are multiplied by this.
            past: what runs writes there.
            configured: more of its configuration, by section.
        """
        self.name = name
        (self.port,) = free_ports(1)
        self._past = past
        settings: dict[str, dict[str, object]] = {
            "domain": {"name": name},
            "agent": {"listen": f"127.0.0.1:{self.port}", "period": "1s", "adviser": "off"},
            "dispatch": {"grace": "1s", "retry": "200ms"},
        }
        for section, values in configured.items():
            settings[section] = {**settings.get(section, {}), **values}
        super().__init__("local", scale=scale, noise=0.0, hosts=hosts, settings=settings, prepare=certify)

    def _write_catalogue(self, folder: Path) -> None:
        super()._write_catalogue(folder)
        script = self.folder / "labelled"
        script.write_text(_SCRIPT.format(name=self.name, folder=self.folder))
        script.chmod(0o755)
        for name in KERNELS:
            command = [str(script), name, "{Label}", *self.command(name, "{Scale}")[2:-1], str(self._past)]
            lines = [
                f"name = {json.dumps(name)}",
                f"model = {json.dumps(name + '_measured')}",
                f"command = {json.dumps(command)}",
                f'[parameters.Scale]\ndefault = {self._scale}\n[parameters.Label]\ntype = "text"',
            ]
            (folder / f"{name}.toml").write_text("\n".join(lines) + "\n")


@dataclass(frozen=True, slots=True)
class Federation:
    """Domains that know one another.

    Attributes:
        domains: by name.
        wires: by the name of who calls and of who is called.
        past: the history of all runs.
    """

    domains: Mapping[str, Domain]
    wires: Mapping[tuple[str, str], Wire]
    past: Path

    def heal(self) -> None:
        """Make all wires good."""
        for wire in self.wires.values():
            wire.heal()

    def history(self) -> list[history.Line]:
        """Return what runs have written, in all domains."""
        return history.read(self.past)

    def ran(self) -> dict[str, list[str]]:
        """Return for each label the domains of its attempts."""
        found: dict[str, dict[str, str]] = {}
        for line in self.history():
            found.setdefault(line.task, {})[line.attempt] = line.hosts[0].partition("-")[0]
        return {label: list(attempts.values()) for label, attempts in found.items()}

    def faults(self, labels: Sequence[str]) -> list[str]:
        """Return what is wrong in the history if these tasks were to run to their end, once, and no others."""
        twice = [
            f"task {label} was begun {len(where)} times: in {', '.join(where)}"
            for label, where in self.ran().items()
            if len(where) > 1
        ]
        return history.faults(self.history(), labels) + twice


@contextmanager
def federation(
    hosts: Mapping[str, int],
    links: Sequence[tuple[str, str, str]],
    *,
    scale: float = 0.05,
    agent: Mapping[str, Any] | None = None,
    configured: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None,
) -> Iterator[Federation]:
    """Run domains until they know one another, and then as long as wanted.

    Args:
        hosts: of each domain, by name.
        links: who knows whom: the first, the second, and what the second is to the first ("neighbour", "upper").
        scale: seconds that one published second takes.
        agent: more settings of all agents.
        configured: more of a domain's configuration, by its name and by section.
    """
    with ExitStack() as stack:
        past = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cosched-past-"))) / "history"
        every = {"agent": {"lease": "4s", **(agent or {})}}
        domains = {
            name: stack.enter_context(Domain(name, count, scale, past, {**every, **(configured or {}).get(name, {})}))
            for name, count in hosts.items()
        }
        wires = {}
        for one, two, role in links:
            back = {"upper": "lower", "lower": "upper"}.get(role, "neighbour")
            for caller, called, what in ((one, two, role), (two, one, back)):
                wire = wires[caller, called] = stack.enter_context(Wire(domains[called].port))
                letter = str(domains[called].folder / "peer.toml")
                peer(domains[caller], "add", letter, "--role", what, "--address", f"127.0.0.1:{wire.port}")
        await_neighbours(list(domains.values()))
        yield Federation(domains, wires, past)
