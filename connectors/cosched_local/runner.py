"""The runner process starts one attempt's processes, waits for them and records their end.

    python -I -S runner.py FOLDER DIRECTORY COUNT LIMIT GRACE COMMAND [ARGUMENT…]

It belongs to no daemon: it leads a session of its own and goes on when cosched is killed. It uses the standard library
alone, and little of it, because one is started for every attempt. In FOLDER it writes

    claim       the process that runs the attempt; made by `link`, so at most one runner, or a cancel, ever gets it
    started     when the last process had started; its space is taken before the first one starts
    end         how it ended (state, times, exit code; reason), in space that is taken likewise, so that a full disk
                keeps no slot; where it does not suffice it is waited for, for who did not learn of the end would run
                the attempt's task again
    out.RANK, err.RANK

and it reads `stop`, written before it is sent SIGTERM: the state to end in, and why; and `parts` (see
`cosched_local.parts`), where the attempt has parts of its slots: each process runs on the processors of its slot alone
and sees its GPUs, and what takes more memory than it asked for is ended.

Beside it waits a guard, a fork of it: even a runner that is killed leaves no process behind, whether or not a daemon
runs. (The kernel's PR_SET_PDEATHSIG would reach its children alone and not theirs.)
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time

__all__ = ["claim", "claim_text", "kill", "main", "write_durably", "write_end"]

_CANNOT_START = {errno.ENOENT: 127, errno.ENOTDIR: 127}
_LOOKS = 3
_SHORT_OF = (errno.EAGAIN, errno.ENOMEM, errno.ENFILE, errno.EMFILE, errno.ENOSPC, errno.EDQUOT)
_AWAITED = (signal.SIGCHLD, signal.SIGTERM)
_TRY_AGAIN = 1.0  # seconds between two tries to write down the end
_ROOM_FOR_END = 512  # bytes: the usual reasons are shorter
_LOOK_AT_MEMORY = 0.5  # seconds between looks at what the processes have
_LONGEST_WAIT = 86400.0  # seconds; sigtimedwait takes no infinity
# Python ignores SIGPIPE and SIGXFSZ, and a daemon may ignore others; a job starts with none ignored.
_RESET = tuple(number for number in range(1, 32) if number not in (signal.SIGKILL, signal.SIGSTOP))


class _StartError(Exception):
    """A process could not be started; holds the attempt's state, exit code and reason."""

    def __init__(self, state: str, code: int | None, reason: str) -> None:
        super().__init__(reason)
        self.state = state
        self.code = code


def claim_text() -> str:
    """Return the identity of this process: pid, start time in clock ticks since boot, boot."""
    with open("/proc/self/stat") as file:
        begun = file.read().rpartition(")")[2].split()[19]
    with open("/proc/sys/kernel/random/boot_id") as file:
        return f"{os.getpid()} {begun} {file.read().strip()}\n"


def claim(folder: str, text: str) -> bool:
    """Take the attempt, durably; return False if another process has it."""
    aside = f"{folder}/claim.{os.getpid()}"
    write_durably(aside, text)
    try:
        os.link(aside, f"{folder}/claim")
    except FileExistsError:
        return False
    finally:
        os.unlink(aside)
    _sync(folder)
    return True


def write_end(
    folder: str, state: str, *, started: float | None, finished: float | None, code: int | None, reason: str
) -> None:
    """Write how the attempt ended, whole and durably or not at all."""
    aside = f"{folder}/end.new"
    _write_over(aside, f"{state} {started} {finished} {code}\n{' '.join(reason.split())}\n")
    os.rename(aside, f"{folder}/end")
    _sync(folder)


def write_durably(path: str, text: str) -> None:
    """Write a file that is whole on disk when this returns."""
    _write_all(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), text.encode(errors="replace"))


def _write_over(path: str, text: str) -> None:
    """Write a file over what is there, if anything: as long as it is short it takes no more of the disk."""
    _write_all(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), text.encode(errors="replace").ljust(_ROOM_FOR_END))


def _write_all(file: int, data: bytes) -> None:
    """Write a file that is whole on disk when this returns, and close it."""
    left = data
    try:
        while left:  # a disk that fills up takes a part first, and only then says so
            left = left[os.write(file, left) :]
        os.ftruncate(file, len(data))
        os.fsync(file)
    finally:
        os.close(file)


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _stop(folder: str) -> tuple[str, str] | None:
    """Return the state and the reason for which the attempt shall end, or None."""
    try:
        with open(f"{folder}/stop") as file:
            state, _, reason = file.read().partition("\n")
    except FileNotFoundError:
        return None
    return state, reason


class _Parts:
    """Parts of its slots that the attempt has; the whole where there is no file that says so."""

    def __init__(self, folder: str) -> None:
        try:
            with open(f"{folder}/parts") as file:
                first, *lines = file.read().splitlines()
        except FileNotFoundError:
            first, lines = "memory 0", []
        self.memory = int(first.split()[1]) << 20
        self._slots = [line.split()[1:] for line in lines]

    def of(self, rank: int, count: int) -> tuple[set[int], str]:
        """Return processors and GPUs of a process: its slot's, or all where one process has all slots."""
        slots = self._slots if count < len(self._slots) else self._slots[rank : rank + 1]
        processors, gpus = ([text for slot in slots if (text := slot[column]) != "-"] for column in (0, 1))
        return {int(number) for text in processors for number in text.split(",")}, ",".join(gpus)

    @property
    def whole(self) -> bool:
        """Return whether the attempt has its slots for itself."""
        return not self._slots


def memory(session: int, apart: tuple[int, ...], limit: int) -> int:
    """Return the bytes of memory that the processes of a session have, some apart.

    What they share counts once for each of them, which is quick to ask; above the limit each has its part of it alone.
    One that ends meanwhile leaves its part to those not yet looked at, and it counts twice: more than the limit is
    believed when several looks in a row say so.
    """
    total = 0
    for _ in range(_LOOKS):
        processes = _resident(session, apart)
        total = sum(processes.values())
        if total > limit:
            total = sum(own_part(pid, had) for pid, had in processes.items())
        if total <= limit:
            break
    return total


def own_part(pid: int, resident: int) -> int:
    """Return a process's bytes of memory, of what is shared its part; all that is resident where nobody tells."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            parts = [int(line.split()[1]) << 10 for line in file if line.startswith(b"Pss:")]
    except FileNotFoundError:
        return 0 if not os.path.exists(f"/proc/{pid}") else resident  # it has ended, or the system has no such file
    except OSError:
        return resident
    return sum(parts)


def _resident(session: int, apart: tuple[int, ...]) -> dict[int, int]:
    """Return the resident bytes of each process of a session, some apart."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in apart:
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                words = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it has ended
        if int(words[3]) == session:
            found[int(name)] = int(words[21]) * os.sysconf("SC_PAGE_SIZE")
    return found


class _Processes:
    """Processes of one attempt, each a group of its own within the runner's session."""

    def __init__(self, folder: str, count: int, guard: int) -> None:
        self._folder = folder
        self._count = count
        self._guard = guard
        self._all = os.sched_getaffinity(0)
        self._parts = _Parts(folder)
        self._live: dict[int, int] = {}  # pid → rank
        self._codes: dict[int, int] = {}  # rank → exit code

    @property
    def memory(self) -> int:
        """Bytes that they may have together; 0 for no limit."""
        return self._parts.memory

    def resident(self) -> int:
        """Return the bytes that they and their children have."""
        return memory(os.getsid(0), (os.getpid(), self._guard), self.memory)

    @property
    def live(self) -> bool:
        """Return whether one has not ended."""
        return bool(self._live)

    @property
    def code(self) -> int:
        """The first code that is not 0 in rank order, or 0."""
        return next((self._codes[rank] for rank in sorted(self._codes) if self._codes[rank]), 0)

    def start(self, rank: int, command: list[str]) -> None:
        """Start one process, or say in a `_StartError` why it cannot be."""
        opened: list[int] = []
        environment = {**os.environ, "COSCHED_RANK": str(rank)}
        try:
            if not self._parts.whole:
                processors, environment["CUDA_VISIBLE_DEVICES"] = self._parts.of(rank, self._count)
                os.sched_setaffinity(0, processors or self._all)  # a process has those of the one that starts it
            for name in ("/dev/null", f"{self._folder}/out.{rank}", f"{self._folder}/err.{rank}"):
                opened.append(os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666))  # noqa: PERF401  closed below
            pid = os.posix_spawnp(
                command[0],
                command,
                environment,
                file_actions=[(os.POSIX_SPAWN_DUP2, file, target) for target, file in enumerate(opened)],
                setpgroup=0,
                setsigmask=(),
                setsigdef=_RESET,
            )
        except OSError as error:
            reason = f"cannot start {command[0]!r}: {error.strerror}"
            if error.errno in _SHORT_OF:
                raise _StartError("evicted", None, f"this machine is short of resources: {reason}") from None
            raise _StartError("failed", _CANNOT_START.get(error.errno or 0, 126), reason) from None
        finally:
            for file in opened:
                os.close(file)
        self._live[pid] = rank

    def reap(self) -> None:
        """Take note of processes that have ended, and kill the rest of their groups."""
        for pid in list(self._live):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                continue
            _signal_group(pid, signal.SIGKILL)  # before the pid is given back and may mean somebody else
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            self._codes[self._live.pop(pid)] = status if status >= 0 else 128 - status

    def send(self, number: signal.Signals) -> None:
        """Signal the groups of live processes."""
        for pid in self._live:
            _signal_group(pid, number)


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass  # gone, or it took another user's rights and is not ours to end


def _watch(processes: _Processes, folder: str, limit: float, grace: float) -> tuple[str, str] | None:
    """Wait until no process lives; return state and reason if they were ended."""
    ordered: tuple[str, str] | None = None
    deadline = time.monotonic() + limit
    while True:
        processes.reap()
        if not processes.live:
            return ordered
        watched = processes.memory > 0 and ordered is None
        left = max(0.0, min(deadline - time.monotonic(), _LOOK_AT_MEMORY if watched else _LONGEST_WAIT))
        got = signal.sigtimedwait(_AWAITED, left)
        if watched and (taken := processes.resident()) > processes.memory:
            took, asked = taken >> 20, processes.memory >> 20
            ordered = "failed", f"it took {took} MiB of memory and had asked for {asked} MiB: ask for more"
            _kill_all(os.getsid(0), f"COSCHED_ATTEMPT={os.environ['COSCHED_ATTEMPT']}".encode())
            continue
        if got is None and time.monotonic() < deadline:
            continue
        if got is not None and (got.si_signo == signal.SIGCHLD or ordered is not None):
            continue
        if ordered is None:
            late = ("removed", f"its time limit of {limit:g} s was over")
            ordered = late if got is None else _stop(folder) or ("removed", "its runner was told to end")
            processes.send(signal.SIGKILL if ordered[0] == "evicted" else signal.SIGTERM)
        else:
            processes.send(signal.SIGKILL)
        deadline = time.monotonic() + grace


def _run(folder: str, directory: str, count: int, limit: float, grace: float, command: list[str], guard: int) -> None:
    """Run the attempt that is ours now, and write down its end."""
    processes = _Processes(folder, count, guard)
    started: float | None = None
    code: int | None = None
    try:
        ordered = _stop(folder)
        if ordered is None:
            _make_room(folder)
            _start(processes, directory, count, command)
            started = time.time()
            _note_start(folder, started)
            ordered = _watch(processes, folder, limit, grace)
        if ordered is None:
            code = processes.code
        state, reason = ordered or ("failed" if code else "completed", "")
        if ordered is not None and state == "failed":
            code = processes.code or 128 + signal.SIGKILL
    except _StartError as error:
        processes.send(signal.SIGKILL)
        _watch(processes, folder, limit, grace)
        state, code, reason = error.state, error.code, str(error)
    finished = max(time.time(), started or 0.0)  # the clock may have been set back meanwhile
    while True:
        try:
            write_end(folder, state, started=started, finished=finished, code=code, reason=reason)
        except FileNotFoundError:
            raise  # nobody waits for it: its folder is gone
        except OSError:
            time.sleep(_TRY_AGAIN)
        else:
            return


def _make_room(folder: str) -> None:
    """Take the disk's space for the notes of start and end before any process starts."""
    try:
        write_durably(f"{folder}/started.new", _start_note(0.0))
        _write_over(f"{folder}/end.new", "")
    except OSError as error:
        raise _StartError("evicted", None, f"this machine is short of resources: {error.strerror}") from None


def _start(processes: _Processes, directory: str, count: int, command: list[str]) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        raise _StartError("failed", 126, f"cannot enter the directory {directory!r}: {error.strerror}") from None
    for rank in range(count):
        processes.start(rank, command)


def _note_start(folder: str, started: float) -> None:
    try:
        with open(f"{folder}/started.new", "r+") as file:  # over what is there: it takes no more of the disk
            file.write(_start_note(started))
        os.rename(f"{folder}/started.new", f"{folder}/started")
    except OSError:
        pass  # it runs all the same, and its end says since when


def _start_note(started: float) -> str:
    return f"{started:<24}\n"  # always as long


class _Guard:
    """A process that kills all of the attempt if the runner ends without dismissing it."""

    def __init__(self) -> None:
        watched, self._word = os.pipe()  # jobs do not inherit it: it closes with this process
        self.pid = os.fork()
        if self.pid:
            os.close(watched)
            return
        try:
            os.close(self._word)
            if not os.read(watched, 1):
                _kill_all(os.getsid(0), f"COSCHED_ATTEMPT={os.environ['COSCHED_ATTEMPT']}".encode())
        finally:
            os._exit(0)

    def dismiss(self) -> None:
        """Tell it that the runner ends in order, and wait for its end."""
        try:
            os.write(self._word, b".")
        except OSError:
            pass  # it was killed
        os.waitpid(self.pid, 0)


def _kill_all(session: int, mark: bytes) -> None:
    """Kill all processes of the attempt's session or mark but this one."""
    while sum(
        kill(int(name), session, mark) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()
    ):
        time.sleep(0.01)


def kill(pid: int, session: int, mark: bytes) -> bool:
    """Kill a process of the session or mark; return whether it may still live.

    Returns False, too, for another user's process.
    """
    try:
        handle = os.pidfd_open(pid)  # first, so that the number cannot mean another one afterwards
    except OSError:
        return False
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # bytes: a process may be called anything
            state, _, _, group = file.read().rpartition(b")")[2].split()[:4]
        if state in b"ZX" or not (int(group) == session or _bears(pid, mark)):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _bears(pid: int, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read().split(b"\0")
    except OSError:
        return False  # it ended, or is another user's


def main(arguments: list[str]) -> None:
    """Claim the attempt and run it; end if another process has it."""
    folder, directory, count, limit, grace, *command = arguments
    # Blocked before the claim: a process that finds the claim may send SIGTERM, and it must not be lost nor kill us.
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    if claim(folder, claim_text()):
        guard = _Guard()
        _run(folder, directory, int(count), float(limit), float(grace), command, guard.pid)
        guard.dismiss()


if __name__ == "__main__":
    main(sys.argv[1:])
