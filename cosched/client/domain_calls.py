"""The domain, its schedule and its past."""

from __future__ import annotations

from dataclasses import asdict

from cosched.client.caller import Caller, segment
from cosched.client.decoding import decode
from cosched.portal.documents import (
    Accuracy,
    HostView,
    NetworkView,
    PeerView,
    PlanView,
    RecordView,
    ReservationRequest,
    ReservationView,
    RunView,
    SearchPoint,
    Status,
)

__all__ = ["DomainCalls"]


class DomainCalls(Caller):
    """The domain, its schedule and its past."""

    def hosts(self) -> list[HostView]:
        """Return all hosts of the domain."""
        return [decode(HostView, item) for item in self._call("GET", "/hosts")]

    def reserve(self, request: ReservationRequest) -> ReservationView:
        """Keep hosts for others for a while."""
        return decode(ReservationView, self._call("POST", "/reservations", asdict(request)))

    def reservations(self) -> list[ReservationView]:
        """Return the reservations that are not over, the first to begin first."""
        return [decode(ReservationView, item) for item in self._call("GET", "/reservations")]

    def release(self, reservation_id: str) -> None:
        """Give a reservation up."""
        self._response("DELETE", f"/reservations/{segment(reservation_id)}")

    def glue(self, *, ldif: bool = False) -> str:
        """Return the domain described in GLUE 2.0, as XML, or as LDIF for a directory."""
        return self._response("GET", "/glue2/ldif" if ldif else "/glue2").content.decode()

    def peers(self) -> list[PeerView]:
        """Return the neighbouring domains."""
        return [decode(PeerView, item) for item in self._call("GET", "/peers")]

    def network(self) -> NetworkView | None:
        """Return what the domain's agent has done, and how it is advised; None where there is no agent."""
        found = self._call("GET", "/network")
        return None if found is None else decode(NetworkView, found)

    def plan(self) -> PlanView:
        """Return the schedule in force."""
        return decode(PlanView, self._call("GET", "/plan"))

    def status(self) -> Status:
        """Return the daemon's state in short."""
        return decode(Status, self._call("GET", "/status"))

    def runs(self, since: float = 0.0) -> list[RunView]:
        """Return the attempts that ended after this time (seconds since the epoch), the newest first."""
        return [decode(RunView, item) for item in self._call("GET", "/runs", params={"since": since})]

    def search(self) -> list[SearchPoint]:
        """Return how the search's plan became better, the oldest first."""
        return [decode(SearchPoint, item) for item in self._call("GET", "/plan/search")]

    def accuracy(self) -> list[Accuracy]:
        """Return how well run times were predicted, by application and hardware."""
        return [decode(Accuracy, item) for item in self._call("GET", "/accuracy")]

    def log(self, limit: int = 100, offset: int = 0) -> list[RecordView]:
        """Return what has happened, newest first; of other users' tasks only for operators."""
        found = self._call("GET", "/log", params={"limit": limit, "offset": offset})
        return [decode(RecordView, item) for item in found]
