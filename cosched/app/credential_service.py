"""Create and revoke tokens and accounts, for principals with the right to.

A user can grant at most the user's own rights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.access.principals import (
    ALL_SCOPES,
    ForbiddenError,
    Principal,
    Role,
    RoleSource,
    Scope,
    require_administrator,
)
from cosched.access.tokens import TokenGrant
from cosched.errors import UserError
from cosched.user_names import checked_user_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.access.authentication import Authenticator
    from cosched.store.credentials import AccountRow, AuditEntry, TokenRow

__all__ = ["LONGEST_NOTE", "CredentialService"]

LONGEST_NOTE = 200


class CredentialService:
    """Change credentials where the principal may, and write each change into the audit log."""

    def __init__(self, access: Authenticator) -> None:
        self._access = access

    def create_token(
        self,
        principal: Principal,
        address: str,
        *,
        user: str,
        role: str,
        scopes: Iterable[str],
        lifetime: float,
        note: str,
    ) -> tuple[str, TokenRow]:
        """Give a token out; return what to hand to its user, and what is kept.

        Raises:
            ForbiddenError: it grants more than the user's own rights.
            UserError: something cannot be as asked.
        """
        user = checked_user_name(user) if user else principal.name
        wanted = _role(role) if role else (principal.role if user == principal.name else Role.USER)
        allowed = _scopes(scopes)
        if user != principal.name:
            require_administrator(principal, "give out tokens for others")
        if wanted > principal.role or not allowed <= principal.scopes:
            raise ForbiddenError(
                "a token can do no more than the user who creates it: ask for a lower role or fewer scopes"
            )
        if not 0 < lifetime <= self._access.settings.longest_token:
            longest = self._access.settings.longest_token / 86400
            raise UserError(f"a token may be good for up to {longest:g} days: choose a lifetime above 0 up to that")
        now = self._access.now()
        source = principal.source if user == principal.name else RoleSource.GRANTED
        grant = TokenGrant(user, wanted, allowed, _note(note), source)
        text, row = self._access.tokens.create(grant, now, now + lifetime)
        detail = f"{row.id} for {user} ({wanted.word}; {' '.join(row.scopes)})"
        self._access.log(principal, address, "token created", detail)
        return text, row

    def tokens(self, principal: Principal, *, everybody: bool) -> list[TokenRow]:
        """Return the principal's tokens, or everybody's."""
        if everybody:
            require_administrator(principal, "see the tokens of others")
        return self._access.tokens.of(None if everybody else principal.name)

    def revoke(self, principal: Principal, address: str, identifier: str) -> bool:
        """Revoke a token; False where the principal may see none of this identifier."""
        row = self._access.tokens.get(identifier)
        if row is None or (row.user != principal.name and principal.role < Role.ADMINISTRATOR):
            return False
        self._access.tokens.revoke(identifier)
        self._access.log(principal, address, "token revoked", f"{identifier} of {row.user}")
        return True

    def accounts(self, principal: Principal) -> list[AccountRow]:
        """Return all accounts."""
        require_administrator(principal, "see the accounts")
        return self._access.accounts.all()

    def add_account(self, principal: Principal, address: str, name: str, password: str, role: str) -> AccountRow:
        """Make an account."""
        require_administrator(principal, "make accounts")
        row = self._access.accounts.add(name, password, _role(role), self._access.now())
        self._access.log(principal, address, "account added", f"{name} ({row.role})")
        return row

    def change_account(
        self,
        principal: Principal,
        address: str,
        name: str,
        *,
        password: str | None,
        role: str | None,
        enabled: bool | None,
    ) -> AccountRow:
        """Change an account. Its sessions and tokens end, as what they may do was decided before; not by no change."""
        require_administrator(principal, "change accounts")
        given = {"password": password, "role": role, "enabled": enabled}
        changed = [word for word, value in given.items() if value is not None]
        row = self._access.accounts.change(name, password, None if role is None else _role(role), enabled)
        if not changed:
            return row
        self._access.revoke_all(name)
        self._access.log(principal, address, "account changed", f"{name} ({', '.join(changed)})")
        return row

    def remove_account(self, principal: Principal, address: str, name: str) -> None:
        """Forget an account with its sessions and tokens; its tasks stay."""
        require_administrator(principal, "remove accounts")
        self._access.accounts.remove(name)
        self._access.revoke_all(name)
        self._access.log(principal, address, "account removed", name)

    def ticket(self, principal: Principal, address: str) -> str:
        """Return the secret of a link that logs the principal's browser in."""
        if principal.scopes != ALL_SCOPES:
            raise ForbiddenError("this token may not log a browser in: that takes all scopes")
        return self._access.ticket(principal, address)

    def audit_log(self, principal: Principal, limit: int, offset: int) -> list[AuditEntry]:
        """Return lines of the audit log, the newest first."""
        require_administrator(principal, "read the audit log")
        return self._access.audit_log(limit, offset)


def _role(word: str) -> Role:
    try:
        return Role.of(word)
    except ValueError as error:
        raise UserError(f"{error}: choose one") from error


def _scopes(words: Iterable[str]) -> frozenset[Scope]:
    try:
        found = frozenset(map(Scope, words))
    except ValueError as error:
        raise UserError(f"{error}: there are {', '.join(Scope)}") from error
    if not found:
        raise UserError(f"a token without a scope is good for nothing: choose from {', '.join(Scope)}")
    return found


def _note(note: str) -> str:
    if len(note) > LONGEST_NOTE:
        raise UserError(f"the note has {len(note)} characters: at most {LONGEST_NOTE} are kept")
    return "".join(each if each.isprintable() else " " for each in note)
