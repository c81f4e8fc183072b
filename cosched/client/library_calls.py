"""The catalogue and the models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.client.caller import Caller, segment
from cosched.client.decoding import decode
from cosched.portal.documents import ApplicationView, CurvesView, ModelText, ModelView

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LibraryCalls"]


class LibraryCalls(Caller):
    """The catalogue and the models."""

    def applications(self) -> list[ApplicationView]:
        """Return the catalogue: what can be submitted by name."""
        return [decode(ApplicationView, item) for item in self._call("GET", "/applications")]

    def models(self) -> list[ModelView]:
        """Return the models of applications, templates and hardware that the daemon has."""
        return [decode(ModelView, item) for item in self._call("GET", "/models")]

    def model(self, kind: str, name: str) -> ModelText:
        """Return the text of a model; `kind` is applications, templates or hardware."""
        return decode(ModelText, self._call("GET", f"/models/{segment(kind)}/{segment(name)}"))

    def curves(self, name: str, values: Mapping[str, float] | None = None, hosts: int = 16) -> CurvesView:
        """Return the run times of an application model on every hardware of the daemon.

        Args:
            name: of the model.
            values: of its parameters; defaults for the others.
            hosts: up to how many, at most 256.
        """
        params = {"set": [f"{key}={value!r}" for key, value in (values or {}).items()], "hosts": hosts}
        return decode(CurvesView, self._call("GET", f"/models/applications/{segment(name)}/curves", params=params))
