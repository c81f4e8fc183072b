from __future__ import annotations

from typing import TYPE_CHECKING

from tests.portal.makers import portal

if TYPE_CHECKING:
    from pathlib import Path


def test_models_are_listed_shown_and_evaluated(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        assert 'href="/models/hardware/sgi_origin2000"' in ann.see("/models")
        page = ann.see("/models/applications/jacobi_measured?p.Scale=2&hosts=4")
        assert "jacobi_measured by number of hosts" in page
        assert 'value="2.0"' in page
        assert "more alike" in page  # measured times hold whatever the hardware: one line, and not eight on one another
        assert 'class="source"' in ann.see("/models/templates/wavefront")


def test_what_cannot_be_shown_or_evaluated_is_said_so(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        client = here.person("ann").client
        for path in ("/models/applications/nothing", "/models/secrets/x", "/models/applications/..%2Fjacobi"):
            assert client.get(path).status_code == 404
        wrong = client.get("/models/applications/jacobi_measured?p.Scale=<b>")
        assert (wrong.status_code, "&lt;b&gt;" in wrong.text) == (200, True)
        unknown = client.get("/models/applications/jacobi_measured?p.Scael=1")
        assert (unknown.status_code, "no parameter Scael" in unknown.text) == (200, True)
