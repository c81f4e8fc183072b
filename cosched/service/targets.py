"""Whom cosched may tell of tasks: mail addresses and web hooks that the administrator has listed, and no others.

A daemon that opens any address a user names would be a way into networks that only it can reach.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from cosched.errors import UserError

__all__ = ["MOST_TARGETS", "Targets"]

MOST_TARGETS = 5
"""Addresses of one task."""

_MAIL = re.compile(r"mailto:([A-Za-z0-9._%+-]{1,64})@([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8})", re.ASCII)
_LONGEST = 1024


@dataclass(frozen=True, slots=True)
class Targets:
    """What is allowed.

    Attributes:
        webhooks: hosts, "hooks.example.org" (https only) or "http://10.0.0.7:9000" (this scheme and port).
        recipients: mail addresses, "ann@example.org" or, for all of a domain, "@example.org".
    """

    webhooks: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()

    def check(self, targets: tuple[str, ...]) -> None:
        """Refuse what is not allowed.

        Raises:
            UserError: one cannot be told, or there are too many; says what is allowed.
        """
        if len(targets) > MOST_TARGETS:
            raise UserError(f"{len(targets)} addresses to notify are too many: give at most {MOST_TARGETS}")
        for target in targets:
            if not self.allows(target):
                raise UserError(f"{target[:80]!r} cannot be notified: {self._allowed()}")

    def allows(self, target: str) -> bool:
        """Whether this one may be told."""
        if len(target) > _LONGEST or not target.isascii() or not target.isprintable() or " " in target:
            return False
        if target.startswith("mailto:"):
            return self._allows_mail(target)
        return self._allows_hook(target)

    def _allows_mail(self, target: str) -> bool:
        match = _MAIL.fullmatch(target)
        if match is None:
            return False
        address = f"{match[1]}@{match[2].lower()}"
        return any(address == allowed or f"@{match[2].lower()}" == allowed for allowed in self.recipients)

    def _allows_hook(self, target: str) -> bool:
        try:
            parts = urlsplit(target)
            port = parts.port
        except ValueError:
            return False
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or "\\" in target:
            return False
        origin = f"{parts.scheme}://{parts.hostname}" + ("" if port is None else f":{port}")
        return any(origin == (allowed if "://" in allowed else f"https://{allowed}") for allowed in self.webhooks)

    def _allowed(self) -> str:
        words = [f"mailto:…{each}" if each.startswith("@") else f"mailto:{each}" for each in self.recipients]
        words += [each if "://" in each else f"https://{each}/…" for each in self.webhooks]
        return f"allowed here are {', '.join(words)}" if words else "the administrator has allowed none in [notify]"
