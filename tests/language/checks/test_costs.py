from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.language import Linker, Source, parse_hmcl
from cosched.language.checks.files import known_costs, uncosted

if TYPE_CHECKING:
    from pathlib import Path

HARDWARE = "config c { mpi { } clc { LFOR = 1, AFDG = 1; } }"
MODEL = """application a {
    include s;
    proc exec init { step cpu { confdev w(); } step pvmrecv { confdev 1, 2, 3; } step mpibarrier { } }
    proc cflow w { loop (<is clc, LFOR, CMLL>, 2) compute <is clc, 2*AFDG, AFDL, NOPE>; }
}
subtask s { proc exec init { step pvmsend { confdev 1, 2, 3; } } proc cflow w { compute <is memory, 8, 8>; } }
"""


def test_costs_of_a_configuration() -> None:
    (config,) = parse_hmcl(Source("h.hmcl", HARDWARE))
    known = known_costs(config, "h.hmcl")
    assert known.name == "c (h.hmcl)"
    assert known.operations == {"LFOR", "AFDG"}
    assert known.messages == {"mpi"}
    assert not known.memory
    (config,) = parse_hmcl(Source("h.hmcl", "config c { memory { bandwidth = 1; } }"))
    assert known_costs(config, "h.hmcl").memory
    (empty,) = parse_hmcl(Source("h.hmcl", "config c { }"))
    assert known_costs(empty, "h.hmcl").operations == frozenset()


def test_what_a_model_and_those_below_it_use_without_a_cost(tmp_path: Path) -> None:
    path = tmp_path / "a.psl"
    path.write_text(MODEL)
    (config,) = parse_hmcl(Source("h.hmcl", HARDWARE))
    application = Linker([]).file(path)[0]
    found = sorted(uncosted(application, known_costs(config, "h.hmcl")))
    assert [(fault.line, fault.message.removeprefix("pvm ").partition(" ")[0]) for fault in found] == [
        (3, "messages"),
        (4, "CMLL"),
        (4, "AFDL"),
        (6, "messages"),
        (6, "memory"),
    ]
