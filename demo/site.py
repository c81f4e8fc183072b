"""A site for a while: a folder, a configuration, a resource manager and a daemon beside it, all gone afterwards."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from cosched.client import Client
from cosched.connector.settings_table import numbered_hosts
from cosched.errors import SystemFault
from cosched.simulation.kernels import HARDWARE, HOSTS, KERNELS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from tests.testbed.condor.pool import CondorPool
    from tests.testbed.node_size import NodeSize
    from tests.testbed.slurm.cluster import SlurmCluster

__all__ = ["Process", "Site", "end_local_jobs"]

_KERNEL = Path(__file__).resolve().parent.parent / "examples" / "kernels" / "kernel"
_PATIENCE = 120.0
_Host = TypeVar("_Host")


class Process(Protocol):
    """A daemon's process, as `subprocess.Popen` is one."""

    pid: int

    def poll(self) -> int | None:
        """Return its exit code; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit code."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def send_signal(self, sig: int) -> None:
        """Send a signal."""


class Site:
    """A running daemon with its own state; a context manager.

    Attributes:
        folder: where everything is; any user of this machine may read it, as the pool's own user must.
        journal: what the kernels write as they start and end.
        server: the daemon's address.
    """

    def __init__(
        self,
        connector: str,
        *,
        scale: float,
        noise: float = 0.05,
        seed: int = 0,
        hosts: int = HOSTS,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        prepare: Callable[[Site], None] = lambda _site: None,
        accounting: bool = False,
        node: NodeSize | None = None,
        pool_settings: str = "",
        in_cluster: int = 0,
    ) -> None:
        """Describe a site.

        Args:
            connector: "local", "simulated", "condor" or "slurm".
            scale: seconds of a kernel are multiplied by this.
            noise: sigma of the log-normal factor between model and run.
            seed: of the noise.
            hosts: how many.
            settings: more configuration, by section and key.
            prepare: called when the configuration is written, before the daemon starts.
            accounting: Slurm has a slurmdbd.
            node: size of HTCondor's or Slurm's hosts; None for hosts of one core.
            pool_settings: more configuration of an HTCondor pool.
            in_cluster: hosts of each cluster, one after another; 0 for no clusters.
        """
        self._pool_settings = pool_settings
        self._in_cluster = in_cluster
        self.connector = connector
        self._options = ["--seed", str(seed), "--noise", str(noise)]
        self._simulated = {"seed": seed, "error": noise, "unpredicted": 30 * scale}
        self._scale = scale
        self._hosts = hosts
        self._settings = settings or {}
        self._prepare = prepare
        self._accounting = accounting
        self._node = node
        self._stack = ExitStack()
        self._daemon: Process | None = None
        self.pool: CondorPool | SlurmCluster | None = None
        self._settle: Callable[[], None] = lambda: None
        self.folder = Path()
        self.journal = Path()
        self.server = ""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.folder = Path(tempfile.mkdtemp(prefix="cosched-site-"))
            stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
            self.folder.chmod(0o755)
            self.server = f"unix:{self.folder}/state/cosched.sock"
            self._write(self._manager(stack))
            self._prepare(self)
            stack.callback(self.stop)
            self.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def config(self) -> Path:
        """The daemon's configuration file."""
        return self.folder / "cosched.toml"

    @property
    def history(self) -> Path:
        """The file of the simulated pool, on which no kernel writes a journal."""
        return self._spool / "pool.db"

    @property
    def database_url(self) -> str:
        """URL of the daemon's database."""
        return f"sqlite:///{self.folder}/state/cosched.db"

    @property
    def log(self) -> Path:
        """What the daemon said."""
        return self.folder / "daemon.log"

    @property
    def pid(self) -> int:
        """The daemon's process."""
        assert self._daemon is not None
        return self._daemon.pid

    def command(self, kernel: str, scale: str) -> list[str]:
        """Return the command line of a kernel that runs at a scale and writes into the journal."""
        program = str(self.folder / "kernel")
        return [program, kernel, "--scale", scale, *self._options, "--journal", str(self.journal)]

    def client(self) -> Client:
        """Return a client of the daemon."""
        return Client(self.server)

    def start(self) -> None:
        """Start the daemon and wait until all hosts are up."""
        self._daemon = self._spawn()
        until = time.monotonic() + _PATIENCE
        while not self._serves():
            if self._daemon.poll() is not None or time.monotonic() > until:
                raise SystemFault(f"the daemon did not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.05)

    def _spawn(self) -> Process:
        """Start a daemon's process."""
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "cosched.cli.main", "serve", "--config", str(self.config)]
            return subprocess.Popen(command, stderr=log, stdout=log, stdin=subprocess.DEVNULL)

    def settle(self) -> None:
        """Wait until a resource manager that has just been started works at full speed."""
        self._settle()

    def stop(self) -> None:
        """End the daemon as an administrator does; jobs go on."""
        if self._daemon is not None:
            self._daemon.terminate()
            self._daemon.wait(_PATIENCE)

    def kill(self) -> None:
        """End the daemon as a crash does: SIGKILL, nothing is said or written any more."""
        assert self._daemon is not None
        self._daemon.send_signal(signal.SIGKILL)
        self._daemon.wait(_PATIENCE)
        # Else clients that wait for its successor find a door at which nobody answers.
        Path(self.server.removeprefix("unix:")).unlink(missing_ok=True)

    def take_host(self, name: str) -> None:
        """Take a host off in mid-run, with what runs on it."""
        if self.pool is not None:
            self.pool.take_host(name)
        else:
            (self._spool / "offline" / name).write_text("taken off by hand\n")

    def give_host(self, name: str) -> None:
        """Give a host back that was taken off."""
        if self.pool is not None:
            self.pool.give_host(name)
        else:
            (self._spool / "offline" / name).unlink()

    @property
    def _spool(self) -> Path:
        return self.folder / "spool"

    def _serves(self) -> bool:
        try:
            with self.client() as client:
                return client.status().hosts_up >= self._hosts
        except SystemFault:  # nobody is there, or its answer takes too long: it listens before it can answer
            return False

    def _manager(self, stack: ExitStack) -> dict[str, Any]:
        """Set the resource manager up; return the connector's settings and say where the journal is."""
        if self.connector == "condor":
            from tests.testbed.condor.pool import CondorPool
            from tests.testbed.node_size import WHOLE

            names = tuple(f"node{number:02d}" for number in range(1, self._hosts + 1))
            sites = "".join(f'{host.upper()}.Site = "{name}"\n' for host, name in self._clusters(names).items())
            settings = self._pool_settings + "STARTD_ATTRS = $(STARTD_ATTRS) Site\n" + sites
            pool = CondorPool(hosts=self._hosts, settings=settings, node=self._node or WHOLE)
            self.pool = stack.enter_context(pool)
            self._settle = self.pool.settle
            self.journal = Path(self.pool.spool) / "journal"
            self.journal.touch()
            self.journal.chmod(0o666)  # the pool's user writes it
            return {"config": str(self.pool.config), "spool": str(self.pool.spool), "cluster_attribute": "Site"}
        self.journal = self.folder / "journal"
        if self.connector == "slurm":
            from tests.testbed.node_size import WHOLE
            from tests.testbed.slurm.cluster import SlurmCluster

            node = self._node or WHOLE
            leaves = list(Counter(self._clusters(range(self._hosts)).values()).values())
            cluster = SlurmCluster(hosts=self._hosts, accounting=self._accounting, node=node, leaves=leaves)
            self.pool = stack.enter_context(cluster)
            return {**cluster.settings, "cluster": "switch" if leaves else ""}
        if self.connector == "simulated":
            return {"spool": str(self._spool), "hosts": self._hosts, **self._simulated}
        stack.callback(end_local_jobs, self._spool, self._hosts)
        return {"spool": str(self._spool), "hosts": self._hosts}

    def _clusters(self, hosts: Sequence[_Host]) -> dict[_Host, str]:
        """Return the name of each host's cluster."""
        size = self._in_cluster
        return {host: f"cluster{place // size + 1}" for place, host in enumerate(hosts)} if size else {}

    def _write(self, connector: Mapping[str, Any]) -> None:
        sections: dict[str, dict[str, Any]] = {
            "domain": {"name": "demo", "hardware": HARDWARE, "state": str(self.folder / "state")},
            "connector": {"kind": self.connector},
            f"connector.{self.connector}": dict(connector),
            "applications": {"folders": [str(self.folder / "applications.d")]},
        }
        if clusters := self._local_clusters():
            sections["connector.local.clusters"] = clusters
        for section, values in self._settings.items():
            sections.setdefault(section, {}).update(values)
        lines = []
        for section, values in sections.items():
            # JSON's strings, numbers, booleans and lists are TOML's too.
            lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items()), ""]
        self.config.write_text("\n".join(lines))
        self._write_catalogue(self.folder / "applications.d")

    def _local_clusters(self) -> dict[str, list[str]]:
        """Return the local slots of each cluster."""
        found: dict[str, list[str]] = {}
        for host, name in self._clusters(numbered_hosts(self._hosts)).items():
            found.setdefault(name, []).append(host)
        return found if self.connector == "local" else {}

    def _write_catalogue(self, folder: Path) -> None:
        folder.mkdir()
        shutil.copy(_KERNEL, self.folder / "kernel")
        for name in KERNELS:
            lines = [
                f"name = {json.dumps(name)}",
                f"model = {json.dumps(name + '_measured')}",
                f"command = {json.dumps(self.command(name, '{Scale}'))}",
                "[parameters.Scale]",
                'type = "number"',
                f"default = {self._scale}",
            ]
            (folder / f"{name}.toml").write_text("\n".join(lines) + "\n")


def end_local_jobs(spool: Path, hosts: int) -> None:
    """End what still runs on local slots that are left early; returns when nothing runs any more.

    Args:
        spool: of the local connector, whose daemon has ended.
        hosts: number of slots.
    """
    from cosched_local import LocalConnector

    attempts = [folder.name for folder in (spool / "attempts").glob("*")]
    connector = LocalConnector({"spool": str(spool), "hosts": hosts, "grace": 0})
    for attempt in attempts:
        connector.cancel(attempt)
    until = time.monotonic() + _PATIENCE
    while not all(report.state.final for report in connector.status(attempts).values()):
        if time.monotonic() > until:
            raise SystemFault(f"jobs do not end: look at {spool}")
        time.sleep(0.02)
    connector.close()
