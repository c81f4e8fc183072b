from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.language import Linker, Source, parse_hmcl
from cosched.language.checks.files import check_files, known_costs, uncosted

if TYPE_CHECKING:
    from pathlib import Path


def test_faults_of_all_files_and_of_what_they_include_come_once_and_in_order(tmp_path: Path) -> None:
    first, second, shared = tmp_path / "b.psl", tmp_path / "a.psl", tmp_path / "shared.psl"
    for path in (first, second):
        path.write_text(f"application {path.stem} {{ include shared; proc exec init {{ x = 1; }} }}")
    shared.write_text("partmp shared { proc exec init { y = 1; } }")
    hardware, other = tmp_path / "h.hmcl", tmp_path / "notes.txt"
    hardware.write_text("")
    found = check_files([first, second, hardware, other], [])
    assert [(fault.file, fault.message) for fault in found] == [
        (str(second), "variable x is not declared"),
        (str(first), "variable x is not declared"),
        (str(hardware), "the file holds no config"),
        (str(other), "is neither .psl nor .hmcl"),
        (str(shared), "variable y is not declared"),
    ]


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    found = check_files([tmp_path / "a.psl", tmp_path / "b.hmcl"], [])
    assert [fault.message for fault in found] == ["cannot be read: No such file or directory"] * 2


HARDWARE = "config small { clc { LFOR = 1, AFDG = 2; } }"
WORK = "partmp t { proc exec init { step pvmsend { confdev 1, 2, 3; } } proc cflow w { compute <is clc, MFDG>; } }"


def test_what_the_hardware_has_no_cost_for(tmp_path: Path) -> None:
    model, hardware = tmp_path / "m.psl", tmp_path / "hardware" / "small.hmcl"
    hardware.parent.mkdir()
    hardware.write_text(HARDWARE)
    model.write_text(f'application m {{ include t; option {{ hrduse = "Small"; }} proc exec init {{ }} }}\n{WORK}')
    faults = check_files([model], [tmp_path])
    assert [str(fault).removeprefix(f"{model}:") for fault in faults] == [
        f"2:29: pvm messages have no cost on small ({hardware}): it lacks the group",
        f"2:97: MFDG has no cost on small ({hardware}): did you mean AFDG?",
    ]
    model.write_text(WORK)
    assert check_files([model], [tmp_path]) == []
    assert len(check_files([model], [tmp_path], hardware)) == 2
    hardware.write_text("config small { clc { LFOR = ; } }")
    assert [fault.file for fault in check_files([model], [tmp_path], hardware)] == [str(hardware)]


def test_hardware_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "hardware").mkdir()
    (tmp_path / "hardware" / "small.hmcl").write_text(HARDWARE)
    model = tmp_path / "m.psl"
    for name, near in (("smal", "did you mean small?"), ("zzz", "write it, or choose another with --hardware")):
        model.write_text(f'application m {{ option {{ hrduse = "{name}"; }} proc exec init {{ }} }}')
        (fault,) = check_files([model], [tmp_path])
        assert fault.message == f"hardware {name} is not beside this file or in the library: {near}"


def test_hardware_beside_a_model_is_found_before_that_of_the_library(tmp_path: Path) -> None:
    library = tmp_path / "library"
    (library / "hardware").mkdir(parents=True)
    model = tmp_path / "m.psl"
    model.write_text(f'application m {{ include t; option {{ hrduse = "small"; }} proc exec init {{ }} }}\n{WORK}')
    (tmp_path / "small.hmcl").write_text("config small { clc { MFDG = 2; } }")
    (library / "hardware" / "small.hmcl").write_text(HARDWARE)
    assert [str(tmp_path / "small.hmcl") in fault.message for fault in check_files([model], [library])] == [True]


def test_names_are_checked_in_a_file_with_syntax_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.psl"
    path.write_text("""application a {
    var numeric: x = 1, y = ;
    incude t;
    proc exec init {
        x = yy + y + t;
        step cpu { confdev u;
        call zork;
    }
    proc cflow w { compute <is clc, LFOP>; }
""")
    assert [str(fault).removeprefix(f"{path}:") for fault in check_files([path], [])] == [
        "2:29: unexpected ';': expected an expression",
        "3:5: unexpected 'incude': did you mean include?",
        # What the statements at fault may declare, y and t, may be used.
        "5:13: variable yy is not declared",
        "7:9: unexpected 'call': expected '}' or confdev",
        "9:10: unexpected 'cflow': expected '='",
        "9:45: the file ends too early: expected '}' or a name or call or for or if or return or step or var or while",
    ]


def test_hosts_that_are_listed_and_not_there(tmp_path: Path) -> None:
    path = tmp_path / "both.hmcl"
    path.write_text("config both {\n    hosts { sgi_origin2000 = 4, sgi_origin3000 = 2; }\n}\n", encoding="utf-8")
    (fault,) = check_files([path])
    assert (fault.line, fault.column) == (2, 33)
    assert fault.message.startswith("no hardware sgi_origin3000 beside this file or in the library: did you mean sgi_")


COSTED_HARDWARE = "config c { mpi { } clc { LFOR = 1, AFDG = 1; } }"
MODEL = """application a {
    include s;
    proc exec init { step cpu { confdev w(); } step pvmrecv { confdev 1, 2, 3; } step mpibarrier { } }
    proc cflow w { loop (<is clc, LFOR, CMLL>, 2) compute <is clc, 2*AFDG, AFDL, NOPE>; }
}
subtask s { proc exec init { step pvmsend { confdev 1, 2, 3; } } proc cflow w { compute <is memory, 8, 8>; } }
"""


def test_costs_of_a_configuration() -> None:
    (config,) = parse_hmcl(Source("h.hmcl", COSTED_HARDWARE))
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
    (config,) = parse_hmcl(Source("h.hmcl", COSTED_HARDWARE))
    application = Linker([]).file(path)[0]
    found = sorted(uncosted(application, known_costs(config, "h.hmcl")))
    assert [(fault.line, fault.message.removeprefix("pvm ").partition(" ")[0]) for fault in found] == [
        (3, "messages"),
        (4, "CMLL"),
        (4, "AFDL"),
        (6, "messages"),
        (6, "memory"),
    ]
