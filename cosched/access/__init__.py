"""Find the user behind a request (authentication) and the user's rights (principals)."""

from cosched.access.principals import Principal, ProofOfIdentity, Role, Scope

__all__ = ["Principal", "ProofOfIdentity", "Role", "Scope"]
