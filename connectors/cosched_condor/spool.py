"""The HTCondor connector's spool holds event logs and attempts' scripts, outputs and fences."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.connector.mailboxes import make_in_spool
from cosched.connector.parallel import LAUNCHER_DEFAULTS, OPENMPI_HOST_FILE, launcher_environment
from cosched.connector.script_lines import export_lines, host_file_lines, prepared_command
from cosched.connector.spool import FENCED, AttemptFolders, read_job_file, read_output
from cosched_condor import group
from cosched_condor.event_log import EventLogFiles

if TYPE_CHECKING:
    from cosched.connector import Launch

__all__ = ["FENCED", "CondorAttemptFolders"]

_ADOPTED_FILE = "adopted"  # file with the key of the user's own job that an attempt is
_OWNERS_FILE = "owners"  # file beside the fences: as whom schedulers know cosched, a name a line
_MOST_OWNERS = 1 << 16  # bytes of it
_PREPARATION_FILE = "prepares"  # name of the mark
_PROCESS_COUNT_FILE = "processes"  # name of the file with the number of a parallel job's processes
_PROCESS_SCRIPT = """\
#!/bin/sh
# An attempt that was cancelled while its submission was under way must not run.
[ -e {fence} ] && exit {fenced}
export PATH="${{PATH:-/usr/local/bin:/usr/bin:/bin}}"
{exports}
{host_file}
{command}
"""
_OWN_HOST = """sed -n 's/^Machine = "\\(.*\\)"$/\\1/p' "$_CONDOR_MACHINE_AD" 2> /dev/null"""
_CHOSEN_HOST = f'export COSCHED_HOSTS="$({_OWN_HOST})"'
# HTCondor tells a process its own host alone. Each leaves its name for the others, and goes on without theirs where
# they do not come: processes on hosts that others wait for must not wait for ever.
_CHOSEN_HOSTS = """\
{own_host} > {folder}/.host."$COSCHED_RANK" && mv {folder}/.host."$COSCHED_RANK" {folder}/host."$COSCHED_RANK"
export COSCHED_HOSTS=
rank=0 looks=0
while [ "$rank" -lt {count} ]; do
    if [ -s {folder}/host."$rank" ]; then
        read -r host < {folder}/host."$rank"
        COSCHED_HOSTS="$COSCHED_HOSTS${{COSCHED_HOSTS:+,}}$host"
        rank=$((rank + 1))
    elif [ "$looks" -lt {most_looks} ]; then
        looks=$((looks + 1))
        sleep {pause}
    else
        COSCHED_HOSTS=
        break
    fi
done"""
# One process of a task that is launched once: the first runs the command, the others what it starts on their hosts.
_GROUP_COMMAND = """\
if ! command -v python3 > /dev/null; then
    echo "cosched: there is no python3 on this host, which a task that is launched once needs" >&2
    exit 127
fi
[ "$COSCHED_RANK" -ne 0 ] || sed 's/$/ slots={ranks}/' "$COSCHED_HOST_FILE" > {folder}/{host_file}
exec python3 -I {folder}/{program} run {folder} /bin/sh -c {command}"""
_AGENT = """\
#!/bin/sh
# MPI's launchers call it as `agent HOST WORD...`.
exec python3 -I {folder}/{program} agent {folder} "$@"
"""
_GROUP_PROGRAM = "group.py"
_PAUSE = 0.2  # seconds between two looks for the other processes' hosts
_WAIT_FOR_HOSTS = 60.0  # seconds
_WAIT_FOR_GROUP = 600.0  # seconds; without the others a program that is launched once cannot run
# HTCondor tells the exit code of one process of a parallel job alone.
_PARALLEL_COMMAND = """\
(
{command}
)
code=$?
echo "$code" > {folder}/code."$COSCHED_RANK"
exit "$code\""""
# It begins in the job's own folder on the host, whose files come back; the launch's directory may not be there.
_SPOOLED_SCRIPT = """\
#!/bin/sh
export PATH="${{PATH:-/usr/local/bin:/usr/bin:/bin}}"
cosched_folder=$PWD
{enter}{exports}
{host_file}
{command}
"""
_ENTER_DIRECTORY = """\
if [ -d {directory} ]; then
    cd {directory} || exit
else
    echo "cosched: there is no "{directory}" here: running in the job's own folder" >&2
fi
"""


class CondorAttemptFolders(AttemptFolders):
    """The folders of attempts.

    They and what is in them are open to others as far as the spool itself is. A pool whose jobs do not run as cosched's
    own user needs a spool that this user may write to by a common group (mode 3770).
    """

    def __init__(self, spool: Path) -> None:
        super().__init__(spool)
        self.logs = EventLogFiles(spool, self.mode)

    def prepare(self) -> None:
        """Make the spool and an event log where they are missing, and keep other daemons out.

        Raises:
            ConnectorError: another cosched has the spool.
            OSError: the spool cannot be used.
        """
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.hold()
        self.logs.prepare()

    def adopt(self, attempt: str, key: str) -> None:
        """Note which user's own job an attempt is.

        Raises:
            OSError: the spool cannot be written.
        """
        self.write(attempt, _ADOPTED_FILE, key)

    def adopted_key(self, attempt: str) -> str | None:
        """Return the key of the user's own job that an attempt is; None for others."""
        return self._read_own(attempt, _ADOPTED_FILE) or None

    def own_names(self) -> tuple[str, ...]:
        """Return as whom schedulers know cosched, or have known it."""
        return tuple((read_job_file(self._owners_file, _MOST_OWNERS) or "").split("\n")[:-1])

    def note_own_name(self, name: str) -> None:
        """Add a name of cosched's own."""
        with contextlib.suppress(OSError), self._owners_file.open("a") as file:  # it is asked for again
            file.write(f"{name}\n")

    @property
    def _owners_file(self) -> Path:
        return self.fence_file(_OWNERS_FILE)

    def codes(self, attempt: str) -> list[int | None]:
        """Return the exit codes of a parallel job's processes, by rank; none for other jobs."""
        count = self._read_own(attempt, _PROCESS_COUNT_FILE)
        return [self._code(attempt, rank) for rank in range(int(count))] if count.strip().isdecimal() else []

    def _code(self, attempt: str, rank: int) -> int | None:
        try:
            written = read_output(self.folder(attempt) / f"code.{rank}", 0, 9)
        except PermissionError:  # where jobs are others', one can close what it writes
            return None
        return int(written.data) if written is not None and written.data.strip().isdigit() else None

    def prepares(self, attempt: str) -> bool:
        """Return whether a spooled script has a preparation; its failure is told in returned files."""
        return self.is_ours(self.folder(attempt) / _PREPARATION_FILE)

    def _read_own(self, attempt: str, name: str) -> str:
        """Return the text of a file that cosched has put into an attempt's folder, in which its job may write, too."""
        file = self.folder(attempt) / name
        return (read_job_file(file) or "") if self.is_ours(file) else ""

    def created(self, attempt: str) -> float | None:
        """Return when the attempt's script was written; None where there is none.

        That is before any job of it.
        """
        try:
            return (self.folder(attempt) / "run.sh").stat().st_mtime
        except FileNotFoundError:
            return None

    def write_script(self, launch: Launch, *, spooled: bool = False, parallel: bool = False) -> Path:
        """Write the script that each process runs.

        Args:
            launch: the attempt.
            spooled: the script is carried to the host, which cannot reach the spool.
            parallel: each process writes its exit code down.

        Raises:
            UserError: the program's name begins with a dash.
        """
        if spooled:
            return self._write_spooled(launch)
        folder = shlex.quote(str(self.folder(launch.attempt)))
        command, launchers = prepared_command(launch, folder), ""
        if launch.mailbox:
            make_in_spool(self, launch.attempt)
            launchers = f"export COSCHED_MAILBOX={shlex.quote(str(self.mailbox(launch.attempt)))}\n"
        if launch.native is None and launch.launch.once:
            command, more = self._write_group(launch, command, folder)
            launchers += more
        if parallel:
            self.write(launch.attempt, _PROCESS_COUNT_FILE, f"{launch.count}\n")
            command = _PARALLEL_COMMAND.format(command=command, folder=folder)
        return self.write(
            launch.attempt,
            "run.sh",
            _PROCESS_SCRIPT.format(
                fence=shlex.quote(str(self.fence_file(launch.attempt))),
                fenced=FENCED,
                exports=launchers + _placed_exports(launch, folder),
                host_file=host_file_lines(folder),
                command=command,
            ),
        )

    def _write_group(self, launch: Launch, command: str, folder: str) -> tuple[str, str]:
        """Write the programs of a task that is launched once.

        Returns:
            The lines that run one of its processes, and those that set the variables of MPI's launchers.
        """
        self.write(launch.attempt, _GROUP_PROGRAM, Path(group.__file__).read_text(encoding="utf-8"))
        agent = self.write(launch.attempt, "agent", _AGENT.format(folder=folder, program=_GROUP_PROGRAM))
        agent.chmod(agent.stat().st_mode | 0o111 & self.mode())
        place = self.folder(launch.attempt)
        given = launcher_environment(str(agent), str(place / "hosts.0"), str(place / OPENMPI_HOST_FILE))
        lines = _GROUP_COMMAND.format(
            folder=folder,
            program=_GROUP_PROGRAM,
            host_file=OPENMPI_HOST_FILE,
            ranks=launch.processes_per_host,
            command=shlex.quote(command),
        )
        return lines, "".join(_export(name, value) for name, value in given.items())

    def _write_spooled(self, launch: Launch) -> Path:
        for rank in range(launch.count):  # where what each process leaves behind comes back to
            (self.folder(launch.attempt) / str(rank)).mkdir(exist_ok=True)
        if launch.prepare:
            (self.folder(launch.attempt) / _PREPARATION_FILE).touch()
        enter = _ENTER_DIRECTORY.format(directory=shlex.quote(launch.directory)) if launch.directory else ""
        return self.write(
            launch.attempt,
            "run.sh",
            _SPOOLED_SCRIPT.format(
                enter=enter,
                exports=_placed_exports(launch, None),
                host_file=host_file_lines('"$cosched_folder"'),
                command=prepared_command(launch, '"$cosched_folder"'),
            ),
        )


def _placed_exports(launch: Launch, folder: str | None) -> str:
    """Return the lines that set the launch's variables, its hosts among them.

    Args:
        launch: the attempt.
        folder: where its processes can meet, as a word of the shell's (quoted); None where there is no such place.
    """
    lines = export_lines(launch)  # last, for the user's variables may have any name
    if launch.hosts:
        return lines
    if launch.count == 1:
        return f"{_CHOSEN_HOST}\n{lines}"
    if folder is None:
        return f"export COSCHED_HOSTS=\n{lines}"
    chosen = _CHOSEN_HOSTS.format(
        own_host=_OWN_HOST,
        folder=folder,
        count=launch.count,
        pause=_PAUSE,
        most_looks=round((_WAIT_FOR_GROUP if launch.launch.once else _WAIT_FOR_HOSTS) / _PAUSE),
    )
    return f"{chosen}\n{lines}"


def _export(name: str, value: str) -> str:
    """Return the line of a shell that sets a variable; one of the task's own stays where it may."""
    kept = f'"${{{name}-{value}}}"' if name in LAUNCHER_DEFAULTS else shlex.quote(value)
    return f"export {name}={kept}\n"
