from __future__ import annotations

from dataclasses import dataclass, field

from cosched.daemon.web.connections import ConnectionLimits, ConnectionPlaces

_LIMITS = ConnectionLimits(most=4, most_each=2)


@dataclass(eq=False)
class AConnection:
    owner: str
    waiting: float | None = None
    unbound: bool = False
    ended: list[str] = field(default_factory=list)

    def end(self) -> None:
        self.ended.append(self.owner)


def test_an_address_has_so_many_connections_while_others_still_get_theirs() -> None:
    places = ConnectionPlaces(_LIMITS)
    assert [places.admit(AConnection("10.0.0.1")) for _ in range(2)] == ["", ""]
    assert places.admit(AConnection("10.0.0.1")) == (
        "2 connections of 10.0.0.1 are open: close some, or try again in a while"
    )
    assert not places.admit(AConnection("10.0.0.2"))


def test_all_addresses_together_have_so_many_connections() -> None:
    places = ConnectionPlaces(_LIMITS)
    held = [AConnection(f"10.0.0.{number}") for number in range(4)]
    assert not any(map(places.admit, held))
    assert places.admit(AConnection("10.0.0.9")).startswith("4 connections are open")
    for _ in range(2):
        places.release(held[0])
    assert not places.admit(AConnection("10.0.0.9"))
    assert places.admit(AConnection("10.0.0.9")).startswith("4 connections are open")


def test_the_connection_that_waits_for_longest_gives_way() -> None:
    places = ConnectionPlaces(_LIMITS)
    older, newer = AConnection("a", 1.0), AConnection("a", 2.0)
    elsewhere = AConnection("b", 0.5)
    assert not any(map(places.admit, (older, newer, elsewhere)))
    assert not places.admit(AConnection("a"))
    assert (older.ended, newer.ended, elsewhere.ended) == (["a"], [], [])
    assert not any(map(places.admit, (AConnection("c"), AConnection("d"))))
    assert elsewhere.ended == ["b"]


def test_only_the_total_binds_a_proxy() -> None:
    places = ConnectionPlaces(_LIMITS)
    assert not any(places.admit(AConnection("proxy", unbound=True)) for _ in range(4))
    assert places.admit(AConnection("proxy", unbound=True)).startswith("4 connections are open")
