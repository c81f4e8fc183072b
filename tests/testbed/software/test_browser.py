from __future__ import annotations

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
