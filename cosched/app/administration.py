"""Administrators see here how the daemon is set up, and how it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.access.principals import require_administrator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import ConfigurationEntry, HealthReport

__all__ = ["AdministrationService"]


class AdministrationService:
    """Answers for the daemon itself. Any thread may call it; it waits for neither core nor database."""

    def __init__(self, configuration: Sequence[ConfigurationEntry], report: Callable[[], HealthReport]) -> None:
        """Set up.

        Args:
            configuration: the configuration in force, without secrets.
            report: looks at all parts of the daemon.
        """
        self._configuration = list(configuration)
        self._report = report

    def configuration(self, principal: Principal) -> list[ConfigurationEntry]:
        """Return every key in force with its origin, without secrets.

        Raises:
            ForbiddenError: the principal is no administrator.
        """
        require_administrator(principal, "see the configuration")
        return self._configuration

    def health(self, principal: Principal) -> HealthReport:
        """Return what each part of the daemon does, its processes and its last mistakes.

        Raises:
            ForbiddenError: the principal is no administrator.
        """
        require_administrator(principal, "see the daemon's health")
        return self._report()
