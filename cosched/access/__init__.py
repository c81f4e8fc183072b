"""Who asks, and what they may do: principals, roles, scopes, and how a request proves whose it is."""

from cosched.access.principal import How, Principal, Role, Scope

__all__ = ["How", "Principal", "Role", "Scope"]
