"""A real HTCondor pool on this machine: many hosts, started in seconds and gone without a trace.

    with CondorPool(hosts=16) as pool:
        connector = CondorConnector({"config": str(pool.config), "spool": str(pool.spool)})
        pool.take_host("node03")

Started by root, its daemons run as `nobody` (root's own jobs are refused by HTCondor); started by anybody else, as
that user. Clients show a token of the user "cosched", whoever they are, so root may submit. The pool ends with the
thread that started it, even one that is killed; its folder is removed by `stop` alone.
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
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.testbed.condor.config import SECOND_SCHEDULER, pool_configuration
from tests.testbed.condor.install import prefix as installed
from tests.testbed.node_size import WHOLE, NodeSize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

__all__ = ["CondorPool", "PoolError"]

_START_SECONDS = 120.0
_STOP_SECONDS = 15.0
_POLL_SECONDS = 0.05
# A scheduler younger than this hands a claimed host from job to job only in its first full round.
_SETTLED_SECONDS = 11.0


class PoolError(Exception):
    """The pool did not do in time what was asked; the message says what was awaited and where the logs are."""


class CondorPool:
    """One pool; starting blocks until all its hosts are there.

    Args:
        hosts: how many hosts, named node01, node02, …
        second: there is another scheduler, named "second".
        node: size of each host; any but `WHOLE` is one slot that jobs partition.
        directory: its folder, not yet there or empty; must be reachable for user nobody where root starts the pool. A
            new folder below the system's temporary folder by default.
        settings: lines of configuration that win over those of the testbed.

    Attributes:
        directory: its folder: configuration, logs, queue.
        config: path of the configuration for clients (the variable CONDOR_CONFIG, the connector's key `config`).
        spool: a folder in which both cosched and the pool's jobs may write.
        hosts: the hosts' names.

    Raises:
        PoolError: it did not come up.
    """

    def __init__(
        self,
        hosts: int = 16,
        directory: Path | None = None,
        settings: str = "",
        *,
        second: bool = False,
        node: NodeSize = WHOLE,
    ) -> None:
        self.hosts = tuple(f"node{number:02d}" for number in range(1, hosts + 1))
        self._prefix = installed()
        self._schedulers = 2 if second else 1
        self._settings = settings + (SECOND_SCHEDULER if second else "")
        self._user = _daemons_user()
        if directory is not None and directory.exists() and any(directory.iterdir()):
            raise PoolError(f"{directory} is not empty: choose a new folder")
        self.directory = Path(tempfile.mkdtemp(prefix="cosched-condor-")) if directory is None else directory.resolve()
        self.config = self.directory / "condor_config"
        self.spool = self.directory / "jobs"
        self._master: subprocess.Popen[bytes] | None = None
        try:
            self._prepare(node)
            self.start()
        except BaseException:
            self.stop()
            raise

    @classmethod
    def at(cls, directory: Path) -> Self:
        """Return the running pool of a folder, started by another process."""
        pool = cls.__new__(cls)
        pool.directory = directory.resolve()
        pool.config, pool.spool = pool.directory / "condor_config", pool.directory / "jobs"
        pool._prefix = installed()
        pool._user = _daemons_user()
        pool._master = None
        pool.hosts = tuple(sorted(path.name for path in (pool.directory / "execute").iterdir()))
        return pool

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def reconfigure(self, **settings: object) -> None:
        """Have the running scheduler take other values of its configuration."""
        with (self.directory / "daemon_config").open("a") as config:
            config.writelines(f"{name} = {value}\n" for name, value in settings.items())
        self.tool("condor_reconfig", "-daemon", "schedd")
        self._wait("the scheduler's new values", lambda: all(self._shows(*pair) for pair in settings.items()))

    def advertise(self, **values: str) -> None:
        """Have the collector show a machine that has no daemons; `forget` undoes it."""
        self._tell("UPDATE_STARTD_AD", MyType='"Machine"', TargetType='"Job"', **values)
        self._wait(f"{values['Name']} to be shown", lambda: values["Name"].strip('"') in self._seen_slots())

    def forget(self, slot: str) -> None:
        """Have the collector show a slot no more."""
        self._tell("INVALIDATE_STARTD_ADS", MyType='"Query"', TargetType='"Machine"', Requirements=f'Name == "{slot}"')
        self._wait(f"{slot} to be forgotten", lambda: slot not in self._seen_slots())

    def _tell(self, what: str, **values: str) -> None:
        ad = self.directory / "ad"
        ad.write_text("".join(f"{name} = {value}\n" for name, value in values.items()))
        self.tool("condor_advertise", what, str(ad))

    @property
    def address(self) -> str:
        """The collector's address, "host:port"."""
        return (self.directory / "log" / ".collector_address").read_text().partition("?")[0].lstrip("<")

    def give_token(self, folder: Path, identity: str) -> None:
        """Write a token for an identity ("ann@pool") into a folder of its own."""
        folder.mkdir(mode=0o700)
        self._token(folder / "token", identity, self._dropped())  # the key is the daemons' own by now

    @property
    def settings(self) -> dict[str, str]:
        """The connector's settings for this pool."""
        return {"config": str(self.config), "spool": str(self.spool)}

    def start(self) -> None:
        """Start the daemons and wait until every host is there."""
        master = self._prefix / "usr/sbin/condor_master"
        with (self.directory / "log" / "stdout").open("ab") as output:
            self._master = subprocess.Popen(
                # Killed without a chance to clean up, we still take the pool with us.
                [*_among_own(), "setpriv", "--pdeathsig=QUIT", *self._dropped(), str(master), "-f"],
                env=self._environment("daemon_config"),
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._wait("all hosts", self._all_there)

    def _all_there(self) -> bool:
        if self._master is not None and self._master.poll() is not None:
            logs = [self.directory / "log" / name for name in ("MasterLog", "stdout")]
            said = [line for log in logs if log.exists() for line in log.read_text(errors="replace").splitlines()]
            words = [line for line in said if "error" in line.lower()][:2] or said[-2:]
            raise PoolError(f"the pool's master ended at once: {' / '.join(words)}")
        return self._seen_hosts() == set(self.hosts) and self._schedd_answers()

    def settle(self) -> None:
        """Wait until the scheduler works at full speed: whoever measures begins after that."""
        born = (self.directory / "queue" / ".schedd_address").stat().st_mtime
        time.sleep(max(0.0, born + _SETTLED_SECONDS - time.time()))

    def stop(self) -> None:
        """End every process of the pool and remove its folder."""
        for master in self.processes_of("master"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(master, signal.SIGQUIT)  # HTCondor's fast shutdown
        give_up = time.monotonic() + _STOP_SECONDS
        while self.processes() and time.monotonic() < give_up:
            self._reap()
            time.sleep(_POLL_SECONDS)
        while left := self.processes():
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self._reap()
            time.sleep(_POLL_SECONDS)
        if self._master is not None:
            self._master.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def take_host(self, name: str) -> None:
        """Take a host off: its startd stops at once, with the job on it; returns when the pool no longer shows it."""
        self.tool("condor_off", "-fast", "-daemon", self._known(name).upper())
        self._wait(f"{name} to go", lambda: name not in self._seen_hosts(absent=name))

    def give_host(self, name: str) -> None:
        """Start a host that was taken; returns when the pool shows it."""
        self.tool("condor_on", "-daemon", self._known(name).upper())
        self._wait(f"{name} to come back", lambda: name in self._seen_hosts())

    def kill(self, daemon: str) -> None:
        """End a daemon with SIGKILL, as a crash would; the master starts another.

        Args:
            daemon: "schedd", "collector", "negotiator", "master" or the name of a host, for its startd.
        """
        for process in self.processes_of(daemon):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def processes_of(self, daemon: str) -> list[int]:
        """Return the process numbers of a daemon, named as for `kill`."""
        wanted = ["-local-name", daemon.upper()] if daemon in self.hosts else [f"condor_{daemon}"]
        return [number for number in self.processes() if _ends(number, wanted)]

    def processes(self) -> list[int]:
        """Return the numbers of all processes that belong to the pool: daemons and jobs."""
        mark = f"COSCHED_TESTBED={self.directory}".encode()
        inside = f"{self.directory}/".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    environment = (entry / "environ").read_bytes().split(b"\0")
                    condor_job = any(value.startswith(b"_CONDOR_SCRATCH_DIR=" + inside) for value in environment)
                    if (mark in environment or condor_job) and _alive(entry):
                        found.append(int(entry.name))
        return found

    def tool(self, *command: str) -> str:
        """Run one of HTCondor's own commands as an administrator of the pool and return its output.

        Raises:
            PoolError: it failed.
        """
        return self._run([], command)

    def _run(self, before: Sequence[str], command: Sequence[str]) -> str:
        places = (self._prefix / "usr/sbin", self._prefix / "usr/bin")
        program = next(place / command[0] for place in places if (place / command[0]).exists())
        done = subprocess.run(
            [*before, program, *command[1:]],
            env=self._environment("condor_config"),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        if done.returncode:
            raise PoolError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def _prepare(self, node: NodeSize) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.directory.chmod(0o755)
        self._check_reachable()
        for name in ("log", "queue", "queue2", "execute", "passwords.d", *(f"execute/{host}" for host in self.hosts)):
            self._own(self.directory / name, directory=True)
        self.spool.mkdir()
        self.spool.chmod(0o1777)
        key = self.directory / "passwords.d" / "POOL"
        key.write_bytes(secrets.token_hex(32).encode())
        key.chmod(0o600)
        ids = (self._user.pw_uid, self._user.pw_gid) if self._user else None
        for config, tokens in (("daemon_config", "daemon-tokens.d"), ("condor_config", "tokens.d")):
            folder = self.directory / tokens
            folder.mkdir(mode=0o700)
            path = self.directory / config
            text = pool_configuration(self._prefix, self.directory, folder, self.hosts, ids, node)
            path.write_text(text + self._settings)
        self._token(self.directory / "tokens.d" / "cosched", "cosched@pool")
        self._token(self.directory / "daemon-tokens.d" / "condor", "condor@pool")
        for name in ("passwords.d/POOL", "daemon-tokens.d", "daemon-tokens.d/condor"):
            self._own(self.directory / name)

    def _token(self, file: Path, identity: str, options: Sequence[str] = ()) -> None:
        create = ("condor_token_create", "-identity", identity, "-key", "POOL")
        token = self._run(["setpriv", *options] if options else [], create)
        file.write_text(token)
        file.chmod(0o600)

    def _dropped(self) -> list[str]:
        """Return the options with which `setpriv` runs something as the daemons' user."""
        user = self._user
        return [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"] if user else []

    def _own(self, path: Path, *, directory: bool = False) -> None:
        if directory:
            path.mkdir()
        path.chmod(0o755 if directory else 0o700 if path.is_dir() else 0o600)
        if self._user:
            os.chown(path, self._user.pw_uid, self._user.pw_gid)

    def _check_reachable(self) -> None:
        """The daemons of root's pool run as nobody: every folder above must let others in."""
        if self._user:
            for folder in self.directory.parents:
                if not folder.stat().st_mode & 0o001:
                    raise PoolError(
                        f"{folder} is closed to user nobody, whom root's pool runs as: choose another folder"
                    )

    def _environment(self, config: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.upper().startswith("_CONDOR_")}
        return {**kept, "CONDOR_CONFIG": str(self.directory / config), "COSCHED_TESTBED": str(self.directory)}

    def _seen_hosts(self, absent: str = "") -> set[str]:
        """Return the hosts that the collector shows; `absent` is counted in where the collector does not answer."""
        with contextlib.suppress(PoolError):
            return set(self.tool("condor_status", "-startd", "-af", "Machine").split())
        return {absent}

    def _seen_slots(self) -> set[str]:
        return set(self.tool("condor_status", "-any", "-af", "Name").split())

    def _schedd_answers(self) -> bool:
        with contextlib.suppress(PoolError):
            return len(self.tool("condor_status", "-schedd", "-af", "Name").split()) == self._schedulers
        return False

    def _shows(self, name: str, value: object) -> bool:
        return self.tool("condor_config_val", "-schedd", name).strip() == str(value)

    def _known(self, name: str) -> str:
        if name not in self.hosts:
            raise PoolError(f"no host {name!r}: this pool has {self.hosts[0]} to {self.hosts[-1]}")
        return name

    def _wait(self, what: str, done: Callable[[], bool]) -> None:
        give_up = time.monotonic() + _START_SECONDS
        while not done():
            self._reap()
            if time.monotonic() > give_up:
                raise PoolError(f"waited {_START_SECONDS:.0f} s for {what}: see the logs in {self.directory / 'log'}")
            time.sleep(_POLL_SECONDS)

    def _reap(self) -> None:
        if self._master is not None:
            self._master.poll()


@cache
def _among_own() -> tuple[str, ...]:
    """Return what starts a program that sees its own user's processes alone; empty where that is not allowed.

    HTCondor's process tracker (condor_procd) looks at every process that it sees, several times for each job: it took
    nearly half of a pool's processor time beside other tests.
    """
    # With another /proc below its own, the tracker takes what it cannot see for a mistake, and gives up.
    hide = 'umount -l /proc && mount -t proc -o hidepid=2 proc /proc && exec "$@"'
    words = ("unshare", "--mount", "/bin/sh", "-c", hide, "sh")
    allowed = os.geteuid() == 0 and not subprocess.run([*words, "true"], capture_output=True, check=False).returncode
    return words if allowed else ()


def _daemons_user() -> pwd.struct_passwd | None:
    """Return whom the daemons run as where that is not ourselves."""
    if os.geteuid() == 0:
        return pwd.getpwnam("nobody")
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        raise PoolError(f"user {os.geteuid()} has no name here, which HTCondor wants: run as another user") from None
    return None


def _alive(entry: Path) -> bool:
    return entry.joinpath("stat").read_text(errors="replace").rpartition(") ")[2][0] not in "ZX"


def _ends(process: int, wanted: Sequence[str]) -> bool:
    """Whether a process is the program, or was started with the arguments, that is wanted."""
    with contextlib.suppress(OSError):
        arguments = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
        return list(wanted) == [Path(arguments[0]).name] or all(word in arguments for word in wanted)
    return False
