"""What users may say to HTCondor through cosched, and what no value of theirs becomes."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

import classad2
import htcondor2

from cosched.errors import UserError
from cosched_condor.submit_commands import check_command, check_expression, is_known_command

OWN = 'TARGET.Machine == "node01"'
EXPRESSIONS = st.text(st.sampled_from("ab\"\\()&|!/*'$ =<1?:{}[];,.#\t"), max_size=30)


@given(EXPRESSIONS)
@example('TARGET.Machine=="node04") || (false')
@example("false // \\ ")
@example("false //")
@example("true /*")
@example('"a\\" // "')
@example('Machine == "x\\\\" || true) || ("')
def test_an_expression_leaves_cosched_s_own_in_force_or_is_refused(text: str) -> None:
    try:
        check_command("requirements", text)
    except UserError:
        return
    if not text.strip():
        return
    submit = htcondor2.Submit(f"executable = /x\nrequirements = ({text.strip()}) && (false)\nmarker = 1\nqueue\n")
    assert list(submit.keys()) == ["executable", "requirements", "marker"]
    whole = classad2.ExprTree(submit["requirements"].replace("\\", "\\\\"))
    assert whole.eval(classad2.ClassAd()) in (False, classad2.Value.Error)
    assert str(whole).endswith("&& (false)")


@pytest.mark.parametrize(
    "text",
    [
        'Machine == "node01" && Memory > 1024',
        'regexp("^node\\d+$", Machine)',
        "time() - EnteredCurrentStatus > 60",
        'TARGET.Arch =?= "X86_64" || isUndefined(MY.x)',
        "(JobStatus == 5) && $(ProcId) > 3",
        '"http://example.org/*"  == Url',
    ],
)
def test_an_expression_that_people_write_is_taken(text: str) -> None:
    check_expression("requirements", text)


@pytest.mark.parametrize(
    "text",
    [
        'TARGET.Machine=="node04") || (false',
        "false // \\ ",
        "a /* b */ && c",
        '"open',
        '"a\\"',
        "a b",
        "a;b",
        "(" * 5000,
        "(" * 5000 + "a" + ")" * 5000,
    ],
)
def test_a_text_that_is_no_whole_expression_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="requirements"):
        check_expression("requirements", text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("my.requirements", "true"),
        ("my.accountinggroup", '"vip.bob"'),
        ("my.acctgroupuser", '"bob"'),
        ("accounting_group_user", "bob"),
        ("my.jobprio", "1000"),
        ("my.numshadowstarts", "-1"),
        ("priority", "1000"),
        ("my.owner", '"root"'),
        ("my.userlog", '"/tmp/log"'),
        ("my.periodicremove", "false"),
        ("my.coschedattempt", '"x"'),
        ("universe", "local"),
        ("universe", "scheduler"),
        ("universe", "grid"),
        ("grid_resource", "batch slurm"),
        ("arguments", "a\\ "),
        ("arguments", "a\\\t"),
        ("coschedhost", "node04"),
        ("no_such_command", "1"),
    ],
)
def test_a_command_that_is_cosched_s_to_give_is_refused(name: str, value: str) -> None:
    with pytest.raises(UserError):
        check_command(name, value)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("max_retries", "would repeat the job"),
        ("retry_until", "would repeat the job"),
        ("periodic_release", "would repeat the job"),
        ("on_exit_remove", "would repeat the job"),
        ("checkpoint_exit_code", "would repeat the job"),
        ("deferral_time", "would keep the job from its hosts"),
        ("cron_hour", "would keep the job from its hosts"),
    ],
)
def test_a_command_by_which_htcondor_would_begin_a_job_again_or_later_is_refused(name: str, why: str) -> None:
    """With max_retries = 2 a failing program was started five times, with a false reason."""
    assert is_known_command(name)
    with pytest.raises(UserError, match=why):
        check_command(name, "2")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("request_memory", "2 GB"),
        ("request_fpgas", "1"),
        ("universe", "Docker"),
        ("my.projectname", '"physics"'),
        ("my.wantgpulab", "true"),
        ("my.parallelshutdownpolicy", '"WAIT_FOR_ALL"'),
        ("transfer_input_files", "a, b"),
        ("web_container_port", "8080"),
        ("accounting_group", "group_physics"),
    ],
)
def test_a_command_of_the_users_own_is_taken(name: str, value: str) -> None:
    check_command(name, value)


def test_a_files_own_macros_are_told_from_htcondor_s_commands() -> None:
    assert is_known_command("request_cpus")
    assert is_known_command("grid_resource")
    assert not is_known_command("my_own_number")
