"""Owners of tasks on a cluster: named, known, and never root or another of the system's users."""

from __future__ import annotations

import os
import pwd

import pytest

from cosched.errors import UserError
from cosched_slurm.jobs import commented_uuid, job_comment
from cosched_slurm.owners import account_name, owner_account, without_forged_names

LOWEST = 1000


def test_an_owner_is_a_user_with_all_groups() -> None:
    nobody = pwd.getpwnam("nobody")
    account = owner_account("nobody", LOWEST)
    assert (account.name, account.uid, account.gid) == ("nobody", nobody.pw_uid, nobody.pw_gid)
    assert set(account.groups) == set(os.getgrouplist("nobody", nobody.pw_gid))


@pytest.mark.parametrize("owner", ["Jane.Doe", "jane@ad.example.org", "j+d", "2b"])
def test_an_owner_is_named_as_the_directory_of_the_site_has_it(owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Users of an Active Directory, with capital letters or a domain in their names, could have no jobs."""
    nobody = pwd.getpwnam("nobody")
    users = {owner: pwd.struct_passwd((owner, *nobody[1:]))}
    monkeypatch.setattr(pwd, "getpwnam", users.__getitem__)
    assert owner_account(owner, LOWEST).name == owner


def test_an_owner_has_an_account() -> None:
    assert account_name("ada") == "ada"


@pytest.mark.parametrize("owner", ["", "root", "0", "no-such-user", "nobody\n", "-x", "a,b", "A B"])
def test_an_owner_who_is_no_user_is_refused(owner: str) -> None:
    with pytest.raises(UserError):
        owner_account(owner, LOWEST)


def test_a_user_of_the_system_is_refused() -> None:
    with pytest.raises(UserError, match="lowest_uid"):
        owner_account("daemon", LOWEST)


def test_root_is_refused_whatever_the_lowest_number_is() -> None:
    with pytest.raises(UserError, match="root"):
        owner_account("root", 0)


ATTEMPT = "12345678-1234-1234-1234-123456789abc"
NOBODY = pwd.getpwnam("nobody").pw_uid


@pytest.mark.parametrize(
    ("user", "owner", "counts"),
    [
        ("daemon", NOBODY, False),  # another user's job has the name of nobody's attempt
        ("daemon", os.geteuid(), False),
        ("nobody", NOBODY, True),
        (pwd.getpwuid(os.geteuid()).pw_name, NOBODY, True),
        ("no-such-user", NOBODY, True),  # the controller's machine may know users that this one does not
        ("daemon", None, True),
    ],
)
def test_a_job_of_another_user_is_not_taken_for_an_attempt(user: str, owner: int | None, counts: bool) -> None:
    row = {"job_id": 5, "user_name": user, "comment": job_comment(ATTEMPT, 1)}
    (found,) = without_forged_names([row], lambda _name: owner)
    assert (commented_uuid(found) == ATTEMPT) is counts
