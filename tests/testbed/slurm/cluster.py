"""A real Slurm cluster on this machine: many hosts, started in seconds and gone without a trace.

    with SlurmCluster(hosts=16) as cluster:
        connector = SlurmConnector(cluster.settings)
        cluster.take_host("node03")

Its daemons run as whoever starts it, root included. Each host is a slurmd with a port of its own on the loopback.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from demo.ports import free_ports
from tests.testbed.node_size import WHOLE, NodeSize
from tests.testbed.slurm.accounting import prepare_accounting
from tests.testbed.slurm.config import cluster_configuration, gpu_configuration, switch_configuration
from tests.testbed.slurm.install import SUITE, installed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

__all__ = ["ClusterError", "SlurmCluster"]

_START_SECONDS = 120.0
_POLL_SECONDS = 0.05
_QUIET_LOOKS = 5  # in a row that find no job on a host whose slurmd is gone


class ClusterError(Exception):
    """The cluster did not do in time what was asked; the message says what was awaited and where the logs are."""


class SlurmCluster:
    """One cluster; starting blocks until all its hosts are idle.

    Args:
        hosts: how many hosts, named node01, node02, …
        job_age: seconds for which the controller remembers ended jobs (MinJobAge).
        suite: Debian's suite whose Slurm it is, or the path below which one is installed.
        settings: lines to add to slurm.conf.
        node: size of each host.
        job_submit: text of a job_submit.lua.
        leaves: hosts below each leaf switch, one after another; empty for no switches. They are leaf1, leaf2, …
        accounting: with a slurmdbd, and limits enforced; for the Slurm of `SUITE` alone.

    Attributes:
        directory: its folder: configuration, logs, state.
        config: path of slurm.conf (the variable SLURM_CONF, the connector's key `config`).
        bin: folder of Slurm's commands.
        completions: Slurm's job completion file.
        spool: a folder for the connector.
        hosts: the hosts' names.

    Raises:
        ClusterError: it did not come up.
        PackageError: Slurm cannot be had here.
    """

    def __init__(
        self,
        hosts: int = 16,
        job_age: int = 3600,
        suite: str = SUITE,
        *,
        settings: str = "",
        job_submit: str = "",
        leaves: Sequence[int] = (),
        accounting: bool = False,
        node: NodeSize = WHOLE,
    ) -> None:
        self.hosts = tuple(f"node{number:02d}" for number in range(1, hosts + 1))
        self._slurm = installed(suite)
        self.bin = self._slurm.bin
        self.directory = Path(tempfile.mkdtemp(prefix="cosched-slurm-"))
        self.config = self.directory / "slurm.conf"
        self.completions = self.directory / "completions"
        self.spool = self.directory / "jobs"
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._more: Mapping[str, str] = {}
        self._next_jobs = 10000
        try:
            self._prepare(job_age, node)
            if job_submit:
                (self.directory / "job_submit.lua").write_text(job_submit)
                settings += "JobSubmitPlugins=lua\n"
            if leaves:
                (self.directory / "topology.conf").write_text(switch_configuration(self.hosts, leaves))
                settings += "TopologyPlugin=topology/tree\n"
            with self.config.open("a") as file:
                file.write(settings)
            if accounting:
                self._prepare_accounting()
            self._start(accounting=accounting)
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def settings(self) -> dict[str, str]:
        """The connector's settings for this cluster."""
        return {
            "config": str(self.config),
            "bin": str(self.bin),
            "spool": str(self.spool),
            "completions": str(self.completions),
        }

    def stop(self) -> None:
        """End every process of the cluster and remove its folder."""
        while left := self.processes():
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self._reap()
            time.sleep(_POLL_SECONDS)
        for daemon in self._daemons.values():
            daemon.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def take_host(self, name: str) -> None:
        """Take a host off as a power cut does, with all that runs on it; returns when Slurm knows."""
        self.kill(self._known(name))
        # A job that slurmd was just starting has a keeper of its own by now, and its first process in a moment.
        quiet = 0
        while quiet < _QUIET_LOOKS:
            jobs = [process for process in self.processes() if _runs_on(process, name)]
            for process in [*_keepers(jobs), *jobs]:  # first those who would tell Slurm of the others' end
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            quiet = 0 if jobs else quiet + 1
            time.sleep(_POLL_SECONDS)
        self.tool("scontrol", "update", f"nodename={name}", "state=down", "reason=taken off")

    def give_host(self, name: str) -> None:
        """Start a host that was taken; returns when jobs may run on it."""
        self._start_host(self._known(name))
        self.wait(f"{name} to come back", lambda: self._resumed(name))

    def kill(self, daemon: str) -> None:
        """End a daemon with SIGKILL, as a crash would.

        Args:
            daemon: "slurmctld", "slurmdbd", or the name of a host for its slurmd.
        """
        self._daemons[daemon].kill()
        self._daemons[daemon].wait()

    def start_controller(self) -> None:
        """Start slurmctld, the first time or after its end."""
        self._run("slurmctld", "slurmctld", "-D", "-i", "-f", str(self.config))

    def reconfigure(self, **settings: object) -> None:
        """Restart slurmctld with other settings; jobs go on. Returns when it answers."""
        with self.config.open("a") as file:
            file.writelines(f"{key}={value}\n" for key, value in settings.items())  # the last of several holds
        self._daemons["slurmctld"].terminate()
        self._daemons["slurmctld"].wait()
        self.start_controller()
        self.wait("slurmctld", lambda: self._done("scontrol", "ping"))

    def forget(self) -> None:
        """Have slurmctld forget all jobs, those that run included; the accounting keeps them."""
        self.kill("slurmctld")
        for state in (self.directory / "state").glob("job_state*"):
            state.unlink()
        with self.config.open("a") as file:
            file.write(f"FirstJobId={self._next_jobs}\n")  # numbers that the accounting does not know
        self._next_jobs += 10000
        self.start_controller()
        self.wait("slurmctld", lambda: self._idle() == set(self.hosts))

    def start_accounting(self) -> None:
        """Start slurmdbd, the first time or after its end; returns when it answers."""
        self._run("slurmdbd", "slurmdbd", "-D")
        self.wait("slurmdbd", lambda: self._done("sacctmgr", "--noheader", "show", "cluster"))

    def pid(self, daemon: str) -> int:
        """Return a daemon's process, named as for `kill`."""
        return self._daemons[daemon].pid

    def processes(self) -> list[int]:
        """Return the numbers of all processes that belong to the cluster: daemons and jobs."""
        marks = {f"COSCHED_TESTBED={self.directory}".encode(), f"SLURM_CONF={self.config}".encode()}
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    environment = set((entry / "environ").read_bytes().split(b"\0"))
                    if marks & environment and _alive(entry):
                        found.append(int(entry.name))
        return found

    def tool(self, *command: str) -> str:
        """Run one of Slurm's own commands as an administrator of the cluster and return its output.

        Raises:
            ClusterError: it failed.
        """
        done = subprocess.run(
            [self.bin / command[0], *command[1:]],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        if done.returncode:
            raise ClusterError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def _prepare(self, job_age: int, node: NodeSize) -> None:
        self.directory.chmod(0o755)
        for name in ("log", "state", "nodes", "munge", "jobs", "sbin", *(f"nodes/{host}" for host in self.hosts)):
            (self.directory / name).mkdir(mode=0o755)
        for name, program in self._slurm.daemons.items():  # some versions want to be called by their usual names
            (self.directory / "sbin" / name).symlink_to(program)
        key = self.directory / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        names = ("slurmctld", *self.hosts)
        ports = dict(zip(names, free_ports(len(names)), strict=True))
        user = pwd.getpwuid(os.geteuid()).pw_name
        self.config.write_text(cluster_configuration(self._slurm.plugins, self.directory, ports, user, job_age, node))
        if node.gpus:
            (self.directory / "gpus").mkdir()
            for number in range(node.gpus):
                (self.directory / "gpus" / str(number)).symlink_to("/dev/null")  # Slurm wants a device
            (self.directory / "gres.conf").write_text(gpu_configuration(self.directory, node.gpus))
        if not self._slurm.is_old:  # later versions look for control groups unless they are told
            (self.directory / "cgroup.conf").write_text("CgroupPlugin=disabled\n")

    def _prepare_accounting(self) -> None:
        programs, self._more, settings = prepare_accounting(self.directory, free_ports(1)[0])
        for name, program in programs.items():
            (self.directory / "sbin" / name).symlink_to(program)
        with self.config.open("a") as file:
            file.write(settings)

    def _start_accounting(self) -> None:
        self._run("mariadbd", "mariadbd", f"--defaults-file={self.directory}/mariadb.conf")
        self.wait("mariadbd", (self.directory / "database" / "socket").exists)
        self.start_accounting()
        self.tool("sacctmgr", "--immediate", "add", "cluster", "testbed")

    def _start(self, *, accounting: bool) -> None:
        folder = self.directory / "munge"
        self._run(
            "munged",
            "munged",
            "--foreground",
            f"--socket={folder}/socket",
            f"--key-file={folder}/key",
            f"--log-file={folder}/log",
            f"--pid-file={folder}/pid",
            f"--seed-file={folder}/seed",
        )
        self.wait("munged", (folder / "socket").exists)
        if accounting:
            self._start_accounting()
        self.start_controller()
        for host in self.hosts:
            self._start_host(host)
        self.wait("all hosts", lambda: self._idle() == set(self.hosts))

    def _start_host(self, host: str) -> None:
        stepd = str(self._slurm.daemons["slurmstepd"])
        self._run(host, "slurmd", "-D", "-N", host, "-f", str(self.config), "-d", stepd)

    def _run(self, name: str, program: str, *arguments: str) -> None:
        with (self.directory / "log" / f"{name}.out").open("ab") as output:
            self._daemons[name] = subprocess.Popen(
                # Killed without a chance to clean up, we still take the daemons with us.
                ["setpriv", "--pdeathsig=TERM", str(self.directory / "sbin" / program), *arguments],
                env=self._environment(),
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def _environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM", "SBATCH"))}
        return {**kept, "SLURM_CONF": str(self.config), "COSCHED_TESTBED": str(self.directory), **self._more}

    def _done(self, *command: str) -> bool:
        with contextlib.suppress(ClusterError):
            self.tool(*command)
            return True
        return False

    def _idle(self) -> set[str]:
        with contextlib.suppress(ClusterError):
            return set(self.tool("sinfo", "--noheader", "--Node", "--states=idle", "--format=%N").split())
        return set()

    def _resumed(self, name: str) -> bool:
        with contextlib.suppress(ClusterError):
            self.tool("scontrol", "update", f"nodename={name}", "state=resume")
        return name in self._idle()

    def _known(self, name: str) -> str:
        if name not in self.hosts:
            raise ClusterError(f"no host {name!r}: this cluster has {self.hosts[0]} to {self.hosts[-1]}")
        return name

    def wait(self, what: str, done: Callable[[], bool]) -> None:
        """Wait until something is so.

        Raises:
            ClusterError: it does not come.
        """
        give_up = time.monotonic() + _START_SECONDS
        while not done():
            if time.monotonic() > give_up:
                raise ClusterError(f"waited {_START_SECONDS:.0f} s for {what}: see the logs in {self.directory}/log")
            time.sleep(_POLL_SECONDS)

    def _reap(self) -> None:
        for daemon in self._daemons.values():
            daemon.poll()


def _alive(entry: Path) -> bool:
    return entry.joinpath("stat").read_text(errors="replace").rpartition(") ")[2][0] not in "ZX"


def _runs_on(process: int, host: str) -> bool:
    """Whether a process is a job's on this host."""
    with contextlib.suppress(OSError):
        return f"SLURMD_NODENAME={host}".encode() in Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    return False


def _keepers(jobs: list[int]) -> set[int]:
    """Return the daemons (slurmstepd) under which processes of jobs run."""
    keepers = set()
    for process in jobs:
        with contextlib.suppress(OSError):
            parent = int(Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(") ")[2].split()[1])
            if Path(f"/proc/{parent}/cmdline").read_text(errors="replace").startswith("slurmstepd"):
                keepers.add(parent)
    return keepers
