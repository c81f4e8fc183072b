"""Who asks, and what they may do: principals, roles, scopes, and how a request proves whose it is."""

from cosched.access.principals import Principal, ProofOfIdentity, Role, Scope

__all__ = ["Principal", "ProofOfIdentity", "Role", "Scope"]
