"""The first process of a group runs its program; the others run its parts.

It serves a task that is launched once.

    python3 group.py run FOLDER COMMAND [ARGUMENT…]     each process, as COSCHED_RANK and COSCHED_HOSTS say
    python3 group.py agent FOLDER HOST WORD…            MPI's launchers on the first host, in place of rsh

It runs on the pool's hosts and needs the standard library alone. The first process makes a secret in the attempt's
folder, for its own user alone, and listens on the address by which HTCondor reaches its host. The others connect; both
sides prove that they know the secret, and every frame is authenticated with a key of this connection. A connection that
ends is the end of the group: the first process ends the program, the others end what they run. Each of them is the
child of a process that ends what is left over (`_under_init`).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import signal
import stat
import struct
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["GroupError", "GroupFrame", "GroupLink", "main"]

SECRET, ADDRESS = "group.secret", "group.address"
NOT_ALL_CAME = 75  # exit code: EX_TEMPFAIL
_PATIENCE = 600.0  # seconds that the processes wait for one another
_HANDSHAKE = 10.0  # seconds
_GRACE = 5.0  # seconds between SIGTERM and SIGKILL
_PARENT_DEATH_SIGNAL, _CHILD_SUBREAPER = 1, 36  # of prctl(2)
# Where ranks share memory and where daemons keep their files, for Open MPI 4 and 5.
_PLACE_VARIABLES = (
    "OMPI_MCA_btl_vader_backing_directory",
    "OMPI_MCA_btl_sm_backing_directory",
    "OMPI_MCA_orte_tmpdir_base",
    "PRTE_MCA_prte_tmpdir_base",
)
_FIRST_LOOK, _LOOK = 0.02, 0.2  # seconds between two looks for the first process, soon after the start and later
_MOST_UNVERIFIED = 64  # connections that have not proved themselves
_LONGEST = 1 << 20  # bytes of a frame
_PART = 1 << 16  # bytes of a stream in one frame
_NONCE, _MAC = 32, 32  # bytes
_HELPER, _AGENT = b"H", b"A"
_HELLO = struct.Struct("!32scI32s")  # nonce, role, rank, proof
_HEAD = struct.Struct("!IBI")  # length, kind, channel
START, INPUT, OUTPUT, ERROR, EXIT, KILL, BYE = range(1, 8)


class GroupError(Exception):
    """The group cannot work; the message is for the task's owner."""


class GroupFrame(NamedTuple):
    """One message: its kind, the command that it belongs to, and its content."""

    kind: int
    channel: int
    content: bytes


class GroupLink:
    """A connection between two processes that have both proved to know the secret."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: bytes, own: bytes) -> None:
        """Set up.

        Args:
            reader: reading end of the connection.
            writer: writing end of the connection.
            key: key of this connection alone.
            own: b"s" at the listening end, b"c" at the other: a frame cannot be sent back to its sender.
        """
        self._reader = reader
        self._writer = writer
        self._key = key
        self._own = own
        self._other = b"c" if own == b"s" else b"s"
        self._sent = self._received = 0
        self._sending = asyncio.Lock()

    async def send(self, kind: int, channel: int = 0, content: bytes = b"") -> None:
        """Send a frame; nothing happens where the other end has gone, which `receive` tells."""
        async with self._sending:
            plain = _HEAD.pack(len(content), kind, channel) + content
            with contextlib.suppress(OSError):
                self._writer.write(plain + self._mac(self._own, self._sent, plain))
                self._sent += 1
                await self._writer.drain()

    async def receive(self) -> GroupFrame | None:
        """Return the next frame; None at the end, or for a frame without authentication."""
        try:
            head = await self._reader.readexactly(_HEAD.size)
            length, kind, channel = _HEAD.unpack(head)
            if length > _LONGEST:
                return None
            content = await self._reader.readexactly(length)
            mac = await self._reader.readexactly(_MAC)
        except (OSError, asyncio.IncompleteReadError):
            return None
        if not hmac.compare_digest(mac, self._mac(self._other, self._received, head + content)):
            return None
        self._received += 1
        return GroupFrame(kind, channel, content)

    def close(self) -> None:
        """End the connection."""
        self._writer.close()

    def _mac(self, sender: bytes, number: int, plain: bytes) -> bytes:
        return hmac.digest(self._key, sender + number.to_bytes(8, "big") + plain, hashlib.sha256)


def _proof(secret: bytes, what: bytes, *parts: bytes) -> bytes:
    return hmac.digest(secret, b"cosched group 1 " + what + b"".join(parts), hashlib.sha256)


async def _accept(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: bytes
) -> tuple[GroupLink, bytes, int] | None:
    """Return the link with its role and rank; None for a wrong proof.

    A client proves that it knows the secret.
    """
    nonce = secrets.token_bytes(_NONCE)
    writer.write(nonce)
    try:
        hello = await asyncio.wait_for(reader.readexactly(_HELLO.size), _HANDSHAKE)
    except (TimeoutError, OSError, asyncio.IncompleteReadError):
        return None
    theirs, role, rank, proof = _HELLO.unpack(hello)
    said = (nonce, theirs, role, rank.to_bytes(4, "big"))
    if not hmac.compare_digest(proof, _proof(secret, b"client", *said)):
        return None
    writer.write(_proof(secret, b"server", *said))
    return GroupLink(reader, writer, _proof(secret, b"key", *said), b"s"), role, rank


async def _connect(place: tuple[str, int], secret: bytes, role: bytes, rank: int) -> GroupLink:
    """Return a link to the first process.

    Raises:
        OSError, asyncio.IncompleteReadError, asyncio.TimeoutError: it does not answer.
        GroupError: what answers does not know the secret.
    """
    reader, writer = await asyncio.wait_for(asyncio.open_connection(*place), _HANDSHAKE)
    try:
        nonce = await asyncio.wait_for(reader.readexactly(_NONCE), _HANDSHAKE)
        own = secrets.token_bytes(_NONCE)
        said = (nonce, own, role, rank.to_bytes(4, "big"))
        writer.write(_HELLO.pack(own, role, rank, _proof(secret, b"client", *said)))
        proof = await asyncio.wait_for(reader.readexactly(_MAC), _HANDSHAKE)
        if not hmac.compare_digest(proof, _proof(secret, b"server", *said)):
            raise GroupError("what listens at the first host's address is not this task's")
    except BaseException:
        writer.close()
        raise
    return GroupLink(reader, writer, _proof(secret, b"key", *said), b"c")


def _write_private(file: Path, content: bytes) -> None:
    """Write a file that only this user can read, whole or not at all."""
    new = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as written:
            written.write(content)
        new.replace(file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _read_private(file: Path) -> bytes:
    """Return what this very user has written for himself alone.

    Raises:
        FileNotFoundError: there is nothing yet.
        GroupError: it is another user's, or others may read it.
    """
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as opened:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o077:
            raise GroupError(f"{file} is not this user's own: let all processes of a task run as one user")
        return opened.read(4096)


def _meeting_place(folder: Path) -> tuple[tuple[str, int], bytes]:
    """Return where the first process listens, and the secret."""
    host, port = json.loads(_read_private(folder / ADDRESS))
    return (str(host), int(port)), _read_private(folder / SECRET)


def _own_address() -> str:
    """Return the address by which HTCondor reaches this host, else the host's name."""
    with contextlib.suppress(OSError, KeyError):
        ad = Path(os.environ["_CONDOR_MACHINE_AD"]).read_text(errors="replace")
        found = re.search(r'^(?:MyAddress|StartdIpAddr) = "<(?:\[([^\]]+)\]|([0-9.]+)):', ad, re.MULTILINE)
        if found:
            return found[1] or found[2]
    return os.uname().nodename


def _signal_group(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _own_place() -> dict[str, str]:
    """Return the variables that give Open MPI a place of this host's own.

    Several hosts may be slots of one machine: their ranks would take each other's memory, and a daemon that begins
    would remove what another has just made, which then ends without a word.
    """
    scratch = os.environ.get("_CONDOR_SCRATCH_DIR", "")
    return dict.fromkeys(_PLACE_VARIABLES, scratch) if scratch else {}


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process and all of its group."""
    _signal_group(process, signal.SIGTERM)
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(process.wait(), _GRACE)
    _signal_group(process, signal.SIGKILL)
    await process.wait()


class _First:
    """The first process runs the program while all others are connected.

    It passes on the requests of agents.
    """

    def __init__(self, folder: Path, hosts: list[str], patience: float) -> None:
        self._folder = folder
        self._hosts = hosts
        self._patience = patience
        self._secret = secrets.token_bytes(32)
        self._helpers: dict[int, GroupLink] = {}
        self._agents: dict[int, GroupLink] = {}  # by channel
        self._channels = 0
        self._unverified = 0
        self._complete = asyncio.Event()
        self._lost = asyncio.Event()
        self._told = asyncio.Event()  # to end, by a signal
        self._why = ""

    async def run(self, command: list[str]) -> int:
        """Run the program when all have come; return its exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._told.set)
        server = await asyncio.start_server(self._met, _own_address(), 0)
        place = server.sockets[0].getsockname()[:2]
        _write_private(self._folder / SECRET, self._secret)
        _write_private(self._folder / ADDRESS, json.dumps(place).encode())
        try:
            if len(self._hosts) > 1 and not await self._await(self._complete, self._told, self._patience):
                missing = [host for rank, host in enumerate(self._hosts) if rank and rank not in self._helpers]
                raise GroupError(f"not all hosts have begun within {self._patience:.0f} s: {', '.join(missing)}")
            return await self._watch(await asyncio.create_subprocess_exec(*command, start_new_session=True))
        finally:
            for link in [*self._helpers.values()]:
                await link.send(BYE)
                link.close()
            server.close()
            for name in (SECRET, ADDRESS):
                (self._folder / name).unlink(missing_ok=True)

    async def _watch(self, process: asyncio.subprocess.Process) -> int:
        """Return the program's exit code; end it on a lost host or a signal."""
        ended = asyncio.ensure_future(process.wait())
        waits = [asyncio.ensure_future(event.wait()) for event in (self._lost, self._told)]
        await asyncio.wait([ended, *waits], return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if ended.done():
            _signal_group(process, signal.SIGKILL)  # what it left behind
            code = ended.result()
            return code if code >= 0 else 128 - code
        await _end(process)
        if self._told.is_set():
            return 128 + signal.SIGTERM
        raise GroupError(self._why)

    @staticmethod
    async def _await(event: asyncio.Event, other: asyncio.Event, seconds: float) -> bool:
        waits = [asyncio.ensure_future(each.wait()) for each in (event, other)]
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        return event.is_set()

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._unverified >= _MOST_UNVERIFIED:
            writer.close()
            return
        self._unverified += 1
        try:
            known = await _accept(reader, writer, self._secret)
        finally:
            self._unverified -= 1
        if known is None:
            writer.close()
            return
        link, role, rank = known
        # Only what runs on this very host may start anything.
        near = writer.get_extra_info("peername")[0] == writer.get_extra_info("sockname")[0]
        if role == _HELPER and 0 < rank < len(self._hosts) and rank not in self._helpers:
            await self._serve_helper(link, rank)
        elif role == _AGENT and near:
            await self._serve_agent(link)
        link.close()

    async def _serve_helper(self, link: GroupLink, rank: int) -> None:
        self._helpers[rank] = link
        if len(self._helpers) == len(self._hosts) - 1:
            self._complete.set()
        while (frame := await link.receive()) is not None:
            agent = self._agents.get(frame.channel)
            if agent is not None:
                await agent.send(frame.kind, 0, frame.content)
        self._why = f"host {self._hosts[rank]} has left the group: the program was ended"
        self._lost.set()

    async def _serve_agent(self, link: GroupLink) -> None:
        first = await link.receive()
        if first is None or first.kind != START:
            return
        host, words = json.loads(first.content)
        helper = self._helpers.get(_rank_of(host, self._hosts))
        if helper is None:
            await link.send(ERROR, 0, f"cosched: {host} is none of this task's hosts\n".encode())
            await link.send(EXIT, 0, b"255")
            return
        self._channels += 1
        channel = self._channels
        self._agents[channel] = link
        await helper.send(START, channel, words.encode())
        while (frame := await link.receive()) is not None:
            if frame.kind == INPUT:
                await helper.send(INPUT, channel, frame.content)
        del self._agents[channel]
        await helper.send(KILL, channel)


def _rank_of(host: str, hosts: list[str]) -> int:
    """Return a host's place, -1 for an unknown one.

    A launcher may have cut its domain off.
    """
    if host in hosts:
        return hosts.index(host)
    short = [rank for rank, name in enumerate(hosts) if name.partition(".")[0] == host]
    return short[0] if len(short) == 1 else -1


class _Helper:
    """Another process of the group runs the first one's commands until the group ends."""

    def __init__(self, link: GroupLink) -> None:
        self._link = link
        self._commands: dict[int, asyncio.subprocess.Process] = {}
        self._following: set[asyncio.Task[None]] = set()

    async def serve(self) -> int:
        """Serve until the end of the group; return 0 where that was told, else 1."""
        code = 1
        while (frame := await self._link.receive()) is not None:
            if frame.kind == BYE:
                code = 0
                break
            await self._obey(frame)
        await asyncio.gather(*(_end(process) for process in self._commands.values()))
        return code

    async def _obey(self, frame: GroupFrame) -> None:
        process = self._commands.get(frame.channel)
        if frame.kind == START and process is None:
            await self._start(frame.channel, frame.content.decode())
        elif frame.kind == INPUT and process is not None and process.stdin is not None:
            if frame.content:
                process.stdin.write(frame.content)
            else:
                process.stdin.close()
        elif frame.kind == KILL and process is not None:
            self._follow(_end(process))

    async def _start(self, channel: int, words: str) -> None:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, **_own_place()},
        )
        self._commands[channel] = process
        self._follow(self._tell(channel, process))

    def _follow(self, work: Coroutine[object, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    async def _tell(self, channel: int, process: asyncio.subprocess.Process) -> None:
        """Send what a command writes, and its exit code at last."""
        assert process.stdout is not None
        assert process.stderr is not None
        await asyncio.gather(self._carry(channel, OUTPUT, process.stdout), self._carry(channel, ERROR, process.stderr))
        code = await process.wait()
        del self._commands[channel]
        await self._link.send(EXIT, channel, str(code if code >= 0 else 128 - code).encode())

    async def _carry(self, channel: int, kind: int, stream: asyncio.StreamReader) -> None:
        while part := await stream.read(_PART):
            await self._link.send(kind, channel, part)


async def _help(folder: Path, rank: int, patience: float) -> int:
    """Join the group as soon as its first process listens, and serve it."""
    until, pause = time.monotonic() + patience, _FIRST_LOOK
    while True:
        try:
            link = await _connect(*_meeting_place(folder), _HELPER, rank)
            break
        except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError):
            if time.monotonic() > until:
                raise GroupError(f"the task's first process was not found within {patience:.0f} s") from None
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, _LOOK)
    helper = asyncio.ensure_future(_Helper(link).serve())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, link.close)
    return await helper


async def _ask(folder: Path, host: str, words: str) -> int:
    """Have words run on a host, with streams carried both ways; return their exit code, 75 where the group ends."""
    link = await _connect(*_meeting_place(folder), _AGENT, 0)
    await link.send(START, 0, json.dumps([host, words]).encode())
    loop = asyncio.get_running_loop()
    # A daemon: nobody waits for it at the end, when it still waits for input.
    threading.Thread(target=_send_input, args=(link, loop), daemon=True).start()
    while (frame := await link.receive()) is not None:
        if frame.kind == EXIT:
            return int(frame.content)
        if frame.kind in (OUTPUT, ERROR):
            _write_all(1 if frame.kind == OUTPUT else 2, frame.content)
    return NOT_ALL_CAME  # the group has ended: where that is a fault, the first process says so


def _send_input(link: GroupLink, loop: asyncio.AbstractEventLoop) -> None:
    # There is none; or the loop has ended, or ends while it is sent.
    with contextlib.suppress(OSError, RuntimeError, concurrent.futures.CancelledError):
        while True:
            part = os.read(0, _PART)
            asyncio.run_coroutine_threadsafe(link.send(INPUT, 0, part), loop).result()
            if not part:
                return


def _write_all(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]


def _agent(folder: Path, words: list[str]) -> int:
    while words and words[0].startswith("-"):  # an option of ssh's
        words = words[1:]
    if len(words) < 2:
        raise GroupError("give a host and a command")
    host, command, hosts = words[0], " ".join(words[1:]), os.environ["COSCHED_HOSTS"].split(",")
    if _rank_of(host, hosts) == int(os.environ["COSCHED_RANK"]):
        own = {**os.environ, **_own_place()}
        os.execve("/bin/sh", ["/bin/sh", "-c", command], own)  # noqa: S606  as rsh does on the host itself
    return asyncio.run(_ask(folder, host, command))


def main(arguments: list[str], patience: float = _PATIENCE) -> int:
    """Run one process of the group, or one agent; return its exit code."""
    role, folder, *words = arguments
    try:
        if role == "agent":
            return _agent(Path(folder), words)
        rank, hosts = int(os.environ["COSCHED_RANK"]), os.environ["COSCHED_HOSTS"].split(",")
        if hosts == [""]:
            raise GroupError("not all of the task's processes have begun: their hosts are not known")
        if rank:
            return asyncio.run(_help(Path(folder), rank, patience))
        return asyncio.run(_first(Path(folder), hosts, words, patience))
    except GroupError as error:
        sys.stderr.write(f"cosched: {error}\n")
        return NOT_ALL_CAME
    except OSError as error:
        sys.stderr.write(f"cosched: the task's processes cannot meet: {error}\n")
        return NOT_ALL_CAME


async def _first(folder: Path, hosts: list[str], words: list[str], patience: float) -> int:
    return await _First(folder, hosts, patience).run(words)


def _under_init(run: Callable[[], int]) -> int:
    """Return the exit code of a child that runs something, once all that descends from it has ended.

    HTCondor counts a job as ended when its last process has gone. One whose parent ends first falls to the machine's
    init, and some of these, as of containers, take seconds to notice its end. So it falls to this process instead.
    """
    if not _prctl(_CHILD_SUBREAPER, 1):
        return run()
    told = (signal.SIGTERM, signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, told)  # until they can be passed on
    child = os.fork()
    if child == 0:
        _prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, told)
        _leave(run())

    def pass_on(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(child, number)

    for number in told:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, told)
    while (ended := os.wait())[0] != child:
        pass
    for number in told:
        signal.signal(number, signal.SIG_IGN)
    _end_left_over()
    code = os.waitstatus_to_exitcode(ended[1])
    return code if code >= 0 else 128 - code


def _prctl(option: int, value: int) -> bool:
    """Set an attribute of this process; return whether that is possible here."""
    try:
        import ctypes  # a host's Python may lack it

        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _end_left_over() -> None:
    """Kill all children and wait for them, and for what falls to this process by their ends."""
    until = time.monotonic() + _GRACE
    with contextlib.suppress(OSError):  # there are none, or the system does not name them
        while time.monotonic() < until:
            for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(_FIRST_LOOK / 4)


def _leave(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # a thread may still wait for input


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        _leave(_under_init(lambda: main(sys.argv[1:])))
    _leave(main(sys.argv[1:]))
