from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.errors import UserError
from cosched.evaluation import CountError, engine, error, evaluate, load, load_hardware, profile
from cosched.language import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cosched.evaluation import Application, Hardware


def seconds(application: Application, hardware: Hardware, hosts: int = 1, **parameters: float) -> float:
    return float(profile(application, hardware, [hosts], parameters)[0])


def test_one_message_by_hand(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""proc exec init {
        step cpu on 1 { confdev 5; }
        step mpisend { confdev 1, 2, 100; }
        step mpirecv { confdev 1, 2, 100; }
        step cpu on 2 { confdev 7; }
    }""")
    result = evaluate(application, plain, 2)
    # Processor 1: 5 + TSEND(100) = 1 + 1 → 7. Arrival: 7 + COMM(100) = 10 + 10 → 27.
    # Processor 2: waits from 0 to 27, TRECV(100) = 3 + 3 → 33, then 7 → 40 us; processor 1 waits for that at the end.
    assert result.seconds == pytest.approx(40e-6)
    assert result.processors[0] == pytest.approx((5e-6, 2e-6, 33e-6))
    assert result.processors[1] == pytest.approx((7e-6, 6e-6, 27e-6))
    assert (result.bytes_sent, result.messages, result.unreceived) == (100, 1, 0)


def test_costs_change_above_the_threshold(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""var numeric: x = 100;
        proc exec init { step mpisend { confdev 1, 2, x; } step mpirecv { confdev 1, 2, x; } }""")
    # 100 bytes: (1 + 1) + (10 + 10) + (3 + 3) = 28; 200 bytes: (2 + 4) + (20 + 40) + (4 + 8) = 78 us.
    assert seconds(application, plain, 2) == pytest.approx(28e-6)
    assert seconds(application, plain, 2, x=200) == pytest.approx(78e-6)


def test_messages_match_first_in_first_out_whatever_the_order_of_emission(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    application = model("""proc exec init {
        step mpirecv { confdev 1, 2, 0; confdev 1, 2, 100; }
        step cpu on 1 { confdev 50; }
        step mpisend { confdev 1, 2, 0; confdev 1, 2, 100; }
    }""")
    # Sends end at 51 and 53; they arrive at 61 and 73. Receives: 61 + 3 = 64, then max(64, 73) + 6 = 79 us.
    assert seconds(application, plain, 2) == pytest.approx(79e-6)


def test_cflow_costs_by_hand(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""
        var numeric: n = 10;
        proc exec init { step cpu { confdev work(); } }
        proc cflow work {
            compute <is clc, AFDL, 2*MFDL, (n / 5)*AFDL>;
            loop (<is clc, LFOR>, n) { compute <is clc, AFDL>; call inner; }
            case (<is clc, IFBR>) { 0.25: compute <is clc, 4*CMLL>; 0.5: { call inner; call inner; } }
            compute <is measured, 2.5 us>;
        }
        proc cflow inner { compute <is clc, FCAL>; }
    """)
    # AFDL 0.5, MFDL 1, LFOR 0.25, IFBR 0.125, CMLL 1, FCAL 4 us.
    # compute 0.5 + 2 + 1 = 3.5; loop 10 (0.25 + 0.5 + 4) = 47.5; case 0.125 + 0.25·4 + 0.5·8 = 5.125; measured 2.5.
    assert seconds(application, plain) == pytest.approx(58.625e-6)
    # n = 20: 4.5 + 95 + 5.125 + 2.5
    assert seconds(application, plain, n=20) == pytest.approx(107.125e-6)


def test_links_pass_values_times_and_texts_downwards(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model(
        """
        application model {
            include work;
            var numeric: turns = 3, i, size;
            link { work: size = size * 2, mode = "fast"; }
            proc exec init {
                for (i = 1; i <= turns; i = i + 1) { size = i; call work; }
            }
        }
        subtask work {
            include together;
            var numeric: size; var string: mode;
            link { together: Tx = time(), factor = extra(mode); }
            proc cflow time { loop (<is clc, LFOR>, size) compute <is clc, AFDL>; }
            proc exec extra(m) { return 1; }
        }
        partmp together { var numeric: Tx, factor; proc exec init { step cpu { confdev factor * Tx; } } }
    """.replace("extra(mode)", "extra(1)")
    )
    # size 2, 4, 6 turns of 0.75 us each: 12 · 0.75 = 9 us on every processor.
    result = evaluate(application, plain, 4)
    assert result.seconds == pytest.approx(9e-6)
    assert {round(time.compute * 1e6, 9) for time in result.processors} == {9}


def test_a_text_linked_downwards_can_be_compared(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""
        application model {
            include t; var string: mode = "slow"; link { t: mode = mode; } proc exec init { call t; }
        }
        partmp t {
            var string: mode;
            proc exec init { if (mode == "slow") step cpu { confdev 8; } else step cpu { confdev 1; } }
        }
    """)
    assert seconds(application, plain) == pytest.approx(8e-6)


def test_clocks_carry_over_from_one_object_to_the_next(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""
        application model {
            include one; include two;
            proc exec init { call one; call two; call one; }
        }
        partmp one { proc exec init { step cpu on 1 { confdev 10; } } }
        partmp two { proc exec init { step cpu on 2 { confdev 4; } step cpu on 1 { confdev 1; } } }
    """)
    # No barrier between them: processor 1 has 10 + 1 + 10 = 21, processor 2 has 4 us.
    result = evaluate(application, plain, 2)
    assert result.seconds == pytest.approx(21e-6)
    assert result.processors[1].compute == pytest.approx(4e-6)


def test_a_loop_of_calls_agrees_with_calls_written_out(model: Callable[[str], Application], plain: Hardware) -> None:
    ring = """partmp ring {
        var numeric: p, next;
        proc exec init {
            for (p = 1; p <= Nproc; p = p + 1) {
                next = p % Nproc + 1;
                step cpu on p { confdev p * 3; }
                step mpisend { confdev p, next, 10 * p; }
            }
            for (p = 1; p <= Nproc; p = p + 1) { next = p % Nproc + 1; step mpirecv { confdev p, next, 10 * p; } }
        } }"""
    loop = "for (i = 1; i <= 6; i = i + 1) call ring;"
    looped = model(f"application model {{ include ring; var numeric: i; proc exec init {{ {loop} }} }} {ring}")
    first = evaluate(looped, plain, 5, trace=False)
    written = model(f"application model {{ include ring; proc exec init {{ {'call ring;' * 6} }} }} {ring}")
    # The trace carries every step out one by one; without it, turns that repeat are taken from the first.
    second = evaluate(written, plain, 5, trace=True)
    assert first.seconds == pytest.approx(second.seconds)
    assert np.array(first.processors) == pytest.approx(np.array(second.processors))
    assert first.bytes_sent == second.bytes_sent == 6 * (10 + 20 + 30 + 40 + 50)


def test_a_repeated_body_emits_as_often_as_it_turns(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""var numeric: n = 4, i, x = 2;
        proc exec init {
            for (i = 0; i < n; i = i + 1) { step cpu { confdev x; } }
            for (i = 0; i < n; i = i + 1) { step cpu { confdev i; } }
            for (i = 0; i < n; i = i + 1) { x = x + 1; step cpu { confdev x; } }
            step cpu { confdev i; }
        }""")
    # 4·2 + (0 + 1 + 2 + 3) + (3 + 4 + 5 + 6) + 4 = 36 us
    assert seconds(application, plain) == pytest.approx(36e-6)
    assert seconds(application, plain, n=0) == 0


def test_nproc_is_known_everywhere(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""
        application model { include t; var numeric: a = Nproc + 1; link { t: a = a; } proc exec init { call t; } }
        partmp t { var numeric: a, Nproc = 99; proc exec init { step cpu { confdev 100 * a + Nproc; } } }
    """)
    assert profile(application, plain, [1, 4]) == pytest.approx([201e-6, 504e-6])


def test_decompose_gives_the_most_nearly_square_grid(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""
        var numeric: a, b; option { decompose = "a, b"; }
        proc exec init { step cpu { confdev 100 * a + b; } }
    """)
    assert profile(application, plain, [1, 6, 12, 13, 16]) == pytest.approx([101e-6, 302e-6, 403e-6, 1301e-6, 404e-6])
    assert seconds(application, plain, 12, a=2) == pytest.approx(206e-6)
    with pytest.raises(CountError, match=r"12 hosts cannot be split with a, b fixed to 5 in product"):
        seconds(application, plain, 12, a=5)


def test_a_model_fixed_to_a_count_refuses_others_and_says_what_to_set(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    application = model("""
        include hardware; var numeric: npe_i = 2, npe_j = 2;
        link { hardware: Nproc = npe_i * npe_j; }
        proc exec init { step cpu { confdev npe_i; } }
    """)
    assert seconds(application, plain, 4) == pytest.approx(2e-6)
    assert seconds(application, plain, 8, npe_i=4) == pytest.approx(4e-6)
    with pytest.raises(CountError, match=r"for 4.* processors with these parameters: set .* \(on 8 hosts\)"):
        seconds(application, plain, 8)
    assert list(np.isfinite(profile(application, plain, range(1, 6)))) == [False, False, False, True, False]


def test_a_count_linked_from_what_init_computes_is_checked_after_it(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    application = model("""
        include hardware; var numeric: n; link { hardware: Nproc = n; }
        proc exec init { n = 3; step cpu { confdev 1; } }
    """)
    assert seconds(application, plain, 3) == pytest.approx(1e-6)
    with pytest.raises(CountError):
        seconds(application, plain, 2)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("step cpu { confdev 1 / (Nproc - 2); }", r":2:\d+: division by zero \(on 2 hosts\)"),
        ("step cpu { confdev 5 % (Nproc - 2); }", r"division by zero \(on 2 hosts\)"),
        ("step cpu { confdev 0 - 1; }", r"a time of -1 us"),
        ("step cpu { confdev sqrt(0 - Nproc); }", r"sqrt\(-2\) has no finite value"),
        ("step cpu { confdev 10 ^ 400; }", r"10 \^ 400 has no finite value"),
        ("step cpu on 3 { confdev 1; }", r"processor 3 does not exist: they are numbered 1 to 2"),
        ("step cpu on 0 { confdev 1; }", r"processor 0 stands for no processor"),
        ("step cpu on 1.5 { confdev 1; }", r"processor 1.5 does not exist"),
        ("step mpisend { confdev 1, 2, -8; }", r"a message of -8 bytes"),
        ("step cpu { confdev y; }", r"variable y has no value: give it one here, by a link or with --set y="),
        ("y = v;", r"vector v is a list here: pick an element, v\[1\]"),
        ("y = v[3];", r"v has elements 1 to 2, not 3"),
        ("call f;", r"calls are nested deeper than"),
        ("step pvmsend { confdev 1, 2, 8; }", r"hardware plain gives no costs of pvm messages"),
        ("step cpu { confdev c(); }", r"a loop of -2 turns"),
        ("step cpu { confdev d(); }", r"a probability of 2"),
        ("step cpu { confdev 1e308; } step cpu { confdev 1e308; }", r"is not finite"),
    ],
)
def test_faults_name_their_line_and_the_hosts(
    model: Callable[[str], Application], plain: Hardware, body: str, message: str
) -> None:
    application = model(f"""var numeric: y; var vector: v = [1, 2]; proc exec init {{
        {body}
    }}
    proc exec f {{ call f; }}
    proc cflow c {{ loop (<is clc>, 0 - Nproc) compute <is clc, AFDL>; }}
    proc cflow d {{ case (<is clc>) {{ Nproc: compute <is clc, AFDL>; }} }}
    """)
    with pytest.raises(UserError, match=message):
        profile(application, plain, [2])


def test_division_by_zero_on_one_count_is_a_fault_of_the_model(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    application = model("proc exec init {\n step cpu { confdev 1 / (Nproc - 3) + 1; } }")
    assert seconds(application, plain, 4) == pytest.approx(2e-6)
    with pytest.raises(ModelError, match=r"model\.psl:2:\d+: division by zero \(on 3 hosts\)"):
        profile(application, plain, [4, 3, 5])


@pytest.mark.parametrize(
    "loop",
    [
        "for (i = 1; i <= 1000000000000; i = i + 1) { i = i + 0; }",
        "for (i = 1; i <= 1000000000000; i = i + 1) { step cpu { confdev 1; } }",
        "while (1) { }",
        "while (1) step cpu { confdev 1; }",
        "while (1) call t;",
        "while (1) v = [1, 2, 3];",
        "step cpu { confdev c1(); }",
    ],
)
def test_work_without_end_is_stopped_at_its_line(
    model: Callable[[str], Application], plain: Hardware, loop: str
) -> None:
    chain = "".join(f"proc cflow c{n} {{ call c{n + 1}; call c{n + 1}; }}" for n in range(1, 30))
    application = model(f"""application model {{ include t; var numeric: i; var vector: v; proc exec init {{
        {loop}
    }} {chain} proc cflow c30 {{ compute <is clc, AFDL>; }} }}
    partmp t {{ proc exec init {{ step cpu {{ confdev 1; }} }} }}""")
    with pytest.raises(ModelError, match=r"model\.psl:[23]:\d+: stopped here after 20000 steps"):
        profile(application, plain, [2], steps=20_000)


def test_deadlocks_name_both_lines(model: Callable[[str], Application], plain: Hardware) -> None:
    circle = model("proc exec init {\n step mpirecv { confdev 2, 1, 8; }\n step mpirecv { confdev 1, 2, 8; } }")
    with pytest.raises(ModelError, match=r"psl:2:\d+: deadlock: processor 1 waits .* which waits in .*psl:3 "):
        seconds(circle, plain, 2)
    lost = model("proc exec init {\n step cpu on 1 { confdev 1; }\n step mpirecv { confdev 1, 2, 8; } }")
    with pytest.raises(ModelError, match=r"psl:3:\d+: deadlock: processor 2 .* sends none: .* last step .*psl:2 "):
        seconds(lost, plain, 2)


def test_messages_that_nobody_receives_are_counted(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""
        application model { include t; proc exec init { call t; call t; } }
        partmp t { proc exec init { step mpisend { confdev 1, 2, 8; confdev 1, 0, 8; } } }
    """)
    # A message to processor 0 does not happen.
    result = evaluate(application, plain, 2)
    assert (result.messages, result.unreceived) == (2, 2)


def test_a_measured_table_covers_what_it_lists(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""var numeric: k = 7;
        proc exec init { step cpu { confdev run() + other(); } }
        proc cflow run { measured (Nproc) { 1: 3 s, 2: 1500 ms, 4: 0.5 s } }
        proc cflow other { measured (k) { 7: 0 } }
    """)
    assert list(profile(application, plain, [1, 2, 3, 4])) == [3.0, 1.5, math.inf, 0.5]
    with pytest.raises(CountError, match=r"nothing was measured for 3 \(on 3 hosts\)"):
        profile(application, plain, [3, 5])
    with pytest.raises(ModelError, match="nothing was measured for 8") as caught:
        profile(application, plain, [1], {"k": 8})
    assert not isinstance(caught.value, CountError)


def test_opcodes_without_a_cost_are_all_reported(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("""
        proc exec init { step cpu { confdev w(); } }
        proc cflow w { compute <is clc, AFDG, AFDL>; compute <is clc, SWCH>; }
    """)
    with pytest.raises(ModelError) as caught:
        profile(application, plain, [1])
    assert [d.message for d in caught.value.diagnostics] == [
        "hardware plain gives no cost of AFDG: did you mean AFDL?",
        "hardware plain gives no cost of SWCH",
    ]


def test_memory_without_a_cost_is_reported_where_it_is_used(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    application = model("""
        proc exec init { step cpu { confdev w(); } }
        proc cflow w {
            compute <is memory, 8, 8>; }
    """)
    for hardware in (replace(plain, memory=None), replace(plain, hosts=(plain, replace(plain, memory=None)))):
        with pytest.raises(ModelError) as caught:
            profile(application, hardware, [2])
        (fault,) = caught.value.diagnostics
        assert fault.message.startswith("hardware plain gives no cost of memory: it lacks the group memory")
        assert fault.line == 4


def test_parameters_and_counts_that_make_no_sense(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("var numeric: Scale = 1; proc exec init { step cpu { confdev Scale; } }")
    with pytest.raises(UserError, match="no parameter scal: did you mean Scale"):
        profile(application, plain, [1], {"scal": 1})
    with pytest.raises(UserError, match="give a finite number"):
        profile(application, plain, [1], {"Scale": math.nan})
    for count in (0, -1, 10**9):
        with pytest.raises(UserError, match="the number of hosts is 1 to"):
            profile(application, plain, [count])


def test_objects_of_several_files_and_the_library(tmp_path: Path) -> None:
    (tmp_path / "main.psl").write_text("""application main {
        include beside; include allreduce; var string: s = "x";
        link { allreduce: size = 0; }
        proc exec init { call beside; call allreduce; }
    }""")
    (tmp_path / "beside.psl").write_text("partmp beside { proc exec init { step cpu { confdev 1 s; } } }")
    application = load(tmp_path / "main.psl")
    assert seconds(application, load_hardware("sgi_origin2000")) == 1.0


def test_a_template_that_a_subtask_calls_itself_runs_once(model: Callable[[str], Application], plain: Hardware) -> None:
    text = """application model {{ include w; proc exec init {{ call w; }} }}
        subtask w {{ include t; {init} }}
        partmp t {{ proc exec init {{ step cpu {{ confdev 3; }} }} }}"""
    assert seconds(model(text.format(init="")), plain) == pytest.approx(3e-6)
    assert seconds(model(text.format(init="proc exec init { call t; }")), plain) == pytest.approx(3e-6)
    assert seconds(model(text.format(init="proc exec init { call t; call t; }")), plain) == pytest.approx(6e-6)


def test_evaluation_stays_light_for_the_daemon() -> None:
    code = "import sys, cosched.evaluation; sys.exit('numba' in sys.modules or 'deap' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_budget_grows_with_the_numbers_of_hosts_but_not_for_one_of_them(
    model: Callable[[str], Application], plain: Hardware, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "DEFAULT_STEPS", 1000)
    # A call of another object on some numbers of hosts alone takes each of them by itself.
    application = model("""application model { include t; var numeric: n = 90, i;
        proc exec init { if (Nproc > 1) call t; for (i = 0; i < n; i = i + 1) i = i + 0; } }
        partmp t { proc exec init { } }""")
    # A turn takes a few steps: 90 turns fit 1000 steps, 16 times 90 turns do not, 1000 turns never do.
    with pytest.raises(ModelError, match=r"\(on \d+ hosts\)"):
        profile(application, plain, range(1, 17))
    assert profile(application, plain, [2, 1]).tolist() == [0, 0]
    with pytest.raises(ModelError, match="stopped here after 1000 steps"):
        profile(application, plain, range(1, 100), {"n": 1000})


def test_a_serial_program_leaves_the_other_processors_of_its_host_idle(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    application = model("""application model { include hardware; var numeric: n = 3;
        option { error = 0.1 * Nproc; } link { hardware: Nproc = 1; }
        proc exec init { step cpu { confdev n; } } }""")
    host = replace(plain, processors=4)
    assert profile(application, host, [1, 2]).tolist() == [pytest.approx(3e-6), math.inf]
    assert len(evaluate(application, host, 1).processors) == 1
    stated = error(application, host, [1])
    assert stated is not None
    assert stated.above.tolist() == pytest.approx([0.1])
    with pytest.raises(CountError, match="is for 1 processors"):
        profile(application, host, [2])


def test_nothing_may_be_repeated_more_often_than_a_list_could_be(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    application = model("""include nothing;
        proc exec init { var numeric: i; for (i = 1; i <= 1e300; i = i + 1) call nothing; step cpu { confdev 5; } }
        } subtask nothing { proc exec init { }""")
    assert seconds(application, plain) == pytest.approx(5e-6)
