"""What the database keeps of credentials, without one; tests/store/test_credentials.py has the real thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from cosched.access import Principal, ProofOfIdentity, Role
from cosched.access.authentication import AccessSettings, Authenticator, Identity

if TYPE_CHECKING:
    from cosched.access.proxies import RequestEvidence
    from cosched.store.credentials import AccountRow, AuditEntry, Credentials, SessionRow, TokenRow


class MemoryCredentials:
    def __init__(self) -> None:
        self._accounts: dict[str, AccountRow] = {}
        self._tokens: dict[str, TokenRow] = {}
        self._sessions: dict[str, SessionRow] = {}
        self._entries: list[AuditEntry] = []

    def accounts(self) -> list[AccountRow]:
        return list(self._accounts.values())

    def tokens(self) -> list[TokenRow]:
        return list(self._tokens.values())

    def sessions(self) -> list[SessionRow]:
        return list(self._sessions.values())

    def put_account(self, account: AccountRow) -> None:
        self._accounts[account.name] = account

    def delete_account(self, name: str) -> None:
        del self._accounts[name]

    def add_token(self, token: TokenRow) -> None:
        self._tokens[token.id] = token

    def delete_tokens(self, *identifiers: str) -> None:
        for identifier in identifiers:
            del self._tokens[identifier]

    def add_session(self, session: SessionRow) -> None:
        self._sessions[session.digest] = session

    def delete_sessions(self, *digests: str) -> None:
        for digest in digests:
            del self._sessions[digest]

    def log(self, entry: AuditEntry) -> None:
        self._entries.append(entry)

    def audit_log(self, limit: int, offset: int = 0) -> list[AuditEntry]:
        return self._entries[::-1][offset : offset + limit]


class Time:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def access(
    settings: AccessSettings | None = None, time: Time | None = None, kept: MemoryCredentials | None = None
) -> Authenticator:
    return Authenticator(cast("Credentials", kept or MemoryCredentials()), settings or AccessSettings(), time or Time())


class Trusting(Authenticator):
    """Takes everybody for one user, whatever they show."""

    def __init__(self, principal: Principal | None = None) -> None:
        super().__init__(cast("Credentials", MemoryCredentials()), AccessSettings(), Time())
        self.principal = principal or Principal("chief", Role.ADMINISTRATOR, how=ProofOfIdentity.TOKEN)

    def identify(self, evidence: RequestEvidence) -> Identity:
        return Identity(self.principal, address=evidence.address)
