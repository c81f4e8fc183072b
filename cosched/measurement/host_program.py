"""One shell command measures the host that it runs on; its output is read here.

Start at `HostProgram`. The command carries the programs in C, and compiled ones for hosts without a compiler.
"""

from __future__ import annotations

import base64
import io
import math
import shlex
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.errors import SystemFault
from cosched.measurement.machine import NOISE_LAUNCHES, NOISE_PHASES, shipped_source
from cosched.measurement.memory import working_sets
from cosched.measurement.messages import MESSAGE_SIZES
from cosched.measurement.operations import operation_source
from cosched.measurement.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.measurement.machine import CompilerChoice

__all__ = ["BUILT_ELSEWHERE", "BUILT_HERE", "PROGRAMS", "HostMeasurement", "HostProgram", "read_measurement"]

PROGRAMS = ("operations", "memory", "noise", "messages")
"""The programs, by the names of their sources."""

BUILT_HERE, BUILT_ELSEWHERE = "on the host", "where the command ran"
_LARGEST_SET = 96 << 20  # bytes; a job need not ask for more memory than is usual
_REPEATS = 10  # of one program, at most
_GROUPS = ("operation", "memory", "noise", "shm", "network")

_SCRIPT = """\
cc_words={compiler}
built() {{
    for p in {programs}; do $cc_words -o $p $p.c -lm 2>/dev/null || return 1; done
}}
if built; then
    echo "fact compiler $($cc_words --version 2>/dev/null | head -n 1) {flags}"
    echo "fact built {here}"
elif [ -d shipped ]; then
    cp shipped/* . && echo "fact compiler {shipped_by}" && echo "fact built {elsewhere}"
else
    echo "no C compiler here, and no programs came along" >&2
    exit 4
fi
echo "fact processors $(nproc)"
first=${{COSCHED_HOSTS%%,*}}
part() {{
    n=0 until=$(($(date +%s) + {seconds}))
    while [ $n -lt $2 ]; do
        n=$((n + 1))
        eval "$3" > out || exit 5
        sed "s/^/$1 /" out
        [ $(date +%s) -lt $until ] || break
    done
}}
"""
_ALONE = """\
room=$(($(sed -n 's/^MemAvailable: *\\([0-9]*\\).*/\\1/p' /proc/meminfo) * 256)) sets=
for s in {sets}; do [ $s -gt $room ] || sets="$sets $s"; done
part operation {repeats} './operations 10 200000 $n'
part memory {repeats} './memory 2 200000 $n $sets'
part noise {launches} './noise {phases}'
part shm {repeats} './messages 10 $n local {sizes}'
"""
_LOOPBACK = "part network {repeats} './messages 10 $n tcp {sizes}'\n"
_PAIR = """\
way=listen:{port}:{token}
[ "$COSCHED_RANK" = 0 ] || way=connect:{port}:{token}:$first
part network 1 "./messages {rounds} 1 $way {sizes}"
"""


@dataclass(frozen=True, slots=True)
class HostProgram:
    """Makes the commands that measure hosts.

    Attributes:
        compiler: used on the hosts.
        shipped: compiled programs by name, for hosts without that compiler; empty to do without.
        shipped_by: what compiled those.
        seconds: that each part goes on at most.
    """

    compiler: CompilerChoice
    shipped: Mapping[str, bytes]
    shipped_by: str
    seconds: int

    def alone(self, *, loopback: bool) -> tuple[str, ...]:
        """Return a command that measures one host.

        Args:
            loopback: measure messages between hosts, too, over the host's own loopback as a stand-in.
        """
        return self._command(_ALONE + (_LOOPBACK if loopback else ""))

    def pair(self, token: str) -> tuple[str, ...]:
        """Return a command that measures messages between the two hosts of a task; rank 0 prints.

        Args:
            token: sixteen hexadecimal digits that nobody else knows.
        """
        port = 20_000 + int(token[:4], 16) % 20_000
        return self._command(_PAIR.replace("{port}", str(port)).replace("{token}", token))

    def _command(self, parts: str) -> tuple[str, ...]:
        script = (_SCRIPT + parts).format(
            compiler=shlex.quote(" ".join(self.compiler.words)),
            flags=self.compiler.flags,
            programs=" ".join(PROGRAMS),
            here=BUILT_HERE,
            elsewhere=BUILT_ELSEWHERE,
            shipped_by=self.shipped_by,
            seconds=self.seconds,
            repeats=_REPEATS,
            launches=NOISE_LAUNCHES,
            phases=" ".join(NOISE_PHASES),
            sets=" ".join(str(size) for size in working_sets(1 << 40) if size <= _LARGEST_SET),
            sizes=" ".join(map(str, MESSAGE_SIZES)),
            rounds=_REPEATS,
        )
        packed = base64.b64encode(self._archive(script)).decode()
        unpack = f"printf %s {packed} | base64 -d | tar xzf -"
        clean = "trap 'cd /; rm -rf $d' EXIT; trap 'exit 6' INT TERM"
        return "/bin/sh", "-c", f"d=$(mktemp -d) && cd $d && {clean} && {unpack} && . ./run.sh"

    def _archive(self, script: str) -> bytes:
        files = {"run.sh": script.encode(), "operations.c": operation_source().encode()}
        files |= {f"{name}.c": shipped_source(f"{name}.c").encode() for name in PROGRAMS if name != "operations"}
        files |= {f"shipped/{name}": content for name, content in self.shipped.items()}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o755
                archive.addfile(entry, io.BytesIO(content))
        return packed.getvalue()


@dataclass(frozen=True, slots=True)
class HostMeasurement:
    """The measurement of a host, as its command printed it.

    Attributes:
        host: its name; of a pair, both.
        processors: how many it has.
        compiler: that compiled the programs, with its flags.
        built: `BUILT_HERE` or `BUILT_ELSEWHERE`.
        samples: by names as `MachineBench` gives them.
    """

    host: str
    processors: int
    compiler: str
    built: str
    samples: Samples


def read_measurement(host: str, text: str) -> HostMeasurement:
    """Return what the output of a command says.

    Raises:
        SystemFault: it is not whole.
    """
    facts: dict[str, str] = {}
    samples = Samples()
    for line in text.splitlines():
        first, *words = line.split()
        if first == "fact" and len(words) > 1:
            facts[words[0]] = " ".join(words[1:])
        elif first in _GROUPS and words:
            samples.add(" ".join((first, *words[:-1])), _sample(host, words[-1]))
    missing = [name for name in ("compiler", "built", "processors") if name not in facts]
    if missing or not len(samples) or not facts["processors"].isdecimal():
        raise SystemFault(f"what measured {host} did not print all that it should: measure once more")
    return HostMeasurement(host, int(facts["processors"]), facts["compiler"], facts["built"], samples)


def _sample(host: str, word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise SystemFault(f"what measured {host} printed {word[:40]!r} for a time: measure once more")
    return value
