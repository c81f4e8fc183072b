"""Access control finds the user behind a request (authentication) and what the user may do (principals)."""

from cosched.access.principals import Principal, ProofOfIdentity, Role, Scope

__all__ = ["Principal", "ProofOfIdentity", "Role", "Scope"]
