"""Which requirements of an idle job no slot meets, on ads of HTCondor's own library."""

from __future__ import annotations

from typing import Any

import pytest

from cosched_condor.matching import conjuncts, pinned_machines, why_idle

classad2 = pytest.importorskip("classad2", reason="the package htcondor is not installed")

_OWN = '(TARGET.Machine == "n1") && ((NumShadowStarts ?: 0) == 0)'


def a_job(requirements: str = "true", **values: object) -> Any:
    ad = classad2.ClassAd(f"[NumShadowStarts = 0; RequestMemory = 10; Requirements = ({_OWN}) && ({requirements})]")
    ad.update(values)
    return ad


def a_slot(start: str = "true", **values: object) -> Any:
    ad = classad2.ClassAd(
        f'[Machine = "n1"; Name = "slot1@n1"; Memory = 1024; Arch = "X86_64"; Requirements = {start}]'
    )
    ad.update(values)
    return ad


@pytest.mark.parametrize(
    ("job", "slots", "why"),
    [
        (a_job(), [a_slot()], ""),
        (
            a_job("TARGET.Memory >= RequestMemory", RequestMemory=999999999),
            [a_slot(), a_slot(Memory=2048)],
            "no slot of n1 meets its requirements: TARGET.Memory >= RequestMemory "
            "(RequestMemory is 999999999, the slot's Memory is 1024)",
        ),
        (
            a_job('TARGET.Arch == "PPC" && TARGET.HasFoo'),
            [a_slot()],
            'no slot of n1 meets its requirements: TARGET.Arch == "PPC" (the slot\'s Arch is X86_64); '
            "TARGET.HasFoo (the slot's HasFoo is undefined)",
        ),
        (a_job("TARGET.Memory >= 2048"), [a_slot(), a_slot(Memory=2048)], ""),
        (
            a_job(),
            [a_slot("TARGET.RequestMemory < 5")],
            "the policy of slot1@n1 refuses the job: TARGET.RequestMemory < 5 (the job's RequestMemory is 10)",
        ),
        (
            a_job(RequestGPUs=2, RequestCpus=2),
            [a_slot("WithinResourceLimits", GPUs=0, Cpus=14)],
            "slot1@n1 has too little left: the job asks for 2 GPUs, and it has 0",
        ),
        (a_job(), [], "no slot of n1 is known to HTCondor's collector"),
    ],
)
def test_an_idle_job_says_which_requirement_no_slot_meets(job: Any, slots: list[Any], why: str) -> None:
    assert why_idle(job, slots, classad2.ExprTree) == why


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("a", ["a"]),
        ("((a) && (b && c))", ["a", "b", "c"]),
        ("(a) && (b || c)", ["a", "b || c"]),
        ("a && b || c", ["a && b || c"]),
        ('x == "a && b)" && member(y, {1, 2})', ['x == "a && b)"', "member(y, {1, 2})"]),
        ("(a) || (b)", ["(a) || (b)"]),
        ("a ? b : c", ["a ? b : c"]),
    ],
)
def test_an_expression_falls_into_the_parts_that_must_all_be_true(expression: str, parts: list[str]) -> None:
    assert conjuncts(expression) == parts


def test_pinned_machines_are_those_that_requirements_name() -> None:
    assert pinned_machines(_OWN) == ("n1",)
    assert pinned_machines('member(TARGET.Machine, { "n1","n2" }) && true') == ("n1", "n2")
    assert pinned_machines("TARGET.Memory > 1") == ()
    assert pinned_machines('(TARGET.Machine == "slot2@n1" || TARGET.Name == "slot2@n1")') == ("n1",)
