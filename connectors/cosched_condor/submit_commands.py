"""Check the submit commands that a user may give: start at `check_command`.

A submit description is made of users' values and cosched's: no value may become a line or a word of cosched's, and no
command may say what is cosched's to say (whose the job is, where and when it runs, how it is followed).
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from cosched.errors import UserError

__all__ = ["COMBINED_COMMANDS", "check_command", "check_expression", "is_known_command", "meant_command"]

COMBINED_COMMANDS = ("requirements", "periodic_remove", "environment", "env")
"""Commands that cosched extends by its own words."""

_UNIVERSES = ("", "vanilla", "docker", "container", "java", "parallel")
_PASSED = """
    accounting_group allow_arguments_v1 allow_environment_v1 allow_startup_script allowed_execute_duration
    allowed_job_duration arguments batch_name buffer_block_size buffer_files buffer_size compress_files
    concurrency_limits concurrency_limits_expr container_image container_is_common container_service_names
    container_target_dir core_size coresize cuda_version description docker_image docker_network_type
    docker_override_entrypoint docker_pull_policy docker_send_credentials dont_encrypt_input_files
    dont_encrypt_output_files email_attributes encrypt_execute_directory encrypt_input_files encrypt_output_files
    env environment erase_output_and_error_on_restart error executable gpus_maximum_capability
    gpus_minimum_capability gpus_minimum_memory gpus_minimum_runtime image_size initialdir input jar_files
    java_vm_args job_ad_information_attrs job_lease_duration job_machine_attrs job_machine_attrs_history_length
    job_max_vacate_time keep_claim_idle kill_sig kill_sig_timeout leave_in_queue load_profile local_files log
    log_xml manifest manifest_dir max_job_retirement_time max_transfer_input_mb max_transfer_output_mb
    mount_under_scratch next_job_start_delay nice_user notification notify_user on_exit_hold on_exit_hold_reason
    on_exit_hold_subcode output output_destination output_directory parallel_script_shadow parallel_script_starter
    periodic_hold periodic_hold_reason periodic_hold_subcode periodic_remove periodic_vacate preserve_relative_paths
    public_input_files rank remote_initialdir remove_kill_sig require_gpus requirements run_as_owner
    should_transfer_files skip_filechecks skip_if_dataflow stack_size starter_debug starter_log stream_error
    stream_input stream_output submit_event_user_notes transfer_checkpoint_files transfer_common_input
    transfer_container transfer_error transfer_executable transfer_input transfer_input_files transfer_output
    transfer_output_files transfer_output_remaps transfer_plugins ulog_execute_attrs universe use_oauth_services
    use_x509userproxy want_graceful_removal want_io_proxy want_job_networking when_to_transfer_output x509userproxy
    """
# A pool names its own resources, and a container its own ports.
_PASSED_PATTERN = re.compile(r"request_[a-z0-9_]+|[a-z0-9_]+_container_port|[a-z0-9_]+_oauth_[a-z0-9_]+")
_REQUESTS = ("request_cpus", "request_disk", "request_gpus", "request_memory")
_LIKENESS = 0.8  # of two words, as difflib has it: from here on one is taken for a slip of the other
# HTCondor would begin the job again or later by these; cosched starts each job once, when its hosts are free.
_REPEATS = (
    "checkpoint_exit_code",
    "max_retries",
    "on_exit_remove",
    "periodic_release",
    "retry_until",
    "success_exit_code",
)
_BEGINS_LATER = re.compile(r"(deferral|cron)_[a-z_]+")
# HTCondor's further commands: a file that has one asks for what cosched cannot keep.
_OTHERS = """
    accounting_group_user batch_id cron_job dag_node_name dagman_job_id dagman_log ec2_ami_id grid_resource hold jobset
    machine_count max_idle max_materialize noop_job noop_job_exit_code noop_job_exit_signal primary_unix_group prio
    priority remote_universe submit_event_notes submit_event_notes_attrs vm_checkpoint vm_disk vm_memory vm_type
    """
# Attributes of a job that HTCondor or cosched sets: whose it is, where it runs, whether it goes on, how it is followed.
_RESERVED_ATTRIBUTE = re.compile(
    r"requirements|(acct|accounting|cosched|hold|job|on_?exit|periodic|proc|cluster|remove|submit)[a-z0-9_]*"
    r"|owner|user|os_?user|nt_?domain|nice_?user|q_?date|global_?job_?id|leave_?job_?in_?queue|universe|user_?log"
    r"|dag_?man_?nodes_?log|num_?[a-z_]*starts|(min|max|current)_?hosts|is_?noop_?job|auto_?cluster[a-z]*|last_?match[a-z]*|stage[a-z]*"
)
_PASSED_COMMANDS, _OTHER_COMMANDS = frozenset(_PASSED.split()), frozenset(_OTHERS.split())
_COMMAND_NAME = re.compile(r"(my\.)?[a-z_][a-z0-9_]*\Z")
_STRING = re.compile(r'"[^"]*"')
_COMMENT = re.compile(r"//|/\*|\*/|'|\\")
_LATE_MACROS = re.compile(r"\$\((ProcId|ClusterId|Node)\)")


def is_known_command(name: str) -> bool:
    """Return whether HTCondor knows a name of a submit file; others are macros."""
    passed = name in _PASSED_COMMANDS or _PASSED_PATTERN.fullmatch(name) is not None
    refused = name in _OTHER_COMMANDS or name in _REPEATS or _BEGINS_LATER.fullmatch(name) is not None
    return passed or refused or name.startswith("my.")


def meant_command(name: str) -> str:
    """Return the command of HTCondor's that a name nearly is; empty where it is near to none."""
    commands = [*_PASSED_COMMANDS, *_OTHER_COMMANDS, *_REPEATS, *_REQUESTS]
    return next(iter(get_close_matches(name, commands, 1, _LIKENESS)), "")


def check_command(name: str, value: str) -> None:
    """Refuse a command that users may not give, or a value that leaves its line.

    Args:
        name: name in small letters; `my.` before an attribute of the user's own.
        value: value with macros expanded.

    Raises:
        UserError: says what to leave out.
    """
    if name in _REPEATS:
        raise UserError(
            f"by the submit command {name} HTCondor would repeat the job, and cosched begins each job once: leave it "
            "out (max_retries in a file, or --retries, has cosched run it again where it fails)"
        )
    if _BEGINS_LATER.fullmatch(name):
        raise UserError(
            f"the submit command {name} would keep the job from its hosts: leave it out, and submit the task when it "
            "may begin"
        )
    if not _COMMAND_NAME.match(name) or not _may_be_passed(name):
        raise UserError(f"the submit command {name[:80]} is not a user's to give to cosched: leave it out")
    if value.rstrip().endswith("\\"):  # HTCondor trims first
        raise UserError(f"the submit command {name} ends with a backslash, which joins it to the next: leave it out")
    if name == "universe" and value.strip().lower() not in _UNIVERSES:
        known = ", ".join(filter(None, _UNIVERSES))
        raise UserError(f"universe = {value}: its jobs run on no host of the pool: write one of {known}")
    if name in ("requirements", "periodic_remove") and value.strip():
        check_expression(name, value)


def _may_be_passed(name: str) -> bool:
    if name.startswith("my."):
        return _RESERVED_ATTRIBUTE.fullmatch(name.removeprefix("my.")) is None
    return name in _PASSED_COMMANDS or _PASSED_PATTERN.fullmatch(name) is not None


def check_expression(name: str, value: str) -> None:
    """Refuse a value that is not one whole expression.

    cosched's own expression follows it on the same line.

    Raises:
        UserError: says what is wrong with it.
    """
    import classad2  # HTCondor's own parser; loaded only where a user's file has an expression

    if '\\"' in value:  # submit files and ClassAds disagree about where such a text ends
        raise UserError(f"the submit command {name} has a backslash before a quote: write the text without it")
    if _COMMENT.search(_STRING.sub('""', value)):
        raise UserError(f"the submit command {name} has a comment, a single quote or a backslash: leave it out")
    try:
        # In submit files a backslash stands for itself.
        classad2.ExprTree(_LATE_MACROS.sub("0", value).replace("\\", "\\\\"))
    except Exception:  # the library has no error of its own for a text that is no expression
        raise UserError(f"the submit command {name} is no expression of HTCondor's: {value[:80]!r}") from None
