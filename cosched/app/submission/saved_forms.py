"""Users keep what their submit form holds under a name, and use it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.problems import ConflictError, NotFoundError
from cosched.errors import UserError
from cosched.store.saved_forms import SavedForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.access.principals import Principal
    from cosched.store.saved_forms import SavedFormTable

__all__ = ["MOST_FORMS", "FormService"]

MOST_FORMS = 50
"""Of a user."""

_LONGEST_NAME = 100
_LARGEST = 1 << 20  # characters of all fields together


class FormService:
    """Answers for the forms of each user; others' are not there. Methods may block; any thread may call them."""

    def __init__(self, table: SavedFormTable, now: Callable[[], float]) -> None:
        """Set up.

        Args:
            table: keeps them.
            now: returns seconds since the epoch.
        """
        self._table = table
        self._now = now

    def forms(self, principal: Principal) -> Sequence[SavedForm]:
        """Return a user's forms by name."""
        return self._table.of(principal.name)

    def form(self, principal: Principal, name: str) -> SavedForm:
        """Return one of them.

        Raises:
            NotFoundError: the user has none of this name.
        """
        for each in self.forms(principal):
            if each.name == name:
                return each
        raise NotFoundError(f"you have no template {name[:80]!r}: the submit page shows those you have")

    def save(self, principal: Principal, name: str, fields: Mapping[str, str], deadline: float | None) -> SavedForm:
        """Keep a form, in place of one of the same name.

        Args:
            principal: its user.
            name: to find it by.
            fields: values by name, without the deadline, which would be past when the form is used.
            deadline: epoch seconds; the form is used with one as far ahead.

        Raises:
            UserError: it has no name that can be shown, or holds too much.
            ConflictError: the user has too many.
        """
        name = " ".join(name.split())
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise UserError(f"a template's name has 1 to {_LONGEST_NAME} characters that can be printed: give it one")
        if sum(len(key) + len(value) for key, value in fields.items()) > _LARGEST:
            raise UserError(f"a template holds at most {_LARGEST} characters: leave the long file out")
        known = {each.name for each in self.forms(principal)}
        if name not in known and len(known) >= MOST_FORMS:
            raise ConflictError(f"you have {MOST_FORMS} templates already: delete one first")
        now = self._now()
        ahead = None if deadline is None or deadline <= now else deadline - now
        form = SavedForm(principal.name, name, dict(fields), ahead, now)
        self._table.put(form)
        return form

    def remove(self, principal: Principal, name: str) -> None:
        """Forget a form.

        Raises:
            NotFoundError: the user has none of this name.
        """
        self._table.remove(principal.name, self.form(principal, name).name)
