"""Looks for texts that PSL's or HMCL's reader, checker, formatter or evaluator cannot cope with.

    python -m tests.fuzz.models -runs=1000000 [FOLDER]

needs the packages of requirements/fuzz.txt. Options are libFuzzer's; what it finds stays in FOLDER and in `crash-*`.
The same properties are tried on other inputs in every run of the tests.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter

import atheris

# Feedback from where texts are told apart; from every walk over a tree it would halve the speed.
_OBSERVED = (
    "parser.error_recovery",
    "parser.parse",
    "parser.tree_builder",
    "formatter",
    "checks.procedures",
    "checks.objects",
    "linker",
)
with atheris.instrument_imports(include=[f"cosched.language.{name}" for name in _OBSERVED]):
    from cosched.language import OPCODES, default_library
    from cosched.language.vocabulary import (
        COLLECTIVES,
        DEVICES,
        FUNCTION_ARITIES,
        KEYWORDS,
        SETTING_GROUPS,
        TUNABLE_WORDS,
        UNITS,
    )
    from tests.fuzz.oracle import Oracle

_LONGEST = 200
_SHOWN = 20_000
_PIECE = re.compile(rb"\(\*[\s\S]*?\*\)|\"[^\"\n]*\"|\w+|\s+|.")
_ODD = ["(*", "*)", '"', "\n", "1e999", "µ", "\x00", "\u202e", "0", "-1", "0.5", "1e9", "Nproc", "hardware", "config"]
_WORDS = [
    *KEYWORDS,
    *TUNABLE_WORDS,
    *DEVICES,
    *COLLECTIVES,
    *FUNCTION_ARITIES,
    *SETTING_GROUPS,
    *UNITS,
    *list(OPCODES)[::9],
    "a",
    "b",
    "init",
    "block",
    "curve",
    "points",
]
_MARKS = [*"{}()[];:,.=<>+-*/%^!", "&&", "||", "\r"]
_VOCABULARY = [word.encode() for word in (*_WORDS, *_MARKS, *_ODD)]
_SEEDS = [
    b"application a { include t; var numeric: n = 2 in (1, 9); link { t: size = 8 * n; } proc exec init { call t; } }",
    b"application a { proc exec init { var numeric: i; for (i = 1; i < 3; i = i + 1) step cpu { confdev w(); } }"
    b" proc cflow w { loop (<is clc, LFOR>, 2) compute <is clc, 2*AFDG>; } }",
    b"application a { var vector: v = [1, 2 ms]; proc exec init { step cpu on f(1) { confdev v[2]; } }"
    b" proc exec f(p) { if (p > Nproc) return 0; else return p; } }",
    b'application a { var numeric: i, j; option { decompose = "i, j", error = 0.1; } proc exec init { while (i > 1) {'
    b" i = i / 2; } (* c *) } }",
    b"application a { proc exec init { step mpisend { confdev 1, 2, 8 B; } step mpirecv { confdev 1, 2, 8; } } }",
    b'application a { option { hrduse = "h"; } proc exec init { step mpibcast { confdev 1, 1 KiB; }'
    b" step mpibarrier { } } }",
    b"partmp a { proc exec init { } proc cflow w { case (<is clc, CMLL>) { 0.5: call u; 0.1: { } } } proc cflow u {"
    b" measured (Nproc) { 1: 2 s, 3: min(1, 2) * 1 us } } }",
    b"partmp a { var numeric: n = 8; proc exec init { step cpu { confdev w(); } } proc cflow w {"
    b" loop (<is memory, 8 * n, n * 1 B>, 2) compute <is memory, 1 KiB, 1 MiB>; } }",
    b"application a { var control: g, c = 1; proc tunable m { task_loop (2) { task t [9 s] [g] [({1 .. 4 by 2x},"
    b" {2, g * 1 s}, 1 / g), ({3}, {model s}, 1)]; task_select { when (g == 1) { } finally { c = 0; } } } } }",
    b"subtask s { include t; link { t: x = max(1, sqrt(4)) % 3 ^ -2; } } partmp u { proc exec init { } }",
    b'config c { hardware { T = 1 / 195, D = "x"; } clc { LFOR = 2 * T, AFDG = 1 us; } }',
    b"config c { memory { L1_size = 1 KiB, L1_bandwidth = 8 GB/s; L3_size = 8e9, L3_bandwidth = 4, bandwidth = 2; } }",
    b"application a { proc exec init { step cpu { confdev w(); } }"
    b" proc cflow w { compute <is block, u, 2 * Nproc>; } }",
    b"config c { memory { curve = [1 KiB: 8 GB/s, 2: 1e9]; } blocks { a.u = 2 * 3 ns; }"
    b" noise { run = 3 %, launch = 1; } }",
    b"config c { mpi { points = [0 B: 1 us, 2e3: 5], send_share = 1 / 3; } }",
    b"config c { mpi { transfer_latency = 1 us, send_overhead = 1, receive_overhead = 2; } }",
]


class _Fuzzer:
    """Texts made of pieces of models; one that starts with `config` is one of hardware."""

    def __init__(self) -> None:
        self.oracle = Oracle(thorough=False)
        self.outcomes: Counter[str] = Counter()
        texts = [*_SEEDS, *(path.read_bytes() for root in default_library() for path in sorted(root.rglob("*.psl")))]
        self.statements = [piece.strip() for text in texts for piece in re.findall(rb"[^\n;]*[;{}]", text)]

    def try_one(self, data: bytes) -> None:
        """Examine one input, and say from time to time what became of all."""
        suffix = ".hmcl" if data.lstrip().startswith(b"config") else ".psl"
        self.outcomes[self.oracle.examine(data, suffix)] += 1
        total = self.outcomes.total()
        if total % _SHOWN == 0:
            print(total, dict(self.outcomes), flush=True)

    def mutate(self, data: bytes, max_size: int, seed: int) -> bytes:
        """Return an input near another one: pieces dropped, doubled, exchanged, put in."""
        choice = random.Random(seed)
        if len(data) < 2 or choice.random() < 0.2:
            data = choice.choice(_SEEDS)
        if choice.random() < 0.1:
            return bytes(atheris.Mutate(data, max_size))
        pieces = _PIECE.findall(data) or [b" "]
        for _ in range(choice.choice((1, 1, 2, 4))):
            at = choice.randrange(len(pieces))
            to = at + choice.choice((0, 1, 1, 2, 8, 40))
            pieces[at:to] = self._instead(choice, pieces[at:to])
            pieces = pieces or [b" "]
        return b"".join(pieces)[: min(max_size, _LONGEST)]

    def _instead(self, choice: random.Random, taken: list[bytes]) -> list[bytes]:
        kind = choice.randrange(5)
        if kind == 0:
            return []
        if kind == 1:
            return taken * 2
        if kind == 2:
            return [choice.choice(self.statements)]
        return [choice.choice(_VOCABULARY), *(b" " for _ in range(choice.randrange(2)))]


def main() -> None:
    """Fuzz until libFuzzer's options say otherwise."""
    fuzzer = _Fuzzer()
    atheris.Setup(sys.argv, fuzzer.try_one, custom_mutator=fuzzer.mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
