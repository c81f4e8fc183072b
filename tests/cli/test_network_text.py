from __future__ import annotations

from dataclasses import replace

from cosched.api.documents import AdvertisingView, AdviceView, NetworkView, OutlookView
from cosched.cli.peer import network_lines

WAY = AdvertisingView(period=10.0, push=True, scope=1, lifetime=60.0)
BETTER = AdvertisingView(period=5.0, push=False, scope=0, lifetime=30.0)
NETWORK = NetworkView(
    since=1e9,
    offered=3,
    in_vain=1,
    forwarded=2,
    came_back=1,
    taken=4,
    hops=1.5,
    staleness=2.0,
    misjudged=3.0,
    letters_each=7.25,
    spreading=20,
    sent={},
    received={},
    advertising=WAY,
    adviser="advise",
    advice=None,
    fault="",
)
ADVICE = AdviceView(
    time=1e9,
    present=WAY,
    present_outlook=OutlookView(late=0.5, lateness=0.1, letters=9.0),
    best=BETTER,
    best_outlook=OutlookView(late=0.25, lateness=0.1, letters=4.0),
    tried=7,
    tasks=12,
    adopted=False,
)


def test_what_was_done_is_said_in_lines() -> None:
    lines = network_lines(NETWORK)
    assert lines[1] == "offered:     tasks 3 times, 1 of them in vain"
    assert "over 1.5 hops" in lines[3]
    assert lines[4].startswith("letters:     7.2 for each task")
    assert "2.0 s old" in lines[5]
    assert lines[-1] == "adviser:     advise"


def test_what_never_happened_is_left_out() -> None:
    lines = network_lines(replace(NETWORK, hops=None, staleness=None, letters_each=None, fault="no advice yet"))
    assert not any("None" in line or "known" in line for line in lines)
    assert lines[-1] == "adviser:     advise; no advice yet"


def test_advice_is_held_against_what_is_done() -> None:
    lines = network_lines(replace(NETWORK, advice=ADVICE))
    assert "  better:    asked for every 5.0 s, scope 0, believed for 30 s: 25.0 % late, 4.0 letters a task" in lines
    assert lines[-1].startswith("  instead of told every 10 s")
    assert "  adopted:" in "\n".join(network_lines(replace(NETWORK, advice=replace(ADVICE, adopted=True))))
    stays = network_lines(replace(NETWORK, advice=replace(ADVICE, best=WAY)))
    assert stays[-1].startswith("  stay with  told every 10 s")
