from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.access.principals import Role
from cosched.api.documents import PeerView
from tests.cli.test_peer import ADVICE, NETWORK
from tests.portal.pages.makers import portal

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_neighbours_are_told_of_and_what_they_say_is_only_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bad inputs 15 and 19: a neighbour may call itself what it likes."""
    peer = PeerView(
        name="far",
        address="far.example:8642",
        role="upper",
        paused=False,
        heard=None,
        hosts=16,
        free=4,
        hardware=("<i>fast</i>",),
        given=1,
        taken=2,
        fault="<script>no\u202eanswer</script>",
    )
    with portal(tmp_path) as here:
        assert "Neighbouring domains" not in here.person("ann").see("/domain")
        monkeypatch.setattr(here.daemon.services.neighbours, "peers", lambda: [peer])
        text = here.person("ann").see("/domain")
        assert "&lt;script&gt;no⟨U+202E⟩answer&lt;/script&gt;" in text
        assert "&lt;i&gt;fast&lt;/i&gt;" in text
        assert "elsewhere" in here.person("ann").see("/tasks")


def test_what_the_agent_did_and_what_would_be_better_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peer = PeerView(
        name="far",
        address="far.example:8642",
        role="upper",
        paused=False,
        heard=None,
        hosts=16,
        free=4,
        hardware=("fast",),
        given=1,
        taken=2,
        fault="",
    )
    with portal(tmp_path) as here:
        ann = here.person("ann")
        monkeypatch.setattr(here.daemon.services.neighbours, "peers", lambda: [peer])
        monkeypatch.setattr(here.daemon.services.neighbours, "network", lambda: NETWORK)
        text = ann.see("/domain")
        assert "tasks were offered around 3 times, 1 of them in vain" in text
        assert "Adviser (advise): nothing yet." in text
        monkeypatch.setattr(here.daemon.services.neighbours, "network", lambda: replace(NETWORK, advice=ADVICE))
        assert "asked for every 5.0 s, scope 0, believed for 30 s would be better, it found" in ann.see("/domain")
        stays = replace(ADVICE, best=ADVICE.present)
        monkeypatch.setattr(here.daemon.services.neighbours, "network", lambda: replace(NETWORK, advice=stays))
        assert "nothing clearly better was found" in ann.see("/domain")


def test_the_log_tells_nobody_of_other_users_tasks(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        here.person("ann").submit(name="secret plan")
        assert "secret plan" not in here.person("bob").see("/domain")
        assert "hosts observed" in here.person("bob").see("/domain")
        assert "secret plan" in here.person("olga", Role.OPERATOR).see("/domain")
