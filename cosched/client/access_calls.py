"""Who asks: tokens, accounts, the audit log."""

from __future__ import annotations

from dataclasses import asdict

from cosched.client.caller import Caller, segment
from cosched.client.decoding import decode
from cosched.portal.documents import (
    AccountChange,
    AccountRequest,
    AccountView,
    DeedView,
    LoginLink,
    Me,
    NewToken,
    TokenRequest,
    TokenView,
)

__all__ = ["AccessCalls"]


class AccessCalls(Caller):
    """Who asks: tokens, accounts, the audit log."""

    def me(self) -> Me:
        """Return who you are to the daemon, and what you may do."""
        return decode(Me, self._call("GET", "/me"))

    def create_token(self, request: TokenRequest) -> NewToken:
        """Have a token given out; its secret is shown only now."""
        return decode(NewToken, self._call("POST", "/tokens", asdict(request)))

    def tokens(self, *, everybody: bool = False) -> list[TokenView]:
        """Return your tokens, or everybody's."""
        found = self._call("GET", "/tokens", params={"everybody": str(everybody).lower()})
        return [decode(TokenView, item) for item in found]

    def revoke_token(self, token_id: str) -> None:
        """Make a token good for nothing."""
        self._response("DELETE", f"/tokens/{segment(token_id)}")

    def add_account(self, request: AccountRequest) -> AccountView:
        """Make a local account."""
        return decode(AccountView, self._call("POST", "/accounts", asdict(request)))

    def accounts(self) -> list[AccountView]:
        """Return all local accounts."""
        return [decode(AccountView, item) for item in self._call("GET", "/accounts")]

    def change_account(self, name: str, change: AccountChange) -> AccountView:
        """Change a local account; its sessions and tokens end."""
        return decode(AccountView, self._call("PATCH", f"/accounts/{segment(name)}", asdict(change)))

    def remove_account(self, name: str) -> None:
        """Forget a local account."""
        self._response("DELETE", f"/accounts/{segment(name)}")

    def login_link(self) -> LoginLink:
        """Have a link made that logs a browser in as you."""
        return decode(LoginLink, self._call("POST", "/login-links", {}))

    def audit(self, limit: int = 100, offset: int = 0) -> list[DeedView]:
        """Return lines of the audit log, newest first."""
        found = self._call("GET", "/audit", params={"limit": str(limit), "offset": str(offset)})
        return [decode(DeedView, item) for item in found]
