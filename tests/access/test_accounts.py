from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, cast

import pytest

from cosched.access import Role
from cosched.access.accounts import Accounts, LoginError, password_digest, password_matches
from cosched.errors import UserError
from tests.access.memory import MemoryCredentials

if TYPE_CHECKING:
    from cosched.store.credentials import Credentials

WORD = "a long password"
HERE = "10.0.0.1"


@pytest.fixture
def accounts(monkeypatch: pytest.MonkeyPatch) -> Accounts:
    """With passwords that are compared as they are: tests/access/test_passwords.py has argon2."""
    monkeypatch.setattr("cosched.access.accounts.password_digest", lambda password: f"digest {password}")
    monkeypatch.setattr(
        "cosched.access.accounts.password_matches", lambda digest, password: digest == f"digest {password}"
    )
    made = Accounts(cast("Credentials", MemoryCredentials()))
    made.add("ann", WORD, Role.OPERATOR, 1.0)
    return made


def test_name_and_password_let_in(accounts: Accounts) -> None:
    accounts.check("ann", WORD, HERE, 0.0)
    assert accounts.role("ann") is Role.OPERATOR


@pytest.mark.parametrize(("name", "password"), [("ann", "wrong"), ("bob", WORD), ("", ""), ("ann", "")])
def test_others_do_not_and_do_not_learn_why(accounts: Accounts, name: str, password: str) -> None:
    with pytest.raises(LoginError, match="name or password are wrong"):
        accounts.check(name, password, HERE, 0.0)


def test_who_guesses_is_slowed_down_where_they_are(accounts: Accounts) -> None:
    for _ in range(5):
        with pytest.raises(LoginError, match="are wrong"):
            accounts.check("ann", "guess", HERE, 0.0)
    with pytest.raises(LoginError, match="too many wrong passwords: try again in 30 s"):
        accounts.check("ann", WORD, HERE, 0.0)
    with pytest.raises(LoginError, match="too many"):
        accounts.check("bob", "other", HERE, 0.0)
    accounts.check("ann", WORD, "10.0.0.2", 0.0)
    accounts.check("ann", WORD, HERE, 31.0)


def test_of_many_guesses_at_once_no_more_are_checked_than_one_by_one(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosched.access.accounts.password_matches", lambda _digest, _password: time.sleep(0.1))

    def guess(_number: int) -> str:
        with pytest.raises(LoginError) as refused:
            accounts.check("ann", "guess", HERE, 0.0)
        return str(refused.value)

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(guess, range(20)))
    assert sum("are wrong" in answer for answer in answers) == 5


def test_who_logs_in_again_and_again_is_not_held_up(accounts: Accounts) -> None:
    for _ in range(7):
        accounts.check("ann", WORD, HERE, 0.0)


def test_an_account_changes_and_goes(accounts: Accounts) -> None:
    with pytest.raises(UserError, match="there is an account 'ann' already"):
        accounts.add("ann", WORD, Role.USER, 1.0)
    accounts.change("ann", role=Role.USER)
    assert accounts.role("ann") is Role.USER
    accounts.change("ann", password="another password")
    accounts.check("ann", "another password", HERE, 0.0)
    accounts.change("ann", enabled=False)
    assert accounts.role("ann") is None
    with pytest.raises(LoginError):
        accounts.check("ann", "another password", HERE, 0.0)
    accounts.remove("ann")
    assert accounts.all() == []
    with pytest.raises(UserError, match="there is no account 'ann'"):
        accounts.change("ann")


GOOD = "correct horse battery"


def test_only_the_password_matches_its_digest() -> None:
    digest = password_digest(GOOD)
    assert digest.startswith("$argon2id$")
    assert digest != password_digest(GOOD)
    assert password_matches(digest, GOOD)
    for other in ("", GOOD + " ", GOOD.upper(), "x" * 5000, "\ud800"):
        assert not password_matches(digest, other)


def test_nobody_has_no_password() -> None:
    assert not password_matches("", "the password of nobody")
    assert not password_matches("no digest", GOOD)


@pytest.mark.parametrize("password", ["", "short", "x" * 1025])
def test_passwords_have_a_length(password: str) -> None:
    with pytest.raises(UserError, match=r"choose one of 12 to 1024"):
        password_digest(password)
