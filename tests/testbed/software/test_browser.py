from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.testbed.software.browser import chromium

pytestmark = pytest.mark.browser


@pytest.mark.xdist_group("browser")
def test_it_shows_pages_in_fonts_of_its_own() -> None:
    with chromium() as browser:
        page = browser.new_page()
        page.set_content("<p id=a style='font: 40px system-ui'>iiii</p><p id=b style='font: 40px monospace'>iiii</p>")
        widths = page.evaluate("""['a', 'b'].map((id) => {
            const range = document.createRange();
            range.selectNodeContents(document.getElementById(id));
            return range.getBoundingClientRect().width;
        })""")
    assert 0 < widths[0] < widths[1]  # a proportional one and one of equal widths


@pytest.mark.xdist_group("browser")
def test_it_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was ended in the middle left empty files in /tmp; they go with the folder that it has for itself."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with chromium() as browser:
        browser.new_page().set_content("<p>here</p>")
        (own,) = tmp_path.glob("cosched-browser-*")
        assert any(f"TMPDIR={own}".encode() in _environment(process) for process in Path("/proc").glob("[0-9]*"))
        (own / ".org.chromium.left").touch()
    assert list(tmp_path.iterdir()) == []


def _environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or is another user's
        return []
