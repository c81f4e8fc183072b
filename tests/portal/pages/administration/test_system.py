from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.access.principals import Role
from cosched.api.documents import ProcessView
from cosched.portal.pages.administration.system import ProcessGroup, grouped
from tests.portal.makers import portal

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "/administration"


@pytest.mark.parametrize("page", ["health", "configuration", "notices"])
def test_the_pages_are_for_administrators(tmp_path: Path, page: str) -> None:
    with portal(tmp_path) as here:
        assert here.person("ann", Role.OPERATOR).client.get(f"{PAGE}/{page}").status_code == 403
        assert f'href="{PAGE}/{page}"' in here.person("chief", Role.ADMINISTRATOR).see(PAGE)


def test_a_notice_stands_on_all_pages_of_everybody_until_it_is_removed(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        chief, ann = here.person("chief", Role.ADMINISTRATOR), here.person("ann")
        answer = chief.send(f"{PAGE}/notices", text="<b>no power</b>", lasting="4 h")
        assert answer.headers["Location"] == f"{PAGE}/notices"
        for path in ("/tasks", "/schedule", "/domain", "/models", "/account", "/submit?own=command"):
            assert "<b>&lt;b&gt;no power&lt;/b&gt;</b>" in ann.see(path), path
        assert "no power" in ann.see("/tasks?part=faults")
        assert "no power" not in here.person("bob").client.get("/login", headers={"Cookie": ""}).text
        (notice,) = here.daemon.services.notices.notices()
        assert notice.until - notice.created == pytest.approx(4 * 3600, abs=60)
        assert ann.send(f"{PAGE}/notices/{notice.id}/remove").status_code == 403
        assert chief.send(f"{PAGE}/notices/{notice.id}/remove").status_code == 303
        assert "no power" not in ann.see("/tasks")


def test_a_notice_without_a_line_or_an_end_is_refused(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        chief = here.person("chief", Role.ADMINISTRATOR)
        for sent, why in (
            ({"text": " ", "lasting": "4 h"}, "a notice is one line"),
            ({"text": "x"}, "the notice has no end"),
            ({"text": "x", "until": "2001-01-01T00:00"}, "past"),
        ):
            answer = chief.send(f"{PAGE}/notices", **sent)
            assert answer.status_code == 422
            assert why in answer.text
        assert "No notice is shown" in chief.see(f"{PAGE}/notices")


def test_the_configuration_has_origins_is_searched_and_tells_no_secret(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        chief = here.person("chief", Role.ADMINISTRATOR)
        text = chief.see(f"{PAGE}/configuration")
        assert "3 keys, 2 of them set by this site" in text
        assert all(word in text for word in ("[planning]", "/etc/cosched/cosched.toml", "set, and not shown"))
        assert "[planning]" not in chief.see(f"{PAGE}/configuration?search=domain")
        assert "[domain]" not in chief.see(f"{PAGE}/configuration?own=1")
        assert "No key is called so" in chief.see(f"{PAGE}/configuration?search=nothing")


def test_health_says_what_does_not_work_and_what_to_do(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        chief = here.person("chief", Role.ADMINISTRATOR)
        assert "All works." in chief.see(f"{PAGE}/health")
        here.daemon.faults.append("peer far: <b>no route</b>")
        text = chief.see(f"{PAGE}/health?part=health")
        assert "Peer far</b> does not work" in text
        assert "&lt;b&gt;no route&lt;/b&gt;." in text
        assert "the daemon itself" in text


def test_processes_with_one_purpose_stand_together() -> None:
    def process(pid: int, purpose: str) -> ProcessView:
        return ProcessView(pid=pid, purpose=purpose, memory=pid << 20, seconds=1.5, started=100.0 - pid)

    assert grouped([process(1, "search"), process(2, "job"), process(3, "job")]) == [
        ProcessGroup("search", (1,), 1 << 20, 1.5, 99.0),
        ProcessGroup("job", (2, 3), 5 << 20, 3.0, 97.0),
    ]
